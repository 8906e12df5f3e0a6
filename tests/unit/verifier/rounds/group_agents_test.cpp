// SPDX-License-Identifier: MIT
// Verifier agents on the segments of a group's members: audits, watching, first states, messages that are not served,
// disputes.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/solver/tiny_task.hpp"
#include "tests/unit/verifier/game/duel.hpp"
#include "tests/unit/verifier/rounds/group_world.hpp"
#include "verifier/agent/agent.hpp"

namespace retrace::test {
namespace {

using namespace verifier;

/// A verifier, or the side of a solver in disputes, with stores of its own.
struct GroupParty {
    TemporaryDirectory directory;
    std::unique_ptr<solver::CheckpointStore> states;
    std::unique_ptr<solver::MessageStore> messages;
    std::unique_ptr<solver::TaskCache> task_cache;

    GroupParty(GroupWorld& world, MemorySource& source, solver::RunnerFactory runners = solver::honest_runners()) {
        states = solver::CheckpointStore::open(directory.path / "states").value();
        messages = solver::MessageStore::open(directory.path / "messages").value();
        task_cache = std::make_unique<solver::TaskCache>(source, world.pool, std::move(runners));
    }
};

/// Runners of which those of one phase's program lie.
solver::RunnerFactory lying_runners(const GroupWorld& world, const Lie& lie) {
    return [root = world.committed->program(lie.phase).root(), lie](
               const solver::TaskTerms&, const kernels::Program& program, kernels::Inputs inputs,
               kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        if (kernels::CommittedProgram(program).root() == root)
            return std::make_unique<LyingRunner>(program, std::move(inputs), pool, lie.tamper);
        return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), pool);
    };
}

class GroupAgents : public ::testing::Test {
protected:
    GroupAgents() {
        play_eventful(world);
        source.programs[world.committed->root()] = kernels::encode(world.plan);
        for (const kernels::Tensor* set : {&world.x, &world.y})
            source.tensors[kernels::tensor_root(*set, world.pool)] = *set;
        for (const PlayedSegment& segment : world.segments)
            source.put(kernels::commit_state(world.committed->root(), segment.start, world.pool), segment.start);
        party = std::make_unique<GroupParty>(world, source);
        restart();
    }
    void restart() {
        VerifierConfig config;
        config.secret.bytes[0] = 7;
        config.address.fill(7);
        config.beacon_length = 4;
        config.watch_bp = 10'000;
        config.resend_blocks = 2;
        config.messages = party->messages.get();
        agent = std::make_unique<VerifierAgent>(config, *party->task_cache, *party->states);
    }
    AuditView& audit(const PlayedSegment& segment) {
        AuditView& seat = view.audits.emplace_back();
        seat.id = 1000 + view.audits.size();
        seat.terms = world.terms();
        seat.run = segment.run;
        seat.segment = segment.index;
        seat.start_root = segment.start_root;
        seat.may_commit = seat.may_report = true;
        seat.member = segment.view;
        return seat;
    }
    void watch(const PlayedSegment& segment, const Hash32& end_root) {
        view.watch.push_back({world.terms(), segment.run, segment.index, segment.start_root, end_root, segment.view});
    }
    InitialView& initial(std::uint32_t member) {
        InitialView& out = view.initials.emplace_back();
        out.terms = world.terms();
        out.run = member;
        out.root = kernels::commit_state(world.committed->root(), world.firsts[member], world.pool).root;
        out.entry = world.entry(member);
        return out;
    }
    /// Passes some blocks, runs every work order at once, and returns all moves of one kind.
    template <class Move>
    std::vector<Move> run(int blocks) {
        std::vector<Move> moves;
        for (int i = 0; i < blocks; ++i) {
            ++view.height;
            auto out = agent->on_view(view);
            for (const VerifierMove& move : out.moves)
                if (const auto* wanted = std::get_if<Move>(&move)) moves.push_back(*wanted);
            if (out.work) agent->on_done(out.work->run());
        }
        return moves;
    }
    /// Verdicts of some blocks, by audit.
    std::map<std::uint64_t, Hash32> verdicts(int blocks) {
        std::map<std::uint64_t, Hash32> out;
        for (const CommitVerdict& verdict : run<CommitVerdict>(blocks)) out[verdict.audit] = verdict.commitment;
        return out;
    }
    /// A segment that takes in messages and trains.
    const PlayedSegment& busy() const {
        for (const PlayedSegment& segment : world.segments)
            if (segment.view.span.steps > 1 && !segment.view.records.empty() && segment.view.span.omitted)
                return segment;
        return world.segments.front();
    }
    const solver::RecordView::Entry& first_entry(const PlayedSegment& segment) const {
        return segment.view.records.front().entries.front();
    }
    /// Nobody serves messages or states any more.
    void stop_serving() {
        source.states.clear();
        source.tensors.clear();
    }
    void expect_conviction(const PlayedSegment& segment, std::uint64_t place);
    /// Plays a dispute between two parties' replays through their encoded moves.
    Game dispute(const PlayedSegment& segment, const Hash32& end_root, DisputeReplays& solver) {
        DisputeView about;
        about.id = 1;
        about.terms = world.terms();
        about.run = about.own_run = segment.run;
        about.segment = segment.index;
        about.member = segment.view;
        about.claimed_root = segment.end_root;
        about.game =
            start(world.facts(), {false, 0, world.positions(segment).count(), segment.start_root, end_root, true});
        while (about.game.phase != verifier::Phase::decided) {
            if (needs_position(about.game)) set_position(about.game, world.facts_at(segment, about.game.found.step));
            about.side = about.game.mover;
            Bytes move;
            if (about.side == Side::solver) {
                solver.sweep({about}, view.height);
                const auto made = solver.answer(about);
                EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
                if (made) move = *made;
            } else {
                view.disputes = {about};
                for (const PlayMove& played : run<PlayMove>(2)) move = played.move;
            }
            const auto decoded = decode_move(move);
            if (!decoded || !apply(about.game, about.side, *decoded)) {
                ADD_FAILURE() << "no move in " << slug(about.game.phase);
                for (const std::string& problem : agent->take_problems()) ADD_FAILURE() << problem;
                break;
            }
        }
        return about.game;
    }

