// SPDX-License-Identifier: MIT
// Provokes every status with which a call can be refused; a status that is not provoked fails the test.
#include <functional>

#include "contracts/records/places.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class CallStatusTable : public MarketTest {
protected:
    using Provoke = std::function<CallStatus()>;
    std::map<CallStatus, Provoke> rows_;

    void row(CallStatus status, Provoke provoke) {
        EXPECT_TRUE(rows_.emplace(status, std::move(provoke)).second) << slug(status) << " has two rows";
    }
    void post_row(CallStatus status, std::function<void(TaskSpec&)> change) {
        row(status, [this, change] {
            TaskSpec spec = small_spec();
            change(spec);
            const auto escrow = market::escrow_of(spec, params);
            return send("requester", PostTask{spec}, escrow ? escrow->total() : U256());
        });
    }

    // --- calls ---

    CallStatus challenge(std::string_view who, const Hash32& mine) {
        return send(who, ChallengeSegment{1, 0, 0, mine}, params.challenge_bond);
    }
    CallStatus report(std::string_view who, market::ReportKind kind = market::ReportKind::state) {
        return send(who, ReportUnavailable{static_cast<std::uint8_t>(kind), 1, 0, 0, 0, 0}, params.report_fee);
    }
    CallStatus move(std::string_view who, const verifier::Move& content) {
        return send(who, PlayMove{1, verifier::encode(content)});
    }
    CallStatus bid(std::string_view who) { return send(who, CommitBid{1, word("bid")}, params.bid_deposit); }
    CallStatus commit_verdict(const std::string& name) {
        return send(name, CommitVerdict{1, solver::verdict_commitment(root(1), word(name), party(name).bytes, 1)});
    }
    CallStatus reveal_verdict(const std::string& name, const Hash32& mine) {
        return send(name, RevealVerdict{1, mine, word("verdict " + name)});
    }
    CallStatus open_roots(std::uint64_t first) {
        return send("alice", OpenRoots{1, 0, first, {salt(0, first)}, {root(first)}});
    }
    std::string auditor(std::size_t seat = 0) const { return name_of(views::audit(state, 1)->seats.at(seat).auditor); }

    // --- progress of a task ---

    void posted() {
        add_solver("alice");
        add_solver("bob");
        post();
    }
    void with_bid() {
        posted();
        ASSERT_EQ(commit_bid("alice", 5), CallStatus::ok);
    }
    void at_reveals() {
        with_bid();
        advance(params.bid_blocks);
    }
    void assigned() {
        posted();
        auction({{"alice", 400}, {"bob", 700}});
    }
    void audited() {
        start_run();
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        ASSERT_TRUE(advance_until([&] { return views::audit_count(state) == 1; }));
    }
    void collecting() {
        audited();
        seat_auditors("alice");
    }
    /// The audit of segment 0 is over after `rounds` of answers.
    void verified(int rounds = 3) {
        collecting();
        for (int i = 0; i < rounds; ++i) {
            serve("alice");
            check_audits();
        }
    }
    void disputed() {
        verified();
        ASSERT_EQ(challenge("bob", word("mine")), CallStatus::ok);
    }
    void reported() {
        collecting();
        ASSERT_EQ(report(auditor()), CallStatus::ok);
    }

    void malformed_rows();
    void staking_rows();
    void auction_rows();
    void run_rows();
    void audit_rows();
    void report_rows();
    void dispute_rows();
};

