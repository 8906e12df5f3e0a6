// SPDX-License-Identifier: MIT
#include "ledger/snapshot/snapshot_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "ledger/chain/build_block.hpp"
#include "ledger/chain/records.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {
namespace {

constexpr std::string_view kTag = "retrace/snapshot/1";
constexpr std::size_t kEntryKeyMin = 21;  // a letter and an address

void encode_to(Writer& out, const SnapshotFile& file) { out.hash(file.digest).u64(file.bytes); }
SnapshotFile decode_file(Reader& in) {
    SnapshotFile out;
    out.digest = in.hash();
    out.bytes = in.u64();
    return out;
}

Bloom bloom_of(const Block& block) {
    Bloom out{};
    for (const Log& log : block.system_logs) add_to_bloom(out, log);
    for (const Receipt& receipt : block.receipts)
        for (const Log& log : receipt.logs) add_to_bloom(out, log);
    return out;
}

/// The receipt without the fields that no root covers.
Receipt covered_part(Receipt receipt) {
    receipt.output.clear();
    receipt.revert_reason.clear();
    return receipt;
}

}  // namespace

std::string chunk_name(std::size_t index) {
    const std::string digits = std::to_string(index);
    return std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits;
}

Bytes encode(const SnapshotManifest& manifest) {
    Writer out;
    out.text(kTag).hash(manifest.genesis);
    encode_to(out, manifest.header);
    encode_to(out, manifest.block);
    out.u32(static_cast<std::uint32_t>(manifest.chunks.size()));
    for (const SnapshotFile& chunk : manifest.chunks) encode_to(out, chunk);
    return std::move(out).take();
}

Result<SnapshotManifest, CodecError> decode_manifest(View bytes) {
    Reader in(bytes);
    SnapshotManifest out;
    if (in.text(kTag.size()) != kTag) in.fail(CodecError::not_canonical);
    out.genesis = in.hash();
    out.header = decode_header(in);
    out.block = decode_file(in);
    const std::uint32_t count = in.count(kSnapshotChunksMax, 40);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) out.chunks.push_back(decode_file(in));
    RETRACE_CHECK(in.finish());
    return out;
}

Hash32 snapshot_root(const SnapshotManifest& manifest) {
    const Bytes encoded = encode(manifest);
    return merkle::sha256({view(kTag), View(encoded)});
}

Result<SnapshotManifest, ChainFailure> read_manifest(const std::filesystem::path& folder) {
    const auto path = folder / kManifestFile;
    std::error_code none;
    const auto size = std::filesystem::file_size(path, none);
    if (none || size > kSnapshotFileMax) return bad_snapshot(path.string() + ": no manifest of a snapshot");
    std::ifstream file(path, std::ios::binary);
    Bytes bytes(size);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
    if (!file) return bad_snapshot(path.string() + ": cannot be read");
    auto manifest = decode_manifest(bytes);
    if (!manifest) return bad_snapshot(path.string() + ": no manifest of a snapshot");
    return std::move(*manifest);
}

Bytes encode_block_file(const Block& block) {
    Writer out;
    out.bytes(encode(BlockRecord{.hash = block.hash,
                                 .header = block.header,
                                 .encoded_size = block.encoded_size,
                                 .system_logs = block.system_logs}));
    for (std::size_t i = 0; i < block.txs.size(); ++i) {
        out.bytes(block.txs[i].bytes());
        encode_to(out, covered_part(block.receipts[i]));
    }
    return std::move(out).take();
}

Result<std::shared_ptr<const Block>, ChainFailure> decode_block_file(View bytes, const Header& header,
                                                                     std::uint64_t chain_id) {
    Reader in(bytes);
    const auto record = decode_block_record(in.bytes(kSnapshotFileMax));
    if (!record || record->header != header) return bad_snapshot("the block is not the manifest's");
    auto block = std::make_shared<Block>();
    block->hash = block_hash(header);
    block->header = header;
    block->system_logs = record->system_logs;
    std::vector<View> raw;
    for (std::uint32_t i = 0; i < header.tx_count && in.ok(); ++i) {
        raw.push_back(in.bytes(kSnapshotFileMax));
        block->receipts.push_back(covered_part(decode_receipt(in)));
    }
    if (!in.finish()) return bad_snapshot("the block does not decode");
    // Senders are recovered again and the size is recomputed, because no signature covers the snapshot's values.
    block->txs =
        read_txs({.height = header.height, .time_ns = 0, .proposer = {}, .txs = raw, .known = {}}, chain_id, 0);
    block->encoded_size = encoded_size(header, block->txs);
    std::vector<Hash32> hashes;
    for (const BlockTx& tx : block->txs) hashes.push_back(tx.hash);
    if (tx_root(hashes) != header.tx_root || results_root(block->system_logs, block->receipts) != header.results_root)
        return bad_snapshot("the block's transactions or receipts are not the ones that its header commits to");
    block->bloom = bloom_of(*block);
    return std::shared_ptr<const Block>(std::move(block));
}

void append_entry(Writer& out, View key, View value) { out.bytes(key).bytes(value); }

Result<std::vector<Entry>, ChainFailure> decode_entries(View bytes) {
    Reader in(bytes);
    std::vector<Entry> out;
    while (in.ok() && in.left() > 0) {
        const View key = in.bytes(kSnapshotFileMax), value = in.bytes(kSnapshotFileMax);
        // Millions of empty entries would take many times the file's size in memory.
        if (key.size() < kEntryKeyMin || value.empty()) in.fail(CodecError::not_canonical);
        if (in.ok()) out.emplace_back(to_bytes(key), to_bytes(value));
    }
    if (!in.finish()) return bad_snapshot("a chunk does not decode");
    return out;
}

Result<SnapshotFile, ChainFailure> write_snapshot_file(const std::filesystem::path& path, View bytes) {
    if (const auto written = write_durably(path, {bytes}); !written)
        return Unexpected{ChainFailure{ChainError::store_failed, written.error().message}};
    return SnapshotFile{merkle::sha256(bytes), bytes.size()};
}

Result<Bytes, ChainFailure> read_snapshot_file(const std::filesystem::path& path, const SnapshotFile& promised) {
    std::error_code none;
    const auto size = std::filesystem::file_size(path, none);
    if (none) return bad_snapshot(path.string() + ": is missing");
    if (size != promised.bytes || size > kSnapshotFileMax)
        return bad_snapshot(path.string() + ": has another length than the manifest says");
    std::ifstream file(path, std::ios::binary);
    Bytes out(size);
    file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(size));
    if (!file) return bad_snapshot(path.string() + ": cannot be read");
    if (merkle::sha256(out) != promised.digest)
        return bad_snapshot(path.string() + ": is damaged: another SHA-256 than the manifest says");
    return out;
}

}  // namespace retrace::ledger