    GroupWorld world{kernels::UpdateKind::sparse, 3};
    MemorySource source;
    std::unique_ptr<GroupParty> party;
    std::unique_ptr<VerifierAgent> agent;
    VerifierView view;
};

TEST_F(GroupAgents, AnAuditorCommitsToTheRootOfTheDefinition) {
    for (const PlayedSegment& segment : world.segments) audit(segment);
    const auto sent = verdicts(static_cast<int>(world.segments.size()) + 2);
    ASSERT_EQ(sent.size(), world.segments.size());
    solver::PartyId address{};
    address.fill(7);
    Hash32 secret;
    secret.bytes[0] = 7;
    for (const auto& [audit, commitment] : sent) {
        const PlayedSegment& segment = world.segments[audit - 1001];
        EXPECT_EQ(commitment,
                  solver::verdict_commitment(segment.end_root, solver::verdict_salt(secret, audit), address, audit))
            << "run " << segment.run << ", segment " << segment.index;
    }
    EXPECT_TRUE(agent->take_problems().empty());
    EXPECT_FALSE(party->messages->tasks().empty());
    view.audits.clear();
    run<CommitVerdict>(2);
    EXPECT_TRUE(party->messages->tasks().empty()) << "no segment needs the messages any more";
}

TEST_F(GroupAgents, TheStartOfAFirstSegmentIsMadeUnlessItsMemberOpenedAnotherOne) {
    source.states.clear();
    const auto first = std::ranges::find_if(world.segments, [](const PlayedSegment& segment) {
        return segment.index == 0 && segment.view.start_step == 0;
    });
    const auto later = std::ranges::find_if(world.segments, [](const PlayedSegment& segment) {
        return segment.index == 0 && segment.view.start_step != 0;
    });
    ASSERT_NE(first, world.segments.end());
    ASSERT_NE(later, world.segments.end()) << "a member that joined later";
    audit(*first).start_root.bytes[3] ^= 1;
    auto reports = run<ReportUnavailable>(3);
    ASSERT_FALSE(reports.empty());
    EXPECT_EQ(reports[0].kind, solver::ReportKind::state);
    view.audits.clear();
    audit(*first).id = 2000;
    EXPECT_EQ(verdicts(3).size(), 1U);
    view.audits.clear();
    audit(*later).id = 2001;
    reports = run<ReportUnavailable>(3);
    ASSERT_FALSE(reports.empty());
    EXPECT_EQ(reports[0].run, later->run);
}

