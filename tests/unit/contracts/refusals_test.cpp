// SPDX-License-Identifier: MIT
// Each rule refuses invalid calls by name, and the fixture checks that nothing changed.
#include "contracts/records/methods.hpp"
#include "ledger/chain/genesis.hpp"
#include "ledger/tx/transaction.hpp"
#include "market/places.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;

class Refusals : public MarketTest {
protected:
    CallStatus try_post(const std::function<void(TaskSpec&)>& change) {
        TaskSpec spec = small_spec();
        change(spec);
        const auto escrow = market::escrow_of(spec, params);
        return send("requester", PostTask{spec}, escrow ? escrow->total() : U256());
    }
    /// alice has committed states 0 and 1; the first audit is drawn and waits for its opening.
    void start_audit() {
        start_run();
        ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
        ASSERT_EQ(checkpoint("alice", 1), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] { return views::audit_count(state) == 1; }));
    }
    market::Audit audit() const { return views::audit(state, 1).value(); }
    std::string auditor(std::size_t seat) const { return name_of(audit().seats.at(seat).auditor); }
};

TEST_F(Refusals, Executor) {
    const Address to = address_of(Contract::market);
    EXPECT_EQ(send_raw(party("alice"), to, {}), CallStatus::unknown_method);
    EXPECT_EQ(send_raw(party("alice"), to, {1, 2, 3, 4}), CallStatus::unknown_method);
    EXPECT_EQ(send_raw(party("alice"), to, calldata(Deposit{}), 1), CallStatus::unknown_method) << "another contract's";
    Bytes data = calldata(CancelTask{1});
    data.pop_back();
    EXPECT_EQ(send_raw(party("alice"), to, data), CallStatus::bad_arguments);
    EXPECT_EQ(last.revert_reason, "bad_arguments: the arguments are not their canonical ABI encoding (abi_too_short)");
    EXPECT_EQ(send("alice", CancelTask{1}, 1), CallStatus::not_payable);
    EXPECT_EQ(send("alice", Deposit{}, U256(5'000) * kCoin), CallStatus::balance_too_low);
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    const Bytes deposit = calldata(Deposit{});
    const ledger::Call poor{party("alice"), address_of(Contract::staking), 1, deposit, 100};
    const auto short_of_gas = executor.call(next, block(), poor);
    EXPECT_FALSE(short_of_gas.ok);
    EXPECT_EQ(short_of_gas.gas_used, 100u);
    EXPECT_EQ(decode_refusal(short_of_gas.output)->slug, "out_of_gas");
}

// 4.4: the gas that a block must have left for a call follows from its bytes, regardless of the limit; and the most
// expensive call that fits a transaction leaves room for others.
TEST_F(Refusals, TheGasOfACallIsKnownFromItsBytes) {
    OpenRoots most;
    while (calldata(most).size() < ledger::kTxBytesMax) most.roots.emplace_back();
    for (const Bytes& data : {calldata(CancelTask{1}), calldata(CommitCheckpoint{}), calldata(PlayMove{}),
                              calldata(most), calldata(ReadTaskIds{}), Bytes(), Bytes{1, 2, 3, 4}, Bytes(9, 0xff)}) {
        for (const Contract contract : kContracts) {
            const Address to = address_of(contract);
            const std::uint64_t price = executor.gas_of(to, data);
            EXPECT_LE(price + 21'000 + 16 * data.size(), ledger::Genesis{}.gas_limit / 4);
            for (const std::uint64_t gas : {price - 1, price, price + 1, ledger::Genesis{}.gas_limit}) {
                ledger::State next{static_cast<const ledger::StateView&>(state)};
                const auto result = executor.call(next, block(), {party("alice"), to, 0, data, gas});
                EXPECT_EQ(result.gas_used, std::min(gas, price)) << to_hex(data).substr(0, 8);
            }
        }
    }
}

TEST_F(Refusals, Views) {
    start_run();
    const auto ask = [&](const auto& call) {
        using Call = std::remove_cvref_t<decltype(call)>;
        const Bytes data = calldata(call);
        return executor.view_call(state, block(), {{}, address_of(Call::kContract), 0, data, 1'000'000});
    };
    EXPECT_EQ(decode_answer<ReadTask>(ask(ReadTask{1}).output).value(), task());
    EXPECT_EQ(decode_answer<ReadSpec>(ask(ReadSpec{1}).output).value(), small_spec());
    EXPECT_EQ(decode_answer<ReadRun>(ask(ReadRun{1, 0}).output).value(), run());
    EXPECT_EQ(decode_answer<ReadParams>(ask(ReadParams{}).output).value(), params);
    EXPECT_EQ(decode_answer<ReadTaskIds>(ask(ReadTaskIds{}).output)->active, std::vector<std::uint64_t>{1});
    EXPECT_EQ(decode_refusal(ask(ReadTask{9}).output)->slug, "unknown_task");
    EXPECT_EQ(decode_refusal(ask(ReadSegment{1, 0, 5}).output)->slug, "not_committed");
    EXPECT_EQ(decode_refusal(ask(ReadAudit{1}).output)->slug, "unknown_audit");
}

TEST_F(Refusals, Staking) {
    EXPECT_EQ(send("alice", Deposit{}), CallStatus::amount_zero);
    EXPECT_EQ(send("alice", BeginUnbond{0}), CallStatus::amount_zero);
    EXPECT_EQ(send("alice", BeginUnbond{1}), CallStatus::stake_too_low);
    EXPECT_EQ(send("alice", Withdraw{}), CallStatus::nothing_unbonded);
    EXPECT_EQ(send("alice", RegisterSolver{"", 0}), CallStatus::endpoint_too_long);
    EXPECT_EQ(send("alice", RegisterSolver{std::string(257, 'x'), 0}), CallStatus::endpoint_too_long);
    EXPECT_EQ(send("alice", RegisterSolver{"http://a", 0}), CallStatus::stake_too_low);
    EXPECT_EQ(send("v1", RegisterVerifier{"http://v", {}}), CallStatus::commitment_zero);
    EXPECT_EQ(send("v1", RegisterVerifier{"http://v", word("x")}), CallStatus::stake_too_low);
    EXPECT_EQ(send("v1", RetireVerifier{}), CallStatus::not_member);
    EXPECT_EQ(send("v1", RevealBeacon{}), CallStatus::not_member);
    ASSERT_EQ(send("alice", Deposit{}, kCoin), CallStatus::ok);
    ASSERT_EQ(send("alice", BeginUnbond{kCoin}), CallStatus::ok);
    EXPECT_EQ(send("alice", Withdraw{}), CallStatus::still_unbonding);
    advance(params.unbond_blocks);
    const U256 before = ledger::balance_of(state, party("alice"));
    EXPECT_EQ(send("alice", Withdraw{}), CallStatus::ok);
    EXPECT_EQ(ledger::balance_of(state, party("alice")), before + kCoin);
}

TEST_F(Refusals, Beacon) {
    add_verifier("v1");
    EXPECT_EQ(send("v1", RevealBeacon{link("v1", kChain - 1)}), CallStatus::reveal_not_due);
    EXPECT_EQ(send("v1", BeginUnbond{U256(99) * kCoin + U256(1)}), CallStatus::stake_too_low);
    advance(4);
    EXPECT_EQ(send("v1", RevealBeacon{link("v1", kChain - 2)}), CallStatus::reveal_done);
    silent.insert("v1");
    advance(4);
    EXPECT_EQ(send("v1", RevealBeacon{link("v1", kChain - 1)}), CallStatus::wrong_preimage);
    EXPECT_EQ(send("v1", RetireVerifier{}), CallStatus::reveal_due);
    EXPECT_EQ(send("v1", RegisterVerifier{"http://v", word("new")}), CallStatus::reveal_due);
    advance(4);
    EXPECT_FALSE(views::verifier(state, party("v1"))->member) << "dropped for silence";
    EXPECT_EQ(all<Slashed>().at(0).amount, params.beacon_penalty);
    EXPECT_TRUE(views::verifiers(state).empty());
}

TEST_F(Refusals, PostTask) {
    EXPECT_EQ(try_post([](TaskSpec& s) { s.name = std::string(65, 'x'); }), CallStatus::name_too_long);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.program_root = {}; }), CallStatus::program_missing);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.program_bytes = 0; }), CallStatus::program_missing);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.initial_state_root = {}; }), CallStatus::initial_state_unclear);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.init_root = word("x"); }), CallStatus::initial_state_unclear);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.data_roots.resize(5); }), CallStatus::too_many_data_roots);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.steps = 0; }), CallStatus::steps_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.steps = market::kStepsMax + 1; }), CallStatus::steps_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.interval = 0; }), CallStatus::interval_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.interval = s.steps + 1; }), CallStatus::interval_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.steps = 2'000'000, s.interval = 1; }), CallStatus::too_many_segments);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.price_ceiling = 0; }), CallStatus::price_zero);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.price_ceiling = U256::max(); }), CallStatus::price_too_high);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.audit_bp = 0; }), CallStatus::audit_share_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.audit_bp = 10'001; }), CallStatus::audit_share_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.auditors = 0; }), CallStatus::auditors_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.auditors = 6; }), CallStatus::auditors_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.replicas = 0; }), CallStatus::replicas_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.finish_blocks = 0; }), CallStatus::duration_out_of_range);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.contract_hash = word("other"); }), CallStatus::wrong_contract);
    EXPECT_EQ(try_post([](TaskSpec& s) { s.replay_blocks = 400; }), CallStatus::replay_too_long);
    EXPECT_EQ(send("requester", PostTask{small_spec()}, 1), CallStatus::wrong_value);
    EXPECT_EQ(views::task_count(state), 0u);
}

