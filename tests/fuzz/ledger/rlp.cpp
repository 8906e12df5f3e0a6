// SPDX-License-Identifier: MIT
// Strict RLP compared with a naive recursive reader, which accepts any encoding and writes the canonical one. The
// strict decoder accepts exactly the inputs that the naive reader writes back unchanged.
#include "ledger/codec/rlp.hpp"

#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

namespace rlp = ledger::rlp;

/// Reads a length of `width` big-endian bytes at `at`; nullopt past the end or if the length exceeds the input.
std::optional<std::size_t> long_length(View in, std::size_t at, std::size_t width) {
    std::size_t out = 0;
    for (std::size_t i = 0; i < width; ++i) {
        if (at + i >= in.size() || out > in.size()) return std::nullopt;
        out = out << 8 | in[at + i];
    }
    return out;
}

void put_header(Bytes& out, std::uint8_t base, std::size_t size) {
    if (size < 56) {
        out.push_back(static_cast<std::uint8_t>(base + size));
        return;
    }
    Bytes length;
    for (std::size_t rest = size; rest != 0; rest >>= 8) length.insert(length.begin(), static_cast<std::uint8_t>(rest));
    out.push_back(static_cast<std::uint8_t>(base + 55 + length.size()));
    out.insert(out.end(), length.begin(), length.end());
}

/// Appends the canonical encoding of the first value of `in` and moves `in` past it.
bool respell(View& in, Bytes& out, int depth) {
    if (in.empty()) return false;
    const std::uint8_t first = in[0];
    const bool is_list = first >= 0xc0;
    if (is_list && depth == rlp::kDepthMax) return false;
    const std::uint8_t base = is_list ? 0xc0 : 0x80;
    std::size_t head = 1, size = 0;
    if (first < 0x80) {
        head = 0;
        size = 1;
    } else if (first - base < 56) {
        size = static_cast<std::size_t>(first - base);
    } else {
        const std::size_t width = static_cast<std::size_t>(first - base) - 55;
        const auto length = long_length(in, 1, width);
        if (!length) return false;
        head = 1 + width;
        size = *length;
    }
    if (size > in.size() - head) return false;
    View payload = in.subspan(head, size);
    in = in.subspan(head + size);
    if (!is_list) {
        if (payload.size() != 1 || payload[0] >= 0x80) put_header(out, 0x80, payload.size());
        out.insert(out.end(), payload.begin(), payload.end());
        return true;
    }
    Bytes items;
    while (!payload.empty())
        if (!respell(payload, items, depth + 1)) return false;
    put_header(out, 0xc0, items.size());
    out.insert(out.end(), items.begin(), items.end());
    return true;
}

void read_as_fields(const rlp::Item& item) {
    rlp::ListReader in(item);
    const std::uint64_t number = in.u64();
    const ledger::U256 wide = in.u256();
    const View bytes = in.bytes_up_to(40);
    const View fixed = in.fixed(20);
    const rlp::ListReader inner = in.list();
    in.adopt(inner);
    if (!in.finish() || !inner.at_end()) return;
    rlp::Encoder out;
    out.u64(number).u256(wide).bytes(bytes).bytes(fixed).list({});
    require(equal(out.items(), item.payload), "fields that were read are written as they were");
}

}  // namespace

std::vector<Bytes> seeds() {
    rlp::Encoder inner, list, deep;
    inner.u64(1).bytes(Bytes(60, 0xaa));
    list.u64(0).u64(127).u64(128).u256(ledger::U256::max()).bytes({}).list(inner);
    deep.u64(1);
    for (int i = 0; i < 7; ++i) {
        rlp::Encoder outer;
        outer.list(deep);
        deep = outer;
    }
    rlp::Encoder fields;
    fields.u64(5).u256(1'000'000).bytes(Bytes(33, 1)).bytes(Bytes(20, 2)).list({});
    return {list.to_list(), deep.to_list(), fields.to_list(), Bytes{0x00}, Bytes{0x80}, Bytes{0xc0}, Bytes{0x81, 0x80}};
}

void run(View input) {
    View left = input;
    Bytes respelt;
    const bool twin = respell(left, respelt, 0) && left.empty() && equal(respelt, input);
    const auto item = rlp::decode(input);
    require(item.has_value() == twin, "the strict decoder accepts exactly the canonical spellings");
    if (item && item->is_list) read_as_fields(*item);
    View rest = input;
    const auto first = rlp::take_item(rest);
    require(!twin || (first && rest.empty()), "a whole value is also a first one");
}

}  // namespace retrace::fuzz
