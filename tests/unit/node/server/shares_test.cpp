// SPDX-License-Identifier: MIT
// Shares of the beacon in proposals and votes. Contracts' SPEC 20.8.
#include "node/server/engine/shares.hpp"

#include <gtest/gtest.h>

#include "contracts/calls/validator_message.hpp"
#include "contracts/executor.hpp"
#include "ledger/storage/store.hpp"
#include "market/validator.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/config/params_json.hpp"
#include "node/server/engine/application.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kFounders = 4;

/// A chain with four founders of power 1 each, driven as an engine does.
class Shares : public testing::Test {
protected:
    Shares() {
        genesis_ = dev_genesis({});
        genesis_.contracts = market::encode(default_params());
        for (std::uint8_t i = 0; i < kFounders; ++i) {
            ledger::Validator founder;
            founder.key.bytes.fill(static_cast<std::uint8_t>(i + 1));
            founder.account.bytes.fill(static_cast<std::uint8_t>(i + 1));
            founder.vrf_key = secret(i).key();
            genesis_.validators.push_back(founder);
        }
        genesis_.validator_rules = market::encode(market::ValidatorRules{});
        chain_ = ledger::Chain::open(store_, genesis_, executor_).value();
        application_.emplace(*chain_, pool_);
    }
    static ledger::VrfSecret secret(std::uint8_t i) {
        return *ledger::VrfSecret::from_bytes(Bytes(32, static_cast<std::uint8_t>(i + 1)));
    }
    engine::Address20 address(std::size_t i) const { return ledger::consensus_address(genesis_.validators[i].key); }
    Bytes proof(std::uint8_t i, std::uint64_t height) const {
        return to_bytes(secret(i).prove(contracts::beacon_share_message(genesis_.chain_id, height)));
    }
    /// Votes of all founders for a block of that height.
    std::vector<engine::Vote> votes(std::uint64_t height) const {
        std::vector<engine::Vote> out;
        for (std::uint8_t i = 0; i < kFounders; ++i)
            out.push_back({address(i), 1, engine::VoteFlag::commit, proof(i, height)});
        return out;
    }
    engine::BlockView block(std::uint64_t height, const std::vector<engine::Vote>& commit) const {
        engine::BlockView out;
        out.height = height;
        out.time = genesis_.time_ns + height;
        out.proposer = address(0);
        out.last_commit = commit;
        return out;
    }
    void pass_to(std::uint64_t height) {
        for (std::uint64_t next = chain_->height() + 1; next <= height; ++next) {
            ASSERT_TRUE(application_->finalize(block(next, {})).has_value());
            ASSERT_TRUE(application_->commit().has_value());
        }
    }
    /// Whether validators accept a block of the first height of epoch 1 with these entries.
    bool accepts(const std::vector<Bytes>& entries, const std::vector<engine::Vote>& commit) {
        std::vector<View> txs(entries.begin(), entries.end());
        engine::BlockView proposal = block(kFirst, commit);
        proposal.txs = txs;
        return application_->process(proposal);
    }
    static Bytes entry(const std::vector<engine::Vote>& commit) { return encode_shares(shares_of(commit)); }

    static constexpr std::uint64_t kFirst = 10;  // default_params().epoch_blocks
    ledger::Genesis genesis_;
    ledger::MemoryStore store_;
    const contracts::Executor executor_;
    std::unique_ptr<ledger::Chain> chain_;
    ledger::Mempool pool_{executor_};
    std::optional<LedgerApplication> application_;
};

