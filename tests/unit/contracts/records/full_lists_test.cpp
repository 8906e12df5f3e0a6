// SPDX-License-Identifier: MIT
// No list grows beyond the capacity of its record: a call that would make it longer is refused. SPEC 12.3.12 and 15.9.
#include "contracts/records/store.hpp"
#include "merkle/base/non_fatal.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class FullLists : public MarketTest {
protected:
    /// Like send, but without sums over all records after each call, since there are hundreds of tasks here.
    template <class Call>
    CallStatus quick(std::string_view sender, const Call& call, const U256& value = 0) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        const Bytes data = calldata(call);
        last = executor.call(next, block(), {party(sender), address_of(Call::kContract), value, data, 10'000'000});
        if (last.ok) state.apply(next.diff());
        const auto refused = last.ok ? std::nullopt : decode_refusal(last.output);
        return refused ? static_cast<CallStatus>(refused->code) : CallStatus::ok;
    }
    void quick_block() {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        ++height;
        (void)executor.begin_block(next, block());
        state.apply(next.diff());
    }
};

TEST_F(FullLists, BidsAndRunsOfASolverCountTogether) {
    const NonFatalScope failed_invariants_are_thrown;
    auto cheap = params;
    cheap.audit_bond = U256(1);
    begin(cheap);
    add_solver("alice");
    TaskSpec spec = small_spec();
    spec.price_ceiling = U256(1000);
    spec.auditors = 1;
    const auto escrow = market::escrow_of(spec, params);
    constexpr std::uint64_t kTasks = market::kOpenItemsMax + 4;
    std::uint64_t taken = 0;
    for (std::uint64_t id = 1; id <= kTasks; ++id) {
        ASSERT_EQ(quick("requester", PostTask{spec}, escrow->total()), CallStatus::ok);
        const std::uint64_t finish = task(id).reveal_end + 900;
        const Hash32 sealed = market::bid_commitment(id, 1, U256(400), finish, word("alice"), party("alice"));
        const CallStatus status = quick("alice", CommitBid{id, sealed}, params.bid_deposit);
        taken += status == CallStatus::ok;
        EXPECT_EQ(status, taken <= market::kOpenItemsMax && id <= market::kOpenItemsMax ? CallStatus::ok
                                                                                        : CallStatus::too_many_open)
            << "bid " << id << ", all of them open at once";
    }
    while (height < task(kTasks).bid_end) quick_block();
    for (std::uint64_t id = 1; id <= kTasks; ++id)
        quick("alice", RevealBid{id, U256(400), task(id).reveal_end + 900, word("alice")});
    for (int i = 0; i < 6; ++i) quick_block();
    EXPECT_LE(views::open_runs(state, party("alice")).size(), market::kOpenItemsMax);
    check_deep();
}

/// Five solvers on 1,025 tasks, starting with a full list: replicas of a seeded task that start from different states.
TEST_F(FullLists, ReplicasThatDifferHaltNothingWhenASolverIsInAsManyDisputesAsAListHolds) {
    const NonFatalScope failed_invariants_are_thrown;
    for (const char* name : {"v1", "v2", "v3"}) add_verifier(name);
    for (const char* name : {"alice", "bob"}) add_solver(name);
    advance(9);
    TaskSpec spec = small_spec();
    spec.replicas = 2;
    std::swap(spec.init_root, spec.initial_state_root);
    post(spec);
    auction({{"alice", 400}, {"bob", 500}});
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    wrong_from = 0;
    wrong_run = 1;
    for (const std::uint64_t i : {0, 1}) {
        ASSERT_EQ(checkpoint("alice", i, 0), CallStatus::ok);
        ASSERT_EQ(checkpoint("bob", i, 1), CallStatus::ok);
    }
    std::vector<std::uint64_t> full(market::kRecordListMax);
    for (std::size_t i = 0; i < full.size(); ++i) {
        market::Dispute other;
        other.id = full[i] = 1'000'000 + i;
        other.kind = market::DisputeKind::replica_initial;
        other.state = market::DisputeState::open;
        other.task = 2 + i;
        other.challenger = party("carol");
        store(state, keys::dispute(other.id), other);
    }
    store_list(state, keys::open_disputes(party("alice")), full);
    const auto opening = [&](std::uint32_t index) -> std::optional<OpenSegment> {
        for (const std::uint64_t id : open_audit_ids(1, index))
            if (views::audit(state, id)->phase == market::AuditPhase::opening)
                return OpenSegment{1, index, 0, salt(index, 0), solver_root(0, index)};
        return std::nullopt;
    };
    for (int i = 0; i < 40 && !(opening(0) && opening(1)); ++i) quick_block();
    ASSERT_TRUE(opening(0) && opening(1));
    ASSERT_EQ(quick("alice", *opening(0)), CallStatus::ok);
    ASSERT_NO_THROW(quick("bob", *opening(1))) << "a full list is a refusal, or a comparison that waits";
    EXPECT_LE(views::open_disputes(state, party("alice")).size(), market::kRecordListMax);
    for (int i = 0; i < 20; ++i) ASSERT_NO_THROW(quick_block());
}

}  // namespace
}  // namespace retrace::contracts
