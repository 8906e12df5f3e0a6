// SPDX-License-Identifier: MIT
// What a member does after its machine, its disk or its node failed it: it loses neither its lock nor its work.
#include <gmock/gmock.h>

#include <fstream>

#include "solver/commitments.hpp"
#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct MemberRecovery : ::testing::Test {
    TinyGroup task{kernels::UpdateKind::dense, 6};

    static void set_steps(MiniGroup& group) {
        for (std::uint32_t i = 0; i < group.members(); ++i) {
            group.party(i).config.member_steps = 3;
            group.party(i).start();
        }
    }
    /// Plays up to a round in which state `round` of each member is committed.
    static void play_to(MiniGroup& group, std::uint32_t round) {
        while (group.round < round) group.block();
    }
    static kernels::StateCommitment state(MiniGroup& group, std::uint32_t run, std::uint64_t index) {
        return group.party(run).states->commitment({7, run, index}).value();
    }
    /// Overwrites the files of the tensors that the state has and the one before it has not.
    static void damage(MiniGroup& group, std::uint32_t run, std::uint64_t index) {
        std::set<std::string> named;
        for (const Hash32& root : state(group, run, index).tensor_roots) named.insert(to_hex(view(root)));
        if (index != 0)
            for (const Hash32& root : state(group, run, index - 1).tensor_roots) named.erase(to_hex(view(root)));
        std::size_t damaged = 0;
        for (const auto& file :
             std::filesystem::directory_iterator(group.party(run).folder.path / "states" / "tensors")) {
            if (!named.contains(file.path().filename().string().substr(0, 64))) continue;
            std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << "not a tensor";
            ++damaged;
        }
        ASSERT_GT(damaged, 0u);
    }
    static std::filesystem::path manifest(MiniGroup& group, std::uint32_t run, std::uint64_t index) {
        return group.party(run).folder.path / "states" / "states" /
               ("7-" + std::to_string(run) + "-" + std::to_string(index) + ".state");
    }
    static solver::ReportView report(std::uint64_t id, solver::ReportKind kind, std::uint64_t index) {
        return {id, kind, index, 1, 0, 1000, 1};
    }
};

TEST_F(MemberRecovery, ADamagedNewestStateIsMadeAgain) {
    MiniGroup plain(task, 3), group(task, 3);
    set_steps(plain);
    set_steps(group);
    ASSERT_TRUE(plain.play());
    play_to(group, 3);
    damage(group, 1, 3);
    group.party(1).start();
    ASSERT_TRUE(group.play());
    EXPECT_EQ(group.records[3].entries.size(), 3u) << "it misses no round";
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(group.run(i).commitments == plain.run(i).commitments) << i;
    EXPECT_THAT(group.party(1).agent->take_problems(), IsEmpty());
}

TEST_F(MemberRecovery, OfSeveralDamagedStatesTheNewestIntactOneIsTheStart) {
    MiniGroup plain(task, 3), group(task, 3);
    set_steps(plain);
    set_steps(group);
    group.away = plain.away = {{1, 1}};  // Its next segment takes in two records.
    ASSERT_TRUE(plain.play());
    play_to(group, 4);
    damage(group, 1, 2);
    damage(group, 1, 3);
    std::filesystem::remove(manifest(group, 1, 3));
    group.party(1).start();
    ASSERT_TRUE(group.play());
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(group.run(i).commitments == plain.run(i).commitments) << i;
}

TEST_F(MemberRecovery, ALostFirstStateIsMadeAgain) {
    MiniGroup group(task, 2);
    set_steps(group);
    play_to(group, 1);
    const Hash32 root = state(group, 0, 0).root;
    std::filesystem::remove(manifest(group, 0, 0));
    group.party(0).start();
    group.open_roots[0] = {0};
    for (int i = 0; i < 3 && group.opened[0].empty(); ++i) group.block();
    ASSERT_FALSE(group.opened[0].empty());
    EXPECT_EQ(group.opened[0].back().opening.root, root);
}

