// SPDX-License-Identifier: MIT
// A market whose worker processes die, by chance and because of a program that crashes them. No party misses a duty or
// loses stake because of it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <random>

#include "contracts/calls/encode.hpp"
#include "tests/functional/market_fixture.hpp"
#include "tests/functional/worker/children.hpp"
#include "tests/functional/worker/crashing_seed.hpp"

namespace retrace::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kHonest{"--price", "0.5", "--stake", "400000"};
const std::string kTraining = " --hidden 64 --batch 32 --price-ceiling 1 --audit-percent 100";
/// Windows long enough for a slow honest party, also on two busy cores.
const std::map<std::string, std::uint64_t> kWindows{{"bid_blocks", 20},      {"reveal_blocks", 20},
                                                    {"epoch_blocks", 10},    {"challenge_blocks", 60},
                                                    {"verdict_blocks", 150}, {"reveal_verdict_blocks", 150}};

class WorkerMarket : public MarketTest {
protected:
    std::string log_of(Role role) const { return text_of(network_->log_of(std::string(node::name_of(role)))); }

    /// Expects that nobody was slashed except `cheaters`.
    void expect_nobody_slashed_but(const std::vector<ledger::Address>& cheaters) const {
        auto rpc = client();
        const auto logs = rpc.logs(contracts::address_of(contracts::Contract::staking), 1, rpc.height().value());
        ASSERT_TRUE(logs.has_value()) << logs.error().message;
        for (const auto& placed : *logs) {
            const auto slash = contracts::decode_event<contracts::Slashed>(placed.log);
            if (slash && std::find(cheaters.begin(), cheaters.end(), slash->party) == cheaters.end())
                ADD_FAILURE() << "block " << placed.height << ": " << slash->reason;
        }
    }
    /// Waits until its model is available; the task may have settled by itself meanwhile.
    void follow(std::uint64_t id) const {
        const std::string state(say("task follow " + std::to_string(id) + node()).at("state").as_string());
        EXPECT_TRUE(state == "delivering" || state == "settled") << state;
    }
};

/// Kills a worker of some party from time to time.
class Killer {
public:
    explicit Killer(std::uint32_t seed) : thread_([this, seed] { run(seed); }) {}
    ~Killer() { stop(); }
    unsigned stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
        return kills_;
    }

private:
    void run(std::uint32_t seed) {
        std::mt19937 random(seed);
        while (!stop_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100 + random() % 700));
            std::vector<int> workers;
            for (const int party : children_of(::getpid()))
                for (const int worker : workers_of(party)) workers.push_back(worker);
            if (workers.empty()) continue;
            constexpr int kSignals[] = {SIGKILL, SIGSEGV, SIGBUS, SIGABRT};
            if (::kill(workers[random() % workers.size()], kSignals[random() % 4]) == 0) ++kills_;
        }
    }

    std::atomic<bool> stop_ = false;
    unsigned kills_ = 0;  // Owned by the thread until it has ended.
    std::thread thread_;
};

std::uint32_t drawn_seed() {
    const char* const given = std::getenv("RETRACE_SEED");
    const std::uint32_t seed =
        given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    std::cout << "RETRACE_SEED=" << seed << std::endl;
    return seed;
}

TEST_F(WorkerMarket, AFraudIsConvictedAndNobodyHonestLosesWhileWorkersAreKilledAtRandom) {
    const std::uint32_t seed = drawn_seed();
    SCOPED_TRACE("RETRACE_SEED=" + std::to_string(seed));
    start({{Role::honest_solver, kHonest},
           {Role::cheating_solver, {"--price", "0.3", "--stake", "400000", "--cheat", "ulp"}},
           {Role::verifier_1, {}},
           {Role::verifier_2, {}},
           {Role::verifier_3, {}}},
          kWindows);
    if (HasFatalFailure()) return;
    const std::string task = compile(kTraining + " --steps 400 --checkpoint-every 50");
    Killer killer(seed);
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    follow(id);
    const unsigned kills = killer.stop();
    std::cout << kills << " workers were killed" << std::endl;
    EXPECT_GE(kills, 5u);
    read([&](const node::RemoteState& state) {
        const auto dispute = views::dispute(state, 1);
        ASSERT_TRUE(dispute.has_value());
        EXPECT_EQ(dispute->solver, network_->address(Role::cheating_solver));
        EXPECT_EQ(views::run(state, id, 0)->state, market::RunState::forfeited);
        EXPECT_EQ(views::run(state, id, 1)->solver, network_->address(Role::honest_solver));
    });
    expect_nobody_slashed_but({network_->address(Role::cheating_solver)});
    for (const Role role : {Role::honest_solver, Role::verifier_1, Role::verifier_2, Role::verifier_3})
        EXPECT_TRUE(network_->running(role)) << node::name_of(role);
    EXPECT_EQ(fetched_root(id), root_of(task));
}

