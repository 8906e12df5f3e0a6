// SPDX-License-Identifier: MIT
// Strict RLP (Ethereum's Recursive Length Prefix): each value has exactly one encoding, and any other is refused. SPEC
// 2. Decoding yields views into the input and allocates nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "ledger/types/u256.hpp"
#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::ledger::rlp {

enum class Error : std::uint8_t {
    truncated = 1,     ///< A length reaches past its container.
    trailing = 2,      ///< Bytes are left after the value, or items after the last field of a list.
    not_minimal = 3,   ///< A longer form than needed: a byte below 0x80 with a prefix, a length with leading zeros.
    leading_zero = 4,  ///< An integer with leading zero bytes.
    too_large = 5,     ///< An integer or a byte string over the field's size.
    not_a_string = 6,  ///< A list where a byte string belongs.
    not_a_list = 7,
    too_deep = 8,    ///< Lists nested more than kDepthMax.
    wrong_size = 9,  ///< A byte string of another length than the field's.
    missing = 10,    ///< A list ends before its last field.
};
std::string_view slug(Error error) noexcept;

inline constexpr int kDepthMax = 8;

struct Item {
    bool is_list = false;
    View payload;  ///< The bytes of a string, or the concatenated items of a list.
};

/// Decodes exactly one value that fills `in`; nested items are checked too, down to kDepthMax lists.
Result<Item, Error> decode(View in);
/// Decodes the first value of `in` and moves `in` past it. Nested items are not checked.
Result<Item, Error> take_item(View& in);

/// Reads the fields of a list in order, with a sticky error: after the first failure every read yields zero
/// or empty, and `finish` reports it.
class ListReader {
public:
    /// `list` is an item that `decode` or `take_item` returned.
    explicit ListReader(const Item& list);

    std::uint64_t u64();
    U256 u256();
    View bytes();  ///< A string of any length.
    View bytes_up_to(std::size_t limit);
    View fixed(std::size_t size);
    ListReader list();  ///< A nested list; pass it to `adopt` afterwards to take over its failure.
    void adopt(const ListReader& inner) {
        if (!inner.ok()) fail(*inner.error_);
    }

    bool at_end() const noexcept { return error_.has_value() || rest_.empty(); }
    bool ok() const noexcept { return !error_.has_value(); }
    void fail(Error error) noexcept {
        if (!error_) error_ = error;
    }
    /// Unit when no read failed and no item is left.
    Status<Error> finish() const;

private:
    ListReader() = default;
    View string();

    View rest_;
    std::optional<Error> error_;
};

/// Appends items; `list()` nests the items of another encoder. Encodings are canonical by construction.
class Encoder {
public:
    Encoder& bytes(View v);
    Encoder& u64(std::uint64_t v);
    Encoder& u256(const U256& v);
    Encoder& raw(View encoded);           ///< Items that are encoded already.
    Encoder& list(const Encoder& inner);  ///< Appends `inner`'s items as one list.

    const Bytes& items() const noexcept { return out_; }
    Bytes to_list() const;  ///< All items as one list.

private:
    void header(std::uint8_t short_base, std::size_t size);
    Bytes out_;
};

}  // namespace retrace::ledger::rlp
