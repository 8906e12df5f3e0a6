// SPDX-License-Identifier: MIT
// The grammar of ABCI calls against the real ledger: clean start, replay, rounds, unknown blocks, foreign chains.
#include "node/server/comet/abci_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contracts/executor.hpp"
#include "contracts/records/validator_views.hpp"
#include "market/validator.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/server/config/params_json.hpp"
#include "tests/unit/node/rpc_world.hpp"
#include "tests/unit/node/server/comet/abci_driver.hpp"

namespace retrace::node::test {
namespace {

using engine::AbciCalls;
using testing::HasSubstr;

constexpr const char* kChain = "retrace-7298-test";
constexpr std::int64_t kFirstSecond = 1'800'000'000;

class AbciApplication : public testing::Test {
protected:
    AbciApplication() : calls_(*world_.application, options()) {}

    engine::AbciCallsOptions options() {
        engine::AbciCallsOptions out;
        out.chain_id = kChain;
        out.keep_blocks = 3;
        out.on_fatal = [this](const std::string& why) { fatal_ = why; };
        return out;
    }

    abci::Response ask(const abci::Request& request) {
        const engine::AbciAnswer answer = calls_.answer(to_message(request));
        abci::Response response;
        EXPECT_TRUE(response.ParseFromArray(answer.message.data(), static_cast<int>(answer.message.size())));
        EXPECT_EQ(answer.fatal, response.has_exception());
        return response;
    }

    abci::Response init_chain(const std::string& chain = kChain, std::string state = {}) {
        abci::Request request;
        request.mutable_init_chain()->set_chain_id(chain);
        if (state.empty()) state = '"' + to_hex(view(world_.application->info().genesis_hash)) + '"';
        request.mutable_init_chain()->set_app_state_bytes(state);
        return ask(request);
    }
    abci::ResponseInfo info() {
        abci::Request request;
        request.mutable_info()->set_version("0.38.25");
        request.mutable_info()->set_abci_version("2.0.0");
        return ask(request).info();
    }
    std::uint32_t check(const ledger::TxPtr& tx, abci::CheckTxType type = abci::NEW) {
        abci::Request request;
        request.mutable_check_tx()->set_tx(std::string(tx->raw.begin(), tx->raw.end()));
        request.mutable_check_tx()->set_type(type);
        return ask(request).check_tx().code();
    }
    std::vector<std::string> prepare(std::int64_t height, std::int64_t most = 1'000'000) {
        abci::Request request;
        auto& prepare = *request.mutable_prepare_proposal();
        prepare.set_height(height);
        prepare.set_max_tx_bytes(most);
        prepare.mutable_time()->set_seconds(kFirstSecond + height);
        const abci::Response response = ask(request);
        return {response.prepare_proposal().txs().begin(), response.prepare_proposal().txs().end()};
    }
    abci::ResponseProcessProposal::Status process(std::int64_t height, const std::vector<std::string>& txs) {
        abci::Request request;
        fill(*request.mutable_process_proposal(), height, txs);
        return ask(request).process_proposal().status();
    }
    abci::ResponseFinalizeBlock finalize(std::int64_t height, const std::vector<std::string>& txs) {
        abci::Request request;
        fill(*request.mutable_finalize_block(), height, txs);
        return ask(request).finalize_block();
    }
    abci::Response commit() {
        abci::Request request;
        request.mutable_commit();
        return ask(request);
    }