TEST_F(WorkerMarket, AProgramThatCrashesAVerifiersWorkersCostsItThatSeatAndNoOtherDuty) {
    start({{Role::honest_solver, kHonest}, {Role::verifier_2, {}}, {Role::verifier_3, {}}}, kWindows);
    if (HasFatalFailure()) return;
    const std::string number = std::to_string(static_cast<std::uint32_t>(Role::verifier_1));
    const fs::path log = path("crashing.log");
    auto crashing = node::Process::start(
        CRASHING_PROGRAM,
        {"verifier", "--node", network_->node_url(), "--key", (path("network") / ("key-" + number + ".json")).string(),
         "--passphrase-file", (path("network") / "passphrase").string(), "--data-dir", path("crashing").string(),
         "--threads", "1"},
        log);
    ASSERT_TRUE(crashing.has_value());
    const ledger::Address itself = network_->address(Role::verifier_1);
    until("it has registered",
          [&](const node::RemoteState& state) { return views::verifier(state, itself).has_value(); });
    const std::string hostile =
        compile(kTraining + " --steps 20 --checkpoint-every 10 --seed " + std::to_string(kCrashingSeed), "hostile");
    // Limits how long others wait for a missing verdict.
    std::string terms = text_of(fs::path(hostile) / "task.toml");
    const std::string usual = "replay_blocks = 300";
    ASSERT_NE(terms.find(usual), std::string::npos) << terms;
    terms.replace(terms.find(usual), usual.size(), "replay_blocks = 60");
    std::ofstream(fs::path(hostile) / "task.toml") << terms;
    const std::uint64_t crashes = submit(hostile);
    ASSERT_NE(crashes, 0U);
    until("its workers die",
          [&](const node::RemoteState&) { return text_of(log).find("signal 11") != std::string::npos; });
    const std::size_t before = text_of(log).size();
    const std::uint64_t id = submit(compile(kTraining + " --steps 80 --checkpoint-every 10", "usual"));
    ASSERT_NE(id, 0U);
    follow(id);
    follow(crashes);
    const std::string said = text_of(log);
    EXPECT_THAT(said, HasSubstr("task " + std::to_string(crashes) + ": its worker process ended by signal 11"));
    EXPECT_THAT(said, HasSubstr(", 3 times\"\n"));
    EXPECT_THAT(said, HasSubstr("task " + std::to_string(crashes) + " is in backoff for "));
    EXPECT_THAT(said.substr(before), HasSubstr("verdict_revealed")) << tail(log);
    EXPECT_TRUE(crashing->running());
    auto rpc = client();
    const auto logs = rpc.logs(contracts::address_of(contracts::Contract::staking), 1, rpc.height().value());
    ASSERT_TRUE(logs.has_value());
    for (const auto& placed : *logs) {
        const auto slash = contracts::decode_event<contracts::Slashed>(placed.log);
        if (!slash) continue;
        EXPECT_EQ(slash->party, itself);
        EXPECT_NE(slash->reason, "beacon_missed") << "a signature that had nothing to do with the program";
    }
    // It has a verdict on each segment of the other task for which it was drawn.
    read([&](const node::RemoteState& state) {
        for (std::uint64_t audit = 1; audit <= views::audit_count(state); ++audit) {
            const auto seen = views::audit(state, audit);
            ASSERT_TRUE(seen.has_value());
            if (seen->task != id) continue;
            for (const auto& seat : seen->seats) {
                if (seat.auditor != itself) continue;
                EXPECT_EQ(seat.state, market::SeatState::matched) << "segment " << seen->segment;
            }
        }
    });
}

}  // namespace
}  // namespace retrace::testing
