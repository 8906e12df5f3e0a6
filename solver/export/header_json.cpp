// SPDX-License-Identifier: MIT
#include "solver/export/header_json.hpp"

#include <limits>
#include <set>

namespace retrace::solver {
namespace {

/// The largest number of tensors of a state (node/wire/artifact_codec.hpp), plus one for the metadata.
constexpr std::size_t kTensorsMax = (std::size_t{1} << 16) + 1;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Header> header() {
        Header header;
        std::set<std::string> names;  // A set, because a header may have many tensors.
        if (!open('{')) return fail("'{'");
        while (!close('}')) {
            RETRACE_TRY(name, string());
            if (!next(':')) return fail("':'");
            RETRACE_TRY(fields, entry());
            if (!names.insert(name).second) return error("header: \"" + name + "\" appears twice");
            if (names.size() > kTensorsMax) return error("header: too many tensors");
            header.entries.emplace_back(std::move(name), std::move(fields));
        }
        skip_space();
        if (at_ != text_.size()) return fail("the end");
        return header;
    }

private:
    Result<HeaderEntry> entry() {
        HeaderEntry fields;
        if (!open('{')) return fail("'{'");
        while (!close('}')) {
            RETRACE_TRY(name, string());
            if (!next(':')) return fail("':'");
            RETRACE_TRY(content, value());
            if (!fields.emplace(name, std::move(content)).second) return error("header: field \"" + name + "\" twice");
        }
        return fields;
    }

    Result<HeaderValue> value() {
        skip_space();
        if (peek() != '[') {
            RETRACE_TRY(text, string());
            return HeaderValue(std::move(text));
        }
        std::vector<std::uint64_t> numbers;
        (void)open('[');
        while (!close(']')) {
            RETRACE_TRY(item, number());
            numbers.push_back(item);
            if (numbers.size() > 16) return error("header: a list of more than 16 numbers");
        }
        return HeaderValue(std::move(numbers));
    }

    Result<std::uint64_t> number() {
        skip_space();
        const std::size_t begin = at_;
        std::uint64_t result = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
            if (result > (std::numeric_limits<std::uint64_t>::max() - digit) / 10)
                return error("header: number too large");
            result = result * 10 + digit;
        }
        if (at_ == begin || (text_[begin] == '0' && at_ - begin > 1)) return fail("a number");
        return result;
    }

    Result<std::string> string() {
        skip_space();
        if (!take('"')) return fail("a string");
        std::string out;
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '"') return out;
            if (static_cast<unsigned char>(c) < 0x20) return fail("no control character");
            if (c != '\\') {
                out.push_back(c);
                continue;
            }
            RETRACE_TRY(escaped, escape());
            out += escaped;
        }
        return fail("a closing quote");
    }

    Result<std::string> escape() {
        if (at_ == text_.size()) return fail("an escape");
        const char c = text_[at_++];
        switch (c) {
            case '"':
            case '\\':
            case '/': return std::string(1, c);
            case 'b': return std::string("\b");
            case 'f': return std::string("\f");
            case 'n': return std::string("\n");
            case 'r': return std::string("\r");
            case 't': return std::string("\t");
            case 'u': return code_point();
            default: return fail("an escape");
        }
    }

    /// Decodes four hex digits of an escaped character in the basic plane, without surrogates. All other characters
    /// must be unescaped.
    Result<std::string> code_point() {
        if (text_.size() - at_ < 4) return fail("four hex digits");
        std::uint32_t code = 0;
        for (int i = 0; i < 4; ++i) {
            const char c = text_[at_++];
            const int digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) return fail("four hex digits");
            code = code * 16 + static_cast<std::uint32_t>(digit);
        }
        if (code >= 0xd800 && code < 0xe000) return fail("no surrogate");
        std::string out;
        if (code < 0x80) {
            out.push_back(static_cast<char>(code));
        } else if (code < 0x800) {
            out.push_back(static_cast<char>(0xc0 | code >> 6));
            out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
        } else {
            out.push_back(static_cast<char>(0xe0 | code >> 12));
            out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
            out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
        }
        return out;
    }

    /// Reads an opening bracket; the first member after it needs no comma.
    bool open(char bracket) {
        first_ = true;
        return next(bracket);
    }
    /// Returns true at the end of an object or list, otherwise skips the comma before the next member. A missing comma
    /// leads to an error of the member's parser.
    bool close(char bracket) {
        skip_space();
        const bool first = std::exchange(first_, false);
        if (take(bracket)) return true;
        if (!first && !take(',')) at_ = text_.size();
        return false;
    }
    bool next(char c) {
        skip_space();
        return take(c);
    }
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    }
    Unexpected<Error> fail(const std::string& wanted) const {
        return error("header: " + wanted + " expected at byte " + std::to_string(at_));
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool first_ = false;
};

}  // namespace

Result<Header> parse_header(std::string_view text) { return Parser(text).header(); }

std::string quote(std::string_view text) {
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

}  // namespace retrace::solver