TEST_F(MemberRecovery, ALostStateThatIsAskedForIsMadeAgainAndOpened) {
    MiniGroup group(task, 3);
    set_steps(group);
    play_to(group, 3);
    const Hash32 root = state(group, 1, 2).root;
    std::filesystem::remove(manifest(group, 1, 2));
    group.party(1).start();
    group.open_roots[1] = {2};
    for (int i = 0; i < 5 && group.opened[1].empty(); ++i) group.block();
    ASSERT_FALSE(group.opened[1].empty());
    EXPECT_EQ(group.opened[1].back().opening.root, root);
    ASSERT_TRUE(group.play());
}

TEST_F(MemberRecovery, AReportAboutADamagedStateIsAnswered) {
    MiniGroup group(task, 2);
    set_steps(group);
    play_to(group, 3);
    damage(group, 0, 2);
    group.reports[0] = {report(1, solver::ReportKind::state, 2)};
    for (int i = 0; i < 8 && group.answers.empty(); ++i) group.block();
    ASSERT_TRUE(group.answers.contains(1));
    const auto answer = solver::decode_tile_answer(group.answers[1]);
    EXPECT_EQ(answer->state->header.root(), state(group, 0, 2).root);
    const Hash32 inner = solver::CommittedPlan(task.plan).program(kernels::Phase::inner).root();
    EXPECT_TRUE(solver::verify_state_tile(*answer, inner, state(group, 0, 2).root, 1, 0));
}

TEST_F(MemberRecovery, ADisputeFindsADamagedState) {
    MiniGroup group(task, 2);
    set_steps(group);
    play_to(group, 3);
    damage(group, 0, 3);
    const auto found = group.party(0).agent->state_of(task.terms, 0, 0, {}, 3);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(kernels::commit_state(task.terms.program_root, *found, task.pool).root, state(group, 0, 3).root);
}

TEST_F(MemberRecovery, AfterARestartStatesAreOpenedWithoutPlanAndData) {
    MiniGroup group(task, 2);
    set_steps(group);
    play_to(group, 2);
    const auto programs = std::exchange(task.source.programs, {});
    const auto tensors = std::exchange(task.source.tensors, {});
    group.party(0).start();
    group.open_roots[0] = {1, 2};
    group.reports[0] = {report(1, solver::ReportKind::state, 1)};
    for (int i = 0; i < 4; ++i) group.block();
    EXPECT_EQ(group.opened[0].size(), 2u);
    EXPECT_TRUE(group.answers.contains(1));
    task.source.programs = programs;
    task.source.tensors = tensors;
    ASSERT_TRUE(group.play());
}