TEST_F(Shares, OfMoreThanTwoThirdsComeFirstInAnEpochsFirstBlock) {
    pass_to(kFirst - 1);
    const auto commit = votes(kFirst - 1);
    const auto proposed = application_->propose(block(kFirst, commit), 1U << 20);
    ASSERT_EQ(proposed.size(), 1U);
    EXPECT_EQ(proposed[0], entry(commit));
    EXPECT_TRUE(accepts(proposed, commit));

    const std::vector<View> txs(proposed.begin(), proposed.end());
    engine::BlockView decided = block(kFirst, commit);
    decided.txs = txs;
    const auto result = application_->finalize(decided);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->txs.size(), 1U) << "CometBFT wants a result for each entry";
    EXPECT_EQ(result->txs[0].code, 0U);
    ASSERT_TRUE(application_->commit().has_value());
    EXPECT_EQ(chain_->tip()->txs.size(), 0U) << "the entry is no transaction";
    const ledger::MemoryStore& stored = store_;
    EXPECT_TRUE(ledger::verify_db(stored, genesis_, executor_).has_value()) << "executed again from what is stored";
}

TEST_F(Shares, OtherHeightsBringNone) {
    pass_to(kFirst - 2);
    const auto commit = votes(kFirst - 2);
    EXPECT_TRUE(application_->propose(block(kFirst - 1, commit), 1U << 20).empty());
    const Bytes stray = entry(commit);
    const std::vector<View> txs{stray};
    engine::BlockView proposal = block(kFirst - 1, commit);
    proposal.txs = txs;
    EXPECT_FALSE(application_->process(proposal));
}

TEST_F(Shares, ABlockWithoutEnoughRightSharesIsRefused) {
    pass_to(kFirst - 1);
    const auto commit = votes(kFirst - 1);
    EXPECT_FALSE(accepts({}, commit));
    EXPECT_FALSE(accepts({Bytes{1, 2, 3}}, commit));

    auto three = commit;
    three.pop_back();
    EXPECT_TRUE(accepts({entry(three)}, commit)) << "three of four are more than two thirds";
    auto two = three;
    two.pop_back();
    EXPECT_FALSE(accepts({entry(two)}, commit));

    auto forged = commit;
    forged[1].extension[50] ^= 1;
    EXPECT_FALSE(accepts({entry(forged)}, commit)) << "one wrong share spoils the block";
    auto earlier = commit;
    earlier[1].extension = proof(1, kFirst - 2);
    EXPECT_FALSE(accepts({entry(earlier)}, commit));
    auto other = commit;
    other[1].extension = commit[0].extension;
    EXPECT_FALSE(accepts({entry(other)}, commit));

    auto absent = commit;
    absent[3].flag = engine::VoteFlag::absent;
    EXPECT_FALSE(accepts({entry(commit)}, absent)) << "a share of a validator that did not vote";
    EXPECT_TRUE(accepts({entry(three)}, absent));

    Bytes longer = entry(commit);
    longer.push_back(0);
    EXPECT_FALSE(accepts({longer}, commit));
    EXPECT_FALSE(accepts({entry(commit), entry(commit)}, commit));
}

TEST_F(Shares, WhatAProposerMakesOfAForgedOrALongVoteIsAccepted) {
    // CometBFT takes a vote that comes after its block was decided without asking the application.
    pass_to(kFirst - 1);
    for (const Bytes& extension : {Bytes(81, 7), Bytes{}, Bytes(1U << 20, 7), proof(1, kFirst - 1)}) {
        auto commit = votes(kFirst - 1);
        commit[3].extension = extension;
        const auto proposed = application_->propose(block(kFirst, commit), 1U << 20);
        ASSERT_EQ(proposed.size(), 1U);
        EXPECT_EQ(decode_shares(proposed[0])->size(), 3U);
        EXPECT_TRUE(accepts(proposed, commit));
    }
}

TEST_F(Shares, ManyProofsOfOneOffenceAreOneReport) {
    engine::BlockView decided = block(1, {});
    const std::vector<engine::Fault> faults(500, {engine::FaultKind::duplicate_vote, address(2), 1, 1, 0});
    decided.faults = faults;
    ASSERT_TRUE(application_->finalize(decided).has_value());
    ASSERT_TRUE(application_->commit().has_value());
    const ledger::MemoryStore& stored = store_;
    EXPECT_TRUE(ledger::verify_db(stored, genesis_, executor_).has_value());
}

