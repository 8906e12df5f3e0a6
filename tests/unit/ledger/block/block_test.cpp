// SPDX-License-Identifier: MIT
#include "ledger/block/block.hpp"

#include <gtest/gtest.h>

#include "merkle/hash/sha256.hpp"
#include "merkle/tree/tile_tree.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::text;

TEST(Bloom, AgreesWithKnownAnswers) {
    const auto vectors = test::load_vectors("ethereum/fees_bloom.json");
    for (const auto& v : vectors.at("bloom").as_array()) {
        Bloom bloom{};
        for (const auto& entry : v.at("logs").as_array()) {
            Log log;
            log.address = *parse_address(text(entry.at("address")));
            for (const auto& topic : entry.at("topics").as_array()) log.topics.push_back(test::hash(topic));
            add_to_bloom(bloom, log);
            EXPECT_TRUE(may_contain(bloom, view(log.address)));
            for (const Hash32& topic : log.topics) EXPECT_TRUE(may_contain(bloom, view(topic)));
        }
        EXPECT_EQ(to_0x(View(bloom)), text(v.at("bloom")));
    }
    EXPECT_FALSE(may_contain(Bloom{}, view(test::number(1))));
}

TEST(BaseFee, AgreesWithKnownAnswers) {
    const auto vectors = test::load_vectors("ethereum/fees_bloom.json");
    for (const auto& v : vectors.at("base_fee_eip1559").as_array()) {
        const auto get = [&](const char* name) { return *U256::from_decimal(text(v.at(name))); };
        EXPECT_EQ(next_base_fee(get("baseFee"), get("gasUsed").low64(), get("gasLimit").low64(), 1),
                  get("nextBaseFee"));
    }
}

TEST(BaseFee, StaysBetweenOneAnd64Bits) {
    U256 fee = 1'000'000'000;
    for (int i = 0; i < 1000; ++i) fee = next_base_fee(fee, 0, 30'000'000, 1);
    EXPECT_GE(fee, U256{1});
    EXPECT_LT(fee, U256{8});
    EXPECT_EQ(next_base_fee(1, 0, 30'000'000, 1), U256{1});
    for (int i = 0; i < 1000; ++i) fee = next_base_fee(fee, 30'000'000, 30'000'000, 1);
    EXPECT_TRUE(fee.fits_u64());
}

