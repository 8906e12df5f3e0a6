// SPDX-License-Identifier: MIT
// Members of a group, each an agent with its own stores, compute what LocalGroup defines: whatever is lost, late,
// restarted or stopped.
#include <gmock/gmock.h>

#include "solver/attacks/compute_attacks.hpp"
#include "solver/attacks/protocol_attacks.hpp"
#include "solver/commitments.hpp"
#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::test {
namespace {

using kernels::UpdateKind;
using solver::MemberTurn;
using ::testing::HasSubstr;

constexpr std::uint32_t kRounds = 6;

class Members : public ::testing::TestWithParam<UpdateKind> {
protected:
    TinyGroup task_{GetParam(), kRounds};

    /// Names the tensors of a state, whatever step its header has.
    static std::string tensors_of(const std::optional<kernels::StateCommitment>& state) {
        if (!state) return "no state";
        const Hash32 root = kernels::commit_roots(Hash32{}, 0, state->tensor_roots).root;
        return to_hex(view(root));
    }
    /// Each member's last state after these turns, as LocalGroup defines it.
    std::vector<std::string> defined(std::uint32_t members, const std::vector<std::vector<MemberTurn>>& turns) {
        solver::LocalGroup local = task_.local(members);
        local.set_max_age(task_.terms.group->max_age);
        for (const auto& turn : turns) local.play(turn);
        std::vector<std::string> out;
        for (std::uint32_t i = 0; i < members; ++i) {
            local.catch_up(i);
            out.push_back(tensors_of(local.commit(i)));
        }
        return out;
    }
    static std::string last(MiniGroup& group, std::uint32_t run) {
        return tensors_of(group.party(run).states->commitment({7, run, group.run(run).next_state - 1}));
    }
    /// The members whose messages each record has: "0 1 2 / 0 2 / ".
    static std::string entries(const MiniGroup& group) {
        std::string out;
        for (const solver::RecordView& record : group.records) {
            for (const auto& entry : record.entries) out += std::to_string(entry.run) + " ";
            out += "/ ";
        }
        return out;
    }
    /// What the members did, by the records; all messages that were sent are in them.
    static std::vector<std::vector<MemberTurn>> turns_of(const MiniGroup& group) {
        std::vector<std::vector<MemberTurn>> out;
        for (const solver::RecordView& record : group.records) {
            out.emplace_back(group.members(), MemberTurn{0, true});
            for (const auto& entry : record.entries) out.back()[entry.run] = {entry.steps, true, entry.age};
        }
        return out;
    }
    static void set_steps(MiniGroup& group, std::vector<std::uint32_t> steps) {
        for (std::uint32_t i = 0; i < group.members(); ++i) {
            group.party(i).config.member_steps = steps.at(i);
            group.party(i).start();
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Updates, Members, ::testing::Values(UpdateKind::dense, UpdateKind::sparse),
                         [](const auto& info) { return info.param == UpdateKind::dense ? "dense" : "sparse"; });

TEST_P(Members, ComputeWhatTheLocalGroupDefines) {
    MiniGroup group(task_, 3);
    set_steps(group, {4, 2, 3});
    ASSERT_TRUE(group.play());
    solver::LocalGroup local = task_.local(3);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
        EXPECT_EQ(group.records[round].entries.size(), 3u) << "round " << round;
        local.play({{4, true}, {2, true}, {3, true}});
        for (std::uint32_t i = 0; i < 3; ++i)
            EXPECT_EQ(group.party(i).states->commitment({7, i, round + 1})->root, local.commit(i).root)
                << "member " << i << ", round " << round;
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
        local.catch_up(i);
        EXPECT_EQ(group.roots_of(i).back(), local.commit(i).root) << "member " << i;
        // The ledger has the commitments of these very states.
        for (std::uint64_t state = 0; state < group.run(i).next_state; ++state) {
            const Hash32 salt = solver::checkpoint_salt(group.party(i).config.secret, 7, i, state);
            EXPECT_EQ(group.run(i).commitments[state],
                      solver::checkpoint_commitment(7, i, state, salt, group.roots_of(i)[state]));
        }
        EXPECT_THAT(group.party(i).agent->take_problems(), ::testing::IsEmpty());
    }
}

TEST_P(Members, CatchUpAfterAbsenceAndTakeBackLostMessages) {
    MiniGroup group(task_, 3);
    set_steps(group, {3, 3, 3});
    group.away = {{1, 1}, {2, 1}, {3, 1}, {5, 2}};
    group.hidden = {{2, 2}, {4, 0}};
    ASSERT_TRUE(group.play());
    const MemberTurn gone{0, true}, lost{3, false}, sent{3, true};
    // Of two messages, one that the other author lacks is listed by nobody.
    EXPECT_EQ(entries(group), "0 1 2 / 0 2 / 0 / 0 2 / 1 2 / 0 1 / ");
    const auto wanted = defined(3, {{sent, sent, sent},
                                    {sent, gone, sent},
                                    {sent, gone, lost},
                                    {sent, gone, sent},
                                    {lost, sent, sent},
                                    {sent, sent, gone}});
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(last(group, i), wanted[i]) << "member " << i;
}

TEST_P(Members, RestartAtAnyBlockChangesNothing) {
    MiniGroup plain(task_, 3);
    set_steps(plain, {4, 2, 3});
    ASSERT_TRUE(plain.play());
    MiniGroup group(task_, 3);
    set_steps(group, {4, 2, 3});
    const auto is_over = [&] { return group.run(0).finished && group.run(1).finished && group.run(2).finished; };
    for (int block = 0; block < 300 && !is_over(); ++block) {
        group.block();
        group.party(static_cast<std::uint32_t>(block) % 3).start();
    }
    ASSERT_TRUE(is_over());
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(group.run(i).commitments == plain.run(i).commitments) << i;
}

TEST_P(Members, AStateThatMissedItsRoundIsMadeAgainForTheNext) {
    MiniGroup group(task_, 3);
    set_steps(group, {3, 3, 3});
    // Member 1 makes its state of round 2, and its call never reaches the ledger; then it is restarted.
    group.filter = [&](std::uint32_t run, std::vector<solver::SolverMove>& moves) {
        if (run == 1 && group.round == 2)
            std::erase_if(moves, [](const auto& move) { return std::holds_alternative<solver::CommitRound>(move); });
    };
    while (group.round < 3) group.block();
    const auto stale = group.party(1).states->commitment({7, 1, 3});
    ASSERT_TRUE(stale.has_value());
    group.party(1).start();
    ASSERT_TRUE(group.play());
    const MemberTurn gone{0, true}, sent{3, true};
    const auto wanted = defined(3, {{sent, sent, sent},
                                    {sent, sent, sent},
                                    {sent, gone, sent},
                                    {sent, sent, sent},
                                    {sent, sent, sent},
                                    {sent, sent, sent}});
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(last(group, i), wanted[i]) << "member " << i;
    EXPECT_NE(group.roots_of(1)[3], stale->root);
}

TEST_P(Members, AStateThatMissedItsRoundIsSentInALaterOneThatTakesIt) {
    task_.terms.group->max_age = 1;
    MiniGroup group(task_, 3);
    set_steps(group, {3, 3, 3});
    group.filter = [&](std::uint32_t run, std::vector<solver::SolverMove>& moves) {
        if (run == 1 && group.round == 2)
            std::erase_if(moves, [](const auto& move) { return std::holds_alternative<solver::CommitRound>(move); });
    };
    while (group.round < 3) group.block();
    const auto made = group.party(1).states->commitment({7, 1, 3});
    ASSERT_TRUE(made.has_value());
    group.party(1).start();
    ASSERT_TRUE(group.play());
    EXPECT_EQ(group.roots_of(1)[3], made->root);
    EXPECT_EQ(entries(group), "0 1 2 / 0 1 2 / 0 2 / 0 1 2 / 0 1 2 / 0 1 2 / ");
    EXPECT_EQ(group.records[3].entries[1].age, 1u);
    EXPECT_EQ(group.records[3].entries[1].weight, 3u);
    EXPECT_EQ(group.records[3].total, 6u + 3u + 6u);
    const auto wanted = defined(3, turns_of(group));
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(last(group, i), wanted[i]) << "member " << i;
}

TEST_P(Members, ASlowMemberTrainsOnThroughTheRoundsThatTakeItsMessage) {
    task_.terms.group->max_age = 2;
    MiniGroup group(task_, 3);
    set_steps(group, {4, 4, 0});
    group.round_blocks = 4;
    // Each of its orders is preempted after one position.
    group.before_work = [&](std::uint32_t run) {
        if (run == 2 && !group.run(2).sent && group.phase != solver::RoundPhase::over) group.party(2).agent->preempt();
    };
    ASSERT_TRUE(group.play());
    const auto turns = turns_of(group);
    std::uint32_t oldest = 0;
    for (const auto& turn : turns) oldest = std::max(oldest, turn[2].age);
    EXPECT_GT(oldest, 0u) << entries(group);
    const auto wanted = defined(3, turns);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(last(group, i), wanted[i]) << "member " << i;
    EXPECT_THAT(group.party(2).agent->take_problems(), ::testing::IsEmpty());
}

TEST_P(Members, AnOldMessageThatNobodyGotIsTakenBack) {
    task_.terms.group->max_age = 1;
    MiniGroup group(task_, 3);
    set_steps(group, {3, 3, 3});
    group.filter = [&](std::uint32_t run, std::vector<solver::SolverMove>& moves) {
        if (run == 1 && group.round == 1)
            std::erase_if(moves, [](const auto& move) { return std::holds_alternative<solver::CommitRound>(move); });
    };
    group.hidden = {{2, 1}};
    ASSERT_TRUE(group.play());
    EXPECT_EQ(entries(group), "0 1 2 / 0 2 / 0 2 / 0 1 2 / 0 1 2 / 0 1 2 / ");
    auto turns = turns_of(group);
    turns[2][1] = {3, false, 1};
    const auto wanted = defined(3, turns);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(last(group, i), wanted[i]) << "member " << i;
}

TEST_P(Members, ALongAbsenceIsCaughtUpInSegmentsWithinTheLimits) {
    task_.terms.group->catch_up_max = 5;  // Two records of two messages.
    MiniGroup group(task_, 3);
    set_steps(group, {2, 2, 2});
    for (std::uint32_t round = 0; round < 5; ++round) group.away.insert({round, 2});
    ASSERT_TRUE(group.play());
    const MemberTurn gone{0, true}, sent{2, true};
    std::vector<std::vector<MemberTurn>> turns(5, {sent, sent, gone});
    turns.push_back({sent, sent, sent});
    const auto wanted = defined(3, turns);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(last(group, i), wanted[i]) << "member " << i;
    ASSERT_EQ(group.run(2).segments.size(), 4u);
    EXPECT_EQ(group.run(2).segments[0].span, (kernels::SegmentSpan{0, 2, 0, std::nullopt}));
    EXPECT_EQ(group.run(2).segments[1].span, (kernels::SegmentSpan{2, 4, 0, std::nullopt}));
    EXPECT_EQ(group.run(2).segments[2].span, (kernels::SegmentSpan{4, 5, 2, std::nullopt}));
}

TEST_P(Members, ALaterMemberBeginsWithTheSharedTensorsOfAnAnchor) {
    MiniGroup group(task_, 3);
    set_steps(group, {2, 2, 2});
    while (group.round < 3) group.block();
    const std::uint32_t joined = group.join(0, 3);
    group.party(joined).config.member_steps = 3;
    group.party(joined).start();
    EXPECT_EQ(group.run(joined).base, 2u);
    ASSERT_TRUE(group.play());
    solver::LocalGroup local = task_.local(3);
    const MemberTurn sent{2, true}, three{3, true}, gone{0, true};
    local.play({sent, sent, sent});
    local.play({sent, sent, sent});
    local.catch_up(1);
    local.join(1);
    local.play({sent, sent, sent, gone});
    for (std::uint32_t round = 3; round < kRounds; ++round) {
        EXPECT_EQ(group.records[round].entries.size(), 4u) << "round " << round;
        local.play({sent, sent, sent, three});
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
        local.catch_up(i);
        EXPECT_EQ(last(group, i), tensors_of(local.commit(i))) << "member " << i;
    }
}

TEST_P(Members, WorkThatIsStoppedGoesOnWithTheSameBits) {
    MiniGroup plain(task_, 2);
    set_steps(plain, {4, 3});
    ASSERT_TRUE(plain.play());
    MiniGroup group(task_, 2);
    set_steps(group, {4, 3});
    group.round_blocks = 100;
    std::uint64_t orders = 0;
    // Every second order is preempted before it begins its second position.
    group.before_work = [&](std::uint32_t run) {
        if (++orders % 2 == 0) group.party(run).agent->preempt();
    };
    ASSERT_TRUE(group.play());
    for (std::uint32_t i = 0; i < 2; ++i) EXPECT_TRUE(group.run(i).commitments == plain.run(i).commitments) << i;
}

TEST_P(Members, AMemberThatTakesLongerThanARoundToCatchUpComesNearerInEach) {
    MiniGroup group(task_, 3);
    set_steps(group, {2, 2, 2});
    group.round_blocks = 11;
    group.away = {{0, 2}, {1, 2}, {2, 2}};
    // Each of its orders is preempted after one position: fewer in a round than the missed records have.
    group.before_work = [&](std::uint32_t run) {
        if (run == 2 && group.round > 2 && group.phase == solver::RoundPhase::training) group.party(2).agent->preempt();
    };
    ASSERT_TRUE(group.play());
    EXPECT_EQ(group.records[3].entries.size(), 2u) << "it has taken in 12 positions at most";
    EXPECT_EQ(group.records[5].entries.size(), 3u);
    const MemberTurn gone{0, true}, sent{2, true};
    std::vector<std::vector<MemberTurn>> turns;
    for (const auto& record : group.records)
        turns.push_back(
            {sent, sent, record.entries.size() == 3 ? MemberTurn{record.entries.back().steps, true} : gone});
    const auto wanted = defined(3, turns);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(last(group, i), wanted[i]) << "member " << i;
}

TEST_P(Members, ASlowMachineMakesTheStepsThatFit) {
    MiniGroup group(task_, 2);
    set_steps(group, {0, 4});
    group.round_blocks = 9;
    // Each inner step of member 0 takes three blocks of a view that goes on meanwhile.
    struct Slow final : solver::ProgramRunner {
        MiniGroup& group;
        Slow(MiniGroup& of, const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool)
            : ProgramRunner(program, std::move(inputs), pool), group(of) {}
        std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                            const kernels::StopToken& stop) override {
            if (!program().datasets) return ProgramRunner::attempt(state, stop);
            solver::SolverView view = group.view_of(0);
            view.height = group.height += 3;
            (void)group.party(0).agent->on_view(view);
            return ProgramRunner::attempt(state, stop);
        }
    };
    const std::size_t inner = task_.terms.data_roots.size();
    group.party(0).runners = [&](const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
                                 kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        const bool is_inner = program.datasets == inner && inputs.datasets.front() != nullptr &&
                              inputs.datasets.front()->dtype == kernels::DType::u8;
        if (is_inner) return std::make_unique<Slow>(group, program, std::move(inputs), pool);
        return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), pool);
    };
    group.party(0).start();
    while (group.round < 1) group.block();
    ASSERT_EQ(group.records[0].entries.size(), 2u);
    EXPECT_GE(group.records[0].entries[0].steps, 1u);
    EXPECT_LT(group.records[0].entries[0].steps, 4u);
    EXPECT_EQ(group.records[0].entries[1].steps, 4u);
}

