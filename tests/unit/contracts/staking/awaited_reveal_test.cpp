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

/// 4.5
TEST_F(AwaitedReveal, IsFreeOnceAnEpoch) {
    add_verifier("v1");
    EXPECT_FALSE(last.is_free) << "no other call is";
    silent.insert("v1");
    ASSERT_EQ(send("v1", RevealBeacon{link("v1", kChain - 1)}), CallStatus::reveal_not_due);
    EXPECT_FALSE(last.is_free);
    advance(4);
    ASSERT_EQ(send("v2", RevealBeacon{link("v1", kChain - 1)}), CallStatus::not_member);
    EXPECT_FALSE(last.is_free) << "a copy";
    ASSERT_EQ(send("v1", RevealBeacon{word("guess")}), CallStatus::wrong_preimage);
    EXPECT_FALSE(last.is_free);
    ASSERT_EQ(send("v1", RevealBeacon{link("v1", kChain - 1)}), CallStatus::ok);
    EXPECT_TRUE(last.is_free);
    ASSERT_EQ(send("v1", RevealBeacon{link("v1", kChain - 2)}), CallStatus::reveal_done);
    EXPECT_FALSE(last.is_free);
    advance(4);
    ASSERT_EQ(send("v1", RevealBeacon{link("v1", kChain - 2)}), CallStatus::ok);
    EXPECT_TRUE(last.is_free);
}

/// 4.5: what all members together use without a base fee in an epoch.
TEST_F(AwaitedReveal, OfAllMembersTakesLittleOfABlock) {
    ledger::Transaction tx;
    tx.to = address_of(Contract::staking);
    tx.data = calldata(RevealBeacon{word("all bytes set")});
    tx.gas_limit = 10'000'000;
    const std::uint64_t gas = market::kVerifiersMax * ledger::max_gas(tx, executor);
    EXPECT_LE(gas, 54'000'000U);
    EXPECT_LE(7 * gas, ledger::Genesis{}.gas_limit) << "a seventh";
    EXPECT_LE(gas, ledger::Genesis{}.gas_limit / 2) << "so it raises no base fee";
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
