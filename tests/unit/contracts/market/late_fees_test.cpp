// SPDX-License-Identifier: MIT
// Auditors of a run are paid by the ceiling of its own auction, however late they attest. SPEC 14.9, market 6.1.
#include "contracts/records/auctions.hpp"
#include "contracts/records/standing.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::TaskState;

class LateFees : public MarketTest {
protected:
    static inline const U256 kCeiling = small_spec().price_ceiling, kRaised = kCeiling * U256(2);

    U256 fee_at(const U256& ceiling) const {
        TaskSpec spec = small_spec();
        spec.price_ceiling = ceiling;
        return market::audit_fee(params, spec);
    }
    /// alice has computed one segment of a spot task and given it back; its auditors matched and have not attested, and the
    /// task's next auction has the raised ceiling.
    void raise_after_a_run() {
        auto low = small_params();
        low.audit_fee = 1;
        begin(low);
        ASSERT_LT(fee_at(kCeiling), fee_at(kRaised));
        TaskSpec spec = small_spec();
        spec.spot = true;
        spec.audit_bp = 1;
        keeping = false;
        start_run(spec);
        ASSERT_EQ(checkpoint("alice", 0), CallStatus::ok);
        const Hash32 blind = solver::checkpoint_commitment(1, 0, 1, salt(0, 1), solver_root(1, 0));
        ASSERT_EQ(send("alice", GiveBack{1, 0, 1, blind}), CallStatus::ok);
        const U256 price = market::escrow_of_top_up(spec, params, 0, kRaised).total();
        ASSERT_EQ(send("requester", TopUpTask{1, kRaised, 1}, price), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(advance_until([&] {
            if (task().state == TaskState::running) serve("alice");
            check_audits();
            return task().state == TaskState::bidding;
        }));
        ASSERT_EQ(views::spec(state, 1)->price_ceiling, kRaised);
        EXPECT_EQ(views::run_ceiling(state, 1, 0), kCeiling);
    }
};

/// An owner of the requester, the solver and an auditor would mint a standing with coins that it pays to itself, and auditors of
/// later runs would find the budget empty.
TEST_F(LateFees, ATopUpRaisesNoFeeOfARunThatIsOver) {
    raise_after_a_run();
    const std::string auditor = name_of(views::audit(state, 1)->seats.at(0).auditor);
    const U256 before = views::standing(state, party("alice")).verified, budget = task().audit_budget;
    ASSERT_EQ(send(auditor, AttestRetention{1, 0, 1}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(all<AuditPaid>().back().amount, fee_at(kCeiling));
    EXPECT_EQ(task().audit_budget, budget - fee_at(kCeiling));
    EXPECT_EQ(views::standing(state, party("alice")).verified, before + fee_at(kCeiling));
}

TEST_F(LateFees, AuditorsOfTheNextRunArePaidByItsCeiling) {
    raise_after_a_run();
    auction({{"bob", 700}});
    ASSERT_EQ(send("bob", AcceptData{1}), CallStatus::ok);
    EXPECT_EQ(views::run_ceiling(state, 1, 1), kRaised);
    keeping = true;
    play_all();
    ASSERT_EQ(task().state, TaskState::delivering);
    std::set<U256> fees;
    for (const AuditPaid& paid : all<AuditPaid>()) fees.insert(paid.amount);
    EXPECT_EQ(fees, (std::set<U256>{fee_at(kCeiling), fee_at(kRaised)}));
}

}  // namespace
}  // namespace retrace::contracts