TEST_P(Members, AMessageOfAnotherShapeOrContentIsNotListed) {
    for (const int kind : {0, 1, 2}) {
        MiniGroup group(task_, 3);
        set_steps(group, {2, 2, 2});
        group.tamper = [&](std::uint32_t author, kernels::Tensor& tensor) {
            if (author != 1 || group.round != 1) return;
            if (kind == 0) tensor.dims.push_back(1);
            if (kind == 1) tensor.data.back() ^= 1;
            if (kind == 2) tensor.data.resize(tensor.data.size() / 2);
        };
        while (group.round < 3) group.block();
        ASSERT_EQ(group.records[1].entries.size(), 2u) << "kind " << kind;
        EXPECT_EQ(group.records[1].entries[0].run, 0u);
        EXPECT_EQ(group.records[1].entries[1].run, 2u);
        EXPECT_EQ(group.records[2].entries.size(), 3u);
        const auto problems = group.party(0).agent->take_problems();
        ASSERT_FALSE(problems.empty());
        EXPECT_THAT(problems[0], HasSubstr("the message of run 1"));
    }
}

TEST_P(Members, OpeningsProveSharedAndPublicTensors) {
    MiniGroup group(task_, 2);
    set_steps(group, {2, 2});
    while (group.round < 2) group.block();
    group.open_roots[0] = {0, 2};
    group.block();
    ASSERT_EQ(group.opened[0].size(), 2u);
    for (const solver::OpenMember& move : group.opened[0]) {
        const auto state = group.party(0).states->commitment({7, 0, move.opening.index});
        EXPECT_EQ(move.opening.root, state->root);
        EXPECT_EQ(move.header.root(), state->root);
        EXPECT_EQ(move.header.program, task_.terms.program_root);
        std::vector<std::uint32_t> wanted;
        for (std::uint32_t t = 0; t < task_.plan.shared; ++t) wanted.push_back(t);
        if (move.opening.index != 0)
            wanted.insert(wanted.end(), task_.plan.public_tensors.begin(), task_.plan.public_tensors.end());
        EXPECT_EQ(move.tensors, wanted);
        std::vector<merkle::IndexedLeaf> leaves;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            leaves.push_back({wanted[i], kernels::state_leaf(wanted[i], move.leaves.at(i))});
        EXPECT_TRUE(merkle::verify(move.header.tree_root, move.program.states, leaves, move.proof));
        if (move.opening.index == 2) {
            const auto& entry = group.records[1].entries[0];
            EXPECT_TRUE(
                std::equal(entry.tensors.begin(), entry.tensors.end(), move.leaves.begin() + task_.plan.shared));
        }
    }
}

