// SPDX-License-Identifier: MIT
// A file proves a solver's record to somebody who asks no node, and nothing else.
#include "node/agents/reputation_proof.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "node/cmd/cli.hpp"
#include "tests/unit/node/rpc_market_world.hpp"
#include "tests/unit/node/signed_node.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

using test::dev_key;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct ReputationProofs : test::MarketWorld {
    ReputationProofs() {
        add_solver(1);
        executor.beside_the_rules = [](ledger::State& state) {
            const ledger::Address solver = dev_key(1).address();
            contracts::note_verified(state, solver, ledger::U256(40) * ledger::U256(market::kMilli), 1);
            auto info = contracts::views::solver(state, solver);
            if (!info) return;
            info->reputation.settled = 3;
            contracts::store(state, contracts::keys::solver(solver), *info);
        };
        world.mine();
        world.mine();
        executor.beside_the_rules = {};
        node.emplace(world);
        for (int i = 0; i < 3; ++i) node->mine();
        trusted = {2, node->hash_at(2)};
    }
    ReputationProof proof_of(std::uint32_t index) {
        RpcClient client = *RpcClient::connect(node->url());
        auto made = prove_reputation(client, trusted, dev_key(index).address());
        EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
        return std::move(*made);
    }
    /// Why the proof is refused; empty: it is not.
    std::string refusal(const ReputationProof& proof) const {
        const auto checked = verify_reputation(proof, trusted);
        return checked ? std::string() : checked.error().message;
    }
    int run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "retrace");
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int code = cli::run_main(static_cast<int>(argv.size()), argv.data());
        out = testing::internal::GetCapturedStdout();
        problem = testing::internal::GetCapturedStderr();
        return code;
    }

    std::optional<test::SignedNode> node;
    light::TrustedBlock trusted;
    std::string out, problem;
};

TEST_F(ReputationProofs, ShowWhatTheChainHolds) {
    const ReputationProof proof = proof_of(1);
    const auto checked = verify_reputation(proof, trusted);
    ASSERT_TRUE(checked.has_value()) << checked.error().message;
    EXPECT_EQ(checked->record->reputation.settled, 3u);
    EXPECT_GE(checked->standing.verified, ledger::U256(40) * ledger::U256(market::kMilli));
    EXPECT_EQ(checked->height, proof.header.height);
    EXPECT_THAT(checked->chain, HasSubstr("retrace-"));
    const auto absent = verify_reputation(proof_of(7), trusted);
    ASSERT_TRUE(absent.has_value());
    EXPECT_FALSE(absent->record) << "that somebody never registered is proved too";
    EXPECT_EQ(absent->standing.verified, 0);
}

TEST_F(ReputationProofs, KeepTheirMeaningInAFile) {
    const Bytes bytes = encode(proof_of(1));
    const auto read = decode_reputation_proof(bytes);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(encode(*read), bytes);
    EXPECT_EQ(refusal(*read), "");
    for (std::size_t size = 0; size < bytes.size(); size += 7)
        EXPECT_FALSE(decode_reputation_proof(View(bytes).first(size)).has_value()) << size;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode_reputation_proof(longer).has_value());
    EXPECT_FALSE(decode_reputation_proof(Bytes(kReputationProofMax + 1)).has_value());
}

TEST_F(ReputationProofs, OfNoOtherContentsAreBelieved) {
    const Bytes bytes = encode(proof_of(1));
    std::size_t decoded = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        Bytes changed = bytes;
        changed[at] ^= 1;
        const auto read = decode_reputation_proof(changed);
        if (!read) continue;
        ++decoded;
        const auto checked = verify_reputation(*read, trusted);
        if (!checked) {
            EXPECT_NE(checked.error().message, "");
            continue;
        }
        // What may differ is what the proof does not rest on, as the height that a state proof repeats.
        EXPECT_EQ(checked->record->reputation.settled, 3u) << at;
        EXPECT_EQ(checked->solver, dev_key(1).address()) << at;
    }
    EXPECT_GT(decoded, 100u);
}

