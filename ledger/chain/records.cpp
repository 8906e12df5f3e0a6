// SPDX-License-Identifier: MIT
#include "ledger/chain/records.hpp"

#include <algorithm>

namespace retrace::ledger {
namespace {

constexpr std::size_t kRecordMax = 1U << 30;  // RocksDB's own limit for values is lower

BlockTx read_tx_part(Reader& in) {
    BlockTx out;
    out.hash = in.hash();
    const bool valid = in.boolean();
    if (!valid) {
        out.raw = to_bytes(in.bytes(kRecordMax));
        return out;
    }
    const Address sender = decode_address(in);
    const View raw = in.bytes(kTxBytesMax);
    auto decoded = decode_tx(raw);
    if (!in.ok() || !decoded) {
        in.fail(CodecError::not_canonical);
        return out;
    }
    out.tx = std::make_shared<const SignedTx>(SignedTx{.tx = std::move(decoded->tx),
                                                       .signature = decoded->signature,
                                                       .sender = sender,
                                                       .hash = out.hash,
                                                       .raw = to_bytes(raw)});
    return out;
}

}  // namespace

Bytes encode(const TipRecord& record) {
    Writer out;
    out.u64(record.height).hash(record.hash).u64(record.oldest_state).u64(record.oldest_pages);
    out.u64(record.oldest_block);
    return std::move(out).take();
}

std::optional<TipRecord> decode_tip(View bytes) {
    Reader in(bytes);
    TipRecord record;
    record.height = in.u64();
    record.hash = in.hash();
    record.oldest_state = in.u64();
    record.oldest_pages = in.u64();
    record.oldest_block = in.u64();
    if (!in.finish() || record.oldest_state > record.height || record.oldest_pages > record.height ||
        record.oldest_block > record.height) {
        return std::nullopt;
    }
    return record;
}

Bytes encode(const BlockRecord& record) {
    Writer out;
    out.hash(record.hash);
    encode_to(out, record.header);
    out.u64(record.encoded_size);
    out.u32(static_cast<std::uint32_t>(record.system_logs.size()));
    for (const Log& log : record.system_logs) encode_to(out, log);
    return std::move(out).take();
}

std::optional<BlockRecord> decode_block_record(View bytes) {
    Reader in(bytes);
    BlockRecord record;
    record.hash = in.hash();
    record.header = decode_header(in);
    record.encoded_size = in.u64();
    const std::uint32_t logs = in.count(kRecordMax, 25);
    for (std::uint32_t i = 0; i < logs && in.ok(); ++i) record.system_logs.push_back(decode_log(in));
    if (!in.finish()) return std::nullopt;
    return record;
}

Bytes encode_tx_record(const BlockTx& tx, const Receipt& receipt, std::uint64_t first_log_index) {
    Writer out;
    out.hash(tx.hash).boolean(tx.tx != nullptr);
    if (tx.tx) out.raw(view(tx.tx->sender));
    out.bytes(tx.bytes()).u64(first_log_index);
    encode_to(out, receipt);
    return std::move(out).take();
}

std::optional<TxRecord> decode_tx_record(View bytes) {
    Reader in(bytes);
    TxRecord record;
    record.tx = read_tx_part(in);
    record.first_log_index = in.u64();
    record.receipt = decode_receipt(in);
    if (!in.finish()) return std::nullopt;
    return record;
}

Bytes encode_keys(const std::vector<Bytes>& keys) {
    Writer out;
    out.u32(static_cast<std::uint32_t>(keys.size()));
    for (const Bytes& key : keys) out.bytes(key);
    return std::move(out).take();
}

std::optional<std::vector<Bytes>> decode_keys(View bytes) {
    Reader in(bytes);
    std::vector<Bytes> keys;
    const std::uint32_t count = in.count(kRecordMax, 4);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) keys.push_back(to_bytes(in.bytes(kRecordMax)));
    if (!in.finish()) return std::nullopt;
    return keys;
}

Bytes encode_patches(const std::vector<PageChange>& pages) {
    Writer out;
    out.u32(static_cast<std::uint32_t>(pages.size()));
    for (const PageChange& change : pages) out.bytes(change.key).bytes(change.undo);
    return std::move(out).take();
}

Bytes encode_patches(const PagePatches& patches) {
    Writer out;
    out.u32(static_cast<std::uint32_t>(patches.size()));
    for (const auto& [key, patch] : patches) out.bytes(key).bytes(patch);
    return std::move(out).take();
}

std::optional<PagePatches> decode_patches(View bytes) {
    Reader in(bytes);
    PagePatches patches;
    const std::uint32_t count = in.count(kRecordMax, 8);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        Bytes key = to_bytes(in.bytes(kRecordMax));
        if (!patches.empty() && key <= patches.rbegin()->first) in.fail(CodecError::not_canonical);
        patches.emplace_hint(patches.end(), std::move(key), to_bytes(in.bytes(kRecordMax)));
    }
    if (!in.finish()) return std::nullopt;
    return patches;
}

std::optional<PagePatches> select_patches(View bytes, const std::set<Bytes>& page_keys) {
    Reader in(bytes);
    PagePatches patches;
    const std::uint32_t count = in.count(kRecordMax, 8);
    // Both lists ascend, so one parallel walk finds the common keys.
    auto wanted = page_keys.begin();
    View last;
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        const View key = in.bytes(kRecordMax), patch = in.bytes(kRecordMax);
        if (i > 0 && !std::ranges::lexicographical_compare(last, key)) in.fail(CodecError::not_canonical);
        last = key;
        while (wanted != page_keys.end() && std::ranges::lexicographical_compare(*wanted, key)) ++wanted;
        if (wanted == page_keys.end() || !std::ranges::equal(*wanted, key)) continue;
        patches.emplace(*wanted, to_bytes(patch));
    }
    if (!in.finish()) return std::nullopt;
    return patches;
}

}  // namespace retrace::ledger