TEST_F(Shares, AreEncodedInOrderOnly) {
    auto shares = shares_of(votes(1));
    EXPECT_EQ(decode_shares(encode_shares(shares)), shares);
    std::swap(shares[0], shares[1]);
    EXPECT_FALSE(decode_shares(encode_shares(shares)).has_value());
    shares[0] = shares[1];
    EXPECT_FALSE(decode_shares(encode_shares(shares)).has_value());
    Bytes cut = encode_shares(shares_of(votes(1)));
    for (; !cut.empty(); cut.pop_back())
        EXPECT_EQ(decode_shares(View(cut).first(cut.size() - 1)), std::nullopt) << cut.size();
}

TEST_F(Shares, AVotesExtensionIsTheProofOfItsValidatorForItsHeight) {
    const auto accepts_extension = [&](std::size_t i, std::uint64_t height, const Bytes& extension) {
        return application_->verify_extension(height, address(i), extension);
    };
    EXPECT_TRUE(accepts_extension(2, 7, proof(2, 7)));
    EXPECT_FALSE(accepts_extension(2, 8, proof(2, 7)));
    EXPECT_FALSE(accepts_extension(1, 7, proof(2, 7)));
    EXPECT_FALSE(accepts_extension(2, 7, {}));
    Bytes longer = proof(2, 7);
    longer.push_back(0);
    EXPECT_FALSE(accepts_extension(2, 7, longer));
    EXPECT_FALSE(application_->verify_extension(7, engine::Address20{}, proof(2, 7))) << "nobody has that key";

    EXPECT_TRUE(application_->extend_vote(7).empty()) << "a node without a validator's key";
    application_->validate_as(genesis_.validators[2].key, secret(2));
    EXPECT_EQ(application_->extend_vote(7), proof(2, 7));
    EXPECT_FALSE(application_->obstacle().has_value());
    application_->validate_as(genesis_.validators[2].key, secret(1));
    EXPECT_TRUE(application_->obstacle().has_value()) << "others would refuse its votes";
}

TEST_F(Shares, TheEngineLearnsOfAValidatorThatSignedTwice) {
    engine::BlockView decided = block(1, {});
    const engine::Fault fault{engine::FaultKind::duplicate_vote, address(2), 1, 1, 0};
    const std::vector<engine::Fault> faults{fault};
    decided.faults = faults;
    const auto result = application_->finalize(decided);
    ASSERT_TRUE(result.has_value());
    ASSERT_EQ(result->validator_updates.size(), 1U);
    EXPECT_EQ(result->validator_updates[0].key, to_bytes(view(genesis_.validators[2].key)));
    EXPECT_EQ(result->validator_updates[0].power, 0);
    ASSERT_TRUE(application_->commit().has_value());
    const auto next = application_->finalize(block(2, {}));
    ASSERT_TRUE(next.has_value());
    EXPECT_TRUE(next->validator_updates.empty());
}

TEST_F(Shares, ANodeWithoutTheRulesOfTheNextBlockSaysSo) {
    EXPECT_FALSE(application_->obstacle().has_value());
    const contracts::Executor older({}, 0);
    ledger::MemoryStore store;
    const auto chain = ledger::Chain::open(store, genesis_, older).value();
    ledger::Mempool pool(older);
    LedgerApplication application(*chain, pool);
    ASSERT_TRUE(application.obstacle().has_value());
    EXPECT_EQ(*application.obstacle(),
              "block 1 is executed by version 1 of the rules, and this program has version 0: install a newer one and "
              "start it on the same data directory");
    EXPECT_FALSE(application.process(block(1, {})));
    EXPECT_FALSE(application.finalize(block(1, {})).has_value());
}

}  // namespace
}  // namespace retrace::node