TEST_P(Members, ReportsOfStatesMessagesAndDataAreAnswered) {
    MiniGroup group(task_, 2);
    set_steps(group, {2, 2});
    while (group.round < 3) group.block();
    const auto report = [](std::uint64_t id, solver::ReportKind kind, std::uint64_t index, std::uint32_t tensor) {
        return solver::ReportView{id, kind, index, tensor, 0, 1000, 1};
    };
    group.reports[0] = {report(1, solver::ReportKind::state, 2, 1), report(2, solver::ReportKind::data, 1, 0),
                        report(3, solver::ReportKind::message, 1 * 65'536 + 1, 0),
                        report(4, solver::ReportKind::message, 1 * 65'536 + 9, 0)};
    for (int i = 0; i < 12; ++i) group.block();
    ASSERT_TRUE(group.answers.contains(1) && group.answers.contains(2) && group.answers.contains(3));
    const auto state = solver::decode_tile_answer(group.answers[1]);
    EXPECT_EQ(state->state->header.root(), group.roots_of(0)[2]);
    const auto message = solver::decode_tile_answer(group.answers[3]);
    EXPECT_TRUE(solver::verify_tensor_tile(*message, group.records[1].entries[1].tensors[0], 0).has_value());
    EXPECT_FALSE(group.answers.contains(4));
}

TEST_P(Members, AttackersSendWhatTheyShouldNot) {
    using solver::ComputeAttack;
    MiniGroup plain(task_, 3);
    set_steps(plain, {3, 4, 3});
    while (plain.round < 3) plain.block();
    const auto message_of = [&](MiniGroup& group, std::uint32_t round, std::uint32_t run) {
        return group.records.at(round).entries.at(run).tensors;
    };
    for (const ComputeAttack attack : {ComputeAttack::ulp, ComputeAttack::wrong_data, ComputeAttack::poison_nan,
                                       ComputeAttack::poison_norm, ComputeAttack::copy_message}) {
        const std::string name(solver::slug(attack));
        MiniGroup group(task_, 3);
        group.party(1).runners = [&, attack](const auto& terms, const auto& program, auto inputs, auto& pool) {
            return solver::attacking_runners(attack, 1, group.party(1).messages.get())(terms, program, inputs, pool);
        };
        set_steps(group, {3, 4, 3});
        while (group.round < 3) group.block();
        EXPECT_TRUE(message_of(group, 0, 1) == message_of(plain, 0, 1)) << name << " is honest in round 0";
        EXPECT_TRUE(message_of(group, 1, 0) == message_of(plain, 1, 0)) << name;
        EXPECT_NE(group.roots_of(1)[2], plain.roots_of(1)[2]) << name;
        // One unit may be rounded away before it reaches the message.
        if (attack != ComputeAttack::ulp) {
            EXPECT_FALSE(message_of(group, 1, 1) == message_of(plain, 1, 1)) << name;
        }
        if (attack == ComputeAttack::copy_message) {
            EXPECT_TRUE(message_of(group, 1, 1) == message_of(group, 0, 0));
        }
    }
}

TEST_P(Members, MovesOfAttackersAreChanged) {
    using solver::ProtocolAttack;
    for (const ProtocolAttack attack : {ProtocolAttack::wrong_message, ProtocolAttack::list_falsely}) {
        MiniGroup group(task_, 3);
        set_steps(group, {2, 2, 2});
        solver::AttackingMoves moves_of_attacker(attack, group.party(1).config.secret);
        bool changed = false;
        group.hidden = {{0, 0}};
        group.filter = [&](std::uint32_t run, std::vector<solver::SolverMove>& moves) {
            if (run != 1) return;
            const auto before = moves;
            moves_of_attacker.filter(group.view_of(1), moves);
            for (std::size_t i = 0; i < moves.size(); ++i) {
                const auto* round = std::get_if<solver::CommitRound>(&moves[i]);
                if (round != nullptr && round->message != std::get<solver::CommitRound>(before[i]).message)
                    changed = true;
                const auto* list = std::get_if<solver::CommitHoldings>(&moves[i]);
                if (list != nullptr && list->bitmap != std::get<solver::CommitHoldings>(before[i]).bitmap)
                    changed = true;
            }
        };
        while (group.round < 1) group.block();
        EXPECT_TRUE(changed) << slug(attack);
    }
}

TEST_P(Members, AMemberWithoutAStoreOfMessagesDeclines) {
    MiniGroup group(task_, 2);
    group.party(1).config.messages = nullptr;
    group.party(1).agent = std::make_unique<solver::SolverAgent>(group.party(1).config, *group.party(1).task_cache,
                                                                 *group.party(1).states);
    std::string reason;
    group.filter = [&](std::uint32_t, std::vector<solver::SolverMove>& moves) {
        for (const auto& move : moves)
            if (const auto* decline = std::get_if<solver::Decline>(&move)) reason = decline->reason;
        std::erase_if(moves, [](const auto& move) { return std::holds_alternative<solver::Decline>(move); });
    };
    for (int i = 0; i < 5; ++i) group.block();
    EXPECT_THAT(reason, HasSubstr("no store of messages"));
}

}  // namespace
}  // namespace retrace::test