TEST_F(GroupAgents, AWatcherChallengesALieAndNothingElse) {
    for (const PlayedSegment& segment : world.segments) watch(segment, segment.end_root);
    Hash32 lie = busy().end_root;
    lie.bytes[5] ^= 1;
    for (WatchView& seen : view.watch)
        if (seen.run == busy().run && seen.segment == busy().index) seen.end_root = lie;
    const auto challenges = run<ChallengeSegment>(static_cast<int>(world.segments.size()) + 1);
    ASSERT_FALSE(challenges.empty());
    for (const ChallengeSegment& challenge : challenges) {
        EXPECT_EQ(challenge.run, busy().run);
        EXPECT_EQ(challenge.segment, busy().index);
        EXPECT_EQ(challenge.root, busy().end_root);
    }
    EXPECT_TRUE(agent->take_problems().empty());
}

TEST_F(GroupAgents, AMessageThatNobodyServesIsReportedAndFetchedLater) {
    const PlayedSegment& segment = busy();
    const auto& entry = first_entry(segment);
    kernels::Tensor kept = source.tensors.at(entry.tensors[1]);
    for (const bool wrong : {false, true}) {
        if (wrong) {
            source.tensors[entry.tensors[1]] = kept;
            source.tensors[entry.tensors[1]].data[0] ^= 1;
        } else {
            source.tensors.erase(entry.tensors[1]);
        }
        view.audits.clear();
        audit(segment);
        const auto reports = run<ReportUnavailable>(3);
        ASSERT_FALSE(reports.empty());
        EXPECT_EQ(reports[0].kind, solver::ReportKind::message);
        EXPECT_EQ(reports[0].run, segment.run);
        EXPECT_EQ(reports[0].index, solver::message_index(segment.view.records.front().round, entry.run));
        EXPECT_EQ(reports[0].tensor, 1U);
    }
    source.tensors[entry.tensors[1]] = kept;
    EXPECT_EQ(verdicts(8).size(), 1U);
}

TEST_F(GroupAgents, ADamagedMessageIsFetchedAgain) {
    audit(busy());
    EXPECT_EQ(verdicts(2).size(), 1U);
    for (const auto& file : std::filesystem::directory_iterator(party->directory.path / "messages"))
        std::filesystem::resize_file(file.path(), 3);
    for (const PlayedSegment& other : world.segments)
        if (other.run != busy().run && other.view.span.from == busy().view.span.from) audit(other);
    ASSERT_GT(view.audits.size(), 1U);
    EXPECT_EQ(verdicts(20).size(), view.audits.size());
    EXPECT_FALSE(agent->take_problems().empty()) << "the operator is told of the damage";
}

/// An op that makes the new value of the first state tensor that is fp32 and that inner steps write.
std::uint32_t op_of_inner_step(const GroupWorld& world) {
    const kernels::Program& inner = world.plan.at(kernels::Phase::inner).program;
    for (std::uint32_t t = 0; t < inner.states; ++t)
        if (inner.tensors[t].writer != kernels::kNoWriter && inner.tensors[t].dtype == kernels::DType::f32)
            return inner.tensors[t].writer;
    return 0;
}

/// A lie in one inner step is disputed by an auditor and the accused member, who fetch nothing more by then.
void GroupAgents::expect_conviction(const PlayedSegment& segment, std::uint64_t place) {
    const kernels::SegmentPositions positions = world.positions(segment);
    ASSERT_EQ(positions.at(place).phase, kernels::Phase::inner);
    const std::uint32_t op = op_of_inner_step(world);
    const Lie lie{kernels::Phase::inner, flip(positions.at(place).op_step, op, 0)};
    const auto liar = world.runner(lie);
    const Hash32 wrong = world.replay(segment, *liar).end_root();
    ASSERT_NE(wrong, segment.end_root);

    GroupParty accused(world, source, lying_runners(world, lie));
    DisputeReplays solver(
        *accused.task_cache, [&](const DisputeView&) { return Result<kernels::State>(segment.start); },
        accused.messages.get());
    // The accused member has what it took in; the auditor has it from its audit. Then nobody serves anything.
    solver::TaskTerms terms = world.terms();
    audit(segment);
    EXPECT_EQ(verdicts(2).size(), 1U);
    for (const solver::RecordView& record : segment.view.records)
        for (const auto& entry : record.entries) {
            std::vector<kernels::Tensor> tensors;
            for (const Hash32& root : entry.tensors) tensors.push_back(world.tensors.at(root));
            ASSERT_TRUE(accused.messages->save({terms.id, record.round, entry.run}, entry.tensors, tensors));
        }
    ASSERT_TRUE(accused.task_cache->group(terms).has_value());
    stop_serving();
    restart();
    const Game game = dispute(segment, wrong, solver);
    EXPECT_EQ(slug(game.ending), slug(Ending::referee_solver_wrong));
    EXPECT_EQ(game.loser, Side::solver);
    EXPECT_EQ(game.found.step, place);
    EXPECT_EQ(game.found.op, op);
}

