// SPDX-License-Identifier: MIT
#include "merkle/base/json.hpp"

#include <charconv>
#include <utility>

namespace retrace {

namespace {

constexpr int kDepthMax = 32;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Json> document() {
        RETRACE_TRY(value, any(0));
        skip_space();
        if (at_ != text_.size()) return fail("text after the value");
        return value;
    }

private:
    Unexpected<Error> fail(const char* what) const { return error("JSON, byte " + std::to_string(at_) + ": " + what); }

    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    }

    bool take(std::string_view token) {
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }

    Result<Json> any(int depth) {
        skip_space();
        if (depth > kDepthMax) return fail("too deep");
        if (++values_ > kJsonValuesMax) return fail("too many values");
        if (take("{")) return members(depth);
        if (take("[")) return elements(depth);
        Json value;
        if (take("\"")) {
            RETRACE_TRY(text, string_tail());
            value.kind = Json::Kind::text;
            value.text_value = std::move(text);
            return value;
        }
        if (take("null")) return value;
        value.truth = take("true");
        if (value.truth || take("false")) {
            value.kind = Json::Kind::boolean;
            return value;
        }
        return number();
    }

    Result<Json> members(int depth) {
        Json object;
        object.kind = Json::Kind::object;
        skip_space();
        if (take("}")) return object;
        do {
            skip_space();
            if (!take("\"")) return fail("a key is missing");
            RETRACE_TRY(key, string_tail());
            skip_space();
            if (!take(":")) return fail("a colon is missing");
            RETRACE_TRY(value, any(depth + 1));
            if (!object.members.emplace(std::move(key), std::move(value)).second) return fail("a key occurs twice");
            skip_space();
        } while (take(","));
        if (!take("}")) return fail("an object is not closed");
        return object;
    }

    Result<Json> elements(int depth) {
        Json array;
        array.kind = Json::Kind::array;
        skip_space();
        if (take("]")) return array;
        do {
            RETRACE_TRY(value, any(depth + 1));
            array.elements.push_back(std::move(value));
            skip_space();
        } while (take(","));
        if (!take("]")) return fail("an array is not closed");
        return array;
    }

    Result<std::string> string_tail() {
        static constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
        std::string out;
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '"') return out;
            if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string");
            if (c != '\\') {
                out.push_back(c);
                continue;
            }
            if (take("u")) {
                RETRACE_CHECK(code_point(out));
                continue;
            }
            const std::size_t name = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
            if (name == std::string_view::npos) return fail("an unknown escape");
            out.push_back(kMeanings[name]);
            ++at_;
        }
        return fail("a string is not closed");
    }

    /// Parses the four digits of \uXXXX.
    Result<std::uint32_t> code_unit() {
        const char* const begin = text_.data() + at_;
        std::uint32_t unit = 0;
        if (text_.size() - at_ < 4) return fail("\\u without four hex digits");
        const auto [stop, problem] = std::from_chars(begin, begin + 4, unit, 16);
        if (problem != std::errc{} || stop != begin + 4) return fail("\\u without four hex digits");
        at_ += 4;
        return unit;
    }

    /// Parses the digits after \u and, for a surrogate pair, the second escape, and appends the character as UTF-8.
    Status<> code_point(std::string& out) {
        RETRACE_TRY(unit, code_unit());
        std::uint32_t point = unit;
        if (unit >= 0xdc00 && unit <= 0xdfff) return fail("the second half of a surrogate pair alone");
        if (unit >= 0xd800 && unit <= 0xdbff) {
            if (!take("\\u")) return fail("the first half of a surrogate pair alone");
            RETRACE_TRY(second, code_unit());
            if (second < 0xdc00 || second > 0xdfff) return fail("the first half of a surrogate pair alone");
            point = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
        }
        const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
        if (point < 0x80) {
            put(point);
        } else if (point < 0x800) {
            put(0xc0 | point >> 6);
        } else if (point < 0x10000) {
            put(0xe0 | point >> 12);
            put(0x80 | (point >> 6 & 0x3f));
        } else {
            put(0xf0 | point >> 18);
            put(0x80 | (point >> 12 & 0x3f));
            put(0x80 | (point >> 6 & 0x3f));
        }
        if (point >= 0x80) put(0x80 | (point & 0x3f));
        return Unit{};
    }

    bool digits() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
        return at_ != begin;
    }

    Result<Json> number() {
        const std::size_t begin = at_;
        const bool negative = take("-");
        const bool zero = at_ < text_.size() && text_[at_] == '0';
        if (!digits()) return fail("not a value");
        if (zero && at_ != begin + (negative ? 2 : 1)) return fail("a number starts with 0");
        bool integer = true;
        if (take(".")) {
            integer = false;
            if (!digits()) return fail("a number without digits after its point");
        }
        if (take("e") || take("E")) {
            integer = false;
            if (!take("+")) take("-");
            if (!digits()) return fail("a number without digits in its exponent");
        }
        Json value;
        value.kind = Json::Kind::other_number;
        const char* const from = text_.data() + begin;
        const char* const to = text_.data() + at_;
        const auto read =
            negative ? std::from_chars(from, to, value.negative_value) : std::from_chars(from, to, value.natural_value);
        if (integer && read.ec == std::errc{}) {
            value.kind = negative ? Json::Kind::negative : Json::Kind::natural;
        }
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t values_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view key) const {
    if (kind != Kind::object) return nullptr;
    const auto found = members.find(key);
    return found == members.end() ? nullptr : &found->second;
}

Result<Json> parse_json(std::string_view text) { return Parser(text).document(); }

std::string quote_json(std::string_view text) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20) {
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        } else {
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace retrace