    RpcWorld world_;
    std::string fatal_;
    AbciCalls calls_;

private:
    template <class Block>
    static void fill(Block& block, std::int64_t height, const std::vector<std::string>& txs) {
        block.set_height(height);
        block.mutable_time()->set_seconds(kFirstSecond + height);
        block.set_proposer_address(std::string(20, 'p'));
        for (const std::string& tx : txs) block.add_txs(tx);
    }
};

const ledger::Address kReceiver = *ledger::parse_address("0x00000000000000000000000000000000000000bb");

TEST_F(AbciApplication, StartsCleanlyAndMakesBlocks) {
    EXPECT_EQ(info().last_block_height(), 0);
    const abci::Response started = init_chain();
    ASSERT_TRUE(started.has_init_chain());
    EXPECT_EQ(started.init_chain().app_hash().size(), 32U);

    const ledger::TxPtr tx = world_.make_tx(0, kReceiver, ledger::U256{5});
    EXPECT_EQ(check(tx), 0U);
    EXPECT_EQ(check(tx), 0U) << "known already, so it can be gossiped again";
    const auto proposal = prepare(1);
    ASSERT_EQ(proposal.size(), 1U);
    EXPECT_EQ(process(1, proposal), abci::ResponseProcessProposal::ACCEPT);
    const abci::ResponseFinalizeBlock made = finalize(1, proposal);
    ASSERT_EQ(made.tx_results_size(), 1);
    EXPECT_EQ(made.tx_results(0).code(), 0U);
    EXPECT_EQ(made.tx_results(0).gas_used(), 21'000);
    EXPECT_EQ(info().last_block_height(), 0) << "finalised is not committed";
    EXPECT_TRUE(commit().has_commit());
    EXPECT_EQ(info().last_block_height(), 1);
    EXPECT_EQ(info().last_block_app_hash(), made.app_hash());
    EXPECT_EQ(world_.chain->view()->account(kReceiver).balance, ledger::U256{5});
    EXPECT_EQ(world_.chain->tip()->header.proposer.bytes[0], 'p');
}

TEST_F(AbciApplication, AnswersTheSameWhenABlockIsFinalisedAgainBeforeItsCommit) {
    init_chain();
    check(world_.make_tx(0, kReceiver, ledger::U256{5}));
    const auto proposal = prepare(1);
    const std::string first = finalize(1, proposal).SerializeAsString();
    EXPECT_EQ(finalize(1, proposal).SerializeAsString(), first);
    commit();
    EXPECT_EQ(info().last_block_height(), 1);
}

TEST_F(AbciApplication, ExecutesABlockThatItHasNotSeenBefore) {
    init_chain();
    // Rounds that came to nothing, then another proposer's block, with bytes that are no transaction.
    check(world_.make_tx(0, kReceiver, ledger::U256{5}));
    for (int round = 0; round < 5; ++round) EXPECT_EQ(process(1, prepare(1)), abci::ResponseProcessProposal::ACCEPT);
    EXPECT_EQ(process(1, {"no transaction"}), abci::ResponseProcessProposal::REJECT);
    const auto proposal = prepare(1);
    EXPECT_EQ(process(1, {proposal[0], proposal[0]}), abci::ResponseProcessProposal::REJECT) << "twice";
    const ledger::TxPtr gap = world_.make_tx(2, kReceiver, ledger::U256{1}, {}, 1);
    EXPECT_EQ(process(1, {std::string(gap->raw.begin(), gap->raw.end())}), abci::ResponseProcessProposal::REJECT);
    const ledger::TxPtr other = world_.make_tx(1, kReceiver, ledger::U256{7});
    const auto made = finalize(1, {"no transaction", std::string(other->raw.begin(), other->raw.end())});
    ASSERT_EQ(made.tx_results_size(), 2);
    EXPECT_NE(made.tx_results(0).code(), 0U);
    EXPECT_EQ(made.tx_results(1).code(), 0U);
    commit();
    EXPECT_EQ(world_.chain->view()->account(kReceiver).balance, ledger::U256{7});
}

TEST_F(AbciApplication, RejectsAProposalOfAnotherHeightOrOfThePast) {
    init_chain();
    EXPECT_EQ(process(2, {}), abci::ResponseProcessProposal::REJECT);
    finalize(1, {});
    commit();
    EXPECT_EQ(process(1, {}), abci::ResponseProcessProposal::REJECT);
    EXPECT_EQ(process(2, {}), abci::ResponseProcessProposal::ACCEPT);
    EXPECT_EQ(process(-1, {}), abci::ResponseProcessProposal::REJECT);
}

TEST_F(AbciApplication, KeepsToTheBytesOfAProposal) {
    init_chain();
    for (std::uint64_t i = 0; i < 20; ++i) check(world_.make_tx(0, kReceiver, ledger::U256{1}, {}, i));
    const std::size_t all = prepare(1).size();
    EXPECT_EQ(all, 20U);
    for (const std::int64_t most : {0, 1, 100, 500, 1000}) {
        std::size_t bytes = 0;
        // As CometBFT counts: each transaction with its field's tag and length.
        for (const std::string& tx : prepare(1, most)) bytes += tx.size() + 1 + (tx.size() < 128 ? 1 : 2);
        EXPECT_LE(bytes, static_cast<std::size_t>(most));
    }
}

TEST_F(AbciApplication, DropsWhatABlockHasTakenAtTheRecheck) {
    init_chain();
    const ledger::TxPtr taken = world_.make_tx(0, kReceiver, ledger::U256{5});
    const ledger::TxPtr waits = world_.make_tx(1, kReceiver, ledger::U256{5});
    check(taken);
    check(waits);
    finalize(1, {std::string(taken->raw.begin(), taken->raw.end())});
    commit();
    EXPECT_NE(check(taken, abci::RECHECK), 0U);
    EXPECT_EQ(check(waits, abci::RECHECK), 0U);
}

TEST_F(AbciApplication, ARepeatedTransactionDoesNotReplaceItsReceipt) {
    init_chain();
    const ledger::TxPtr paid = world_.make_tx(0, kReceiver, ledger::U256{5});
    const std::string raw(paid->raw.begin(), paid->raw.end());
    finalize(1, {raw});
    commit();
    EXPECT_EQ(process(2, {raw}), abci::ResponseProcessProposal::REJECT);
    finalize(2, {raw});  // Decided by faulty validators all the same.
    commit();
    const auto record = world_.chain->tx(paid->hash);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->height, 1U);
    EXPECT_TRUE(record->receipt.success);
    EXPECT_FALSE(world_.chain->tx(2, 0)->receipt.success);
}

TEST_F(AbciApplication, AnswersQueriesWithProofsUnderTheAppHash) {
    init_chain();
    finalize(1, {});
    commit();
    const ledger::Address account = dev_key(0).address();
    const auto ask_for = [&](const std::string& path, const std::string& data, bool prove) {
        abci::Request request;
        request.mutable_query()->set_path(path);
        request.mutable_query()->set_data(data);
        request.mutable_query()->set_prove(prove);
        return ask(request).query();
    };
    const std::string address(account.bytes.begin(), account.bytes.end());
    const abci::ResponseQuery answer = ask_for("/account", address, true);
    EXPECT_EQ(answer.code(), 0U) << answer.log();
    EXPECT_EQ(answer.height(), 1);
    ASSERT_EQ(answer.proof_ops().ops_size(), 2);
    const auto data_of = [&](int i) {
        const std::string& data = answer.proof_ops().ops(i).data();
        return Bytes(data.begin(), data.end());
    };
    const Bytes header_bytes = data_of(0), proof_bytes = data_of(1);
    Reader header_in(header_bytes), proof_in(proof_bytes);
    const ledger::Header header = ledger::decode_header(header_in);
    const ledger::StateProof proof = ledger::decode_state_proof(proof_in);
    ASSERT_TRUE(header_in.finish().has_value() && proof_in.finish().has_value());
    const Hash32 hash = block_hash(header);
    EXPECT_EQ(info().last_block_app_hash(), std::string(hash.data(), hash.data() + hash.size()));
    EXPECT_EQ(proof.state_root, header.state_root);
    EXPECT_EQ(proof.leaf_key, ledger::account_leaf_key(account));
    EXPECT_TRUE(ledger::verify(proof).has_value());
    EXPECT_EQ(answer.value(), std::string(proof.value.begin(), proof.value.end()));
    EXPECT_FALSE(answer.value().empty());

    EXPECT_EQ(ask_for("/account", address, false).proof_ops().ops_size(), 0);
    EXPECT_EQ(ask_for("/slot", address + "key", true).code(), 0U);
    for (const auto& [path, data] : {std::pair<std::string, std::string>{"/account", address + "x"},
                                     {"/account", ""},
                                     {"/slot", "x"},
                                     {"/else", address}})
        EXPECT_EQ(ask_for(path, data, true).code(), 1U) << path;
    abci::Request request;
    request.mutable_query()->set_path("/account");
    request.mutable_query()->set_data(address);
    request.mutable_query()->set_height(99);
    EXPECT_EQ(ask(request).query().code(), 1U);
}

class AbciValidators : public testing::Test {
protected:
    /// A chain of so many founders; the keys and accounts of founder i are bytes of i + 1.
    void found(std::uint8_t founders) {
        for (std::uint8_t i = 1; i <= founders; ++i) {
            ledger::Validator founder;
            founder.key.bytes.fill(i);
            founder.account.bytes.fill(i);
            genesis_.validators.push_back(founder);
        }
        genesis_.validator_rules = market::encode(market::ValidatorRules{});
        genesis_.contracts = market::encode(default_params());
        chain_ = ledger::Chain::open(store_, genesis_, executor_).value();
        application_.emplace(*chain_, pool_);
    }
    engine::Address20 address(std::size_t i) const { return ledger::consensus_address(genesis_.validators[i].key); }