TEST_F(GroupAgents, AnUlpInOneInnerStepIsFoundByBothPlayersAndTheGame) {
    expect_conviction(busy(), world.positions(busy()).count() - 2);
}

TEST_F(GroupAgents, SoIsOneInTheFirstOfInnerStepsThatFollowASegmentOfRecords) {
    play_apart(world);
    const PlayedSegment segment = trained_apart(world);
    source.put(kernels::commit_state(world.committed->root(), segment.start, world.pool), segment.start);
    expect_conviction(segment, 0);
}

TEST_F(GroupAgents, AMemberThatTrainedRightAfterASegmentOfRecordsAnswersEveryMove) {
    play_apart(world);
    const PlayedSegment segment = trained_apart(world);
    DisputeReplays accused(
        *party->task_cache, [&](const DisputeView&) { return Result<kernels::State>(segment.start); },
        party->messages.get());
    // The challenger says that the first inner step made another state, and accepts whatever the member posts.
    PlayedSegment other = segment;
    other.start.tensors[0].data[0] ^= 1;
    const auto runner = world.runner();
    Replayer accuser = world.replay(other, *runner);
    DisputeView about;
    about.id = 7;
    about.terms = world.terms();
    about.run = about.own_run = segment.run;
    about.segment = segment.index;
    about.member = segment.view;
    about.side = Side::solver;
    about.game =
        start(world.facts(), {false, 0, world.positions(segment).count(), segment.start_root, segment.end_root, true});
    while (about.game.phase != verifier::Phase::decided) {
        if (needs_position(about.game)) set_position(about.game, world.facts_at(segment, about.game.found.step));
        Result<Bytes> move = error("no move");
        if (about.game.mover == Side::solver) {
            accused.sweep({about}, 1);
            auto made = accused.answer(about);
            ASSERT_TRUE(made.has_value()) << made.error().message;
            move = std::move(*made);
        } else {
            const auto made = next_move(about.game, Side::challenger, accuser);
            ASSERT_TRUE(made.has_value()) << made.error().message;
            move = encode(*made);
        }
        ASSERT_TRUE(apply(about.game, about.game.mover, decode_move(*move).value()).has_value());
    }
    EXPECT_EQ(about.game.loser, Side::challenger);
    EXPECT_EQ(about.game.found.step, 0u);
}

TEST_F(GroupAgents, ARightSegmentIsNotAccusedTwice) {
    const PlayedSegment& segment = busy();
    DisputeReplays own(
        *party->task_cache, [&](const DisputeView&) { return Result<kernels::State>(segment.start); },
        party->messages.get());
    DisputeView about;
    about.id = 1;
    about.terms = world.terms();
    about.run = segment.run;
    about.segment = segment.index;
    about.member = segment.view;
    about.side = Side::challenger;
    about.game =
        start(world.facts(), {false, 0, world.positions(segment).count(), segment.start_root, segment.end_root, true});
    about.game.mover = Side::challenger;
    own.sweep({about}, 1);
    const auto made = own.answer(about);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().kind, MoveProblem::Kind::no_case);
    // A game about another number of positions, and a view without records, make no move either.
    about.id = 2;
    ++about.game.claim.last_step;
    about.game.search.high = about.game.claim.last_step;
    own.sweep({about}, 1);
    EXPECT_EQ(own.answer(about).error().kind, MoveProblem::Kind::failed);
    about.id = 3;
    about.member.reset();
    own.sweep({about}, 1);
    EXPECT_EQ(own.answer(about).error().kind, MoveProblem::Kind::failed);
}

TEST_F(GroupAgents, AnAnchorThatNobodyServesDelaysOnlyTheCheckThatNeedsIt) {
    source.tensors.clear();
    for (const kernels::Tensor* set : {&world.x, &world.y})
        source.tensors[kernels::tensor_root(*set, world.pool)] = *set;
    for (const std::uint32_t member : {3U, 0U}) initial(member).root.bytes[0] ^= 1;
    std::set<std::uint32_t> challenged;
    for (const ChallengeInitial& challenge : run<ChallengeInitial>(3)) challenged.insert(challenge.run);
    EXPECT_EQ(challenged, (std::set<std::uint32_t>{0}));
    EXPECT_FALSE(agent->take_problems().empty());
    for (const kernels::Tensor& tensor : world.anchor(3))
        source.tensors[kernels::tensor_root(tensor, world.pool)] = tensor;
    for (const ChallengeInitial& challenge : run<ChallengeInitial>(6)) challenged.insert(challenge.run);
    EXPECT_EQ(challenged, (std::set<std::uint32_t>{0, 3}));
}

