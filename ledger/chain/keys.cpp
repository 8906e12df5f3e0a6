// SPDX-License-Identifier: MIT
#include "ledger/chain/keys.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::ledger::keys {
namespace {

void append(Bytes& out, View bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void append_be(Bytes& out, std::uint64_t value, int size) {
    for (int i = size - 1; i >= 0; --i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

std::uint64_t read_be(View bytes, std::size_t at, std::size_t size) {
    ensure(bytes.size() >= at + size, "read_be: too short");
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < size; ++i) out = out << 8 | bytes[at + i];
    return out;
}

Bytes letter(char c, View rest, std::size_t more = 0) {
    Bytes out;
    out.reserve(1 + rest.size() + more);
    out.push_back(static_cast<std::uint8_t>(c));
    append(out, rest);
    return out;
}

Bytes at_height(char c, std::uint64_t height) {
    Bytes out = letter(c, {}, 8);
    append_be(out, height, 8);
    return out;
}

}  // namespace

Bytes meta(std::string_view name) { return letter('m', view(name)); }
Bytes account(const Address& address) { return letter('a', view(address)); }

Bytes slot(const Address& contract, View key) {
    Bytes out = letter('s', view(contract), key.size());
    append(out, key);
    return out;
}

Bytes page(const Bytes& page_key) { return letter('n', page_key); }

Bytes undo_prefix(View state_key) {
    // The length prefix separates the heights of a key from longer keys that begin with the same bytes.
    Bytes out = letter('u', {}, 4 + state_key.size() + 8);
    append_be(out, state_key.size(), 4);
    append(out, state_key);
    return out;
}

Bytes undo(View state_key, std::uint64_t height) {
    Bytes out = undo_prefix(state_key);
    append_be(out, height, 8);
    return out;
}

Bytes changed(std::uint64_t height) { return at_height('z', height); }
Bytes old_pages(std::uint64_t height) { return at_height('y', height); }
Bytes block(std::uint64_t height) { return at_height('b', height); }
Bytes block_hash(const Hash32& hash) { return letter('h', view(hash)); }
Bytes bloom(std::uint64_t height) { return at_height('l', height); }
Bytes tx_prefix(std::uint64_t height) { return at_height('x', height); }

Bytes tx(std::uint64_t height, std::uint32_t index) {
    Bytes out = tx_prefix(height);
    append_be(out, index, 4);
    return out;
}

Bytes tx_hash(const Hash32& hash) { return letter('t', view(hash)); }

Bytes be64(std::uint64_t value) {
    Bytes out;
    append_be(out, value, 8);
    return out;
}

Bytes be64_32(std::uint64_t first, std::uint32_t second) {
    Bytes out = be64(first);
    append_be(out, second, 4);
    return out;
}

std::uint64_t read_be64(View bytes, std::size_t at) { return read_be(bytes, at, 8); }
std::uint32_t read_be32(View bytes, std::size_t at) { return static_cast<std::uint32_t>(read_be(bytes, at, 4)); }

}  // namespace retrace::ledger::keys
