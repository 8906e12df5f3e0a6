// SPDX-License-Identifier: MIT
// Keys of the database. The first letter tells the kind of record; heights are big endian so that scans ascend. SPEC
// 5.4.
#pragma once

#include "ledger/types/address.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::ledger::keys {

/// m: facts about the database itself.
Bytes meta(std::string_view name);
inline Bytes format() { return meta("format"); }
inline Bytes genesis() { return meta("genesis"); }
inline Bytes writing() { return meta("writing"); }        ///< Height of the batch that was begun; its first record.
inline Bytes undoable() { return meta("undoable"); }      ///< The same height, after all undo records of the batch.
inline Bytes tip() { return meta("tip"); }                ///< Last record of the batch.
inline Bytes unfinished() { return meta("unfinished"); }  ///< Present while a snapshot is being imported.

Bytes account(const Address& address);          ///< a: encoded account.
Bytes slot(const Address& contract, View key);  ///< s: bytes of the slot.
Bytes page(const Bytes& page_key);              ///< n: page of the state tree.

Bytes undo_prefix(View state_key);  ///< u: value of an a or s key before block `height`.
Bytes undo(View state_key, std::uint64_t height);
Bytes changed(std::uint64_t height);    ///< z: the a and s keys that block `height` changed.
Bytes old_pages(std::uint64_t height);  ///< y: undo patches of the pages that block `height` changed.

Bytes block(std::uint64_t height);      ///< b: header, counts, system logs.
Bytes block_hash(const Hash32& hash);   ///< h: height of a block hash.
Bytes bloom(std::uint64_t height);      ///< l
Bytes tx_prefix(std::uint64_t height);  ///< x: transaction and receipt.
Bytes tx(std::uint64_t height, std::uint32_t index);
Bytes tx_hash(const Hash32& hash);  ///< t: height and index.

/// Big endian encodings of a height, and of the pair under `tx_hash`.
Bytes be64(std::uint64_t value);
Bytes be64_32(std::uint64_t first, std::uint32_t second);
/// Reads 8 (4) bytes big endian at `at`; the input must be long enough (asserted).
std::uint64_t read_be64(View bytes, std::size_t at = 0);
std::uint32_t read_be32(View bytes, std::size_t at);

}  // namespace retrace::ledger::keys
