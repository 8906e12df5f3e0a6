// SPDX-License-Identifier: MIT
// Ethereum's format of values in JSON: quantities without leading zeros, data in hex of even length, all lower case.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"
#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::rpc {

namespace json = boost::json;

std::string quantity(std::uint64_t v);
inline std::string quantity(const ledger::U256& v) { return v.to_quantity(); }
inline std::string data(View bytes) { return to_0x(bytes); }
inline std::string data(const Hash32& hash) { return to_0x(view(hash)); }
inline std::string data(const ledger::Address& address) { return ledger::to_0x(address); }

/// The error text completes a sentence "invalid argument 0: …".
template <class T>
using Parsed = Result<T, std::string>;

/// Accepts "0x0", "0x1f"; refuses "0x", "0x01", "1", JSON numbers and values over 64 or 256 bits.
Parsed<std::uint64_t> parse_u64(const json::value& v);
Parsed<ledger::U256> parse_u256(const json::value& v);
/// Accepts "0x" and an even number of digits of either case.
Parsed<Bytes> parse_data(const json::value& v);
Parsed<Hash32> parse_hash(const json::value& v);
Parsed<ledger::Address> parse_address(const json::value& v);
Parsed<bool> parse_bool(const json::value& v);

/// A reference to a block in a request.
struct BlockRef {
    enum class Kind : std::uint8_t { height, hash, latest, pending, earliest };
    Kind kind = Kind::latest;
    std::uint64_t height = 0;
    Hash32 hash;
};
/// Parses a tag, a height, a hash, {"blockNumber"} or {"blockHash"}. `safe` and `finalized` mean `latest`, because
/// every block is final.
Parsed<BlockRef> parse_block(const json::value& v);

}  // namespace retrace::node::rpc
