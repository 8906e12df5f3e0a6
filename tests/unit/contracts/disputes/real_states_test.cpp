// SPDX-License-Identifier: MIT
// The contracts with states computed by kernels: disputes down to the referee, and tiles with their proofs.
#include "solver/artifacts/availability.hpp"
#include "solver/attacks/compute_attacks.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"
#include "tests/unit/solver/tiny_task.hpp"
#include "verifier/attacks/verifier_attacks.hpp"
#include "verifier/player/player.hpp"

namespace retrace::contracts {
namespace {

using market::RunState;

class RealStates : public MarketTest {
protected:
    static constexpr std::uint64_t kSegments = 3;

    /// Returns checkpoints 0 … 3, computed from `first` by the runner that `factory` makes.
    std::vector<kernels::State> train(const solver::RunnerFactory& factory, kernels::State first) {
        const auto runner = factory(task_.terms, task_.train.program(), task_.inputs(), task_.pool);
        std::vector<kernels::State> out{first};
        for (std::uint64_t i = 1; i <= kSegments; ++i) {
            kernels::State state = out.back();
            while (state.step < task_.terms.schedule.step_of(i)) runner->step(state);
            out.push_back(std::move(state));
        }
        return out;
    }
    kernels::StateCommitment commit(const kernels::State& state) {
        return kernels::commit_state(task_.train.root(), state, task_.pool);
    }
    std::vector<Hash32> roots(const std::vector<kernels::State>& states) {
        std::vector<Hash32> out;
        for (const kernels::State& state : states) out.push_back(commit(state).root);
        return out;
    }

