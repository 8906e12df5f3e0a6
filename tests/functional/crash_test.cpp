// SPDX-License-Identifier: MIT
// `kill -9` of node, solver and verifiers at random moments: after restarts with the same folders they finish the task
// with the bits of an undisturbed run, no honest party is punished for fraud or silence, and no coin is lost.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "contracts/calls/encode.hpp"
#include "ledger/state/supply.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/requester.hpp"
#include "node/cmd/demo/local_network.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/compile.hpp"
#include "node/tasks/data/import.hpp"
#include "node/tasks/evaluate.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::node {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;
namespace views = contracts::views;

constexpr std::size_t kAuditors = 2;  // of each audited segment
constexpr unsigned kKills = 8;
constexpr double kCrashTimeout = 110;  // Seconds.
constexpr std::uint64_t kBlockMs = 200, kSteps = 600, kInterval = 50, kSeed = 11;
const std::vector<std::string> kHonestSolver{"--price", "0.5", "--stake", "200"};
const std::vector<std::string> kCheating{"--price", "0.3", "--stake", "200", "--cheat", "ulp"};

/// Noise with labels: the result of the training does not matter, only that it is the same.
Result<DataSet> noise() {
    std::mt19937 random(3);
    kernels::Tensor x = kernels::zeros(kernels::DType::u8, {4'000, 256});
    kernels::Tensor y = kernels::zeros(kernels::DType::u8, {4'000});
    for (std::uint8_t& element : x.data) element = static_cast<std::uint8_t>(random());
    for (std::uint8_t& label : y.data) label = static_cast<std::uint8_t>(random() % 10);
    auto data = make_xy(std::move(x), &y);
    if (data) data->name = "noise";
    return data;
}

Result<TaskFile> compile(const fs::path& folder) {
    RETRACE_TRY(data, noise());
    CompileRequest request;
    request.task.name = "crash test";
    request.task.steps = kSteps;
    request.task.interval = kInterval;
    request.task.seed = kSeed;
    request.task.price_ceiling = *parse_coins("1");
    request.task.audit_bp = 10'000;
    request.task.checkpoint_blocks = 100;
    request.task.replay_blocks = 100;
    request.task.finish_blocks = 5'000;
    request.out = folder;
    return compile_task(request, data, nullptr);
}

/// Root of the state after the last step of an undisturbed run.
Result<Hash32> undisturbed(const TaskFile& task) {
    kernels::ThreadPool pool;
    RETRACE_TRY(program, read_program(task.program));
    RETRACE_TRY(initialiser, read_program(*task.initialiser));
    RETRACE_TRY(data, load_dataset(task.data));
    kernels::Inputs inputs{task.seed, {}};
    for (const DataSet::Part& part : data.parts) inputs.datasets.push_back(&part.tensor);
    solver::ProgramRunner init(initialiser, kernels::Inputs{task.seed, {}}, pool);
    kernels::State state = solver::blank_state(initialiser);
    init.step(state);
    state.step = 0;
    const kernels::CommittedProgram committed(program);
    solver::ProgramRunner runner(program, inputs, pool);
    const solver::Schedule schedule{task.steps, task.interval};
    solver::Trainer trainer(committed, runner, schedule, pool);
    Hash32 last;
    RETRACE_CHECK(trainer.run(
        state, schedule.segments(), [](const solver::Progress&) { return true; },
        [&](std::uint64_t, const kernels::StateCommitment& commitment, const kernels::State&) -> Status<> {
            last = commitment.root;
            return Unit{};
        }));
    return last;
}

class Crash : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("retrace_crash_" + std::to_string(::getpid()));
        const char* given = std::getenv("RETRACE_SEED");
        seed_ =
            given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
        random_.seed(seed_);
        std::cout << "RETRACE_SEED=" << seed_ << std::endl;
        auto task = compile(folder_ / "task");
        ASSERT_TRUE(task.has_value()) << task.error().message;
        task_ = std::move(*task);
        auto network = LocalNetwork::assemble(folder_ / "network", RETRACE_PROGRAM, kBlockMs);
        ASSERT_TRUE(network.has_value()) << network.error().message;
        network_ = std::move(*network);
        start_ = Clock::now();
    }
    void TearDown() override {
        network_.reset();
        std::error_code ignored;
        if (!HasFailure())
            fs::remove_all(folder_, ignored);
        else
            std::cout << "everything is kept in " << folder_ << std::endl;
    }

    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    void say(const std::string& line) const { std::cout << seconds() << " s  " << line << std::endl; }

    void start_party(Role role) {
        const auto started = network_->start(role, parties_.at(role));
        ASSERT_TRUE(started.has_value()) << started.error().message;
    }
    void start_node() {
        const auto started = network_->start_node();
        ASSERT_TRUE(started.has_value()) << started.error().message;
    }
    RpcClient client() const { return std::move(RpcClient::connect(network_->node_url())).value(); }

    void start_everybody() {
        start_node();
        for (const auto& [role, arguments] : parties_) start_party(role);
        wait_for_registrations();
    }

    void wait_for_registrations() {
        const auto end = Clock::now() + 30s;
        for (auto rpc = client();;) {
            const RemoteState state(rpc, rpc.height().value());
            std::size_t there = 0;
            for (const auto& [role, arguments] : parties_) {
                const ledger::Address party = network_->address(role);
                there += views::solver(state, party) || views::verifier(state, party) ? 1 : 0;
            }
            // Members can be drawn from the epoch after the next on; no solver bids before that (contracts 14.12.1).
            const auto params = views::params(state);
            const bool drawn = params && views::possible_auditors(state, *params, {}, kAuditors) >= kAuditors;
            if (there == parties_.size() && drawn) return;
            ASSERT_LT(Clock::now(), end) << "the parties did not register";
            std::this_thread::sleep_for(100ms);
        }
    }

    void post() {
        auto rpc = client();
        const ledger::SecretKey key = network_->key(Role::requester);
        Submitter submitter(rpc, key, rpc.chain_id().value());
        auto store = Store::open(folder_ / "requester");
        ASSERT_TRUE(store.has_value());
        ChainReader chain(rpc);
        const auto posted = post_task(*task_, **store, submitter, chain, [](const ArtifactClient::Progress&) {});
        ASSERT_TRUE(posted.has_value()) << posted.error().message;
        id_ = posted->id;
    }

    /// Kills the node, the solver or a verifier, and restarts it at once.
    void kill_somebody() {
        const std::size_t victim = random_() % (parties_.size() + 1);
        if (victim == parties_.size()) {
            say("kill -9 node");
            network_->kill_node();
            return start_node();
        }
        const Role role = std::next(parties_.begin(), static_cast<std::ptrdiff_t>(victim))->first;
        say("kill -9 " + std::string(name_of(role)));
        network_->kill(role);
        start_party(role);
    }

    /// A party gives up if the node dies during its start; this restarts it, as a supervisor would.
    void restart_ended_processes() {
        for (const auto& [role, arguments] : parties_) {
            if (network_->running(role)) continue;
            say(std::string(name_of(role)) + " had ended, started again: " + last_words(role));
            start_party(role);
        }
    }

    std::string last_words(Role role) const {
        std::ifstream log(network_->log_of(std::string(name_of(role))));
        std::string line, last;
        while (std::getline(log, line)) last = line;
        return last;
    }

    /// Follows the task until its model is available and `wanted` processes were killed. If the task will be disputed,
    /// half of the kills are reserved for the dispute.
    void follow_and_kill(bool disputed, unsigned wanted = kKills) {
        unsigned kills = 0;
        auto next = Clock::now();
        for (;;) {
            auto rpc = client();
            const RemoteState state(rpc, rpc.height().value());
            const auto task = views::task(state, id_);
            ASSERT_TRUE(task.has_value()) << "the task is gone";
            ASSERT_FALSE(market::is_final(task->state)) << "the task ended as " << market::slug(task->state);
            if (task->state == market::TaskState::delivering && kills >= wanted) break;
            ASSERT_LT(seconds(), kCrashTimeout) << market::slug(task->state);
            restart_ended_processes();
            const bool wait_for_dispute = disputed && kills >= kKills / 2 && views::dispute_count(state) == 0;
            // Bids are taken for a second: who is down for it cannot bid, and a task without bids expires.
            const bool auction = task->state == market::TaskState::bidding;
            if (kills < wanted && !auction && !wait_for_dispute && Clock::now() >= next) {
                kill_somebody();
                if (HasFatalFailure()) return;
                ++kills;
                next = Clock::now() + std::chrono::milliseconds(300 + random_() % (disputed ? 1'000 : 2'000));
            }
            std::this_thread::sleep_for(50ms);
        }
        say("delivering after " + std::to_string(kills) + " kills");
    }

    void start_and_post() {
        start_everybody();
        if (HasFatalFailure()) return;
        post();
        if (HasFatalFailure()) return;
        say("posted");
    }

    /// Checks that the root of the delivered model is the undisturbed run's.
    void check_model(const RemoteState& state, const TaskStatus& status) const {
        const auto wanted = undisturbed(*task_);
        ASSERT_TRUE(wanted.has_value()) << wanted.error().message;
        const auto last = views::checkpoint(state, id_, status.runs.back().index, status.spec.segments());
        ASSERT_TRUE(last && last->opened);
        EXPECT_EQ(to_hex(view(last->root)), to_hex(view(*wanted)));
    }

    void check_supply(const RemoteState& state) const {
        ledger::U256 total;
        for (std::uint32_t i = 0; i < 10; ++i) total += state.account(network_->address(Role{i})).balance;
        for (const contracts::Contract contract : contracts::kContracts)
            total += state.account(contracts::address_of(contract)).balance;
        total += state.account(ledger::Address{}).balance;
        EXPECT_EQ(total + ledger::burned(state), ledger::minted(state)) << "supply is not conserved";
    }

    /// A verifier that was down for a whole epoch is fined for its missing reveal of the beacon, as the rules say. Any
    /// other penalty would punish honest parties.
    void check_slashes(RpcClient& rpc, std::uint64_t height, const ledger::Address& cheater) const {
        const auto logs = rpc.logs(contracts::address_of(contracts::Contract::staking), 1, height);
        ASSERT_TRUE(logs.has_value()) << logs.error().message;
        for (const PlacedLog& placed : *logs) {
            const auto slash = contracts::decode_event<contracts::Slashed>(placed.log);
            if (!slash) continue;
            say("block " + std::to_string(placed.height) + " slash " + slash->reason);
            if (slash->party == cheater) continue;
            EXPECT_EQ(slash->reason, "beacon_missed");
        }
    }

    std::map<Role, std::vector<std::string>> parties_{
        {Role::honest_solver, kHonestSolver}, {Role::verifier_1, {}}, {Role::verifier_2, {}}, {Role::verifier_3, {}}};
    fs::path folder_;
    std::uint32_t seed_ = 0;
    std::mt19937 random_;
    std::optional<TaskFile> task_;
    std::unique_ptr<LocalNetwork> network_;
    Clock::time_point start_;
    std::uint64_t id_ = 0;
};

TEST_F(Crash, ATaskIsFinishedThroughKillsWithTheSameBits) {
    SCOPED_TRACE("RETRACE_SEED=" + std::to_string(seed_));
    start_and_post();
    if (HasFatalFailure()) return;
    follow_and_kill(false);
    if (HasFatalFailure()) return;

    auto rpc = client();
    const RemoteState state(rpc, rpc.height().value());
    ChainReader chain(rpc);
    const auto status = task_status(chain, id_);
    ASSERT_TRUE(status.has_value()) << status.error().message;
    EXPECT_EQ(status->runs.size(), 1U) << "the solver was replaced, although it came back in time";
    EXPECT_EQ(views::dispute_count(state), 0U);
    check_model(state, *status);
    check_supply(state);
    check_slashes(rpc, state.height(), {});
    EXPECT_FALSE(state.failure().has_value());
}

TEST_F(Crash, ADisputeEndsWithTheConvictionThroughKills) {
    SCOPED_TRACE("RETRACE_SEED=" + std::to_string(seed_));
    parties_[Role::cheating_solver] = kCheating;
    start_and_post();
    if (HasFatalFailure()) return;
    follow_and_kill(true);
    if (HasFatalFailure()) return;

    auto rpc = client();
    const RemoteState state(rpc, rpc.height().value());
    ChainReader chain(rpc);
    const auto status = task_status(chain, id_);
    ASSERT_TRUE(status.has_value()) << status.error().message;
    const ledger::Address cheater = network_->address(Role::cheating_solver);
    EXPECT_EQ(status->runs.front().solver, cheater);
    EXPECT_EQ(status->runs.front().state, market::RunState::forfeited);
    EXPECT_EQ(status->runs.back().solver, network_->address(Role::honest_solver));
    // Verifiers that restart at the same time may each dispute the run: one of them convicts, and the disputes of the
    // others are withdrawn with the run (contracts/decisions/001).
    unsigned convictions = 0;
    for (std::uint64_t id = 1; id <= views::dispute_count(state); ++id) {
        const auto dispute = views::dispute(state, id);
        ASSERT_TRUE(dispute.has_value()) << id;
        EXPECT_EQ(dispute->solver, cheater) << id;
        if (dispute->state == market::DisputeState::solver_lost)
            ++convictions;
        else
            EXPECT_EQ(dispute->state, market::DisputeState::withdrawn) << id;
    }
    EXPECT_EQ(convictions, 1U);
    check_model(state, *status);
    check_supply(state);
    check_slashes(rpc, state.height(), cheater);
    EXPECT_FALSE(state.failure().has_value());
}

/// The first solver dies permanently once some of its work is paid; the second one has another instruction set, and
/// starts where verified work ends.
TEST_F(Crash, ASolverKilledForGoodIsReplacedOnOtherSettings) {
    const Role first = Role::cheating_solver;  // In name only: it works honestly until it is killed.
    // A window holds a replay (contracts 13.3), so a short one lets the first segments be paid while there is work
    // left.
    task_->replay_blocks = 20;
    // The other one computes without vector instructions. A solver that a busy machine has slowed down declines what
    // could outlast its clock, so a segment is a fifth of the others'.
    task_->interval = kInterval / 5;
    task_->steps = kSteps / 5;
    parties_[first] = {"--price", "0.3", "--stake", "200"};
    start_node();
    ::setenv("RETRACE_CPU", "scalar", 1);
    start_party(Role::honest_solver);
    ::unsetenv("RETRACE_CPU");
    for (const auto& [role, arguments] : parties_)
        if (role != Role::honest_solver) start_party(role);
    if (HasFatalFailure()) return;
    wait_for_registrations();
    post();
    if (HasFatalFailure()) return;
    auto rpc = client();
    for (bool paid = false; !paid; std::this_thread::sleep_for(50ms)) {
        ASSERT_LT(seconds(), kCrashTimeout) << "the first solver was paid nothing";
        const RemoteState state(rpc, rpc.height().value());
        const auto run = views::run(state, id_, 0);
        paid = run && run->paid > 0;
    }
    network_->kill(first);
    parties_.erase(first);
    say("kill -9 the first solver, for good");
    follow_and_kill(false, 0);
    if (HasFatalFailure()) return;

    const RemoteState state(rpc, rpc.height().value());
    ChainReader chain(rpc);
    const auto status = task_status(chain, id_);
    ASSERT_TRUE(status.has_value()) << status.error().message;
    ASSERT_EQ(status->runs.size(), 2U);
    EXPECT_EQ(status->runs[0].solver, network_->address(first));
    EXPECT_EQ(status->runs[0].state, market::RunState::forfeited);
    EXPECT_EQ(status->runs[1].solver, network_->address(Role::honest_solver));
    EXPECT_GE(status->runs[1].first_state, 1U) << "what was paid is not computed again";
    EXPECT_EQ(status->runs[1].first_state, status->runs[0].paid);
    check_model(state, *status);
    check_supply(state);
    check_slashes(rpc, state.height(), network_->address(first));
}

}  // namespace
}  // namespace retrace::node
