// SPDX-License-Identifier: MIT
// The cost of reads. SPEC 6.3 and 6.5.
#include "contracts/records/methods.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class Reads : public MarketTest {
protected:
    Reads() : data(calldata(ReadTaskIds{})) {}
    ledger::Call of(std::uint64_t gas, const U256& value = 0) const {
        return {party("bob"), address_of(Contract::market), value, data, gas};
    }
    ledger::CallResult in_transaction(const ledger::Call& call) const {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        return executor.call(next, block(), call);
    }
    const Bytes data;
    const std::uint64_t price = kViewGas + 8 * 4;
};

TEST_F(Reads, ATransactionPaysForAReadAndNothingIsKeptOfIt) {
    const auto done = in_transaction(of(1'000'000));
    EXPECT_TRUE(done.ok);
    EXPECT_EQ(done.gas_used, price);
    EXPECT_TRUE(done.output.empty()) << "a receipt would keep it for ever";
    EXPECT_EQ(decode_refusal(in_transaction(of(1'000'000, 1)).output)->slug, "not_payable");
}

TEST_F(Reads, WithTooLittleGasNothingIsRead) {
    for (const std::uint64_t gas : {std::uint64_t{0}, price - 1}) {
        for (const auto& short_of_gas : {in_transaction(of(gas)), executor.view_call(state, block(), of(gas))}) {
            EXPECT_FALSE(short_of_gas.ok);
            EXPECT_EQ(short_of_gas.gas_used, gas);
            EXPECT_EQ(decode_refusal(short_of_gas.output)->slug, "out_of_gas");
        }
    }
    const auto answer = executor.view_call(state, block(), of(price));
    EXPECT_TRUE(answer.ok);
    EXPECT_EQ(decode_answer<ReadTaskIds>(answer.output)->count, 0u);
}

}  // namespace
}  // namespace retrace::contracts
