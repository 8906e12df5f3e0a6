// SPDX-License-Identifier: MIT
// Events of the ledger become what a party earned and lost.
#include "node/agents/earnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contracts/calls/encode.hpp"

namespace retrace::node {
namespace {

using ledger::U256;

TEST(Earnings, CountsTheEventsOfOnePartyAlone) {
    const ledger::Address self{{1}}, other{{2}};
    const U256 coin(1'000'000'000'000'000'000u);
    Earnings earned;
    const auto take = [&](const auto& event) { earned.take(contracts::to_log(event), self); };
    take(contracts::SegmentsPaid{.task = 1, .solver = self, .run = 0, .first = 0, .count = 3, .amount = coin});
    take(contracts::SegmentsPaid{.task = 1, .solver = other, .run = 0, .first = 0, .count = 3, .amount = coin});
    take(contracts::AuditPaid{.audit = 4, .auditor = self, .amount = coin / U256(2)});
    take(contracts::AuditPaid{.audit = 4, .auditor = other, .amount = coin});
    take(contracts::Slashed{
        .party = self, .task = 1, .amount = coin, .burned = coin, .to_others = {}, .reason = "fault"});
    take(contracts::Slashed{
        .party = other, .task = 1, .amount = coin, .burned = coin, .to_others = {}, .reason = "fault"});
    take(contracts::EscrowReturned{.task = 1, .requester = self, .amount = coin});
    TxOutcome call;
    call.gas_used = 1000;
    call.gas_price = U256(10'000'000'000'000u);
    earned.add_fees(call);
    EXPECT_EQ(text_of(earned), "earned 1.5 coins (3 segments, 1 audit); fees 0.01 coins; slashed 1 coin");
}

TEST(Earnings, CountTheDepositsOfReservationsThatWereNotUsed) {
    const ledger::Address self{{1}}, other{{2}};
    const U256 coin(1'000'000'000'000'000'000u);
    Earnings earned;
    for (const ledger::Address& solver : {self, other})
        earned.take(contracts::to_log(contracts::ReservationPaid{.reservation = 3, .solver = solver, .amount = coin}),
                    self);
    EXPECT_EQ(text_of(earned),
              "earned 1 coin (0 segments, 0 audits, 1 unused reservation); fees 0 coins; slashed 0 coins");
}

TEST(Earnings, AreNoneAtTheStart) {
    EXPECT_EQ(text_of(Earnings{}), "earned 0 coins (0 segments, 0 audits); fees 0 coins; slashed 0 coins");
}

}  // namespace
}  // namespace retrace::node
