// SPDX-License-Identifier: MIT
// Networks, and what happens to them, drawn from a seed, after the generator of CometBFT's end-to-end tests
// (test/e2e/generator of its repository). RETRACE_SEED=N runs that seed alone.
#include <algorithm>
#include <random>
#include <sstream>

#include "contracts/calls/addresses.hpp"
#include "ledger/state/supply.hpp"
#include "node/agents/remote_state.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/functional/comet/testnet_fixture.hpp"
#include "tests/netlab/namespaces.hpp"

namespace retrace::node {
namespace {

enum class Trouble { kill, restart, pause_node, pause_comet, disconnect, block_sync, state_sync };
constexpr const char* kNames[] = {"kill",       "restart",    "pause_node", "pause_comet",
                                  "disconnect", "block_sync", "state_sync"};
constexpr std::size_t kEvents = 5, kNodesMax = 6;

struct Event {
    Trouble trouble;
    std::size_t node;
    std::chrono::milliseconds time;  ///< How long the node is away.
};

class RandomNetworks : public TestnetTest, public testing::WithParamInterface<std::uint32_t> {
protected:
    static void SetUpTestSuite() {
        auto namespaces = Namespaces::enter(kNodesMax);
        if (namespaces)
            namespaces_.emplace(std::move(namespaces).value());
        else
            std::printf("no node is disconnected: %s\n", namespaces.error().message.c_str());
    }
    static void TearDownTestSuite() { namespaces_.reset(); }

    void SetUp() override {
        require_comet();
        if (IsSkipped()) return;
        draw();
        std::printf("%s\n", described_.c_str());
        make_network(shape_);
        if (HasFatalFailure()) return;
        if (namespaces_) {
            for (std::size_t i = 0; i < nodes(); ++i) replace_all(config_of(i), "127.0.0.", Namespaces::kPrefix);
            start_processes(namespaces_->write_program(folder_, RETRACE_PROGRAM));
        } else {
            start_processes(RETRACE_PROGRAM);
        }
    }

    std::size_t nodes() const { return shape_.validators + shape_.followers; }
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

