// SPDX-License-Identifier: MIT
// A fixture with its own chain and real processes; a user's actions are commands.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <thread>

#include "contracts/records/views.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/demo/local_network.hpp"
#include "tests/functional/task_fixture.hpp"

namespace retrace::testing {

namespace json = boost::json;
namespace views = contracts::views;
using node::Role;

class MarketTest : public TaskTest {
protected:
    static constexpr std::uint64_t kBlockMs = 100;

    void SetUp() override { TaskTest::SetUp(); }
    void TearDown() override {
        if (HasFailure() && network_) {
            for (const char* name :
                 {"node", "honest solver", "cheating solver", "verifier 1", "verifier 2", "verifier 3"})
                std::cout << "--- " << name << "\n" << tail(network_->log_of(name));
        }
        network_.reset();
        TaskTest::TearDown();
    }

    using Party = std::pair<Role, std::vector<std::string>>;
    /// Starts a node and parties, and waits until they have registered. `params` are durations in blocks.
    void start(const std::vector<Party>& parties, const std::map<std::string, std::uint64_t>& params = {}) {
        auto network = node::LocalNetwork::assemble(path("network"), RETRACE_PROGRAM, kBlockMs, params);
        ASSERT_TRUE(network.has_value()) << network.error().message;
        network_ = std::move(*network);
        start_node();
        for (const auto& [role, arguments] : parties) start_party(role, arguments);
        until("everybody has registered", [&](const node::RemoteState& state) {
            return std::all_of(parties.begin(), parties.end(), [&](const Party& party) {
                const ledger::Address address = network_->address(party.first);
                return views::solver(state, address) || views::verifier(state, address);
            });
        });
    }
    void start_node() {
        const auto started = network_->start_node();
        ASSERT_TRUE(started.has_value()) << started.error().message;
    }
    void start_party(Role role, const std::vector<std::string>& arguments) {
        const auto started = network_->start(role, arguments);
        ASSERT_TRUE(started.has_value()) << started.error().message;
    }

    node::RpcClient client() const { return std::move(node::RpcClient::connect(network_->node_url())).value(); }
    void read(const std::function<void(const node::RemoteState&)>& look) const {
        auto rpc = client();
        const auto height = rpc.height();
        ASSERT_TRUE(height.has_value()) << height.error().message;
        const node::RemoteState state(rpc, *height);
        look(state);
        ASSERT_FALSE(state.failure().has_value()) << state.failure()->message;
    }
    /// Checks every new state until `holds`; fails after three minutes. `answer_late` takes two.
    void until(const char* what, const std::function<bool(const node::RemoteState&)>& holds) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(180);
        for (bool held = false; !held && !HasFatalFailure();) {
            read([&](const node::RemoteState& state) { held = holds(state); });
            if (held) return;
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "never: " << what;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }

    /// Options of the requester: node, key, store.
    std::string node() const { return " --node " + network_->node_url(); }
    std::string requester() const { return node() + " --dev-account 0"; }
    std::string store() const { return " --data-dir " + path("requester").string(); }

    /// Runs a command that must succeed, and returns its --json output; of a stream the last line.
    json::object say(const std::string& arguments) const {
        Ran ran = retrace(arguments + " --json");
        EXPECT_EQ(ran.status, 0) << arguments << "\n" << ran.err;
        while (ran.out.ends_with('\n')) ran.out.pop_back();
        return ran.status == 0 ? json::parse(ran.out.substr(ran.out.rfind('\n') + 1)).as_object() : json::object{};
    }
    /// Compiles an MLP on small images into `name`.
    std::string compile(const std::string& options, const std::string& name = "task") {
        if (!fs::exists(path("images"))) small_images(256);
        say("task compile mlp --data " + path("images").string() + " -o " + path(name).string() + " " + options);
        return path(name).string();
    }
    /// Gives the compiled task short times to replay, which are a part of every challenge window.
    static std::string with_short_replays(const std::string& folder, int blocks = 60) {
        const fs::path file = fs::path(folder) / "task.toml";
        std::string text = text_of(file);
        const std::string usual = "replay_blocks = 300";
        const std::size_t at = text.find(usual);
        EXPECT_NE(at, std::string::npos) << text;
        if (at != std::string::npos) text.replace(at, usual.size(), "replay_blocks = " + std::to_string(blocks));
        std::ofstream(file) << text;
        return folder;
    }
    std::uint64_t submit(const std::string& folder) const {
        const json::object posted = say("task submit " + folder + requester() + store());
        return posted.empty() ? 0 : posted.at("task").to_number<std::uint64_t>();
    }
    /// Root of the state in which the same training ends without a market.
    std::string root_of(const std::string& folder) const {
        return std::string(say("task run " + folder + " --local --threads 1").at("state_root").as_string());
    }
    std::string fetched_root(std::uint64_t task, const std::string& folder = "model") const {
        const json::object out =
            say("task fetch " + std::to_string(task) + node() + store() + " -o " + path(folder).string());
        return out.empty() ? "" : std::string(out.at("state_root").as_string());
    }

    static std::string text_of(const fs::path& file) {
        std::ifstream in(file);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }
    static std::string tail(const fs::path& file) {
        const std::string text = text_of(file);
        constexpr std::size_t kTail = 4000;
        return text.size() > kTail ? text.substr(text.size() - kTail) : text;
    }

    std::unique_ptr<node::LocalNetwork> network_;
};

}  // namespace retrace::testing
