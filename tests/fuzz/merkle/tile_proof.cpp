// SPDX-License-Identifier: MIT
// Multi-proofs of tile trees and append trees: an honest proof verifies, and a damaged one never proves a leaf that
// does not exist. Compared with the naive tree of the unit tests.
#include "merkle/tree/append_tree.hpp"
#include "merkle/tree/proof_codec.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/unit/merkle/naive.hpp"

namespace retrace::fuzz {
namespace {

using namespace merkle;

struct Statement {
    std::vector<IndexedLeaf> leaves;
    MultiProof proof;
};

void damage(Statement& statement, Choices& choices) {
    auto& [leaves, proof] = statement;
    auto& siblings = proof.siblings;
    switch (choices.below(9)) {
        case 0: leaves[choices.below(leaves.size())].hash.bytes[choices.below(32)] ^= choices.byte(); break;
        case 1: leaves[choices.below(leaves.size())].index = choices.byte(); break;
        case 2: leaves[choices.below(leaves.size())].index = choices.number(); break;
        case 3: leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(choices.below(leaves.size()))); break;
        case 4:
            if (!siblings.empty()) siblings[choices.below(siblings.size())].bytes[choices.below(32)] ^= choices.byte();
            break;
        case 5:
            if (!siblings.empty())
                std::swap(siblings[choices.below(siblings.size())], siblings[choices.below(siblings.size())]);
            break;
        case 6:
            if (!siblings.empty()) siblings.pop_back();
            break;
        case 7: {
            const auto at = static_cast<std::ptrdiff_t>(choices.below(siblings.size() + 1));
            siblings.insert(siblings.begin() + at, choices.hash());
            break;
        }
        default: std::swap(leaves.front().hash, leaves[choices.below(leaves.size())].hash); break;
    }
    if (leaves.empty()) leaves.push_back({choices.byte(), choices.hash()});
}

/// Builds a tree, proves some leaves, damages the statement, and checks that a statement which still verifies is true.
void prove_and_damage(Choices& choices) {
    const std::vector<Hash32> all = naive::leaves(choices.between(1, 40), choices.below(4));
    const TileTree tree(all);
    require(tree.root() == naive::root(all), "the tree is the naive one");
    std::vector<std::uint64_t> indices;
    Statement statement;
    for (std::uint64_t i = choices.below(all.size()); i < all.size(); i += choices.between(1, 9)) {
        indices.push_back(i);
        statement.leaves.push_back({i, all[i]});
    }
    statement.proof = tree.prove(indices);
    require(verify(tree.root(), all.size(), statement.leaves, statement.proof).has_value(), "an honest proof verifies");
    require(statement.proof.siblings.size() <= max_proof_siblings(all.size(), indices.size()), "the limit is one");

    Writer out;
    encode_to(out, statement.proof);
    Reader in(out.data());
    require(decode_multi_proof(in, 256) == statement.proof && in.finish().has_value(), "a proof survives its bytes");

    for (std::size_t changes = choices.between(1, 4); changes > 0; --changes) damage(statement, choices);
    if (!verify(tree.root(), all.size(), statement.leaves, statement.proof)) return;
    for (const IndexedLeaf& leaf : statement.leaves)
        require(leaf.index < all.size() && leaf.hash == all[leaf.index], "a proof shows only what is there");
}

class Nodes final : public AppendNodeStore {
public:
    void add(const std::vector<AppendNode>& nodes) {
        for (const AppendNode& node : nodes) nodes_[{node.level, node.index}] = node.hash;
    }
    std::optional<Hash32> get(std::uint32_t level, std::uint64_t index) const override {
        const auto found = nodes_.find({level, index});
        return found == nodes_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    std::map<std::pair<std::uint32_t, std::uint64_t>, Hash32> nodes_;
};

/// Proves a leaf of an append tree in the tree at some earlier length.
void append_and_prove(Choices& choices) {
    const std::vector<Hash32> all = naive::leaves(choices.between(1, 60));
    AppendTree tree;
    Nodes nodes;
    for (const Hash32& leaf : all) nodes.add(tree.append(leaf));
    require(tree.root() == naive::root(all), "equal leaves have equal roots");
    const std::size_t size = choices.between(1, all.size()), index = choices.below(size);
    const Hash32 root = naive::root(std::span(all).first(size));
    auto proof = prove_append(nodes, size, index);
    require(proof.has_value(), "every old leaf can be proved");
    Statement statement{{{index, all[index]}}, std::move(*proof)};
    require(verify(root, size, statement.leaves, statement.proof).has_value(), "an honest proof verifies");
    require(!prove_append(nodes, size, size), "there is no leaf past the end");
    damage(statement, choices);
    if (!verify(root, size, statement.leaves, statement.proof)) return;
    for (const IndexedLeaf& leaf : statement.leaves)
        require(leaf.index < size && leaf.hash == all[leaf.index], "a proof shows only what is there");
}

/// Arbitrary bytes as a proof, with any leaf counts and leaves, cause neither a crash nor an endless loop.
void decode_anything(Choices& choices) {
    const std::uint64_t leaf_count = choices.number();
    std::vector<IndexedLeaf> leaves;
    for (std::size_t i = choices.below(5); i > 0; --i) leaves.push_back({choices.number(), choices.hash()});
    const View bytes = choices.rest();
    Reader proof_in(bytes);
    const MultiProof proof = decode_multi_proof(proof_in, 64);
    if (proof_in.finish()) {
        Writer out;
        encode_to(out, proof);
        require(equal(out.data(), bytes), "one proof has one encoding");
    }
    (void)root_of(leaf_count, leaves, proof);
    Reader tree_in(bytes);
    const AppendTree tree = AppendTree::decode(tree_in);
    if (!tree_in.finish()) return;
    Writer out;
    tree.encode_to(out);
    require(equal(out.data(), bytes), "one tree has one encoding");
    (void)tree.root();
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint8_t mode = 0; mode < 3; ++mode)
        for (std::uint64_t number = 0; number < 12; ++number) out.push_back(random_choices(mode, number, 160));
    AppendTree tree;
    for (const Hash32& leaf : naive::leaves(11)) tree.append(leaf);
    Writer bytes;
    bytes.u8(2).u64(11).u8(0);
    tree.encode_to(bytes);
    out.push_back(std::move(bytes).take());
    return out;
}

void run(View input) {
    Choices choices(input);
    switch (choices.below(3)) {
        case 0: prove_and_damage(choices); break;
        case 1: append_and_prove(choices); break;
        default: decode_anything(choices); break;
    }
}

}  // namespace retrace::fuzz
