// SPDX-License-Identifier: MIT
// Blocks and their headers. SPEC 4.
#pragma once

#include <vector>

#include "ledger/block/receipt.hpp"
#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

struct Header {
    Hash32 parent;  ///< Hash of the header before; zero at height 0.
    std::uint64_t height = 0;
    std::uint64_t time_ns = 0;  ///< From the engine; strictly increasing from height 1 on.
    Address proposer;
    std::uint32_t tx_count = 0;
    Hash32 tx_root;       ///< Tree over the transaction hashes, in order: `tx_count` leaves.
    Hash32 results_root;  ///< Tree over `result_leaves`: `tx_count` + 1 leaves.
    Hash32 state_root;    ///< Sparse state tree after this block: the application hash.
    U256 base_fee;
    std::uint64_t gas_used = 0;
    std::uint64_t gas_limit = 0;
    bool operator==(const Header&) const = default;

    std::uint64_t time_s() const noexcept { return time_ns / 1'000'000'000; }
};

void encode_to(Writer& out, const Header& header);
Header decode_header(Reader& in);
/// SHA-256 of the domain "retrace/block/1" and the encoding: the `hash` that RPC serves.
Hash32 block_hash(const Header& header);
/// Root of the tree whose leaves are append_leaf(Keccak hash of a transaction); zero for none.
Hash32 tx_root(std::span<const Hash32> tx_hashes);

/// A transaction as it stands in a block. A decided block may hold bytes that are no valid transaction (only
/// under a faulty proposer): they have a hash and a failed receipt, and no `tx`.
struct BlockTx {
    Hash32 hash;
    Bytes raw;  ///< Empty when `tx` is set: the bytes are in there.
    TxPtr tx;
    View bytes() const noexcept { return tx ? View(tx->raw) : View(raw); }
};

struct Block {
    Hash32 hash;
    Header header;
    std::vector<BlockTx> txs;
    std::vector<Receipt> receipts;   ///< One for each transaction.
    std::vector<Log> system_logs;    ///< Of begin_block: deadlines, draws. They come before all transactions.
    Bloom bloom{};                   ///< Over system logs and receipts.
    std::uint64_t encoded_size = 0;  ///< Header and transactions.
};

/// EIP-1559: the next block's base fee moves by at most 1/8 towards the price at which blocks are half full.
/// Never below `least`, genesis' own (at least 1: wallets take 0 for "no EIP-1559 here"): a price that falls to
/// nothing on an idle chain makes floods free. SPEC 4.3
U256 next_base_fee(const U256& base_fee, std::uint64_t gas_used, std::uint64_t gas_limit, const U256& least);

}  // namespace retrace::ledger
