// SPDX-License-Identifier: MIT
// Options of requesters, solvers and verifiers that the demo does not use, each tested with real processes.
#include <gmock/gmock.h>

#include "kernels/builder/compose.hpp"
#include "kernels/builder/models.hpp"
#include "kernels/program/codec.hpp"
#include "tests/functional/market_fixture.hpp"

namespace retrace::testing {
namespace {

using market::DisputeKind;
using market::DisputeState;
using market::RunState;
using ::testing::HasSubstr;

const std::vector<std::string> kHonest{"--price", "0.5", "--stake", "400000"};
/// Sets the time that an honest machine may take for a replay of a compiled task.
void allow_replay_blocks(const std::string& folder, std::uint64_t blocks) {
    const std::string file = folder + "/task.toml";
    std::ifstream in(file);
    std::string line, text;
    while (std::getline(in, line))
        text += (line.starts_with("replay_blocks") ? "replay_blocks = " + std::to_string(blocks) : line) + "\n";
    in.close();
    std::ofstream(file) << text;
}
/// Bids less than the honest solver, and therefore wins.
std::vector<std::string> cheating(const std::string& cheat, const std::vector<std::string>& more = {}) {
    std::vector<std::string> out{"--price", "0.3", "--stake", "400000", "--cheat", cheat};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}
const std::string kTraining = " --hidden 16 --batch 16 --price-ceiling 1";

/// Like the output of `task compile mlp --hidden 16`, but each step reads a table of 5 MB.
kernels::Program large_program() {
    kernels::ModelSpec model;
    model.hidden = {16};
    model.input = {1, 28, 28};
    kernels::ModelSource source = kernels::source_of(model, kernels::Precision::i8x2);
    source.write = [inner = source.write](kernels::Tape& tape, kernels::Value x, std::uint64_t batch, bool training) {
        constexpr std::uint64_t kRows = 44'800, kColumns = 28;
        kernels::Graph& g = tape.graph();
        Bytes numbers(kRows * kColumns * 4);
        for (std::size_t i = 0; i < numbers.size(); i += 4) store_u32(numbers.data() + i, 0x37000000u + (i % 8191) * 4);
        const kernels::Value table = g.constant(kernels::DType::f32, {kRows, kColumns}, std::move(numbers));
        const kernels::Value row = kernels::reshape(g, kernels::sum_columns(g, table), {kColumns});
        return inner(tape, kernels::add(g, x, row), batch, training);
    };
    kernels::TrainingSpec training;
    training.samples = 256;
    training.batch = 16;
    training.keep_metrics = true;  // As `task compile` does.
    auto programs = kernels::build_training(source, training, 16, 16);
    EXPECT_TRUE(programs.has_value()) << (programs ? "" : programs.error().message);
    return std::move(programs->train);
}

using Market = MarketTest;

TEST_F(Market, ATaskOfFiveMegabytesBeginsWithGivenWeightsAndItsReceiptIsChecked) {
    const std::string options = kTraining + " --steps 40 --checkpoint-every 10";
    const std::string before = compile(options + " --seed 3", "before");
    say("task run " + before + " --local -o " + path("weights").string());
    const fs::path weights = path("weights") / "model.safetensors";
    const std::string task = compile(options + " --start " + weights.string());
    const Bytes program = kernels::encode(large_program());
    ASSERT_GT(program.size(), std::size_t{4} << 20) << "one message takes less";
    std::ofstream(fs::path(task) / "program.rtp", std::ios::binary)
        .write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));

    std::string terms = text_of(fs::path(task) / "task.toml");
    const std::size_t compiled = terms.find("[compiled]");  // What it says is of another program.
    terms.erase(compiled, std::min(terms.size(), terms.find("\n[", compiled)) - compiled);
    std::ofstream(fs::path(task) / "task.toml") << terms;