TEST_F(GroupAgents, FirstStatesAreComparedWithTheirPhase) {
    for (const std::uint32_t member : {0U, 3U}) initial(member);
    for (const kernels::Tensor& tensor : world.anchor(3))
        source.tensors[kernels::tensor_root(tensor, world.pool)] = tensor;
    EXPECT_TRUE(run<ChallengeInitial>(4).empty());
    EXPECT_TRUE(agent->take_problems().empty());
    stop_serving();  // What the joined member began with was stored.
    restart();
    std::swap(view.initials[0].root, view.initials[1].root);
    const auto challenges = run<ChallengeInitial>(4);
    ASSERT_GE(challenges.size(), 2U);
    EXPECT_NE(challenges[0].run, challenges[1].run);
    for (const ChallengeInitial& challenge : challenges)
        EXPECT_EQ(challenge.root, view.initials[challenge.run == 0 ? 1 : 0].root);
}

/// Contracts 21.13: nobody serves the data of the members.
class PrivateGroupAgents : public GroupAgents {
protected:
    PrivateGroupAgents() {
        for (const kernels::Tensor* set : {&world.x, &world.y}) {
            source.tensors.erase(kernels::tensor_root(*set, world.pool));
            data.add(kernels::tensor_root(*set, world.pool), *set);
        }
    }
    AuditView& private_audit(const PlayedSegment& segment) {
        AuditView& seat = audit(segment);
        seat.terms.group->private_sets = 2;
        if (segment.view.span.steps == 0) seat.terms.data_roots.clear();
        return seat;
    }
    const PlayedSegment& of_steps(bool trains) const {
        return *std::ranges::find_if(
            world.segments, [&](const PlayedSegment& segment) { return (segment.view.span.steps != 0) == trains; });
    }
    solver::PrivateData data;
};

TEST_F(PrivateGroupAgents, WhoHasNoDataReplaysWhatTakesInRecords) {
    const PlayedSegment& segment = of_steps(false);
    private_audit(segment);
    const auto sent = verdicts(3);
    ASSERT_EQ(sent.size(), 1u);
    solver::PartyId address{};
    address.fill(7);
    Hash32 secret;
    secret.bytes[0] = 7;
    EXPECT_EQ(sent.at(1001),
              solver::verdict_commitment(segment.end_root, solver::verdict_salt(secret, 1001), address, 1001));
}

TEST_F(PrivateGroupAgents, DataComeFromTheirOwnerAndNobodyIsAskedForThem) {
    const PlayedSegment& segment = of_steps(true);
    private_audit(segment);
    EXPECT_TRUE(verdicts(3).empty());
    EXPECT_TRUE(run<ReportUnavailable>(3).empty()) << "a report would put tiles of them on the ledger";
    view.audits.clear();
    party->task_cache->set_private(data);
    private_audit(segment).id = 3000;
    EXPECT_TRUE(verdicts(3).empty()) << "its operator has not named the task";
    view.audits.clear();
    data.allow(world.terms().id, world.terms().data_roots);
    private_audit(segment).id = 3001;
    EXPECT_EQ(verdicts(3).size(), 1u);
}

TEST_F(PrivateGroupAgents, DataOfAnotherShapeAreNotTrainedOn) {
    const auto& program = world.committed->states();
    const Hash32 x = kernels::tensor_root(world.x, world.pool), y = kernels::tensor_root(world.y, world.pool);
    EXPECT_TRUE(data.has({x, y}));
    EXPECT_FALSE(data.has({}));
    EXPECT_FALSE(data.has({x, Hash32()}));
    EXPECT_FALSE(data.take(5, program, {x, y}).has_value()) << "no task may use them yet";
    data.allow(5, {x});
    EXPECT_FALSE(data.take(5, program, {x, y}).has_value()) << "nor those that it was not given";
    data.allow(5, {y});
    EXPECT_TRUE(data.take(5, program, {x, y}).has_value());
    EXPECT_FALSE(data.take(6, program, {x, y}).has_value()) << "another requester's programs";
    for (const std::vector<Hash32>& wrong : {std::vector{y, x}, std::vector{x}, std::vector{x, Hash32()}}) {
        data.allow(5, wrong);
        const auto taken = data.take(5, program, wrong);
        ASSERT_FALSE(taken.has_value());
        EXPECT_FALSE(taken.error().kind.has_value()) << "no other party is at fault";
    }
}

}  // namespace
}  // namespace retrace::test