void CallStatusTable::malformed_rows() {
    row(CallStatus::unknown_method, [this] { return send_raw(party("alice"), address_of(Contract::market), {}); });
    row(CallStatus::bad_arguments, [this] {
        Bytes data = calldata(CancelTask{1});
        data.pop_back();
        return send_raw(party("alice"), address_of(Contract::market), data);
    });
    row(CallStatus::not_payable, [this] { return send("alice", CancelTask{1}, 1); });
    post_row(CallStatus::name_too_long, [](TaskSpec& s) { s.name = std::string(65, 'x'); });
    post_row(CallStatus::program_missing, [](TaskSpec& s) { s.program_bytes = 0; });
    post_row(CallStatus::initial_state_unclear, [](TaskSpec& s) { s.init_root = word("x"); });
    post_row(CallStatus::too_many_data_roots, [](TaskSpec& s) { s.data_roots.resize(5); });
    post_row(CallStatus::steps_out_of_range, [](TaskSpec& s) { s.steps = 0; });
    post_row(CallStatus::interval_out_of_range, [](TaskSpec& s) { s.interval = 0; });
    post_row(CallStatus::too_many_segments, [](TaskSpec& s) { s.steps = 2'000'000, s.interval = 1; });
    post_row(CallStatus::price_zero, [](TaskSpec& s) { s.price_ceiling = 0; });
    post_row(CallStatus::price_too_high, [](TaskSpec& s) { s.price_ceiling = U256::max(); });
    post_row(CallStatus::auctions_out_of_range, [](TaskSpec& s) { s.auctions = 0; });
    post_row(CallStatus::audit_share_out_of_range, [](TaskSpec& s) { s.audit_bp = 0; });
    post_row(CallStatus::auditors_out_of_range, [](TaskSpec& s) { s.auditors = 6; });
    post_row(CallStatus::replicas_out_of_range, [](TaskSpec& s) { s.replicas = 6; });
    post_row(CallStatus::duration_out_of_range, [](TaskSpec& s) { s.finish_blocks = 0; });
    post_row(CallStatus::wrong_contract, [](TaskSpec& s) { s.contract_hash = word("other"); });
    post_row(CallStatus::replay_too_long, [](TaskSpec& s) { s.replay_blocks = 400; });
    row(CallStatus::commitment_zero, [this] { return send("alice", CommitBid{1, {}}); });
    row(CallStatus::count_mismatch, [this] { return send("alice", OpenRoots{1, 0, 1, {}, {}}); });
    row(CallStatus::bad_kind, [this] { return send("alice", ReportUnavailable{9, 1, 0, 0, 0, 0}); });
    row(CallStatus::bad_move, [this] { return send("alice", PlayMove{1, {9, 9}}); });
    row(CallStatus::move_too_large, [this] { return send("alice", PlayMove{1, Bytes(verifier::kMoveBytesMax + 1)}); });
    row(CallStatus::wrong_value, [this] { return send("requester", PostTask{small_spec()}, 1); });
    row(CallStatus::too_many_tasks, [this] {
        for (std::uint64_t i = 1; i <= market::kOpenTasksMax; ++i) add_open_task(state, 1'000 + i);
        return send("requester", PostTask{small_spec()}, market::escrow_of(small_spec(), params)->total());
    });
    row(CallStatus::out_of_gas, [this] {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        const Bytes deposit = calldata(Deposit{});
        const ledger::Call poor{party("alice"), address_of(Contract::staking), 1, deposit, 100};
        return static_cast<CallStatus>(decode_refusal(executor.call(next, block(), poor).output)->code);
    });
}

void CallStatusTable::staking_rows() {
    row(CallStatus::amount_zero, [this] { return send("alice", Deposit{}); });
    row(CallStatus::balance_too_low, [this] { return send("alice", Deposit{}, U256(5'000) * kCoin); });
    row(CallStatus::stake_too_low, [this] { return send("alice", BeginUnbond{1}); });
    row(CallStatus::nothing_unbonded, [this] { return send("alice", Withdraw{}); });
    row(CallStatus::still_unbonding, [this] {
        EXPECT_EQ(send("alice", Deposit{}, kCoin), CallStatus::ok);
        EXPECT_EQ(send("alice", BeginUnbond{kCoin}), CallStatus::ok);
        return send("alice", Withdraw{});
    });
    row(CallStatus::endpoint_too_long, [this] { return send("alice", RegisterSolver{"", 0}); });
    row(CallStatus::not_member, [this] { return send("v1", RetireVerifier{}); });
    row(CallStatus::verifiers_full, [this] {
        EXPECT_EQ(send("v1", Deposit{}, U256(100) * kCoin), CallStatus::ok);
        std::vector<Address> many;
        for (std::size_t i = 0; i < market::kVerifiersMax; ++i) many.push_back(party("member " + std::to_string(i)));
        std::sort(many.begin(), many.end());
        store_list(state, keys::verifiers(), many);
        many.clear();
        for (std::size_t i = 0; i < market::kCandidatesMax; ++i) {
            many.push_back(party("candidate " + std::to_string(i)));
            store(state, keys::stake(many.back()), market::Stake{U256(100) * kCoin, 0, 0, 0});
        }
        std::sort(many.begin(), many.end());
        store_list(state, keys::candidates(), many);
        return send("v1", RegisterVerifier{"http://v", word("x")});
    });
    row(CallStatus::reveal_not_due, [this] {
        add_verifier("v1");
        return send("v1", RevealBeacon{link("v1", kChain - 1)});
    });
    row(CallStatus::reveal_done, [this] {
        add_verifier("v1");
        advance(4);
        return send("v1", RevealBeacon{link("v1", kChain - 2)});
    });
    row(CallStatus::wrong_preimage, [this] {
        add_verifier("v1");
        silent.insert("v1");
        advance(4);
        return send("v1", RevealBeacon{word("guess")});
    });
    row(CallStatus::reveal_due, [this] {
        add_verifier("v1");
        silent.insert("v1");
        advance(4);
        return send("v1", RetireVerifier{});
    });
}

void CallStatusTable::auction_rows() {
    row(CallStatus::unknown_task, [this] { return send("requester", CancelTask{1}); });
    row(CallStatus::not_requester, [this] { return posted(), send("alice", CancelTask{1}); });
    row(CallStatus::wrong_task_state, [this] { return assigned(), send("requester", CancelTask{1}); });
    row(CallStatus::own_task, [this] { return posted(), bid("requester"); });
    row(CallStatus::not_registered, [this] { return posted(), bid("carol"); });
    row(CallStatus::already_bid, [this] { return with_bid(), bid("alice"); });
    row(CallStatus::wrong_hardware, [this] {
        add_solver("alice");
        TaskSpec spec = small_spec();
        spec.hardware_class = 2;
        post(spec);
        return bid("alice");
    });
    row(CallStatus::excluded, [this] {
        assigned();
        EXPECT_EQ(send("alice", DeclineTask{1}), CallStatus::ok);
        return bid("alice");
    });
    row(CallStatus::auction_full, [this] {
        posted();
        auto full = task();
        full.bidders.resize(market::kBiddersMax);
        store(state, keys::task(1), full);
        return bid("alice");
    });
    row(CallStatus::too_early, [this] { return with_bid(), reveal_bid("alice", 5); });
    row(CallStatus::too_late, [this] { return at_reveals(), bid("bob"); });
    row(CallStatus::not_bid, [this] { return at_reveals(), reveal_bid("bob", 5); });
    row(CallStatus::wrong_opening, [this] { return at_reveals(), reveal_bid("alice", 6); });
    row(CallStatus::already_revealed, [this] {
        at_reveals();
        EXPECT_EQ(reveal_bid("alice", 5), CallStatus::ok);
        return reveal_bid("alice", 5);
    });
    row(CallStatus::price_over_ceiling, [this] {
        posted();
        EXPECT_EQ(commit_bid("alice", 2 * market::kMilli), CallStatus::ok);
        advance(params.bid_blocks);
        return reveal_bid("alice", 2 * market::kMilli);
    });
    row(CallStatus::price_under_ceiling, [this] { return posted(), send("requester", TopUpTask{1, U256(5), 0}); });
    row(CallStatus::finish_out_of_range, [this] {
        posted();
        const Hash32 late = market::bid_commitment(1, 1, 5, 5'000, word("bob"), party("bob"));
        EXPECT_EQ(send("bob", CommitBid{1, late}, params.bid_deposit), CallStatus::ok);
        advance(params.bid_blocks);
        return send("bob", RevealBid{1, 5, 5'000, word("bob")});
    });
    row(CallStatus::not_more_replicas, [this] { return start_run(), send("requester", RaiseReplicas{1, 1}); });
    row(CallStatus::rounds_used_up, [this] {
        auto once = params;
        once.rounds = 1;
        begin(once);
        start_run();
        return send("requester", RaiseReplicas{1, 2});
    });
    row(CallStatus::already_running, [this] {
        start_run();
        const auto price = market::escrow_of_more(small_spec(), params, 0, 1).total();
        EXPECT_EQ(send("requester", RaiseReplicas{1, 2}, price), CallStatus::ok);
        return bid("alice");
    });
}

void CallStatusTable::run_rows() {
    row(CallStatus::not_spot, [this] {
        start_run();
        EXPECT_EQ(checkpoint("alice", 0), CallStatus::ok);
        return send("alice", GiveBack{1, 0, 1, word("blind")});
    });
    row(CallStatus::unknown_reservation, [this] { return send("alice", AcceptReservation{1}); });
    row(CallStatus::wrong_reservation_state, [this] {
        posted();
        EXPECT_EQ(send("requester", Reserve{small_spec(), party("alice"), U256(5), height + 10, height + 30}, 1),
                  CallStatus::ok);
        return send("requester", BeginReserved{1});
    });
    row(CallStatus::spot_task, [this] {
        TaskSpec spec = small_spec();
        spec.spot = true;
        return start_run(spec), send("requester", RaiseReplicas{1, 2});
    });
    row(CallStatus::not_solver, [this] { return assigned(), send("bob", AcceptData{1}); });
    row(CallStatus::wrong_run_state, [this] { return assigned(), checkpoint("alice", 0); });
    row(CallStatus::unknown_run, [this] { return start_run(), checkpoint("alice", 0, 7); });
    row(CallStatus::wrong_index, [this] { return start_run(), checkpoint("alice", 1); });
    row(CallStatus::not_committed, [this] { return start_run(), open_roots(3); });
    row(CallStatus::would_leak, [this] { return audited(), open_roots(1); });
    row(CallStatus::already_opened, [this] {
        collecting();
        return open_roots(0);
    });
    row(CallStatus::nothing_waits, [this] { return start_run(), send("requester", DecideUnaudited{1, 0, true}); });
    row(CallStatus::dispute_open, [this] {
        auto quick = params;
        quick.unaudited_blocks = 1;
        begin(quick);
        disputed();
        market::Run waits = run();
        waits.unaudited_since = height - 1;
        store(state, keys::run(1, 0), waits);
        return send("requester", DecideUnaudited{1, 0, false});
    });
    row(CallStatus::already_requested, [this] {
        verified();
        return send("alice", RequestRetention{1, 0, 1}, params.audit_fee);
    });
}

void CallStatusTable::audit_rows() {
    row(CallStatus::unknown_audit, [this] { return audited(), send("v1", CommitVerdict{9, word("x")}); });
    row(CallStatus::wrong_phase, [this] { return verified(), commit_verdict(auditor()); });
    row(CallStatus::not_auditor, [this] { return collecting(), commit_verdict("bob"); });
    row(CallStatus::already_committed, [this] {
        collecting();
        EXPECT_EQ(commit_verdict(auditor()), CallStatus::ok);
        return commit_verdict(auditor());
    });
    row(CallStatus::not_matched, [this] { return verified(), send("v4", AttestRetention{1, 0, 1}); });
    row(CallStatus::already_attested, [this] {
        verified();
        check_audits();
        return send(auditor(), AttestRetention{1, 0, 1});
    });
}

void CallStatusTable::report_rows() {
    row(CallStatus::nothing_to_report, [this] {
        collecting();
        return send(auditor(), ReportUnavailable{3, 1, 0, 2, 0, 0}, params.report_fee);
    });
    row(CallStatus::unknown_report, [this] { return send("alice", AnswerUnavailable{1, {1}}); });
    row(CallStatus::wrong_answer, [this] { return reported(), send("alice", AnswerUnavailable{1, {1}}); });
    row(CallStatus::already_answered, [this] {
        reported();
        advance(params.answer_blocks + 1);
        return send("alice", AnswerUnavailable{1, {1}});
    });
    row(CallStatus::too_many_open, [this] {
        collecting();
        auto audit = views::audit(state, 1).value();
        audit.seats[0].reports = static_cast<std::uint32_t>(params.reports);
        store(state, keys::audit(1), audit);
        return report(auditor());
    });
    row(CallStatus::not_keeper, [this] {
        start_run();
        wrong_from = 4;
        play("alice");
        auction({{"bob", 500}});
        EXPECT_EQ(send("bob", ReportUnavailable{5, 1, 0, run(1).first_state, 0, 0}, params.report_fee), CallStatus::ok);
        wrong_from = ~std::uint64_t{0};
        return send("alice", AnswerUnavailable{views::report_count(state), {1}});
    });
}

void CallStatusTable::dispute_rows() {
    row(CallStatus::own_run, [this] { return verified(), challenge("alice", word("mine")); });
    row(CallStatus::not_opened, [this] { return audited(), challenge("bob", word("mine")); });
    row(CallStatus::same_root, [this] { return verified(), challenge("bob", root(1)); });
    row(CallStatus::window_closed, [this] {
        auto slow = params;
        slow.checkpoint_blocks = 300;
        begin(slow);
        verified();
        advance(params.challenge_blocks);
        return challenge("bob", word("mine"));
    });
    row(CallStatus::not_seeded, [this] {
        verified();
        return send("bob", ChallengeInitial{1, 0, word("x")}, params.challenge_bond);
    });
    row(CallStatus::unknown_dispute, [this] { return move("bob", verifier::Choose{0}); });
    row(CallStatus::not_party, [this] { return disputed(), move("carol", verifier::Choose{0}); });
    row(CallStatus::move_not_your_turn, [this] { return disputed(), move("bob", verifier::Choose{0}); });
    row(CallStatus::move_wrong_move, [this] { return disputed(), move("alice", verifier::Choose{0}); });
    row(CallStatus::move_wrong_count, [this] { return disputed(), move("alice", verifier::PostHashes{}); });
    row(CallStatus::move_out_of_range, [this] {
        disputed();
        verifier::PostHashes hashes;
        hashes.hashes.resize(verifier::search_positions(views::game(state, 1)->search).size());
        EXPECT_EQ(move("alice", hashes), CallStatus::ok);
        return move("bob", verifier::Choose{999});
    });
}

TEST_F(CallStatusTable, EveryRefusalIsProvoked) {
    malformed_rows();
    staking_rows();
    auction_rows();
    run_rows();
    audit_rows();
    report_rows();
    dispute_rows();
    // Refusals of moves that require a game with real states: RealStates.MovesThatDoNotFitAreRefusedByName.
    const std::set<CallStatus> elsewhere{
        CallStatus::move_wrong_children, CallStatus::move_bad_proof, CallStatus::move_wrong_opening,
        CallStatus::move_missing_input, CallStatus::move_wrong_leaf,
        // CapabilityTest.EachMoveHasItsTimeAndItsSender.
        CallStatus::rounds_out_of_range, CallStatus::bad_capability_proof, CallStatus::unknown_challenge,
        CallStatus::not_challenged, CallStatus::wrong_challenge_state, CallStatus::wrong_capability_proof,
        // GroupRefusals.*
        CallStatus::bad_plan, CallStatus::group_terms_out_of_range, CallStatus::bad_leaves,
        // Validators.*
        CallStatus::bad_validator_key, CallStatus::set_closed, CallStatus::key_taken, CallStatus::wrong_key_proof,
        CallStatus::double_signed, CallStatus::not_jailed, CallStatus::still_jailed, CallStatus::validators_full,
        CallStatus::not_in_set, CallStatus::wrong_version, CallStatus::wrong_height,
        CallStatus::task_frozen};  // BrokenRules; rules_broken is 4xx, those of GroupRefusals are 5xx.
    // Redundant checks. A decided dispute is removed from the list before a move could reach its game; with an audit
    // share of at least one basis point and a colluding share below all, some stake always suffices.
    // No longer given: solvers_full (10.4.3).
    const std::set<CallStatus> unreachable{CallStatus::move_decided, CallStatus::no_stake_suffices,
                                           CallStatus::solvers_full};
    for (std::uint16_t code = 1; code < 400; ++code) {
        const auto status = static_cast<CallStatus>(code);
        if (slug(status) == "unknown" || elsewhere.contains(status) || unreachable.contains(status)) continue;
        const auto found = rows_.find(status);
        if (found == rows_.end()) {
            ADD_FAILURE() << slug(status) << " has no row";
            continue;
        }
        begin(small_params());
        silent.clear();
        wrong_from = ~std::uint64_t{0};
        events.clear();
        EXPECT_EQ(slug(found->second()), slug(status));
    }
}

}  // namespace
}  // namespace retrace::contracts
