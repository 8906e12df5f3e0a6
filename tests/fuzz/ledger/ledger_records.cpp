// SPDX-License-Identifier: MIT
// Records of the ledger that come from a disk or a peer: headers, logs, receipts, genesis, database rows, snapshot
// files.
#include "ledger/chain/genesis.hpp"
#include "ledger/chain/records.hpp"
#include "ledger/snapshot/snapshot_file.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace ledger;

template <class T>
Bytes encoded(const T& value) {
    Writer out;
    encode_to(out, value);
    return std::move(out).take();
}

/// Decodes with `decode` and requires that encoding gives the same bytes.
template <class Decode>
void round_trip(View bytes, Decode decode) {
    Reader in(bytes);
    const auto value = decode(in);
    if (in.finish()) require(equal(encoded(value), bytes), "one value has one encoding");
}

template <class T>
void same(const std::optional<T>& value, View bytes, Bytes (*encode)(const T&)) {
    if (value) require(equal(encode(*value), bytes), "one record has one encoding");
}

}  // namespace

std::vector<Bytes> seeds() {
    Log log{Address{}, {Hash32{}, Hash32{}}, Bytes(33, 5)};
    Receipt receipt;
    receipt.success = true;
    receipt.logs = {log, log};
    receipt.output = Bytes(5, 1);
    receipt.revert_reason = "slug: sentence";
    BlockRecord block;
    block.system_logs = {log};
    Genesis genesis;
    genesis.chain_id = 7298;
    genesis.alloc = {{Address{}, 5}};
    genesis.contracts = Bytes(10, 3);
    SnapshotManifest manifest;
    manifest.chunks = {{Hash32{}, 5}, {Hash32{}, 6}};
    Writer entries;
    append_entry(entries, Bytes(21, 'a'), Bytes(40, 1));
    append_entry(entries, Bytes(25, 's'), Bytes(3, 1));
    return {with_kind(0, encoded(Header{})),
            with_kind(1, encoded(log)),
            with_kind(2, encoded(receipt)),
            with_kind(3, encode(TipRecord{})),
            with_kind(4, encode(block)),
            with_kind(5, encode_keys({Bytes(3, 1), Bytes(4, 2)})),
            with_kind(6, encode(genesis)),
            with_kind(8, encode_patches(PagePatches{{Bytes{0, 0}, Bytes(67, 1)}, {Bytes{0, 4, 16}, {}}})),
            with_kind(9, encode(manifest)),
            with_kind(10, std::move(entries).take()),
            with_kind(7, encode_tx_record(BlockTx{Hash32{}, Bytes(9, 9), nullptr}, receipt, 4))};
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(11);
    const View bytes = choices.rest();
    switch (kind) {
        case 0: round_trip(bytes, decode_header); break;
        case 1: round_trip(bytes, decode_log); break;
        case 2: round_trip(bytes, decode_receipt); break;
        case 3: same<TipRecord>(decode_tip(bytes), bytes, encode); break;
        case 4: same<BlockRecord>(decode_block_record(bytes), bytes, encode); break;
        case 5: same<std::vector<Bytes>>(decode_keys(bytes), bytes, encode_keys); break;
        case 8:
            same<PagePatches>(decode_patches(bytes), bytes,
                              [](const PagePatches& patches) { return encode_patches(patches); });
            break;
        case 9:
            if (const auto manifest = decode_manifest(bytes))
                require(equal(encode(*manifest), bytes), "one manifest has one encoding");
            break;
        case 10:
            if (const auto entries = decode_entries(bytes)) {
                Writer again;
                for (const auto& [key, value] : *entries) append_entry(again, key, value);
                require(equal(again.data(), bytes), "one chunk has one encoding");
            }
            break;
        case 6:
            if (const auto genesis = decode_genesis(bytes))
                require(equal(encode(*genesis), bytes), "one genesis has one encoding");
            break;
        default:
            if (const auto record = decode_tx_record(bytes)) {
                const Bytes again = encode_tx_record(record->tx, record->receipt, record->first_log_index);
                require(equal(again, bytes), "one record has one encoding");
            }
            break;
    }
}

}  // namespace retrace::fuzz