    /// alice runs the task with real kernels; there are three verifiers.
    void start_real() {
        market::Params real = small_params();
        real.contract_hash = kernels::contract_hash();
        real.checkpoint_blocks = 100;
        begin(real);
        for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
        add_solver("alice");
        add_solver("bob");
        advance(9);
        TaskSpec spec = small_spec();
        spec.contract_hash = real.contract_hash;
        spec.program_root = task_.train.root();
        spec.program_bytes = task_.terms.program_bytes;
        spec.init_root = task_.init.root();
        spec.initial_state_root = {};
        spec.data_roots = task_.terms.data_roots;
        spec.steps = task_.terms.schedule.steps;
        spec.interval = task_.terms.schedule.interval;
        spec.seed = task_.terms.seed;
        post(spec);
        auction({{"alice", 400}, {"bob", 700}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
    }

    /// A party's account of a segment, computed by its runner.
    struct Account {
        std::unique_ptr<solver::StepRunner> runner;
        std::unique_ptr<verifier::Replayer> truth;
    };
    Account account(const solver::RunnerFactory& factory, const kernels::State& start, std::uint64_t segment) {
        Account out;
        out.runner = factory(task_.terms, task_.train.program(), task_.inputs(), task_.pool);
        verifier::ReplaySetup setup{&task_.train, &task_.train,     out.runner.get(),
                                    &task_.pool,  task_.terms.seed, task_.inputs().datasets};
        out.truth =
            std::make_unique<verifier::Replayer>(std::move(setup), start, task_.terms.schedule.step_of(segment + 1));
        return out;
    }
    /// Both sides of every open dispute move once.
    void play_disputes(Account& solver, Account& challenger) {
        for (std::uint64_t id = 1; id <= views::dispute_count(state); ++id) {
            const auto dispute = views::dispute(state, id).value();
            const auto game = views::game(state, id);
            if (!game) continue;
            const bool asserts = dispute.mover == 1;
            const auto side = asserts ? verifier::Side::solver : verifier::Side::challenger;
            const auto move = verifier::next_move(*game, side, asserts ? *solver.truth : *challenger.truth);
            ASSERT_TRUE(move.has_value()) << move.error().message;
            const std::string mover = name_of(asserts ? dispute.solver : dispute.challenger);
            if (try_bad_) try_bad_moves(mover, id, *move);
            ASSERT_EQ(send(mover, PlayMove{id, verifier::encode(*move)}), CallStatus::ok) << last.revert_reason;
        }
    }
    /// Sends invalid moves in place of the one that is due, and collects the reasons for their refusals.
    void try_bad_moves(const std::string& mover, std::uint64_t id, const verifier::Move& due) {
        const auto send_bad = [&](const Bytes& move) {
            const CallStatus status = send(mover, PlayMove{id, move});
            EXPECT_NE(status, CallStatus::ok) << "a move that does not fit was taken";
            refused_moves_.insert(status);
        };
        const bool binds =
            !std::holds_alternative<verifier::Choose>(due) && !std::holds_alternative<verifier::NameElement>(due);
        const auto phase = views::game(state, id)->phase;
        const bool any_hash_will_do = phase == verifier::Phase::search_steps || phase == verifier::Phase::search_links;
        const Bytes encoded = verifier::encode(due);
        for (std::size_t at = 1; binds && !any_hash_will_do && at < encoded.size(); at += 1 + encoded.size() / 40) {
            Bytes flipped = encoded;
            flipped[at] ^= 1;
            send_bad(flipped);
        }
        if (!binds) send_bad(verifier::encode(verifier::Move{verifier::Choose{1'000}}));
        if (any_hash_will_do) send_bad(verifier::encode(verifier::Move{verifier::PostHashes{}}));
        if (auto proof = due; auto* inputs = std::get_if<verifier::ProveElement>(&proof)) {
            inputs->input_state.reset();
            inputs->inputs.clear();
            send_bad(verifier::encode(proof));
            for (std::size_t left_out = 0; left_out < std::get<verifier::ProveElement>(due).inputs.size(); ++left_out) {
                verifier::ProveElement less = std::get<verifier::ProveElement>(due);
                less.inputs.erase(less.inputs.begin() + static_cast<std::ptrdiff_t>(left_out));
                send_bad(verifier::encode(verifier::Move{less}));
            }
        }
        const std::string other = mover == "alice" ? name_of(views::dispute(state, id)->challenger) : "alice";
        refused_moves_.insert(send(other, PlayMove{id, encoded}));
    }

    /// All parties make their due calls and moves until a dispute is decided.
    void play_to_a_verdict(Account& solver, Account& challenger) {
        for (int i = 0; i < 150 && all<DisputeDecided>().empty(); ++i) {
            if (run().next_state <= last_state_) {
                ASSERT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
            }
            serve("alice");
            check_audits();
            play_disputes(solver, challenger);
            next_block();
        }
        ASSERT_FALSE(all<DisputeDecided>().empty());
    }
    /// Two auditors of segment 0 commit verdicts; state 0 is open.
    void collect() {
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        seat_auditors("alice");
    }

    test::TinyTask task_;
    bool try_bad_ = false;
    std::uint64_t last_state_ = kSegments;  ///< alice commits no later state.
    std::set<CallStatus> refused_moves_;
};

TEST_F(RealStates, OneUlpIsProvedBeforeTheLedgerAndPaidFor) {
    const auto honest = train(solver::honest_runners(), task_.initial());
    const auto cheat = solver::attacking_runners(solver::ComputeAttack::ulp);
    real_roots = roots(honest);
    forged_roots = roots(train(cheat, task_.initial()));
    wrong_from = kSegments;
    ASSERT_NE(real_roots[kSegments], forged_roots[kSegments]);
    start_real();
    const U256 locked = run().locked;
    Account liar = account(cheat, honest[2], 2), checker = account(solver::honest_runners(), honest[2], 2);
    play_to_a_verdict(liar, checker);
    const auto decided = all<DisputeDecided>()[0];
    EXPECT_EQ(decided.loser, party("alice"));
    EXPECT_EQ(decided.ending, static_cast<std::uint8_t>(verifier::Ending::referee_solver_wrong));
    EXPECT_NE(decided.claimed_bits, decided.referee_bits);
    EXPECT_EQ(run().state, RunState::forfeited);
    const auto slashed = all<Slashed>();
    ASSERT_EQ(slashed.size(), 1u);
    EXPECT_EQ(slashed[0].amount, locked);
    const market::TaskSpec spec = views::spec(state, 1).value();
    const market::Conviction parts = market::conviction(locked, market::audit_fee(params, spec), params);
    EXPECT_EQ(slashed[0].to_others, parts.share + parts.costs);
    EXPECT_EQ(task().state, market::TaskState::bidding);
}

TEST_F(RealStates, MovesThatDoNotFitAreRefusedByName) {
    const auto honest = train(solver::honest_runners(), task_.initial());
    const auto cheat = solver::attacking_runners(solver::ComputeAttack::ulp);
    real_roots = roots(honest);
    forged_roots = roots(train(cheat, task_.initial()));
    wrong_from = kSegments;
    start_real();
    Account liar = account(cheat, honest[2], 2), checker = account(solver::honest_runners(), honest[2], 2);
    try_bad_ = true;
    play_to_a_verdict(liar, checker);
    EXPECT_EQ(run().state, RunState::forfeited) << "bad moves hold nothing up";
    for (const CallStatus status :
         {CallStatus::bad_move, CallStatus::move_not_your_turn, CallStatus::move_wrong_move,
          CallStatus::move_wrong_count, CallStatus::move_out_of_range, CallStatus::move_wrong_children,
          CallStatus::move_bad_proof, CallStatus::move_wrong_opening, CallStatus::move_missing_input,
          CallStatus::move_wrong_leaf})
        EXPECT_TRUE(refused_moves_.contains(status)) << slug(status);
}

TEST_F(RealStates, AFalseAccusationIsRefutedBeforeTheLedger) {
    const auto honest = train(solver::honest_runners(), task_.initial());
    real_roots = roots(honest);
    start_real();
    collect();
    liars.insert(name_of(views::audit(state, 1)->seats[0].auditor));
    const std::string liar = *liars.begin();
    last_state_ = 1;
    Account mine = account(solver::honest_runners(), honest[0], 0);
    Account theirs = account(verifier::accusing_runners(), honest[0], 0);
    play_to_a_verdict(mine, theirs);
    EXPECT_EQ(all<DisputeDecided>()[0].loser, party(liar));
    EXPECT_EQ(all<DisputeDecided>()[0].ending, static_cast<std::uint8_t>(verifier::Ending::referee_challenger_wrong));
    EXPECT_EQ(run().state, RunState::running);
    for (const Slashed& event : all<Slashed>()) EXPECT_EQ(event.party, party(liar));
}

TEST_F(RealStates, AForgedInitialStateIsChallengedThoughEverySegmentIsRight) {
    kernels::State forged = task_.initial();
    forged.tensors[0].data[0] ^= 1;
    real_roots = roots(train(solver::honest_runners(), forged));  // what auditors compute from alice's start
    start_real();
    collect();
    EXPECT_EQ(send("bob", ChallengeInitial{1, 0, root(0)}, params.challenge_bond), CallStatus::same_root);
    const Hash32 truth = commit(task_.initial()).root;
    ASSERT_EQ(send("bob", ChallengeInitial{1, 0, truth}, params.challenge_bond), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(views::dispute(state, 1)->kind, market::DisputeKind::initial);
    // No output of the initialiser opens the forged root: alice has no move, and her clock runs out.
    ASSERT_TRUE(advance_until([&] {
        if (run().state == RunState::running && run().next_state <= kSegments) {
            EXPECT_EQ(checkpoint("alice", run().next_state), CallStatus::ok);
        }
        serve("alice");
        check_audits();
        return run().state != RunState::running;
    }));
    EXPECT_EQ(views::dispute(state, 1)->state, market::DisputeState::solver_lost);
    EXPECT_EQ(all<Slashed>().at(0).reason, "wrong_result");
    EXPECT_EQ(run().paid, 0u) << "nothing is paid while the challenge is open";
}

TEST_F(RealStates, ReportedTilesAreAnsweredWithTheirProofs) {
    const auto honest = train(solver::honest_runners(), task_.initial());
    real_roots = roots(honest);
    start_real();
    collect();
    const std::string auditor = name_of(views::audit(state, 1)->seats[0].auditor);
    const auto report = [&](market::ReportKind kind, std::uint64_t index, std::uint32_t tensor, std::uint64_t tile) {
        const ReportUnavailable call{static_cast<std::uint8_t>(kind), 1, 0, index, tensor, tile};
        EXPECT_EQ(send(auditor, call, params.report_fee), CallStatus::ok) << last.revert_reason;
        return views::report_count(state);
    };
    const auto answer = [&](std::uint64_t id, const Bytes& proof) {
        const U256 before = ledger::balance_of(state, party("alice"));
        EXPECT_EQ(send("alice", AnswerUnavailable{id, proof}), CallStatus::ok) << last.revert_reason;
        EXPECT_EQ(ledger::balance_of(state, party("alice")), before + params.report_fee);
        EXPECT_EQ(views::report(state, id)->state, market::ReportState::answered);
        EXPECT_EQ(send("alice", AnswerUnavailable{id, proof}), CallStatus::already_answered);
    };
    const auto state_tile = [&](std::uint32_t tensor, std::uint64_t tile) {
        return encode(solver::answer_state_tile(task_.train, commit(honest[0]), honest[0], tensor, tile, task_.pool));
    };
    const std::uint64_t first = report(market::ReportKind::state, 0, 1, 0);
    EXPECT_EQ(send("alice", AnswerUnavailable{first, state_tile(0, 0)}), CallStatus::wrong_answer) << "another tensor";
    answer(first, state_tile(1, 0));
    answer(report(market::ReportKind::state, 0, 9'999, 3), state_tile(9'999, 3));
    answer(report(market::ReportKind::data, 1, 0, 0), encode(solver::answer_tensor_tile(task_.data[1], 0, task_.pool)));
    answer(report(market::ReportKind::program, 0, 1, 2), encode(solver::answer_program(task_.train, 1, 2)));
}

TEST_F(RealStates, AKeeperAnswersForWhatItKeeps) {
    const auto honest = train(solver::honest_runners(), task_.initial());
    real_roots = roots(honest);
    forged_roots = roots(train(solver::attacking_runners(solver::ComputeAttack::ulp), task_.initial()));
    wrong_from = kSegments;
    start_real();
    play("alice");
    ASSERT_EQ(task().state, market::TaskState::bidding);
    auction({{"bob", 500}});
    const std::uint64_t first = run(1).first_state;
    ASSERT_GE(first, 1u);
    wrong_from = ~std::uint64_t{0};
    const ReportUnavailable call{5, 1, 0, first, 0, 0};
    ASSERT_EQ(send("bob", call, params.report_fee), CallStatus::ok) << last.revert_reason;
    const std::string keeper = name_of(views::checkpoint(state, 1, 0, first)->keepers.at(0));
    const Bytes proof =
        encode(solver::answer_state_tile(task_.train, commit(honest[first]), honest[first], 0, 0, task_.pool));
    const std::uint64_t id = views::report_count(state);
    const U256 before = ledger::balance_of(state, party(keeper));
    EXPECT_EQ(send("alice", AnswerUnavailable{id, proof}), CallStatus::not_keeper);
    EXPECT_EQ(send(keeper, AnswerUnavailable{id, proof}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(ledger::balance_of(state, party(keeper)), before + params.report_fee);
    advance(params.answer_blocks);
    for (const Slashed& event : all<Slashed>()) EXPECT_EQ(event.party, party("alice"));
}

}  // namespace
}  // namespace retrace::contracts
