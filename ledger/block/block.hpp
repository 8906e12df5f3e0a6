// SPDX-License-Identifier: MIT
// Blocks and their headers. SPEC 4.
#pragma once

#include <vector>

#include "ledger/block/receipt.hpp"
#include "ledger/tx/transaction.hpp"

namespace retrace::ledger {

struct Header {
    Hash32 parent;  ///< Hash of the previous header; zero at height 0.
    std::uint64_t height = 0;
    std::uint64_t time_ns = 0;  ///< From the engine; strictly increasing from height 1 on.
    Address proposer;
    std::uint32_t tx_count = 0;
    Hash32 tx_root;       ///< Tree over the transaction hashes, in order: `tx_count` leaves.
    Hash32 results_root;  ///< Tree over `result_leaves`: `tx_count` + 1 leaves.
    Hash32 state_root;    ///< Sparse state tree after this block.
    U256 base_fee;
    std::uint64_t gas_used = 0;
    std::uint64_t gas_limit = 0;
    bool operator==(const Header&) const = default;

    std::uint64_t time_s() const noexcept { return time_ns / 1'000'000'000; }
};

void encode_to(Writer& out, const Header& header);
Header decode_header(Reader& in);
/// SHA-256 of the domain "retrace/block/1" and the encoding; RPC serves it as `hash`.
Hash32 block_hash(const Header& header);
/// Root of the tree whose leaves are append_leaf(Keccak hash of a transaction); zero if there are none.
Hash32 tx_root(std::span<const Hash32> tx_hashes);

/// A transaction as it stands in a block. A decided block may hold bytes that are not a valid transaction (only under a
/// faulty proposer): these have a hash and a failed receipt, but no `tx`.
struct BlockTx {
    Hash32 hash;
    Bytes raw;  ///< Empty when `tx` is set, which then holds the bytes.
    TxPtr tx;
    View bytes() const noexcept { return tx ? View(tx->raw) : View(raw); }
};

struct Block {
    Hash32 hash;
    Header header;
    std::vector<BlockTx> txs;
    std::vector<Receipt> receipts;   ///< One for each transaction.
    std::vector<Log> system_logs;    ///< Logs of begin_block: deadlines, draws. They precede all transactions.
    Bloom bloom{};                   ///< Over system logs and receipts.
    std::uint64_t encoded_size = 0;  ///< Bytes of header and transactions.
};

/// EIP-1559: the next block's base fee moves by at most 1/8 towards the price at which blocks are half full. It never
/// falls below `least`, the base fee of genesis (at least 1: wallets take 0 for "no EIP-1559 here"), because a price
/// that falls to nothing on an idle chain makes floods free. SPEC 4.3
U256 next_base_fee(const U256& base_fee, std::uint64_t gas_used, std::uint64_t gas_limit, const U256& least);

}  // namespace retrace::ledger