TEST(BaseFee, NeverFallsBelowThatOfGenesis) {
    const U256 least = 1'000'000'000;
    U256 fee = least + 7;
    for (const std::uint64_t used : {0U, 0U, 14'999'999U}) {
        fee = next_base_fee(fee, used, 30'000'000, least);
        EXPECT_EQ(fee, least) << "an idle chain is not free";
    }
    EXPECT_EQ(next_base_fee(least, 15'000'000, 30'000'000, least), least);
    EXPECT_EQ(next_base_fee(least, 30'000'000, 30'000'000, least), U256{1'125'000'000}) << "and rises as ever";
    EXPECT_EQ(next_base_fee(7, 30'000'000, 30'000'000, least), least) << "a header of other rules";
    EXPECT_EQ(next_base_fee(7, 15'000'000, 30'000'000, least), least);
}

Header some_header() {
    Header header;
    header.parent = merkle::sha256(test::bytes("parent"));
    header.height = 7;
    header.time_ns = 1'234'567'890'123;
    header.proposer = test::number(3);
    header.tx_count = 2;
    header.tx_root = merkle::sha256(test::bytes("txs"));
    header.results_root = merkle::sha256(test::bytes("results"));
    header.state_root = merkle::sha256(test::bytes("state"));
    header.base_fee = 11;
    header.gas_used = 21'000;
    header.gas_limit = 30'000'000;
    return header;
}

TEST(Header, EncodesAndDecodes) {
    const Header header = some_header();
    Writer out;
    encode_to(out, header);
    EXPECT_EQ(out.data().size(), 32U * 5 + 8 * 4 + 4 + 20);
    Reader in(out.data());
    EXPECT_EQ(decode_header(in), header);
    EXPECT_TRUE(in.finish());
    EXPECT_EQ(header.time_s(), 1234U);
}

TEST(Header, EveryFieldIsInTheHash) {
    const Hash32 original = block_hash(some_header());
    const auto changed = [&](const auto& change) {
        Header header = some_header();
        change(header);
        return block_hash(header) != original;
    };
    EXPECT_TRUE(changed([](Header& h) { h.parent = {}; }));
    EXPECT_TRUE(changed([](Header& h) { ++h.height; }));
    EXPECT_TRUE(changed([](Header& h) { ++h.time_ns; }));
    EXPECT_TRUE(changed([](Header& h) { h.proposer = {}; }));
    EXPECT_TRUE(changed([](Header& h) { ++h.tx_count; }));
    EXPECT_TRUE(changed([](Header& h) { h.tx_root = {}; }));
    EXPECT_TRUE(changed([](Header& h) { h.results_root = {}; }));
    EXPECT_TRUE(changed([](Header& h) { h.state_root = {}; }));
    EXPECT_TRUE(changed([](Header& h) { h.base_fee += 1; }));
    EXPECT_TRUE(changed([](Header& h) { ++h.gas_used; }));
    EXPECT_TRUE(changed([](Header& h) { ++h.gas_limit; }));
    EXPECT_EQ(block_hash(some_header()), original);
}

Receipt some_receipt() {
    Receipt receipt;
    receipt.success = true;
    receipt.gas_used = 30'000;
    receipt.cumulative_gas = 51'000;
    receipt.effective_gas_price = 12;
    receipt.logs = {{test::number(1), {Hash32{}, merkle::sha256(test::bytes("topic"))}, test::bytes("data")}};
    receipt.output = test::bytes("output");
    receipt.revert_reason = "words";
    return receipt;
}

TEST(Receipt, EncodesAndDecodes) {
    Writer out;
    encode_to(out, some_receipt());
    Reader in(out.data());
    EXPECT_EQ(decode_receipt(in), some_receipt());
    EXPECT_TRUE(in.finish());
    for (std::size_t size = 0; size < out.data().size(); ++size) {
        Reader cut(View(out.data()).first(size));
        decode_receipt(cut);
        EXPECT_FALSE(cut.finish()) << size;
    }
}

TEST(Receipt, FiveTopicsAreRefused) {
    Receipt receipt = some_receipt();
    receipt.logs[0].topics.resize(5);
    Writer out;
    encode_to(out, receipt);
    Reader in(out.data());
    decode_receipt(in);
    EXPECT_FALSE(in.ok());
}

TEST(ResultsRoot, CoversResultsAndNotWords) {
    const std::vector<Receipt> receipts{some_receipt()};
    const Hash32 root = results_root({}, receipts);
    const auto changed = [&](const auto& change) {
        std::vector<Receipt> other = receipts;
        change(other[0]);
        return results_root({}, other) != root;
    };
    EXPECT_TRUE(changed([](Receipt& r) { r.success = false; }));
    EXPECT_TRUE(changed([](Receipt& r) { ++r.gas_used; }));
    EXPECT_TRUE(changed([](Receipt& r) { r.logs[0].data.clear(); }));
    EXPECT_TRUE(changed([](Receipt& r) { r.logs.clear(); }));
    EXPECT_FALSE(changed([](Receipt& r) { r.revert_reason.clear(); }));
    EXPECT_NE(results_root(receipts[0].logs, receipts), root);
}

TEST(ResultsRoot, AReceiptIsProvedAgainstIt) {
    std::vector<Receipt> receipts(5, some_receipt());
    for (std::uint64_t i = 0; i < 5; ++i) receipts[i].gas_used += i;
    const std::vector<Hash32> leaves = result_leaves({}, receipts);
    const merkle::TileTree tree(leaves);
    const std::vector<std::uint64_t> indices{3};
    const merkle::MultiProof proof = tree.prove(indices);
    const Hash32 root = results_root({}, receipts);
    const std::vector<merkle::IndexedLeaf> truth{{3, leaves[3]}};
    EXPECT_TRUE(merkle::verify(root, 6, truth, proof));
    const std::vector<merkle::IndexedLeaf> lie{{2, leaves[3]}};
    EXPECT_FALSE(merkle::verify(root, 6, lie, proof));
}

}  // namespace
}  // namespace retrace::ledger
