// SPDX-License-Identifier: MIT
// A naive reader of JSON (RFC 8259) to compare with the library's: recursive, one function per rule, not fast.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::fuzz::naive {

struct Json {
    enum class Kind { null, boolean, number, string, array, object } kind = Kind::null;
    std::string text;                     ///< The text of a number, or a string without escapes.
    std::vector<Json> items;              ///< Elements of an array.
    std::map<std::string, Json> members;  ///< Members of an object; the last one wins among equal names.

    const Json* member(const std::string& name) const {
        const auto found = members.find(name);
        return found == members.end() ? nullptr : &found->second;
    }
};

class JsonReader {
public:
    JsonReader(std::string_view text, std::size_t depth) : left_(text), depth_(depth) {}

    /// Returns nullopt if the text is not JSON, or nests deeper than `depth` arrays and objects.
    std::optional<Json> read() {
        Json out;
        if (!value(out, depth_)) return std::nullopt;
        space();
        return left_.empty() ? std::optional(std::move(out)) : std::nullopt;
    }
    /// An exponent was so long that a reader may refuse it.
    bool huge_exponent() const noexcept { return huge_exponent_; }

private:
    bool take(std::string_view what) {
        if (!left_.starts_with(what)) return false;
        left_.remove_prefix(what.size());
        return true;
    }
    void space() {
        while (!left_.empty() && std::string_view(" \t\n\r").find(left_[0]) != std::string_view::npos)
            left_.remove_prefix(1);
    }
    bool digits(std::string& out) {
        const std::size_t before = out.size();
        for (; !left_.empty() && left_[0] >= '0' && left_[0] <= '9'; left_.remove_prefix(1)) out += left_[0];
        return out.size() != before;
    }

    bool value(Json& out, std::size_t depth) {
        using Kind = Json::Kind;
        space();
        if (take("null")) return true;
        if (take("true") || take("false")) return out.kind = Kind::boolean, true;
        if (take("\"")) return out.kind = Kind::string, string(out.text);
        if (take("[")) return out.kind = Kind::array, depth != 0 && array(out, depth - 1);
        if (take("{")) return out.kind = Kind::object, depth != 0 && object(out, depth - 1);
        return out.kind = Kind::number, number(out.text);
    }
    bool array(Json& out, std::size_t depth) {
        space();
        if (take("]")) return true;
        do {
            if (!value(out.items.emplace_back(), depth)) return false;
            space();
        } while (take(","));
        return take("]");
    }
    bool object(Json& out, std::size_t depth) {
        space();
        if (take("}")) return true;
        do {
            std::string name;
            space();
            if (!take("\"") || !string(name)) return false;
            space();
            if (!take(":")) return false;
            Json member;
            if (!value(member, depth)) return false;
            out.members[name] = std::move(member);
            space();
        } while (take(","));
        return take("}");
    }
    bool number(std::string& out) {
        if (take("-")) out += '-';
        if (take("0"))
            out += '0';
        else if (!digits(out))
            return false;
        if (take(".")) {
            out += '.';
            if (!digits(out)) return false;
        }
        if (take("e") || take("E")) {
            out += 'e';
            if (take("-"))
                out += '-';
            else
                (void)take("+");
            const std::size_t before = out.size();
            if (!digits(out)) return false;
            if (out.size() - before > 8) huge_exponent_ = true;
        }
        return true;
    }

    bool string(std::string& out) {
        while (!left_.empty()) {
            const auto c = static_cast<unsigned char>(left_[0]);
            if (take("\"")) return true;
            if (c < 0x20) return false;
            if (take("\\")) {
                if (!escape(out)) return false;
            } else if (const std::size_t size = utf8_size(); size != 0) {
                out += left_.substr(0, size);
                left_.remove_prefix(size);
            } else {
                return false;
            }
        }
        return false;
    }
    bool escape(std::string& out) {
        constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        if (take("u")) return unicode(out);
        const std::size_t which = left_.empty() ? std::string_view::npos : kNames.find(left_[0]);
        if (which == std::string_view::npos) return false;
        out += kMeant[which];
        left_.remove_prefix(1);
        return true;
    }
    bool unicode(std::string& out) {
        auto point = hex4();
        if (!point || (*point >= 0xdc00 && *point <= 0xdfff)) return false;
        if (*point >= 0xd800 && *point <= 0xdbff) {
            if (!take("\\u")) return false;
            const auto low = hex4();
            if (!low || *low < 0xdc00 || *low > 0xdfff) return false;
            point = 0x10000 + ((*point - 0xd800) << 10) + (*low - 0xdc00);
        }
        append(out, *point);
        return true;
    }
    std::optional<std::uint32_t> hex4() {
        if (left_.size() < 4) return std::nullopt;
        std::uint32_t out = 0;
        for (const char c : left_.substr(0, 4)) {
            constexpr std::string_view kDigits = "0123456789abcdef";
            const std::size_t digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
            if (digit == std::string_view::npos) return std::nullopt;
            out = out << 4 | static_cast<std::uint32_t>(digit);
        }
        left_.remove_prefix(4);
        return out;
    }
    static void append(std::string& out, std::uint32_t point) {
        const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (point >> shift & 0x3f)); };
        if (point < 0x80)
            out += static_cast<char>(point);
        else if (point < 0x800)
            out += static_cast<char>(0xc0 | point >> 6), tail(0);
        else if (point < 0x10000)
            out += static_cast<char>(0xe0 | point >> 12), tail(6), tail(0);
        else
            out += static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0);
    }
    /// Length of the character that begins here, by the table of RFC 3629; 0: invalid.
    std::size_t utf8_size() const {
        const auto at = [&](std::size_t i) { return i < left_.size() ? static_cast<unsigned char>(left_[i]) : 0; };
        const auto is = [&](std::size_t i, int low, int high) { return at(i) >= low && at(i) <= high; };
        const auto tails = [&](std::size_t from, std::size_t to) {
            for (std::size_t i = from; i < to; ++i)
                if (!is(i, 0x80, 0xbf)) return false;
            return true;
        };
        if (at(0) < 0x80) return 1;
        if (is(0, 0xc2, 0xdf)) return tails(1, 2) ? 2 : 0;
        if (at(0) == 0xe0) return is(1, 0xa0, 0xbf) && tails(2, 3) ? 3 : 0;
        if (at(0) == 0xed) return is(1, 0x80, 0x9f) && tails(2, 3) ? 3 : 0;
        if (is(0, 0xe1, 0xef)) return tails(1, 3) ? 3 : 0;
        if (at(0) == 0xf0) return is(1, 0x90, 0xbf) && tails(2, 4) ? 4 : 0;
        if (is(0, 0xf1, 0xf3)) return tails(1, 4) ? 4 : 0;
        if (at(0) == 0xf4) return is(1, 0x80, 0x8f) && tails(2, 4) ? 4 : 0;
        return 0;
    }

    std::string_view left_;
    std::size_t depth_;
    bool huge_exponent_ = false;
};

}  // namespace retrace::fuzz::naive
