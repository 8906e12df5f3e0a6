// SPDX-License-Identifier: MIT
// Every `--cheat` that the demo does not show, played to its end by real processes: checks the loss of the cheater, and
// that no other party loses anything. Each test has its own chain, with clocks short enough to run out in a test.
// test.
#include <gmock/gmock.h>

#include "market/odds.hpp"
#include "tests/functional/market_fixture.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::testing {
namespace {

using market::DisputeState;
using market::RunState;

const std::string kStake = "400000";
const std::vector<std::string> kHonestFlags{"--price", "0.5", "--stake", kStake};
const std::string kSmallTraining = " --hidden 16 --batch 16 --price-ceiling 1 --steps 40 --checkpoint-every 10";

std::map<std::string, std::uint64_t> short_chain() {
    return {{"epoch_blocks", 10}, {"moves", 25},       {"move_blocks", 3},       {"answer_blocks", 30},
            {"reports", 2},       {"open_blocks", 40}, {"checkpoint_blocks", 50}};
}

enum class End { convicted, forfeited, delivered };

class Cheats : public MarketTest {
protected:
    void play(const std::vector<std::string>& cheat, End end);

    using Stakes = std::map<Role, ledger::U256>;
    Stakes bonded() const {
        Stakes out;
        read([&](const node::RemoteState& state) {
            for (const Role role :
                 {Role::honest_solver, Role::cheating_solver, Role::verifier_1, Role::verifier_2, Role::verifier_3})
                out[role] = views::stake(state, network_->address(role)).bonded;
        });
        return out;
    }
    /// Like compile, but with short times, so that a cheater that makes auditors wait does not delay the tests for
    /// long.
    std::string compile_short(const std::string& options) {
        const std::string folder = compile(options);
        const fs::path file = fs::path(folder) / "task.toml";
        std::string text = text_of(file);
        const std::string usual = "replay_blocks = 300";
        const std::size_t at = text.find(usual);
        EXPECT_NE(at, std::string::npos) << text;
        if (at != std::string::npos) text.replace(at, usual.size(), "replay_blocks = 60");
        std::ofstream(file) << text;
        return folder;
    }
    /// Waits until the run of this number is over, or all of its work is done.
    void until_over(std::uint64_t task, std::uint32_t index) const {
        until("the run ends", [&](const node::RemoteState& state) {
            const auto run = views::run(state, task, index);
            return run && (run->state == RunState::forfeited || run->state == RunState::delivering);
        });
    }
};

/// A solver with these arguments bids less than the honest one, so it runs first.
void Cheats::play(const std::vector<std::string>& cheat, End end) {
    std::vector<std::string> cheating{"--price", "0.3", "--stake", kStake};
    cheating.insert(cheating.end(), cheat.begin(), cheat.end());
    start({{Role::honest_solver, kHonestFlags},
           {Role::cheating_solver, cheating},
           {Role::verifier_1, {}},
           {Role::verifier_2, {}},
           {Role::verifier_3, {}}},
          short_chain());
    if (HasFatalFailure()) return;
    const Stakes before = bonded();
    const std::string task = compile_short(kSmallTraining);
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    until_over(id, 0);
    if (HasFatalFailure()) return;
    const bool lost = end != End::delivered;
    read([&](const node::RemoteState& state) {
        const auto run = views::run(state, id, 0);
        const auto spec = views::spec(state, id);
        const auto params = views::params(state);
        ASSERT_TRUE(run && spec && params);
        EXPECT_EQ(run->solver, network_->address(Role::cheating_solver));
        EXPECT_EQ(run->state, lost ? RunState::forfeited : RunState::delivering);
        const ledger::U256 lock = *market::stake_floor(*params, *spec);
        EXPECT_EQ(views::stake(state, run->solver).bonded,
                  before.at(Role::cheating_solver) - (lost ? lock : ledger::U256{}));
        std::uint64_t convictions = 0;
        for (std::uint64_t i = 1; i <= views::dispute_count(state); ++i) {
            const DisputeState ended = views::dispute(state, i)->state;
            convictions += ended == DisputeState::solver_lost ? 1 : 0;
            EXPECT_NE(ended, DisputeState::challenger_lost) << "an honest verifier is right";
        }
        EXPECT_EQ(convictions != 0, end == End::convicted);
        // Fees and shares are paid in coins, so the stakes of the other parties do not change.
        for (const Role role : {Role::honest_solver, Role::verifier_1, Role::verifier_2, Role::verifier_3})
            EXPECT_EQ(views::stake(state, network_->address(role)).bonded, before.at(role)) << name_of(role);
    });
    EXPECT_EQ(say("task follow " + std::to_string(id) + node()).at("state").as_string(), "delivering");
    EXPECT_EQ(fetched_root(id), root_of(task));
}

struct SolverCase {
    const char* cheat;
    End end;
};
class CheatingSolver : public Cheats, public ::testing::WithParamInterface<SolverCase> {};

TEST_P(CheatingSolver, LosesItsLockOrNothingAndTheTaskIsDone) { play({"--cheat", GetParam().cheat}, GetParam().end); }

INSTANTIATE_TEST_SUITE_P(
    Table, CheatingSolver,
    ::testing::Values(SolverCase{"data_order", End::convicted}, SolverCase{"hyper_parameter", End::convicted},
                      SolverCase{"commit_early", End::convicted}, SolverCase{"withhold", End::forfeited},
                      SolverCase{"hide", End::forfeited}, SolverCase{"answer_late", End::forfeited},
                      SolverCase{"wrong_tiles", End::forfeited}, SolverCase{"flood", End::delivered},
                      SolverCase{"lie_steps", End::convicted}, SolverCase{"lie_state", End::convicted},
                      SolverCase{"lie_trace", End::convicted}, SolverCase{"lie_tiles", End::convicted},
                      SolverCase{"lie_links", End::convicted}, SolverCase{"lie_tile", End::convicted},
                      SolverCase{"lie_header", End::convicted}, SolverCase{"stop_in_dispute", End::convicted}),
    [](const auto& info) { return std::string(info.param.cheat); });

/// Returns the answer of the server on this port.
std::string answer_of(std::uint16_t port, const std::string& request_line) {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string request = request_line + "\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    std::string answer;
    if (::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        ::send(client, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
        std::array<char, 4096> buffer;
        for (ssize_t size; (size = ::recv(client, buffer.data(), buffer.size(), 0)) > 0;)
            answer.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(client);
    return answer;
}

/// All served data arrives and is correct, but in pieces of so many bytes, ten times a second: far below the minimum rate
/// of a fetch of states (node/agents/agent_process.cpp), or above it, so that only the auditors' clock ends the fetch.
class Dripping : public Cheats, public ::testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Rates, Dripping, ::testing::Values(256, 1024),
                         [](const auto& info) { return info.param == 256 ? "slowly" : "faster"; });

TEST_P(Dripping, ASolverMakesNoAuditorMissItsVerdict) {
    const auto behind = node::free_port();
    ASSERT_TRUE(behind.has_value());
    std::atomic<bool> over{false};
    std::atomic<int> pieces{0};
    node::test::HostilePeer peer([&](const std::string& line, const node::test::HostilePeer::Send& send) {
        const std::string answer = answer_of(*behind, line);
        for (std::size_t at = 0; at < answer.size() && !over; at += GetParam(), ++pieces) {
            if (!send(answer.substr(at, GetParam()))) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
    });
    play({"--port", std::to_string(*behind), "--endpoint", peer.url()}, End::forfeited);
    over = true;
    EXPECT_GT(pieces, 10) << "somebody was kept waiting";
    read([&](const node::RemoteState& state) {
        for (const Role role : {Role::verifier_1, Role::verifier_2, Role::verifier_3})
            EXPECT_EQ(views::verifier(state, network_->address(role))->missed, 0u) << name_of(role);
    });
}

struct VerifierCase {
    const char* cheat;
    bool loses_stake;
};
class CheatingVerifier : public Cheats, public ::testing::WithParamInterface<VerifierCase> {};

TEST_P(CheatingVerifier, CostsNobodyButItself) {
    start({{Role::honest_solver, kHonestFlags},
           {Role::verifier_1, {}},
           {Role::verifier_2, {}},
           {Role::verifier_3, {"--cheat", GetParam().cheat}}},
          short_chain());
    if (HasFatalFailure()) return;
    const Stakes before = bonded();
    const std::string task = compile(kSmallTraining + " --auditors 3");
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    EXPECT_EQ(say("task follow " + std::to_string(id) + node()).at("state").as_string(), "delivering");
    EXPECT_EQ(fetched_root(id), root_of(task));
    const Stakes after = bonded();
    for (const Role role : {Role::honest_solver, Role::verifier_1, Role::verifier_2})
        EXPECT_EQ(after.at(role), before.at(role)) << name_of(role);
    EXPECT_EQ(after.at(Role::verifier_3) < before.at(Role::verifier_3), GetParam().loses_stake);
    read([&](const node::RemoteState& state) {
        EXPECT_EQ(views::run(state, id, 0)->state, RunState::delivering);
        for (std::uint64_t i = 1; i <= views::dispute_count(state); ++i)
            EXPECT_NE(views::dispute(state, i)->state, DisputeState::solver_lost) << "the solver was right";
    });
}

INSTANTIATE_TEST_SUITE_P(Table, CheatingVerifier,
                         ::testing::Values(VerifierCase{"copier", true}, VerifierCase{"guesser", true},
                                           VerifierCase{"never_reveals", true}, VerifierCase{"no_show", true},
                                           VerifierCase{"false_reporter", false}, VerifierCase{"griefer", false}),
                         [](const auto& info) { return std::string(info.param.cheat); });

}  // namespace
}  // namespace retrace::testing