    ledger::Genesis genesis_ = dev_genesis({});
    ledger::MemoryStore store_;
    const contracts::Executor executor_;
    std::unique_ptr<ledger::Chain> chain_;
    ledger::Mempool pool_{executor_};
    std::optional<LedgerApplication> application_;
};

TEST_F(AbciValidators, ABlockIsThatOfItsProposersAccount) {
    found(1);
    engine::BlockView block;
    block.height = 1;
    block.time = genesis_.time_ns + 1;
    block.proposer = address(0);
    ASSERT_TRUE(application_->finalize(block).has_value());
    ASSERT_TRUE(application_->commit().has_value());
    EXPECT_EQ(chain_->tip()->header.proposer, genesis_.validators[0].account);
    block.height = 2;
    block.time += 1;
    block.proposer[0] ^= 1;
    const auto stranger = application_->finalize(block);
    ASSERT_FALSE(stranger.has_value());
    EXPECT_THAT(stranger.error().message, HasSubstr("never registered as a validator"));
}

TEST_F(AbciValidators, AVoteForNilIsAMissingOne) {
    found(4);
    AbciCalls calls(*application_, {});
    const auto raw = [&](std::size_t i) {
        const auto bytes = address(i);
        return std::string(bytes.begin(), bytes.end());
    };
    for (std::int64_t height = 1; height <= 2; ++height) {
        abci::Request request;
        auto& block = *request.mutable_finalize_block();
        block.set_height(height);
        block.mutable_time()->set_seconds(kFirstSecond + height);
        block.set_proposer_address(raw(0));
        constexpr engine::VoteFlag kFlags[] = {engine::VoteFlag::commit, engine::VoteFlag::absent,
                                               engine::VoteFlag::nil, engine::VoteFlag::commit};
        for (std::size_t i = 0; height > 1 && i < 4; ++i) {
            auto& vote = *block.mutable_decided_last_commit()->add_votes();
            vote.mutable_validator()->set_address(raw(i));
            vote.mutable_validator()->set_power(1);
            vote.set_block_id_flag(static_cast<int>(kFlags[i]));
        }
        ASSERT_FALSE(calls.answer(to_message(request)).fatal);
        ASSERT_TRUE(application_->commit().has_value());
    }
    std::vector<std::uint64_t> missed;
    for (const ledger::Validator& founder : genesis_.validators)
        missed.push_back(contracts::views::validator(*chain_->view(), founder.account)->missed);
    EXPECT_EQ(missed, (std::vector<std::uint64_t>{0, 1, 1, 0}));
}

TEST_F(AbciApplication, NamesTheOldestBlockThatCometBftHasToKeep) {
    init_chain();
    for (std::int64_t height = 1; height <= 5; ++height) {
        finalize(height, {});
        EXPECT_EQ(commit().commit().retain_height(), height > 3 ? height - 3 : 0);
    }
}

TEST_F(AbciApplication, RefusesTheGenesisOfAnotherChain) {
    EXPECT_TRUE(init_chain("retrace-1-other").has_exception());
    EXPECT_THAT(fatal_, HasSubstr("another chain"));
    fatal_.clear();
    EXPECT_TRUE(init_chain(kChain, "\"00\"").has_exception());
    EXPECT_THAT(fatal_, HasSubstr("another chain"));
}

TEST_F(AbciApplication, RefusesACometBftWithoutItsBlocks) {
    init_chain();
    finalize(1, {});
    commit();
    EXPECT_TRUE(init_chain().has_exception());
    EXPECT_THAT(fatal_, HasSubstr("height 1"));
}

TEST_F(AbciApplication, RefusesVersionsOfCometBftThatMustNotBeMixed) {
    const auto is_refused = [&](const char* version, const char* abci_version) {
        abci::Request request;
        request.mutable_info()->set_version(version);
        request.mutable_info()->set_abci_version(abci_version);
        return ask(request).has_exception();
    };
    EXPECT_TRUE(is_refused("1.0.1", "2.1.0"));
    EXPECT_THAT(fatal_, HasSubstr("version 1.0.1 with ABCI 2.1.0"));
    for (const char* version : {"0.39.4", "0.39.0", "0.40.0", "0.38.20", "0.38.", "0.38.25x", ""})
        EXPECT_TRUE(is_refused(version, "2.0.0")) << version;
    for (const char* version : {"0.38.21", "0.38.25", "0.38.100"})
        EXPECT_FALSE(is_refused(version, "2.0.0")) << version;
}

TEST_F(AbciApplication, StopsAtABlockThatCannotBeExecuted) {
    init_chain();
    EXPECT_EQ(finalize(3, {}).app_hash(), "");
    EXPECT_THAT(fatal_, HasSubstr("block 3"));
}

TEST_F(AbciApplication, AnswersOrRefusesAnyBytes) {
    std::uint64_t random = 1;
    for (int i = 0; i < 2'000; ++i) {
        Bytes message(static_cast<std::size_t>(i % 40));
        for (std::uint8_t& byte : message) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            byte = static_cast<std::uint8_t>(random >> 56);
        }
        // A commit without a block before it would be a defect of CometBFT itself.
        abci::Request request;
        if (request.ParseFromArray(message.data(), static_cast<int>(message.size())) && request.has_commit()) continue;
        const engine::AbciAnswer answer = calls_.answer(message);
        abci::Response response;
        EXPECT_TRUE(response.ParseFromArray(answer.message.data(), static_cast<int>(answer.message.size())));
    }
}

}  // namespace
}  // namespace retrace::node::test
