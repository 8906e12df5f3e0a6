// SPDX-License-Identifier: MIT
// The state tree in pages, with keys chosen so that pages split at great depth, merge again and hold single leaves. It
// is compared with the tree that has a key for every node, and with itself at earlier heights. A damaged page or record
// is detected or has no effect; it never proves anything false.
#include "ledger/chain/paged_tree.hpp"

#include "ledger/chain/keys.hpp"
#include "ledger/chain/records.hpp"
#include "merkle/tree/sparse_proof.hpp"
#include "merkle/tree/sparse_tree.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace ledger;
using merkle::SparseTree;
using Updates = std::map<Hash32, std::optional<Hash32>>;
using Contents = std::map<Hash32, Hash32>;

constexpr std::size_t kUpdatesMax = 48;  // one and a half pages
const WorkMeter kUnmetered = [](std::size_t) { return true; };

/// Returns keys of a few families whose members first differ at a depth that the input chooses.
Hash32 pick_key(Choices& choices) {
    Hash32 key;
    key.bytes[0] = static_cast<std::uint8_t>(choices.below(3) << 6);
    const std::size_t at = choices.below(4) == 0 ? choices.below(32) : choices.below(3);
    key.bytes[at] ^= choices.byte();
    if (choices.below(4) == 0) key.bytes[31] ^= choices.byte();
    return key;
}

Hash32 value_of(std::uint8_t n) {
    Hash32 out;
    out.bytes[31] = n;
    out.bytes[0] = 1;
    return out;
}

class History {
public:
    void next(const Updates& updates) {
        const std::vector<merkle::SparseUpdate> list(updates.begin(), updates.end());
        const auto change = change_tree(PageSource(store_), roots_.back(), list, 1);
        const auto expected = SparseTree(plain_, roots_.back()).apply(list);
        require(change && expected && change->root == expected->root, "pages make the tree of single nodes");
        plain_.write(expected->writes);
        Batch batch;
        for (const PageChange& page : change->pages) put(batch, page.key, page.page);
        batch.put(keys::old_pages(roots_.size()), encode_patches(change->pages));
        require(store_.write(batch, false).has_value(), "memory is written to");
        roots_.push_back(change->root);
        contents_.push_back(contents_.back());
        for (const auto& [key, value] : updates) {
            if (value)
                contents_.back()[key] = *value;
            else
                contents_.back().erase(key);
        }
    }
    std::size_t height() const { return roots_.size() - 1; }

    void prove(std::size_t at, const Hash32& key, bool whole) const {
        const auto nodes = past_nodes(store_, at, height(), key, kUnmetered);
        require(nodes || !whole, "a whole store has every record");
        if (!nodes) return;
        const auto proof = SparseTree(*nodes, roots_[at]).prove(key);
        require(proof.has_value() || !whole, "a whole store proves every key");
        if (!proof) return;
        const auto found = contents_[at].find(key);
        const std::optional<Hash32> value = found == contents_[at].end() ? std::nullopt : std::optional(found->second);
        require(merkle::verify_sparse(roots_[at], key, value, *proof).has_value(), "and the proof holds");
    }
    /// Checks that the pages depend on the leaves alone.
    void check_layout() const {
        MemoryStore fresh;
        const std::vector<merkle::SparseUpdate> all(contents_.back().begin(), contents_.back().end());
        const auto made = change_tree(PageSource(fresh), Hash32{}, all, 1);
        require(made && made->root == roots_.back(), "the same leaves have the same root");
        Batch batch;
        for (const PageChange& page : made->pages) put(batch, page.key, page.page);
        require(fresh.write(batch, false).has_value(), "memory is written to");
        require(pages(fresh) == pages(store_), "and the same pages");
    }
    void damage_something(Choices& choices) {
        auto all = pages(store_);
        Batch batch;
        if (choices.flip() && height() > 0) {
            const Bytes key = keys::old_pages(1 + choices.below(height()));
            Bytes record = store_.get(key).value_or(Bytes{});
            damage(record, choices);
            batch.put(key, record);
        } else if (!all.empty()) {
            auto& [key, page] = *std::next(all.begin(), static_cast<std::ptrdiff_t>(choices.below(all.size())));
            damage(page, choices);
            put(batch, key, page);
        }
        require(store_.write(batch, false).has_value(), "memory is written to");
    }
    const Contents& contents() const { return contents_.back(); }
    void update_damaged(const Updates& updates) const {
        (void)change_tree(PageSource(store_), roots_.back(), {updates.begin(), updates.end()}, 1);
    }

private:
    static void put(Batch& batch, const Bytes& key, const Bytes& page) {
        if (page.empty())
            batch.erase(keys::page(key));
        else
            batch.put(keys::page(key), page);
    }
    static std::map<Bytes, Bytes> pages(const MemoryStore& store) {
        std::map<Bytes, Bytes> out;
        const Bytes all = keys::page({});
        store.scan(all, all, SIZE_MAX, [&](View key, View page) {
            out.emplace(to_bytes(key.subspan(all.size())), to_bytes(page));
            return true;
        });
        return out;
    }

    MemoryStore store_;
    merkle::MemoryNodeStore plain_;
    std::vector<Hash32> roots_{Hash32{}};
    std::vector<Contents> contents_{Contents{}};
};

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint64_t number = 0; number < 24; ++number) out.push_back(random_choices(0, number, 600));
    return out;
}

void run(View input) {
    Choices choices(input);
    History history;
    for (std::size_t blocks = choices.between(1, 5); blocks > 0; --blocks) {
        Updates updates;
        const bool remove_most = choices.below(4) == 0;
        for (const auto& [key, value] : history.contents())
            if (remove_most && choices.below(8) != 0) updates[key] = std::nullopt;
        for (std::size_t i = choices.below(kUpdatesMax); i > 0; --i)
            updates[pick_key(choices)] = choices.below(5) == 0 ? std::nullopt : std::optional(value_of(choices.byte()));
        history.next(updates);
    }
    history.check_layout();
    std::vector<Hash32> asked;
    for (const auto& [key, value] : history.contents()) asked.push_back(key);
    for (int i = 0; i < 8; ++i) asked.push_back(pick_key(choices));
    const auto prove_some = [&](bool whole) {
        for (const Hash32& key : asked) history.prove(choices.below(history.height() + 1), key, whole);
    };
    prove_some(true);
    history.damage_something(choices);
    prove_some(false);
    history.update_damaged({{pick_key(choices), value_of(1)}, {pick_key(choices), std::nullopt}});
}

}  // namespace retrace::fuzz
