// SPDX-License-Identifier: MIT
// A call pays for the items that it schedules: an item costs its share of the scheduler's work in a block (SPEC 4.4,
// decisions/005). Otherwise a burst of cheap calls would delay all deadlines.
#include "contracts/calls/gas.hpp"
#include "contracts/records/store.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class PaidItems : public MarketTest {
protected:
    /// Number of scheduled items at all heights.
    std::uint64_t scheduled() const {
        std::uint64_t count = 0;
        for (std::uint64_t at = height + 1; at < height + 2'000; ++at) count += counter(state, keys::due_count(at));
        return count;
    }
};

TEST_F(PaidItems, ABurstOfReportsPaysForItsDeadlines) {
    auto many = params;
    many.reports = 64;
    many.answer_blocks = 40;
    begin(many);
    start_run();
    for (const std::uint64_t i : {0, 1, 2}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    seat_auditors("alice");
    const std::vector<market::Seat> seats = views::audit(state, 1)->seats;
    ASSERT_EQ(seats.size(), 2u);
    const std::uint64_t before = scheduled();
    std::uint64_t gas = 0, sent = 0;
    for (const market::Seat& seat : seats) {
        for (std::uint64_t tile = 0; tile < many.reports; ++tile) {
            const ReportUnavailable report{1, 1, 0, 0, 0, tile};
            if (send(name_of(seat.auditor), report, params.report_fee) != CallStatus::ok) break;
            gas += last.gas_used;
            ++sent;
        }
    }
    ASSERT_GE(sent, 1u) << "an auditor that is not served may say so";
    const std::uint64_t items = scheduled() - before;
    // The chain may pay for one scheduled item per audit and per auditor, since their number is bounded.
    EXPECT_GE(gas, (items - std::min<std::uint64_t>(items, 1 + seats.size())) * kGasScheduledItem)
        << items << " items for " << sent << " reports";
}

}  // namespace
}  // namespace retrace::contracts
