// SPDX-License-Identifier: MIT
// Result of a transaction. SPEC 4.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "ledger/exec/executor.hpp"
#include "ledger/types/codec.hpp"

namespace retrace::ledger {

struct Receipt {
    bool success = false;
    std::uint64_t gas_used = 0;
    std::uint64_t cumulative_gas = 0;  ///< Sum over this and all earlier transactions in the block.
    U256 effective_gas_price;
    std::vector<Log> logs;      ///< Empty unless success.
    Bytes output;               ///< Return value or revert data. Kept for RPC, not hashed.
    std::string revert_reason;  ///< "slug: sentence", for people. Kept, not hashed.
    bool operator==(const Receipt&) const = default;
};

/// Ethereum's 2048-bit bloom filter: three bits for each address and topic.
using Bloom = std::array<std::uint8_t, 256>;
void add_to_bloom(Bloom& bloom, const Log& log);
/// Whether `bloom` may hold `item` (an address of 20 or a topic of 32 bytes).
bool may_contain(const Bloom& bloom, View item);
/// The same for an item whose Keccak-256 is known, so that many blooms are tested with one hash.
bool may_contain_hash(const Bloom& bloom, const Hash32& keccak);

/// Leaves of the results tree: first the logs of begin_block, then for each receipt the part that consensus covers
/// (status, gas, price, logs), in order. With these leaves merkle::TileTree proves a receipt against a header.
std::vector<Hash32> result_leaves(std::span<const Log> system_logs, std::span<const Receipt> receipts);
/// Root of the tree over these leaves; their number is the block's transaction count plus one.
Hash32 results_root(std::span<const Log> system_logs, std::span<const Receipt> receipts);

void encode_to(Writer& out, const Log& log);
Log decode_log(Reader& in);
void encode_to(Writer& out, const Receipt& receipt);
Receipt decode_receipt(Reader& in);

}  // namespace retrace::ledger
