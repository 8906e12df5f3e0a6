// SPDX-License-Identifier: MIT
// A reader of signed transactions that shares no code with ledger/: it parses RLP into a tree of copies, encodes it
// again and compares, and matches the fields against a string of letters for each type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::fuzz {

class NaiveTransaction {
public:
    /// Returns the fields in order as hexadecimal text, with a legacy v unchanged; nullopt if no transaction has this
    /// encoding.
    static std::optional<std::vector<std::string>> read(Bytes raw) {
        if (raw.empty() || raw.size() > 131'072) return std::nullopt;
        const std::uint8_t type = raw[0] >= 0xc0 ? 0 : raw[0];
        // N: number of 64 bits, W: number of 256 bits, T: To, D: Data, L: access list. The last three are v, r and s.
        const std::string_view row = type == 0   ? "NWNTWDWWW"
                                     : type == 1 ? "NNWNTWDLWWW"
                                     : type == 2 ? "NNWWNTWDLWWW"
                                                 : "";
        if (row.empty() || (type == 0) != (raw[0] >= 0xc0)) return std::nullopt;
        if (type != 0) raw.erase(raw.begin());
        Bytes rest = raw;
        const auto tx = take(rest, 0);
        if (!tx || !rest.empty() || !tx->is_list || spell(*tx) != raw || tx->items.size() != row.size())
            return std::nullopt;
        std::vector<std::string> out;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (!fits(row[i], tx->items[i])) return std::nullopt;
            out.push_back(shown(tx->items[i]));
        }
        const Bytes& v = tx->items[row.size() - 3].bytes;
        if (type != 0) return v.empty() || v == Bytes{1} ? std::optional(out) : std::nullopt;
        // EIP-155: v is 35 + 2 * chain id + parity, with a chain id of 64 bits: 35 ≤ v < 2^65 + 35.
        const bool low = v.empty() || (v.size() == 1 && v[0] < 35);
        const Bytes end{2, 0, 0, 0, 0, 0, 0, 0, 35};
        return low || v.size() > end.size() || (v.size() == end.size() && v >= end) ? std::nullopt : std::optional(out);
    }

private:
    struct Item {
        bool is_list = false;
        Bytes bytes;
        std::vector<Item> items;
    };

    static Bytes cut(Bytes& in, std::size_t size) {
        Bytes out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(size));
        in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(size));
        return out;
    }
    /// Removes the first item from `in`, canonical or not.
    static std::optional<Item> take(Bytes& in, int depth) {
        if (in.empty() || depth == 5) return std::nullopt;  // A transaction has at most four nested lists.
        if (in[0] < 0x80) return Item{false, cut(in, 1), {}};
        Item out;
        out.is_list = in[0] >= 0xc0;
        std::size_t size = cut(in, 1)[0] - (out.is_list ? 0xc0u : 0x80u);
        if (size > 55) {
            const std::size_t digits = size - 55;
            if (digits > in.size() || digits > 4) return std::nullopt;
            size = 0;
            for (const std::uint8_t digit : cut(in, digits)) size = size * 256 + digit;
        }
        if (size > in.size()) return std::nullopt;
        out.bytes = cut(in, size);
        if (!out.is_list) return out;
        while (!out.bytes.empty()) {
            const auto item = take(out.bytes, depth + 1);
            if (!item) return std::nullopt;
            out.items.push_back(*item);
        }
        return out;
    }
    static Bytes spell(const Item& item) {
        Bytes body = item.bytes;
        for (const Item& part : item.items) {
            const Bytes bytes = spell(part);
            body.insert(body.end(), bytes.begin(), bytes.end());
        }
        if (!item.is_list && body.size() == 1 && body[0] < 0x80) return body;
        const std::size_t base = item.is_list ? 0xc0 : 0x80;
        Bytes head;
        for (std::size_t size = body.size(); size > 0; size /= 256)
            head.insert(head.begin(), static_cast<std::uint8_t>(size % 256));
        if (body.size() < 56)
            head = {static_cast<std::uint8_t>(base + body.size())};
        else
            head.insert(head.begin(), static_cast<std::uint8_t>(base + 55 + head.size()));
        head.insert(head.end(), body.begin(), body.end());
        return head;
    }

    static bool fits(char letter, const Item& item) {
        if (letter == 'L')
            return item.is_list && all(item, [](const Item& entry) {
                       return entry.items.size() == 2 && has(entry.items[0], 20) && entry.items[1].is_list &&
                              all(entry.items[1], [](const Item& key) { return has(key, 32); });
                   });
        if (item.is_list) return false;
        if (letter == 'D') return true;
        if (letter == 'T') return item.bytes.empty() || item.bytes.size() == 20;
        return item.bytes.size() <= (letter == 'N' ? 8u : 32u) && (item.bytes.empty() || item.bytes[0] != 0);
    }
    template <class Test>
    static bool all(const Item& list, const Test& test) {
        for (const Item& item : list.items)
            if (!test(item)) return false;
        return true;
    }
    static bool has(const Item& item, std::size_t size) { return !item.is_list && item.bytes.size() == size; }
    static std::string shown(const Item& item) {
        if (!item.is_list) return to_hex(item.bytes);
        std::string out = "[";
        for (const Item& part : item.items) out += shown(part) + ",";
        return out + "]";
    }
};

}  // namespace retrace::fuzz