    void draw() {
        shape_.validators = 1 + below(4);
        shape_.followers = below(3);
        shape_.block_ms = 200 + 100 * below(4);
        shape_.snapshot_every = (8'000 + 1'000 * below(5)) / shape_.block_ms;
        std::ostringstream text;
        text << "seed " << GetParam() << ": " << shape_.validators << " validators, " << shape_.followers
             << " followers, blocks of " << shape_.block_ms << " ms, a snapshot every " << shape_.snapshot_every;
        while (events_.size() < kEvents) {
            const Event event{static_cast<Trouble>(below(7)), below(static_cast<std::uint32_t>(nodes())),
                              std::chrono::milliseconds(500 + below(4'000))};
            if (!possible(event)) continue;
            text << "; " << kNames[static_cast<std::size_t>(event.trouble)] << " " << event.node;
            events_.push_back(event);
        }
        described_ = text.str();
    }
    bool possible(const Event& event) const {
        if (event.trouble == Trouble::disconnect) return namespaces_.has_value() && nodes() > 1;
        const auto same = [&](const Event& earlier) { return earlier.trouble == event.trouble; };
        if (event.trouble == Trouble::state_sync && std::ranges::any_of(events_, same)) return false;
        if (event.trouble != Trouble::block_sync && event.trouble != Trouble::state_sync) return true;
        // The others make blocks without it. Node 0 keeps all blocks, for the checks at the end.
        return event.node != 0 && (event.node >= shape_.validators || shape_.validators == 4) && nodes() > 2;
    }

    void suffer(const Event& event) {
        Process& node = network_->node(event.node);
        switch (event.trouble) {
            case Trouble::kill: node.kill(); break;
            case Trouble::restart: node.stop(15s); break;
            case Trouble::pause_node: return pause(node.pid(), event.time);
            case Trouble::pause_comet: return pause(child_of(node.pid()), event.time);
            case Trouble::disconnect: return disconnect(event);
            case Trouble::block_sync:
                node.stop(15s);
                forget_chain(event.node);
                break;
            case Trouble::state_sync: ASSERT_NO_FATAL_FAILURE(fetch_snapshot(event.node)); break;
        }
        std::this_thread::sleep_for(event.time);
        ASSERT_TRUE(network_->restart(event.node).has_value());
    }
    static void pause(int pid, std::chrono::milliseconds time) {
        ASSERT_GT(pid, 0);
        ASSERT_EQ(::kill(pid, SIGSTOP), 0);
        std::this_thread::sleep_for(time);
        ASSERT_EQ(::kill(pid, SIGCONT), 0);
    }
    void disconnect(const Event& event) {
        change_links(event.node, &Namespaces::cut);
        std::this_thread::sleep_for(event.time);
        change_links(event.node, &Namespaces::join);
    }
    void change_links(std::size_t node, Status<> (Namespaces::*change)(std::size_t, std::size_t)) {
        for (std::size_t i = 0; i < nodes(); ++i) {
            if (i == node) continue;
            const auto done = ((*namespaces_).*change)(node, i);
            ASSERT_TRUE(done.has_value()) << done.error().message;
        }
    }
    void fetch_snapshot(std::size_t node) {
        ASSERT_TRUE(reaches(0, shape_.snapshot_every + 4));
        const auto trusted = comet_block(0, 3);
        ASSERT_TRUE(trusted.has_value()) << trusted.error().message;
        const std::size_t second = node == 1 ? 2 : 1;
        network_->node(node).stop(15s);
        forget_chain(node);
        edit(node, "private_network",
             "private_network = true\nsync_from = [\"" + network_->urls()[0] + "\", \"" + network_->urls()[second] +
                 "\"]\ntrust_height = 3\ntrust_hash = \"" + to_hex(view(hash_of(trusted->header))) + "\"");
    }

    void expect_healthy(std::size_t node) {
        const auto end = Clock::now() + 30s;
        json::value status = ask(node, "retrace_status");
        while (status.at("syncing").as_bool() && Clock::now() < end) {
            std::this_thread::sleep_for(100ms);
            status = ask(node, "retrace_status");
        }
        EXPECT_FALSE(status.at("syncing").as_bool()) << node;
        EXPECT_FALSE(status.at("halted").as_bool()) << node;
        EXPECT_FALSE(status.at("stalled").as_bool()) << node;
    }
    void expect_supply_conserved() {
        auto client = RpcClient::connect(network_->urls()[0]);
        const RemoteState state(*client, height(0));
        ledger::U256 total = state.account(*ledger::parse_address(kReceiver)).balance;
        for (std::uint32_t i = 0; i < kDevAccounts; ++i)
            total += state.account(wallet::account_key(kDevMnemonic, "", i)->address()).balance;
        for (const contracts::Contract contract : contracts::kContracts)
            total += state.account(contracts::address_of(contract)).balance;
        EXPECT_EQ(total + ledger::burned(state), ledger::minted(state));
        EXPECT_FALSE(state.failure().has_value());
    }

    static inline std::optional<Namespaces> namespaces_;
    std::mt19937 random_{GetParam()};
    Shape shape_;
    std::vector<Event> events_;
    std::string described_;
};

TEST_P(RandomNetworks, AreOneChainAfterwards) {
    SCOPED_TRACE(described_);
    TransferLoad load(network_->urls(), GetParam());
    for (const Event& event : events_) {
        SCOPED_TRACE(std::string(kNames[static_cast<std::size_t>(event.trouble)]) + " node " +
                     std::to_string(event.node));
        ASSERT_NO_FATAL_FAILURE(suffer(event));
        const auto back = network_->await(event.node, 60s);
        ASSERT_TRUE(back.has_value()) << back.error().message;
        // Others are ahead of it, and it is alive only when it makes or takes further blocks.
        std::uint64_t top = 0;
        for (std::size_t i = 0; i < nodes(); ++i) top = std::max(top, height(i));
        ASSERT_TRUE(reaches(event.node, top + 2));
    }
    const auto accepted = load.stop();
    EXPECT_FALSE(accepted.empty());
    expect_mined(accepted);
    expect_equal_chains(height(0));
    for (std::size_t i = 0; i < nodes(); ++i) expect_healthy(i);
    expect_supply_conserved();
}

std::vector<std::uint32_t> seeds() {
    if (const char* chosen = std::getenv("RETRACE_SEED"))
        return {static_cast<std::uint32_t>(std::strtoul(chosen, nullptr, 10))};
    return {1, 3, 5, 7};
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNetworks, testing::ValuesIn(seeds()), testing::PrintToStringParamName());

}  // namespace
}  // namespace retrace::node
