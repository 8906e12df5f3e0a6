// SPDX-License-Identifier: MIT
#include "kernels/tools/json.hpp"

#include <charconv>
#include <utility>

namespace retrace::kernels::tools {

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
    Unexpected<Error> fail(const char* what) const {
        return error("JSON, byte " + std::to_string(at_) + ": " + what);
    }

    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
            ++at_;
    }

    bool take(std::string_view token) {
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }

    Result<Json> any(int depth) {
        skip_space();
        if (depth > kDepthMax) return fail("too deep");
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
            if (!object.members.emplace(std::move(key), std::move(value)).second)
                return fail("a key occurs twice");
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
            const std::size_t name = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
            if (name == std::string_view::npos) return fail("an escape that is not supported");
            out.push_back(kMeanings[name]);
            ++at_;
        }
        return fail("a string is not closed");
    }

    Result<Json> number() {
        const char* const begin = text_.data() + at_;
        const char* const end = text_.data() + text_.size();
        const bool negative = begin != end && *begin == '-';
        const char* const digits = begin + (negative ? 1 : 0);
        if (digits != end && *digits == '0' && digits + 1 != end && digits[1] >= '0' && digits[1] <= '9') {
            return fail("a number starts with 0");
        }
        Json value;
        value.kind = negative ? Json::Kind::negative : Json::Kind::natural;
        const auto [stop, problem] = negative ? std::from_chars(begin, end, value.negative_value)
                                              : std::from_chars(begin, end, value.natural_value);
        if (problem != std::errc{}) return fail("not a value");
        if (stop != end && std::string_view(".eE").find(*stop) != std::string_view::npos) {
            return fail("a number that is no integer");
        }
        at_ += static_cast<std::size_t>(stop - begin);
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view key) const {
    if (kind != Kind::object) return nullptr;
    const auto found = members.find(key);
    return found == members.end() ? nullptr : &found->second;
}

Result<Json> parse_json(std::string_view text) {
    return Parser(text).document();
}

}  // namespace retrace::kernels::tools
