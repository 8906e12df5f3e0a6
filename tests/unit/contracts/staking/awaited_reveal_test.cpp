// SPDX-License-Identifier: MIT
// Which calls a block must not leave out for others that pay more. SPEC 11.3, ledger 7.4.1
#include "ledger/chain/genesis.hpp"
#include "ledger/exec/max_gas.hpp"
#include "ledger/mempool/mempool_impl.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

struct AwaitedReveal : MarketTest {
    bool is_awaited(std::string_view who, const Bytes& data, std::uint64_t gas = 200'000, const U256& value = 0,
                    Contract to = Contract::staking) {
        return executor.is_awaited(state, block().height, {party(who), address_of(to), value, data, gas});
    }
};

TEST_F(AwaitedReveal, IsTheOneThatWouldBeAccepted) {
    add_verifier("v1");
    const Bytes reveal = calldata(RevealBeacon{link("v1", kChain - 1)});
    EXPECT_FALSE(is_awaited("v1", reveal)) << "its first reveal is due in the next epoch";
    silent.insert("v1");
    advance(4);
    EXPECT_TRUE(is_awaited("v1", reveal));
    EXPECT_FALSE(is_awaited("v2", reveal)) << "no member";
    EXPECT_FALSE(is_awaited("v1", calldata(RevealBeacon{word("guess")})));
    EXPECT_FALSE(is_awaited("v1", reveal, executor.gas_of(address_of(Contract::staking), reveal) - 1));
    EXPECT_FALSE(is_awaited("v1", reveal, 200'000, 1));
    EXPECT_FALSE(is_awaited("v1", reveal, 200'000, 0, Contract::market));
    EXPECT_FALSE(is_awaited("v1", calldata(RetireVerifier{})));
    EXPECT_FALSE(is_awaited("v1", Bytes(reveal.begin(), reveal.end() - 1)));
    EXPECT_FALSE(is_awaited("v1", {}));
    ASSERT_EQ(send("v1", RevealBeacon{link("v1", kChain - 1)}), CallStatus::ok);
    EXPECT_FALSE(is_awaited("v1", calldata(RevealBeacon{link("v1", kChain - 2)}))) << "one in each epoch";
}

/// Agents cannot choose what they sent before the reveal: a verdict has its own deadline.
TEST_F(AwaitedReveal, IsAwaitedBehindAVerdictOrAnAttestation) {
    const auto gas = [&](const auto& call) {
        ledger::Transaction tx;
        tx.to = address_of(std::remove_cvref_t<decltype(call)>::kContract);
        tx.data = calldata(call);
        tx.gas_limit = 10'000'000;
        return ledger::max_gas(tx, executor);
    };
    RevealVerdict verdict;
    verdict.root = verdict.salt = word("all bytes set");
    AttestRetention attestation;
    const std::uint64_t reveal = gas(RevealBeacon{word("all bytes set")});
    EXPECT_LE(gas(verdict) + reveal, ledger::kAwaitedGas);
    EXPECT_LE(gas(attestation) + reveal, ledger::kAwaitedGas);
    EXPECT_LE(1'024 * ledger::kAwaitedGas, 2 * ledger::Genesis{}.gas_limit);
}

}  // namespace
}  // namespace retrace::contracts