TEST_F(MemberRecovery, WithoutDataItAnswersFromThePlan) {
    MiniGroup group(task, 2);
    set_steps(group);
    play_to(group, 2);
    const auto tensors = std::exchange(task.source.tensors, {});
    group.party(0).start();
    group.reports[0] = {report(1, solver::ReportKind::message, 1 * 65'536 + 1),
                        report(2, solver::ReportKind::program, 0)};
    for (int i = 0; i < 6; ++i) group.block();
    EXPECT_TRUE(group.answers.contains(1));
    EXPECT_TRUE(group.answers.contains(2));
    task.source.tensors = tensors;
}

TEST_F(MemberRecovery, ANodeThatReplaysItsChainCostsNoState) {
    MiniGroup group(task, 2);
    set_steps(group);
    play_to(group, 3);
    GroupParty& party = group.party(0);
    const auto here = party.states->runs();
    ASSERT_EQ(here.size(), 1u);
    solver::SolverView old;
    old.height = 1;
    old.not_over = here;  // The ledger of this view does not have them yet.
    (void)party.agent->on_view(old);
    EXPECT_EQ(party.states->retained().size(), 4u);
    EXPECT_FALSE(state(group, 0, 1).tensor_roots.empty());
    old.not_over.clear();  // The run is over.
    (void)party.agent->on_view(old);
    EXPECT_TRUE(state(group, 0, 1).tensor_roots.empty());
}

TEST_F(MemberRecovery, WhatAStoppedStepHadBeforeItIsKept) {
    MiniGroup group(task, 2);
    set_steps(group);
    std::uint64_t steps = 0;
    bool stop = false;
    /// Counts inner steps; one that is to be stopped does not end.
    struct Counted final : solver::ProgramRunner {
        std::uint64_t& steps;
        bool& stop;
        MiniGroup& group;
        Counted(std::uint64_t& counted, bool& stops, MiniGroup& of, const kernels::Program& program,
                kernels::Inputs inputs, kernels::ThreadPool& pool)
            : ProgramRunner(program, std::move(inputs), pool), steps(counted), stop(stops), group(of) {}
        std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                            const kernels::StopToken& token) override {
            ++steps;
            if (steps == 3 && stop) {
                group.party(0).agent->preempt();
                state.tensors.clear();
                return std::nullopt;
            }
            return ProgramRunner::attempt(state, token);
        }
    };
    const std::size_t inner = task.terms.data_roots.size();
    group.party(0).runners = [&](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                                 kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        const bool is_inner = program.datasets == inner && inputs.datasets.front() != nullptr &&
                              inputs.datasets.front()->dtype == kernels::DType::u8;
        if (is_inner) return std::make_unique<Counted>(steps, stop, group, program, std::move(inputs), pool);
        return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), pool);
    };
    group.party(0).config.copy_every = {};
    group.party(0).start();
    stop = true;
    play_to(group, 1);
    EXPECT_EQ(group.records[0].entries.size(), 2u);
    EXPECT_EQ(group.records[0].entries[0].steps, 3u);
    EXPECT_EQ(steps, 4u) << "the third step alone is made again";
}

TEST_F(MemberRecovery, AGroupWhoseMessagesFindNoRoomIsDeclined) {
    MiniGroup group(task, 2);
    std::uint64_t asked = 0;
    group.party(1).config.room = [&](std::uint64_t bytes) -> Status<> {
        asked = bytes;
        return error("the disk is full");
    };
    group.party(1).start();
    std::string reason;
    group.filter = [&](std::uint32_t, std::vector<solver::SolverMove>& moves) {
        for (const auto& move : moves)
            if (const auto* decline = std::get_if<solver::Decline>(&move)) reason = decline->reason;
        std::erase_if(moves, [](const auto& move) { return std::holds_alternative<solver::Decline>(move); });
    };
    for (int i = 0; i < 5; ++i) group.block();
    EXPECT_THAT(reason, HasSubstr("the disk is full"));
    const solver::CommittedPlan plan(task.plan);
    std::uint64_t message = 0;
    for (const std::uint32_t number : task.plan.public_tensors) {
        const auto& record = plan.states().tensors[number];
        message += kernels::geometry(record.dims).elements() * kernels::size_of(record.dtype);
    }
    EXPECT_GE(asked, message * task.terms.group->members * task.terms.group->keep_rounds);
}

TEST_F(MemberRecovery, APlanIsCountedWithTheBuffersOfItsPrograms) {
    kernels::ThreadPool pool{1};
    solver::TaskCache cache(task.source, pool);
    const auto material = cache.group(task.terms);
    ASSERT_TRUE(material) << material.error().message;
    std::uint64_t tensors = 0, buffers = 0;
    (*material)->plan->for_each([&](const kernels::Program& program) {
        tensors += solver::memory_of(program);
        buffers += kernels::Executor(program, pool).planned_bytes();
    });
    ASSERT_GT(buffers, 0u);
    EXPECT_GE((*material)->bytes, tensors + buffers);
    solver::TaskCache small(task.source, pool, solver::honest_runners(), tensors + buffers - 1);
    const auto refused = small.group(task.terms);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("--memory"));
}

