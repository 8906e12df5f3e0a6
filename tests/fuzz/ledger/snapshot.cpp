// SPDX-License-Identifier: MIT
// Snapshots from a hostile peer: bytes changed with matching digests, entries left out, doubled, exchanged and
// invented, chunks cut elsewhere. The result of an import is the state that the trusted block commits to, or nothing
// that a node would open.
#include "ledger/snapshot/snapshot.hpp"

#include <unistd.h>

#include <fstream>

#include "ledger/chain/keys.hpp"
#include "ledger/snapshot/snapshot_file.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

namespace fs = std::filesystem;
using namespace ledger;
using Entries = std::vector<Entry>;

Entries state_of(const Store& store, std::uint64_t height) {
    Entries out;
    const auto visited = visit_state(store, height, [&](View key, View value) {
        out.emplace_back(to_bytes(key), to_bytes(value));
        return true;
    });
    require(visited.has_value(), "the state of the tip is there");
    return out;
}

Address number(std::uint64_t n) {
    Address out;
    store_u64(out.bytes.data(), n);
    return out;
}

/// An executor without contracts.
class NoRules final : public TxExecutor {
public:
    bool is_contract(const Address&) const override { return false; }
    std::uint64_t gas_of(const Address&, View) const override { return 0; }
    CallResult call(State&, const BlockContext&, const Call&) const override { return {}; }
    CallResult view_call(const StateView&, const BlockContext&, const Call&) const override { return {}; }
    std::vector<Log> begin_block(State&, const BlockContext&) const override { return {}; }
    void genesis(State&, View) const override {}
};

SecretKey payer() { return *SecretKey::from_bytes(Bytes(32, 7)); }

Genesis make_genesis() {
    Genesis out;
    out.chain_id = 7298;
    out.time_ns = 1'000'000'000'000;
    out.gas_limit = 30'000'000;
    out.alloc[payer().address()] = U256{1'000'000'000'000'000'000};
    for (std::uint64_t i = 1; i < 6; ++i) out.alloc[number(i)] = U256{i};
    return out;
}

TxPtr payment(std::uint64_t nonce) {
    Transaction tx;
    tx.chain_id = 7298;
    tx.nonce = nonce;
    tx.tip_cap = 1'000;
    tx.fee_cap = 10'000'000'000;
    tx.gas_limit = kTransferGas;
    tx.to = number(1000 + nonce);
    tx.value = 5;
    return sign_tx(tx, payer());
}

/// An honest chain of three blocks and its parts.
struct Honest {
    Honest() {
        auto opened = Chain::open(store, genesis, executor, {.threads = 1});
        require(opened.has_value(), "a new chain opens");
        for (std::uint64_t height = 1; height <= 3; ++height) {
            const TxPtr first = payment(2 * height - 2), second = payment(2 * height - 1);
            const std::vector<View> raw{first->raw, second->raw};
            const auto outcome = (*opened)->execute_block({.height = height,
                                                           .time_ns = (*opened)->tip()->header.time_ns + 1'000'000'000,
                                                           .proposer = number(7),
                                                           .txs = raw,
                                                           .known = {}});
            require(outcome && (*opened)->commit(*outcome), "its blocks are taken");
        }
        block = (*opened)->tip();
        state = state_of(store, 3);
        block_file = encode_block_file(*block);
    }
    MemoryStore store;
    NoRules executor;
    Genesis genesis = make_genesis();
    std::shared_ptr<const Block> block;
    Entries state;
    Bytes block_file;
};

const Honest& honest() {
    static const Honest world;
    return world;
}

const fs::path& folder() {
    static const fs::path path = fs::temp_directory_path() / ("retrace-fuzz-snapshot-" + std::to_string(::getpid()));
    return path;
}

Bytes invented_key(Choices& choices) {
    Bytes out{static_cast<std::uint8_t>(choices.flip() ? 'a' : 's')};
    out.resize(1 + choices.below(24), choices.byte());
    return out;
}

/// Damages the entries; returns whether they still are the state.
bool change_entries(Entries& entries, Choices& choices) {
    for (std::size_t i = choices.below(3); i > 0 && !entries.empty(); --i) {
        const std::size_t at = choices.below(entries.size());
        const auto place = entries.begin() + static_cast<std::ptrdiff_t>(at);
        switch (choices.below(6)) {
            case 0: entries.erase(place); break;
            case 1: entries.insert(place, *place); break;
            case 2: std::swap(*place, entries[choices.below(entries.size())]); break;
            case 3: damage(place->second, choices); break;
            case 4: damage(place->first, choices); break;
            default: entries.insert(place, {invented_key(choices), Bytes(choices.below(50), choices.byte())}); break;
        }
    }
    return entries == honest().state;
}

std::vector<Bytes> chunks_of(const Entries& entries, Choices& choices) {
    std::vector<Bytes> out;
    Writer chunk;
    for (const auto& [key, value] : entries) {
        append_entry(chunk, key, value);
        if (choices.below(4) != 0) continue;
        out.push_back(std::move(chunk).take());
        chunk = Writer();
    }
    if (!chunk.data().empty() || choices.below(8) == 0) out.push_back(std::move(chunk).take());
    return out;
}

SnapshotFile written(const std::string& name, View bytes) {
    auto file = write_snapshot_file(folder() / name, bytes);
    require(file.has_value(), "a temporary folder is written to");
    return *file;
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint64_t number = 0; number < 24; ++number) out.push_back(random_choices(0, number, 120));
    return out;
}

void run(View input) {
    Choices choices(input);
    const Honest& world = honest();
    fs::remove_all(folder());
    fs::create_directories(folder());
    Entries entries = world.state;
    bool same = change_entries(entries, choices);
    SnapshotManifest manifest{genesis_hash(world.genesis), world.block->header, {}, {}};
    for (const Bytes& chunk : chunks_of(entries, choices))
        manifest.chunks.push_back(written(chunk_name(manifest.chunks.size()), chunk));
    Bytes block_file = world.block_file;
    if (choices.below(3) == 0) damage(block_file, choices);
    manifest.block = written(kBlockFile, block_file);
    Bytes encoded = encode(manifest);
    if (choices.below(6) == 0) damage(encoded, choices);
    const bool whole = same && block_file == world.block_file && encoded == encode(manifest);
    written(kManifestFile, encoded);

    MemoryStore store;
    const auto imported = import_snapshot(store, world.genesis, world.executor, folder(), world.block->hash);
    fs::remove_all(folder());
    require(imported || !whole, "an honest snapshot is taken, wherever its chunks are cut");
    if (!imported) {
        bool empty = true;
        store.scan({}, {}, 1, [&](View, View) { return empty = false; });
        if (empty) return;
        const auto opened = Chain::open(store, world.genesis, world.executor, {.threads = 1});
        require(!opened && opened.error().code == ChainError::unfinished, "what was refused is no chain");
        return;
    }
    require(state_of(store, 3) == world.state, "what was taken is the state of the trusted block");
    const auto opened = Chain::open(store, world.genesis, world.executor, {.threads = 1});
    require(opened && (*opened)->tip()->hash == world.block->hash, "and a chain that goes on from it");
    require((*opened)->tip()->encoded_size == world.block->encoded_size, "whose block is the same to its size");
}

}  // namespace retrace::fuzz
