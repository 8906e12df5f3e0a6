// SPDX-License-Identifier: MIT
#include "ledger/block/receipt.hpp"

#include <algorithm>

#include "ledger/crypto/keccak.hpp"
#include "merkle/tree/append_tree.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kTopicsMax = 4;
constexpr std::size_t kPayloadMax = 16U << 20;  // more than any block may hold
constexpr std::size_t kLogsMax = 1U << 20;
constexpr std::size_t kReasonMax = 1U << 16;
constexpr std::size_t kLogSizeMin = 20 + 1 + 4;

/// The part of a receipt that consensus covers.
void encode_covered(Writer& out, const Receipt& receipt) {
    out.boolean(receipt.success).u64(receipt.gas_used).u64(receipt.cumulative_gas);
    encode_to(out, receipt.effective_gas_price);
    out.u32(static_cast<std::uint32_t>(receipt.logs.size()));
    for (const Log& log : receipt.logs) encode_to(out, log);
}

template <class Set>
void for_each_bit(const Hash32& keccak, const Set& visit) {
    for (std::size_t i = 0; i < 6; i += 2) {
        const unsigned bit = (keccak.bytes[i] << 8 | keccak.bytes[i + 1]) & 2047U;
        visit(255 - bit / 8, static_cast<std::uint8_t>(1U << (bit % 8)));
    }
}

void add(Bloom& bloom, View item) {
    for_each_bit(keccak256(item), [&](std::size_t byte, std::uint8_t mask) { bloom[byte] |= mask; });
}

}  // namespace

void add_to_bloom(Bloom& bloom, const Log& log) {
    add(bloom, view(log.address));
    for (const Hash32& topic : log.topics) add(bloom, view(topic));
}

bool may_contain(const Bloom& bloom, View item) { return may_contain_hash(bloom, keccak256(item)); }

bool may_contain_hash(const Bloom& bloom, const Hash32& keccak) {
    bool all = true;
    for_each_bit(keccak, [&](std::size_t byte, std::uint8_t mask) { all = all && (bloom[byte] & mask) != 0; });
    return all;
}

std::vector<Hash32> result_leaves(std::span<const Log> system_logs, std::span<const Receipt> receipts) {
    std::vector<Hash32> leaves;
    leaves.reserve(receipts.size() + 1);
    Writer logs;
    logs.u32(static_cast<std::uint32_t>(system_logs.size()));
    for (const Log& log : system_logs) encode_to(logs, log);
    leaves.push_back(merkle::append_leaf(logs.data()));
    for (const Receipt& receipt : receipts) {
        Writer out;
        encode_covered(out, receipt);
        leaves.push_back(merkle::append_leaf(out.data()));
    }
    return leaves;
}

Hash32 results_root(std::span<const Log> system_logs, std::span<const Receipt> receipts) {
    return merkle::tree_root(result_leaves(system_logs, receipts));
}

void encode_to(Writer& out, const Log& log) {
    out.raw(view(log.address)).u8(static_cast<std::uint8_t>(log.topics.size()));
    for (const Hash32& topic : log.topics) out.hash(topic);
    out.bytes(log.data);
}

Log decode_log(Reader& in) {
    Log log;
    log.address = decode_address(in);
    const std::uint8_t topics = in.enumerated(0, kTopicsMax);
    for (std::uint8_t i = 0; i < topics; ++i) log.topics.push_back(in.hash());
    log.data = to_bytes(in.bytes(kPayloadMax));
    return log;
}

void encode_to(Writer& out, const Receipt& receipt) {
    encode_covered(out, receipt);
    out.bytes(receipt.output).text(receipt.revert_reason);
}

Receipt decode_receipt(Reader& in) {
    Receipt receipt;
    receipt.success = in.boolean();
    receipt.gas_used = in.u64();
    receipt.cumulative_gas = in.u64();
    receipt.effective_gas_price = decode_u256(in);
    const std::uint32_t logs = in.count(kLogsMax, kLogSizeMin);
    for (std::uint32_t i = 0; i < logs && in.ok(); ++i) receipt.logs.push_back(decode_log(in));
    receipt.output = to_bytes(in.bytes(kPayloadMax));
    receipt.revert_reason = in.text(kReasonMax);
    return receipt;
}

}  // namespace retrace::ledger
