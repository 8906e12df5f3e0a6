// SPDX-License-Identifier: MIT
// Ethereum's spelling of values in JSON: quantities without leading zeros, data in even hex, all lower case.
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
inline std::string quantity(const ledger::U256& v) {
    return v.to_quantity();
}
inline std::string data(View bytes) {
    return to_0x(bytes);
}
inline std::string data(const Hash32& hash) {
    return to_0x(view(hash));
}
inline std::string data(const ledger::Address& address) {
    return ledger::to_0x(address);
}

/// The error is what is wrong, for a sentence "invalid argument 0: …".
template <class T>
using Parsed = Result<T, std::string>;

/// "0x0", "0x1f"; refuses "0x", "0x01", "1", numbers, anything over 64 or 256 bits.
Parsed<std::uint64_t> parse_u64(const json::value& v);
Parsed<ledger::U256> parse_u256(const json::value& v);
/// "0x" and an even number of digits of either case.
Parsed<Bytes> parse_data(const json::value& v);
Parsed<Hash32> parse_hash(const json::value& v);
Parsed<ledger::Address> parse_address(const json::value& v);
Parsed<bool> parse_bool(const json::value& v);

/// A block as callers name it.
struct BlockRef {
    enum class Kind : std::uint8_t { height, hash, latest, pending, earliest };
    Kind kind = Kind::latest;
    std::uint64_t height = 0;
    Hash32 hash;
};
/// A tag, a height, a hash, {"blockNumber"} or {"blockHash"}. `safe` and `finalized` are `latest`: a block
/// that is here is final.
Parsed<BlockRef> parse_block(const json::value& v);

}  // namespace retrace::node::rpc
