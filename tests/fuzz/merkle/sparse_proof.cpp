// SPDX-License-Identifier: MIT
// The sparse tree: updates compared with the naive tree, proofs of presence and absence, and damaged proofs, which
// never prove anything false.
#include "merkle/tree/sparse_proof.hpp"

#include "merkle/tree/sparse_tree.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/unit/merkle/naive.hpp"

namespace retrace::fuzz {
namespace {

using namespace merkle;
using Contents = std::map<Hash32, Hash32>;

/// Returns keys that share prefixes, since these give the interesting shapes; few share long ones, which are the most
/// expensive.
Hash32 pick_key(Choices& choices) {
    Hash32 key = naive::number(choices.below(3));
    const bool deep = choices.below(16) == 0;
    const std::size_t bit = deep ? choices.between(0, 255) : choices.between(0, 23);
    key.bytes[bit / 8] ^= static_cast<std::uint8_t>(0x80 >> (bit % 8));
    if (deep) key.bytes[31] ^= choices.byte();
    return key;
}

void damage(Hash32& key, std::optional<Hash32>& value, SparseProof& proof, Choices& choices) {
    auto& siblings = proof.siblings;
    switch (choices.below(9)) {
        case 0: key = pick_key(choices); break;
        case 1: value = choices.flip() ? std::optional(naive::number(choices.below(4))) : std::nullopt; break;
        case 2: proof.other.reset(); break;
        case 3: proof.other = SparseLeaf{pick_key(choices), naive::number(choices.below(4))}; break;
        case 4: proof.other = SparseLeaf{key, value.value_or(Hash32{})}; break;
        case 5:
            if (!siblings.empty()) siblings[choices.below(siblings.size())].bytes[choices.below(32)] ^= choices.byte();
            break;
        case 6:
            if (!siblings.empty()) siblings.pop_back();
            break;
        case 7: siblings.insert(siblings.begin(), choices.flip() ? Hash32{} : choices.hash()); break;
        default:
            if (!siblings.empty())
                std::swap(siblings[choices.below(siblings.size())], siblings[choices.below(siblings.size())]);
            break;
    }
}

void update_and_prove(Choices& choices) {
    MemoryNodeStore store;
    Contents contents;
    Hash32 root;
    for (std::size_t rounds = choices.between(1, 4); rounds > 0; --rounds) {
        std::map<Hash32, std::optional<Hash32>> updates;
        for (std::size_t i = choices.between(1, 12); i > 0; --i) {
            const Hash32 key = pick_key(choices);
            updates[key] = choices.below(4) == 0 ? std::nullopt : std::optional(naive::number(choices.below(4)));
        }
        const auto change = SparseTree(store, root).apply({updates.begin(), updates.end()});
        require(change.has_value(), "a whole store takes every update");
        store.write(change->writes);
        root = change->root;
        for (const auto& [key, value] : updates) {
            if (value)
                contents[key] = *value;
            else
                contents.erase(key);
        }
        require(root == naive::sparse_root(contents), "the tree is the naive one");
    }
    Hash32 key = pick_key(choices);
    if (choices.flip() && !contents.empty())
        key = std::next(contents.begin(), static_cast<std::ptrdiff_t>(choices.below(contents.size())))->first;
    const SparseTree tree(store, root);
    const auto truth = [&](const Hash32& k) {
        const auto found = contents.find(k);
        return found == contents.end() ? std::nullopt : std::optional(found->second);
    };
    auto proof = tree.prove(key);
    std::optional<Hash32> value = truth(key);
    require(proof && verify_sparse(root, key, value, *proof), "an honest proof verifies");
    require(tree.find(key).value() == value, "find says what the map says");
    for (std::size_t changes = choices.between(1, 3); changes > 0; --changes) damage(key, value, *proof, choices);
    if (verify_sparse(root, key, value, *proof)) require(value == truth(key), "a proof shows only what is so");
}

void decode_anything(Choices& choices) {
    const Hash32 root = choices.hash(), key = choices.hash();
    const View bytes = choices.rest();
    Reader in(bytes);
    const SparseProof proof = decode_sparse_proof(in);
    if (in.finish()) {
        Writer out;
        encode_to(out, proof);
        require(equal(out.data(), bytes), "one proof has one encoding");
    }
    (void)verify_sparse(root, key, std::nullopt, proof);
    (void)verify_sparse(root, key, Hash32{}, proof);
    if (const auto node = SparseNode::decode(bytes)) require(equal(node->encode(), bytes), "one node has one encoding");
}

/// A store that exchanges the bytes of nodes. The tree returns an error, never another value.
void read_damaged_store(Choices& choices) {
    MemoryNodeStore store;
    std::map<Hash32, std::optional<Hash32>> contents;
    for (std::size_t i = choices.between(2, 12); i > 0; --i) contents[pick_key(choices)] = naive::number(i);
    const auto change = SparseTree(store, {}).apply({contents.begin(), contents.end()});
    NodeWrites writes = change->writes;
    auto& node = std::next(writes.begin(), static_cast<std::ptrdiff_t>(choices.below(writes.size())))->second;
    if (!node.empty()) node[choices.below(node.size())] ^= choices.byte();
    store.write(writes);
    const SparseTree tree(store, change->root);
    for (const auto& [key, value] : contents) {
        const auto found = tree.find(key);
        require(!found || *found == value, "a damaged store is noticed");
    }
    (void)tree.apply({{pick_key(choices), naive::number(1)}});
}

/// The same contents reached by other orders, batches and detours have the same root and the same nodes, and a proof
/// for one root proves for a later one only what is true there too.
void histories_do_not_matter(Choices& choices) {
    MemoryNodeStore store, slow_store;
    Contents first, second;
    std::vector<Hash32> keys;
    for (std::size_t i = choices.between(2, 14); i > 0; --i) keys.push_back(pick_key(choices));
    for (const Hash32& key : keys) first[key] = naive::number(1 + choices.below(3));
    for (const Hash32& key : keys)
        if (choices.below(3) != 0) second[key] = naive::number(1 + choices.below(3));
    using Updates = std::map<Hash32, std::optional<Hash32>>;
    const auto change_of = [](MemoryNodeStore& in, const Hash32& root, const Updates& updates) {
        const auto change = SparseTree(in, root).apply({updates.begin(), updates.end()});
        require(change.has_value(), "a whole store takes every update");
        in.write(change->writes);
        return change->root;
    };
    const Hash32 at_once = change_of(store, {}, {first.begin(), first.end()});
    // Inserts keys one by one, each with a detour: a wrong value first, or a key that is removed again.
    Hash32 slowly;
    for (std::size_t start = choices.below(keys.size()), i = 0; i < keys.size(); ++i) {
        const Hash32& key = keys[(start + i) % keys.size()];
        slowly = change_of(slow_store, slowly, {{key, naive::number(9)}});
        if (choices.flip()) slowly = change_of(slow_store, slowly, {{key, std::nullopt}});
        slowly = change_of(slow_store, slowly, {{key, first.at(key)}});
    }
    require(slowly == at_once && slow_store.nodes() == store.nodes(), "a tree depends on its contents alone");
    Updates updates;
    for (const Hash32& key : keys) updates[key] = second.contains(key) ? std::optional(second[key]) : std::nullopt;
    const Hash32 later = change_of(store, at_once, updates);
    require(later == naive::sparse_root(second), "the second contents are those of the naive tree");
    for (const Hash32& key : keys) {
        const auto proof = SparseTree(slow_store, at_once).prove(key);
        require(proof && verify_sparse(at_once, key, first.at(key), *proof), "an honest proof verifies");
        const bool same = second.contains(key) && second[key] == first.at(key);
        if (verify_sparse(later, key, first.at(key), *proof)) require(same, "a proof shows of another root what is so");
        if (verify_sparse(later, key, std::nullopt, *proof)) require(!second.contains(key), "absence likewise");
    }
    for (const Hash32& key : keys) updates[key] = std::nullopt;
    require(change_of(store, later, updates) == Hash32{} && store.nodes().empty(), "an emptied tree leaves nothing");
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint8_t mode = 0; mode < 4; ++mode)
        for (std::uint64_t number = 0; number < 12; ++number) out.push_back(random_choices(mode, number, 200));
    Writer bytes;
    bytes.u8(1).hash({}).hash({});
    encode_to(bytes, SparseProof{{Hash32{}, Hash32{}}, SparseLeaf{}});
    out.push_back(std::move(bytes).take());
    return out;
}

void run(View input) {
    Choices choices(input);
    switch (choices.below(4)) {
        case 0: update_and_prove(choices); break;
        case 1: decode_anything(choices); break;
        case 2: histories_do_not_matter(choices); break;
        default: read_damaged_store(choices); break;
    }
}

}  // namespace retrace::fuzz