    start({{Role::honest_solver, kHonest}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    const std::string number = std::to_string(id);
    EXPECT_EQ(say("task follow " + number + node()).at("state").as_string(), "delivering");
    EXPECT_EQ(fetched_root(id), root_of(task));
    EXPECT_TRUE(fs::exists(path("model") / "model.safetensors"));

    const std::string receipt = (path("model") / "receipt.json").string();
    const json::object read = say("receipt verify " + receipt + node() + store());
    EXPECT_TRUE(read.at("valid").as_bool());
    EXPECT_EQ(read.at("states").to_number<int>(), 5);
    EXPECT_GE(read.at("audits").to_number<int>(), 2) << "the first and the last segment";
    EXPECT_EQ(read.at("replayed").to_number<int>(), 0);
    EXPECT_EQ(say("receipt verify " + receipt + node() + store() + " --replay 2").at("replayed").to_number<int>(), 2);

    const std::string demanding = node() + store() + " --require-audits";
    EXPECT_TRUE(say("receipt verify " + receipt + demanding).at("valid").as_bool());
    json::object forged = json::parse(text_of(receipt)).as_object();
    json::array audits = forged.at("audits").as_array();
    audits.erase(audits.begin());
    forged.at("audits") = audits;
    std::ofstream(path("lacks.json")) << json::serialize(forged);
    EXPECT_THAT(retrace("receipt verify " + path("lacks.json").string() + demanding).err,
                HasSubstr("the receipt lacks the audit of segment 0"));
    forged.at("seed") = 4;
    std::ofstream(path("forged.json")) << json::serialize(forged);
    EXPECT_EQ(retrace("receipt verify " + path("forged.json").string() + node() + store()).status, 1);

    say("task accept " + number + requester());
    EXPECT_EQ(say("task show " + number + node()).at("state").as_string(), "settled");
}

TEST_F(Market, ARunningTaskIsGivenASecondSolver) {
    // Windows are long, so that the first solver is still at work when the second joins.
    start({{Role::honest_solver, kHonest}, {Role::verifier_1, {}}, {Role::verifier_2, {}}}, {{"challenge_blocks", 50}});
    if (HasFatalFailure()) return;
    // Long enough that, even on a fast machine, a replica that wins has some segments left to be paid for; otherwise it
    // declines (contracts 12.7.9).
    constexpr std::uint64_t kSegments = 16;
    const std::string task = compile(kTraining + " --steps 32000 --checkpoint-every 2000");
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    until("it runs", [&](const node::RemoteState& state) {
        const auto run = views::run(state, id, 0);
        return run && run->state == RunState::running;
    });
    start_party(Role::cheating_solver, {"--price", "0.3", "--stake", "400000"});  // Honest here.
    until("it has registered", [&](const node::RemoteState& state) {
        return views::solver(state, network_->address(Role::cheating_solver)).has_value();
    });
    const json::object raised = say("task raise " + std::to_string(id) + " --replicas 2" + requester());
    EXPECT_NE(raised.at("escrow").as_string(), "0");
    EXPECT_EQ(say("task follow " + std::to_string(id) + node()).at("state").as_string(), "delivering");
    until("both are paid to the end", [&](const node::RemoteState& state) {
        const auto first = views::run(state, id, 0), second = views::run(state, id, 1);
        return first && second && first->paid == kSegments && second->paid == kSegments;
    });
    read([&](const node::RemoteState& state) {
        EXPECT_EQ(views::run(state, id, 1)->solver, network_->address(Role::cheating_solver));
        const auto a = views::checkpoint(state, id, 0, kSegments), b = views::checkpoint(state, id, 1, kSegments);
        ASSERT_TRUE(a && b && a->opened && b->opened);
        EXPECT_EQ(a->root, b->root);
        EXPECT_EQ(views::dispute_count(state), 0U);
    });
    EXPECT_EQ(fetched_root(id), root_of(task));
    const Ran again = retrace("task raise " + std::to_string(id) + " --replicas 2" + requester());
    EXPECT_EQ(again.status, 1) << "a task that is delivering is not raised";
}

TEST_F(Market, AVerifierThatWatchesFindsWhatNoAuditWasDrawnFor) {
    // Windows are long enough to replay twice on a busy machine.
    start({{Role::honest_solver, kHonest},
           {Role::cheating_solver, cheating("ulp", {"--cheat-segment", "2"})},
           {Role::verifier_1, {"--watch", "10000"}},
           {Role::verifier_2, {}},
           {Role::verifier_3, {}}},
          {{"challenge_blocks", 40}});
    if (HasFatalFailure()) return;
    const std::string task = compile(kTraining + " --steps 50 --checkpoint-every 10 --audit-percent 0.01");
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    EXPECT_EQ(say("task follow " + std::to_string(id) + node()).at("state").as_string(), "delivering");
    read([&](const node::RemoteState& state) {
        const auto dispute = views::dispute(state, 1);
        ASSERT_TRUE(dispute.has_value());
        EXPECT_EQ(dispute->kind, DisputeKind::challenge);
        EXPECT_EQ(dispute->state, DisputeState::solver_lost);
        EXPECT_EQ(dispute->segment, 2U);
        EXPECT_EQ(dispute->solver, network_->address(Role::cheating_solver));
        EXPECT_EQ(dispute->challenger, network_->address(Role::verifier_1));
        EXPECT_EQ(views::run(state, id, 0)->state, RunState::forfeited);
        EXPECT_EQ(views::run(state, id, 1)->solver, network_->address(Role::honest_solver));
    });
    EXPECT_EQ(fetched_root(id), root_of(task));
}

TEST_F(Market, ACommandThatFollowsATaskLivesThroughTheDeathOfItsNode) {
    start({{Role::honest_solver, kHonest}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::string task = compile(kTraining + " --steps 40 --checkpoint-every 10");
    auto follower = node::Process::start(RETRACE_PROGRAM,
                                         {"task", "submit", task, "--wait", "--node", network_->node_url(),
                                          "--dev-account", "0", "--data-dir", path("requester").string()},
                                         path("follower.log"));
    ASSERT_TRUE(follower.has_value());
    const auto says = [&](const char* what) {
        for (int i = 0; i < 1800 && text_of(path("follower.log")).find(what) == std::string::npos; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_THAT(text_of(path("follower.log")), HasSubstr(what));
    };
    says("running");
    network_->kill_node();
    says("waiting for the node at ");
    EXPECT_TRUE(follower->running());
    start_node();
    says("answers");
    for (int i = 0; i < 1800 && follower->running(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(follower->exit_status(), 0) << text_of(path("follower.log"));
    EXPECT_EQ(fetched_root(1), root_of(task));
}

TEST_F(Market, ASolverThatPaysForKeepingIsPaidBetweenAuditsAndItsSuccessorGoesOnFromThere) {
    std::vector<std::string> paying = kHonest;
    paying.push_back("--pay-for-retention");
    start({{Role::honest_solver, paying}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    // A solver commits at most one state per block, so the windows of the first ones end long before the audit of the
    // last one.
    // A window holds a replay (contracts 13.3): ten steps need a few blocks and not the default.
    const std::string task = compile(kTraining + " --steps 2000 --checkpoint-every 10 --audit-percent 0.01");
    allow_replay_blocks(task, 20);
    const std::uint64_t id = submit(task);
    ASSERT_NE(id, 0U);
    std::uint64_t kept = 0;
    until("a kept offer is paid for", [&](const node::RemoteState& state) {
        const auto offer = views::retention(state, 1);
        const auto run = views::run(state, id, 0);
        if (!offer || !run || offer->state != market::RetentionState::kept) return false;
        kept = offer->index;
        return run->paid >= kept;
    });
    if (HasFatalFailure()) return;
    read([&](const node::RemoteState& state) {
        const auto offer = views::retention(state, 1);
        const auto run = views::run(state, id, 0);
        const auto segment = views::segment(state, id, 0, kept - 1);
        const auto checkpoint = views::checkpoint(state, id, 0, kept);
        ASSERT_TRUE(offer && run && segment && checkpoint);
        EXPECT_EQ(segment->state, market::SegmentState::unaudited);
        EXPECT_EQ(run->state, RunState::running) << "the audit of its last segment is to come";
        EXPECT_EQ(checkpoint->keepers, std::vector{offer->keeper});
        EXPECT_TRUE(offer->keeper == network_->address(Role::verifier_1) ||
                    offer->keeper == network_->address(Role::verifier_2));
        EXPECT_EQ(offer->solver, network_->address(Role::honest_solver));
    });
    network_->kill(Role::honest_solver);
    start_party(Role::cheating_solver, kHonest);  // Honest here.
    until("a successor trains", [&](const node::RemoteState& state) {
        const auto run = views::run(state, id, 1);
        return run && run->state == RunState::running && run->next_state > run->first_state + 1;
    });
    read([&](const node::RemoteState& state) {
        const auto before = views::run(state, id, 0), after = views::run(state, id, 1);
        ASSERT_TRUE(before && after);
        EXPECT_EQ(before->state, RunState::forfeited);
        EXPECT_GE(before->paid, kept) << "what was paid stays paid";
        EXPECT_EQ(after->first_state, before->paid);
        EXPECT_EQ(after->first_root, views::checkpoint(state, id, 0, before->paid)->root);
    });
}

}  // namespace
}  // namespace retrace::testing