TEST_F(Refusals, CancelTask) {
    EXPECT_EQ(send("requester", CancelTask{1}), CallStatus::unknown_task);
    const U256 before = ledger::balance_of(state, party("requester"));
    add_solver("alice");
    const U256 alice = ledger::balance_of(state, party("alice"));
    post();
    ASSERT_EQ(commit_bid("alice", 5), CallStatus::ok);
    EXPECT_EQ(send("alice", CancelTask{1}), CallStatus::not_requester);
    EXPECT_EQ(send("requester", CancelTask{1}), CallStatus::ok);
    EXPECT_EQ(send("requester", CancelTask{1}), CallStatus::wrong_task_state);
    const U256 fee = market::cancel_fee(market::stake_floor(params, small_spec()).value());
    EXPECT_EQ(ledger::balance_of(state, party("requester")), before - fee) << "12.2.5";
    EXPECT_EQ(ledger::balance_of(state, party("alice")), alice) << "the deposit returns too";
}

TEST_F(Refusals, Bids) {
    add_solver("alice");
    add_solver("bob", 1);
    EXPECT_EQ(send("alice", CommitBid{1, word("x")}, params.bid_deposit), CallStatus::unknown_task);
    TaskSpec spec = small_spec();
    spec.price_ceiling = U256(3) * kCoin;
    post(spec);
    EXPECT_EQ(send("alice", CommitBid{1, {}}, params.bid_deposit), CallStatus::commitment_zero);
    EXPECT_EQ(send("requester", CommitBid{1, word("x")}, params.bid_deposit), CallStatus::own_task);
    EXPECT_EQ(send("carol", CommitBid{1, word("x")}, params.bid_deposit), CallStatus::not_registered);
    EXPECT_EQ(send("alice", CommitBid{1, word("x")}, 1), CallStatus::wrong_value);
    EXPECT_EQ(commit_bid("alice", 5), CallStatus::ok);
    EXPECT_EQ(commit_bid("alice", 5), CallStatus::already_bid);
    EXPECT_EQ(commit_bid("bob", 5), CallStatus::stake_too_low) << "a coin is below the floor of this ceiling";
    add_solver("dave");
    EXPECT_EQ(commit_bid("dave", 5), CallStatus::ok);
    EXPECT_EQ(reveal_bid("alice", 5), CallStatus::too_early);
    advance(params.bid_blocks);
    EXPECT_EQ(commit_bid("carol", 5), CallStatus::too_late);
    EXPECT_EQ(reveal_bid("carol", 5), CallStatus::not_bid);
    EXPECT_EQ(reveal_bid("alice", 6), CallStatus::wrong_opening);
    EXPECT_EQ(reveal_bid("alice", 0), CallStatus::price_zero);
    EXPECT_EQ(reveal_bid("bob", 5), CallStatus::not_bid);
    EXPECT_EQ(reveal_bid("alice", 5), CallStatus::ok);
    EXPECT_EQ(reveal_bid("alice", 5), CallStatus::already_revealed);
    advance(params.reveal_blocks);
    EXPECT_EQ(all<BidForfeited>().size(), 1u) << "dave's deposit is burned";
    EXPECT_EQ(views::stake(state, party("dave")).locked, U256()) << "and its stake is free again";
    EXPECT_EQ(task().state, market::TaskState::assigned);
    EXPECT_EQ(reveal_bid("bob", 5), CallStatus::wrong_task_state);
}