/// A solver that may take a seat of a group that is in its fourth round.
struct FreeSeats : MemberRecovery {
    FreeSeats() : group(task, 3) {
        set_steps(group);
        play_to(group, 3);
        joiner.source = std::make_unique<GroupSource>(group, 2);
        joiner.start();
        seat.terms = task.terms;
        seat.run = 1;
        seat.index = 3;
        const auto anchor = state(group, 1, 3);
        seat.entry.base = static_cast<std::uint32_t>(anchor.header.step >> kernels::kPlaceBits);
        seat.entry.anchor.assign(anchor.tensor_roots.begin(), anchor.tensor_roots.begin() + task.plan.shared);
    }
    /// The moves of a block in which the seat is free.
    std::vector<solver::SolverMove> look() {
        solver::SolverView seen;
        seen.height = ++height;
        seen.seats = {seat};
        auto out = joiner.agent->on_view(seen);
        if (out.work) joiner.agent->on_done(out.work->run());
        return out.moves;
    }
    bool joins(int blocks) {
        for (int i = 0; i < blocks; ++i)
            for (const auto& move : look())
                if (std::holds_alternative<solver::JoinGroup>(move)) return true;
        return false;
    }

    MiniGroup group;
    GroupParty joiner;
    solver::SeatView seat;
    std::uint64_t height = 100;
};

TEST_F(FreeSeats, AreTakenWhenPlanDataAndAnchorAreHere) {
    ASSERT_TRUE(joins(5));
    // The first state is made without the help of others.
    const auto programs = std::exchange(task.source.programs, {});
    group.tamper = [](std::uint32_t, kernels::Tensor& tensor) { tensor.data.clear(); };
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(group.party(i).states->forget(7, i));
    solver::SolverView seen;
    seen.height = ++height;
    solver::RunView run;
    run.terms = task.terms;
    run.run = 3;
    run.may_commit = true;
    solver::MemberView member;
    member.phase = solver::RoundPhase::training;
    member.round = 4;
    member.deadline = height + 50;
    member.base = member.entered = seat.entry.base;
    member.anchor = seat.entry.anchor;
    run.member = member;
    seen.runs = {run};
    bool committed = false;
    for (int i = 0; i < 4; ++i) {
        seen.height = ++height;
        auto out = joiner.agent->on_view(seen);
        for (const auto& move : out.moves)
            committed = committed || std::holds_alternative<solver::CommitCheckpoint>(move);
        if (out.work) joiner.agent->on_done(out.work->run());
    }
    EXPECT_TRUE(committed);
}

TEST_F(FreeSeats, AreNotTakenWithoutThePlan) {
    const auto programs = std::exchange(task.source.programs, {});
    EXPECT_FALSE(joins(60));
    EXPECT_THAT(joiner.agent->take_problems(), ::testing::Contains(HasSubstr("is not joined")));
    task.source.programs = programs;
    EXPECT_TRUE(joins(200));
}

TEST_F(FreeSeats, AreNotTakenWithoutTheSharedTensors) {
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(group.party(i).states->forget(7, i));
    EXPECT_FALSE(joins(60));
}

TEST_F(FreeSeats, AreNotTakenWithAnotherPlanThanTheTermsSay) {
    ++seat.terms.group->steps_max;
    EXPECT_FALSE(joins(60));
    EXPECT_THAT(joiner.agent->take_problems(), ::testing::Contains(HasSubstr("inner steps")));
}

TEST_F(FreeSeats, AreNotTakenByAMachineThatIsTooSlowOrHasNoRoom) {
    seat.replay_cost_max = 1;
    EXPECT_FALSE(joins(60));
    seat.replay_cost_max = 0;
    joiner.config.room = [](std::uint64_t) -> Status<> { return error("the disk is full"); };
    joiner.start();
    EXPECT_FALSE(joins(60));
}

TEST_F(FreeSeats, LeaveNothingBehindIfTheyAreNotTaken) {
    while (joiner.agent->ready_seats().empty()) look();
    EXPECT_THAT(joiner.messages->tasks(), ::testing::ElementsAre(7u));
    solver::SolverView seen;
    seen.height = height + 1'000;
    (void)joiner.agent->on_view(seen);
    EXPECT_THAT(joiner.messages->tasks(), IsEmpty());
    EXPECT_THAT(joiner.agent->ready_seats(), IsEmpty());
}

}  // namespace
}  // namespace retrace::test