TEST_F(ReputationProofs, NameWhatDoesNotHold) {
    const ReputationProof good = proof_of(1);
    ReputationProof changed = good;
    changed.solver = dev_key(2).address();
    EXPECT_THAT(refusal(changed), HasSubstr("another leaf"));
    changed = good;
    changed.standing.value.clear();
    EXPECT_THAT(refusal(changed), HasSubstr("the standing does not hold"));
    changed = good;
    std::swap(changed.standing, changed.record);
    EXPECT_THAT(refusal(changed), HasSubstr("another leaf"));
    changed = good;
    changed.header.state_root.bytes[0] ^= 1;
    EXPECT_THAT(refusal(changed), HasSubstr("not the one that the validators signed for"));
    changed = good;
    changed.blocks.erase(changed.blocks.begin());
    EXPECT_THAT(refusal(changed), HasSubstr("has no block 2 of CometBFT"));
    changed = good;
    changed.blocks.back().commit.votes[0].signature[5] ^= 1;
    EXPECT_THAT(refusal(changed), HasSubstr("has no block 4")) << "an honest proof would have one between the two";
    changed = good;
    changed.blocks.clear();
    EXPECT_THAT(refusal(changed), HasSubstr("not of the block that is trusted"));
    light::TrustedBlock other = trusted;
    other.hash[3] = other.hash[3] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(verify_reputation(good, other).has_value());
}

TEST_F(ReputationProofs, OfANodeThatLiesAreNotMade) {
    RpcClient client = *RpcClient::connect(node->url());
    node->lie("retrace_getProof", [](json::value& result) {
        std::string encoded(result.at("encoded").as_string());
        encoded[encoded.size() / 2] = encoded[encoded.size() / 2] == '0' ? '1' : '0';
        result.at("encoded") = encoded;
    });
    EXPECT_FALSE(prove_reputation(client, trusted, dev_key(1).address()).has_value());
}

TEST_F(ReputationProofs, AreMadeAndCheckedByCommands) {
    test::TempFolder folder;
    const std::string file = folder.file("alice.proof");
    const std::string height = std::to_string(trusted.height);
    EXPECT_EQ(run({"reputation", "show", address(1), "--node", node->url()}), 0) << problem;
    EXPECT_THAT(out, AllOf(HasSubstr("3 tasks settled"), HasSubstr("of fees were paid to auditors")));
    ASSERT_EQ(run({"reputation", "prove", address(1), file, "--node", node->url(), "--trust-height", height,
                   "--trust-hash", trusted.hash}),
              0)
        << problem;
    EXPECT_THAT(out, HasSubstr("retrace reputation verify " + file + " --trust-height 2 --trust-hash " + trusted.hash));
    ASSERT_EQ(run({"reputation", "verify", file, "--trust-height", height, "--trust-hash", trusted.hash}), 0)
        << problem;
    EXPECT_THAT(out, AllOf(HasSubstr("3 tasks settled"), HasSubstr("proved by the validators of retrace-")));
    EXPECT_EQ(run({"reputation", "verify", file, "--trust-height", height, "--trust-hash", trusted.hash, "--json"}), 0);
    EXPECT_EQ(json::parse(out).at("settled_tasks"), 3);
    EXPECT_EQ(json::parse(out).at("valid"), true);
    EXPECT_EQ(run({"reputation", "verify", file, "--trust-height", "3", "--trust-hash", trusted.hash}), 1);
    EXPECT_THAT(problem, HasSubstr("has no block 3"));
    EXPECT_EQ(run({"reputation", "verify", file}), 2) << "what is trusted is not guessed";
    std::ofstream(file) << "nothing";
    EXPECT_EQ(run({"reputation", "verify", file, "--trust-height", height, "--trust-hash", trusted.hash}), 1);
    EXPECT_THAT(problem, HasSubstr("no proof of a reputation"));
}

TEST_F(ReputationProofs, OfAChainWithoutCometRestOnItsBlock) {
    RpcClient client = *RpcClient::connect(node->url());
    const auto proof = prove_reputation(client, std::nullopt, dev_key(1).address());
    ASSERT_TRUE(proof.has_value()) << proof.error().message;
    EXPECT_TRUE(proof->blocks.empty());
    const light::TrustedBlock block{proof->header.height, to_hex(view(block_hash(proof->header)))};
    EXPECT_EQ(verify_reputation(*proof, block)->record->reputation.settled, 3u);
    EXPECT_FALSE(verify_reputation(*proof, {block.height + 1, block.hash}).has_value());
    EXPECT_FALSE(verify_reputation(*proof, trusted).has_value());
}

}  // namespace
}  // namespace retrace::node