TEST_F(Refusals, BidsOverTheCeilingOrTooSlow) {
    add_solver("alice");
    TaskSpec spec = small_spec();
    spec.hardware_class = 2;
    post(spec);
    EXPECT_EQ(commit_bid("alice", 5), CallStatus::wrong_hardware);
    post();
    ASSERT_EQ(commit_bid("alice", 2 * market::kMilli, 2), CallStatus::ok);
    add_solver("bob");
    const Hash32 late = market::bid_commitment(2, 1, 5, 5'000, word("bob"), party("bob"));
    ASSERT_EQ(send("bob", CommitBid{2, late}, params.bid_deposit), CallStatus::ok);
    advance(params.bid_blocks);
    EXPECT_EQ(reveal_bid("alice", 2 * market::kMilli, 2), CallStatus::price_over_ceiling);
    EXPECT_EQ(send("bob", RevealBid{2, 5, 5'000, word("bob")}), CallStatus::finish_out_of_range);
}

TEST_F(Refusals, AcceptAndDecline) {
    add_solver("alice");
    add_solver("bob");
    EXPECT_EQ(send("alice", AcceptData{1}), CallStatus::unknown_task);
    post();
    EXPECT_EQ(send("alice", AcceptData{1}), CallStatus::not_solver);
    auction({{"alice", 5}, {"bob", 6}});
    EXPECT_EQ(send("bob", AcceptData{1}), CallStatus::not_solver);
    EXPECT_EQ(checkpoint("alice", 0), CallStatus::wrong_run_state);
    EXPECT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
    EXPECT_EQ(run().state, market::RunState::left);
    EXPECT_EQ(views::stake(state, party("alice")).locked, U256(0)) << "free of charge";
    EXPECT_EQ(task().state, market::TaskState::bidding);
    auction({{"bob", 6}});
    advance(params.accept_blocks + 1);
    EXPECT_EQ(run(1).state, market::RunState::left);
    EXPECT_EQ(views::solver(state, party("bob"))->reputation.silences, 1u);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(Refusals, Checkpoints) {
    start_run();
    EXPECT_EQ(send("alice", AcceptData{1}), CallStatus::wrong_run_state);
    EXPECT_EQ(send("alice", CommitCheckpoint{1, 0, 0, {}}), CallStatus::commitment_zero);
    EXPECT_EQ(checkpoint("bob", 0), CallStatus::not_solver);
    EXPECT_EQ(checkpoint("alice", 1), CallStatus::wrong_index);
    EXPECT_EQ(checkpoint("alice", 0, 7), CallStatus::unknown_run);
    EXPECT_EQ(checkpoint("alice", 0, 0, 7), CallStatus::unknown_task);
    for (std::uint64_t i = 0; i <= 4; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    EXPECT_EQ(checkpoint("alice", 5), CallStatus::wrong_index) << "beyond the last step";
    EXPECT_EQ(run().deadline, 0u);
    EXPECT_EQ(send("requester", AcceptModel{1}), CallStatus::wrong_task_state);
    EXPECT_EQ(send("alice", AcceptModel{1}), CallStatus::not_requester);
}

TEST_F(Refusals, OpeningsThatWouldLeak) {
    start_run();
    for (std::uint64_t i = 0; i <= 2; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    const auto open = [&](std::uint64_t i) {
        return send("alice", OpenRoots{1, 0, i, {salt(0, i)}, {solver_root(i)}});
    };
    EXPECT_EQ(send("alice", OpenRoots{1, 0, 1, {}, {}}), CallStatus::count_mismatch);
    EXPECT_EQ(send("alice", OpenRoots{1, 0, 1, {salt(0, 1)}, {}}), CallStatus::count_mismatch);
    EXPECT_EQ(open(3), CallStatus::not_committed);
    EXPECT_EQ(open(1), CallStatus::would_leak) << "the draw for segment 0 is not known";
    EXPECT_EQ(send("alice", OpenRoots{1, 0, 1, {salt(0, 1)}, {root(7)}}), CallStatus::wrong_opening);
    ASSERT_TRUE(advance_until([&] { return views::audit_count(state) >= 1; }));
    EXPECT_EQ(open(1), CallStatus::would_leak) << "the audit of segment 0 collects commitments";
    EXPECT_EQ(open(0), CallStatus::ok);
    EXPECT_EQ(open(0), CallStatus::already_opened);
}

TEST_F(Refusals, Audits) {
    start_audit();
    const auto open = [&](const char* name, std::uint64_t segment, const Hash32& root) {
        return send(name, OpenSegment{1, 0, segment, salt(0, segment), root});
    };
    EXPECT_EQ(open("bob", 0, root(0)), CallStatus::not_solver);
    EXPECT_EQ(open("alice", 1, root(1)), CallStatus::unknown_audit);
    EXPECT_EQ(open("alice", 0, root(9)), CallStatus::wrong_opening);
    const auto commit = [&](const std::string& name) {
        return send(name, CommitVerdict{1, solver::verdict_commitment(root(1), word(name), party(name).bytes, 1)});
    };
    EXPECT_EQ(commit("v1"), CallStatus::not_auditor) << "nobody is drawn before the opening";
    EXPECT_EQ(open("alice", 0, root(0)), CallStatus::ok);
    EXPECT_EQ(open("alice", 0, root(0)), CallStatus::wrong_phase);
    seat_auditors("alice");
    const std::string first = auditor(0), second = auditor(1);
    EXPECT_EQ(commit("bob"), CallStatus::not_auditor);
    EXPECT_EQ(send(first, CommitVerdict{9, word("x")}), CallStatus::unknown_audit);
    EXPECT_EQ(send(first, CommitVerdict{1, {}}), CallStatus::commitment_zero);
    EXPECT_EQ(commit(first), CallStatus::ok);
    EXPECT_EQ(commit(first), CallStatus::already_committed);
    const auto reveal_end = [&](const Hash32& root) { return send("alice", RevealSegment{1, 0, 0, salt(0, 1), root}); };
    EXPECT_EQ(reveal_end(root(1)), CallStatus::wrong_phase) << "the other auditor could copy it";
    EXPECT_EQ(commit(second), CallStatus::ok);
    const auto reveal = [&](const std::string& name, const Hash32& root) {
        return send(name, RevealVerdict{1, root, word(name)});
    };
    EXPECT_EQ(reveal(first, root(1)), CallStatus::wrong_phase);
    EXPECT_EQ(reveal_end(root(2)), CallStatus::wrong_opening);
    EXPECT_EQ(reveal_end(root(1)), CallStatus::ok);
    EXPECT_EQ(reveal(first, root(2)), CallStatus::wrong_opening);
    EXPECT_EQ(reveal(first, root(1)), CallStatus::ok);
    EXPECT_EQ(reveal(first, root(1)), CallStatus::already_revealed);
    EXPECT_EQ(send(first, AttestRetention{1, 0, 1}), CallStatus::not_matched) << "the audit is not over";
    EXPECT_EQ(reveal(second, root(1)), CallStatus::ok);
    EXPECT_EQ(audit().phase, AuditPhase::closed);
    EXPECT_EQ(send("bob", AttestRetention{1, 0, 1}), CallStatus::not_matched);
    EXPECT_EQ(send(first, AttestRetention{1, 0, 0}), CallStatus::wrong_index);
    EXPECT_EQ(send(first, AttestRetention{1, 0, 1}), CallStatus::ok);
    EXPECT_EQ(send(first, AttestRetention{1, 0, 1}), CallStatus::already_attested);
}

TEST_F(Refusals, Reports) {
    start_audit();
    ReportUnavailable report{1, 1, 0, 0, 0, 0};
    EXPECT_EQ(send("v1", report, params.report_fee), CallStatus::not_auditor) << "nothing is opened yet";
    seat_auditors("alice");
    const std::string first = auditor(0);
    EXPECT_EQ(send(first, report), CallStatus::wrong_value);
    EXPECT_EQ(send("bob", report, params.report_fee), CallStatus::not_auditor);
    report.kind = 7;
    EXPECT_EQ(send(first, report, params.report_fee), CallStatus::bad_kind);
    report.kind = 3;
    report.index = 2;
    EXPECT_EQ(send(first, report, params.report_fee), CallStatus::nothing_to_report);
    report.kind = 4;
    EXPECT_EQ(send(first, report, params.report_fee), CallStatus::not_requester);
    EXPECT_EQ(send("requester", report, params.report_fee), CallStatus::wrong_run_state);
    const std::uint64_t deadline = audit().deadline;
    report = {1, 1, 0, 0, 0, 0};
    EXPECT_EQ(send(first, report, params.report_fee), CallStatus::ok);
    EXPECT_EQ(audit().deadline, deadline + params.answer_blocks) << "the auditor's clock waits";
    EXPECT_EQ(send("bob", AnswerUnavailable{1, {1}}), CallStatus::not_solver);
    EXPECT_EQ(send("alice", AnswerUnavailable{2, {1}}), CallStatus::unknown_report);
    EXPECT_EQ(send("alice", AnswerUnavailable{1, {1}}), CallStatus::wrong_answer);
    const U256 before = ledger::balance_of(state, party(first));
    advance(params.answer_blocks + 1);
    EXPECT_EQ(run().state, market::RunState::forfeited);
    EXPECT_EQ(all<Slashed>().at(0).reason, "not_served");
    EXPECT_EQ(ledger::balance_of(state, party(first)), before + params.report_fee) << "the fee returns";
}

TEST_F(Refusals, ChallengesAndMoves) {
    start_audit();
    const ChallengeSegment challenge{1, 0, 0, word("mine")};
    EXPECT_EQ(send("v4", challenge), CallStatus::wrong_value);
    EXPECT_EQ(send("v4", challenge, params.challenge_bond), CallStatus::stake_too_low);
    EXPECT_EQ(send("alice", challenge, params.challenge_bond), CallStatus::own_run);
    EXPECT_EQ(send("bob", challenge, params.challenge_bond), CallStatus::not_opened);
    seat_auditors("alice");
    for (int i = 0; i < 3; ++i) {
        serve("alice");
        check_audits();
    }
    ASSERT_NE(segment(0).window_end, 0u);
    EXPECT_EQ(send("bob", ChallengeInitial{1, 0, word("x")}, params.challenge_bond), CallStatus::not_seeded);
    EXPECT_EQ(send("bob", ChallengeSegment{1, 0, 0, root(1)}, params.challenge_bond), CallStatus::same_root);
    EXPECT_EQ(send("bob", challenge, params.challenge_bond), CallStatus::ok);
    const Bytes choose = verifier::encode(verifier::Move{verifier::Choose{0}});
    EXPECT_EQ(send("bob", PlayMove{2, choose}), CallStatus::unknown_dispute);
    EXPECT_EQ(send("carol", PlayMove{1, choose}), CallStatus::not_party);
    EXPECT_EQ(send("bob", PlayMove{1, choose}), CallStatus::move_not_your_turn);
    EXPECT_EQ(send("alice", PlayMove{1, choose}), CallStatus::move_wrong_move);
    EXPECT_EQ(send("alice", PlayMove{1, {9, 9}}), CallStatus::bad_move);
    EXPECT_EQ(send("alice", PlayMove{1, Bytes(verifier::kMoveBytesMax + 1)}), CallStatus::move_too_large);
    EXPECT_EQ(send("alice", PlayMove{1, verifier::encode(verifier::Move{verifier::PostHashes{}})}),
              CallStatus::move_wrong_count);
    verifier::PostHashes hashes;
    hashes.hashes.resize(verifier::search_positions(views::game(state, 1)->search).size());
    EXPECT_EQ(send("alice", PlayMove{1, verifier::encode(verifier::Move{hashes})}), CallStatus::ok);
    // bob never answers: one part of his bond is paid to alice, the rest is burned, and the segment keeps its state.
    const U256 before = ledger::balance_of(state, party("alice"));
    ASSERT_EQ(checkpoint("alice", 2), CallStatus::ok);
    for (int i = 0; i < 25; ++i) {
        serve("alice");
        check_audits();
        if (run().next_state <= 4) checkpoint("alice", run().next_state);
        next_block();
    }
    EXPECT_EQ(views::dispute(state, 1)->state, market::DisputeState::challenger_lost);
    EXPECT_GE(ledger::balance_of(state, party("alice")), before + params.challenge_bond / U256(2));
    EXPECT_EQ(send("bob", challenge, params.challenge_bond), CallStatus::wrong_run_state) << "all is paid";
}

}  // namespace
}  // namespace retrace::contracts
