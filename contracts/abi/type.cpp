// SPDX-License-Identifier: MIT
#include "contracts/abi/type.hpp"

#include <charconv>
#include <optional>

namespace retrace::abi {
namespace {

using Kind = Type::Kind;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Type> whole() {
        RETRACE_TRY(type, one(0));
        if (at_ != text_.size()) return failure("characters after it");
        return type;
    }

private:
    Unexpected<Error> failure(std::string_view why) const {
        return error("ABI type \"" + std::string(text_) + "\": " + std::string(why));
    }
    bool eat(char c) {
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    /// Parses decimal digits without a leading zero; nullopt when there are none.
    std::optional<std::uint32_t> number() {
        const char* const begin = text_.data() + at_;
        std::uint32_t value = 0;
        const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
        if (code != std::errc{} || *begin == '0') return std::nullopt;
        at_ += static_cast<std::size_t>(end - begin);
        return value;
    }
    bool at_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

    Result<Type> one(std::size_t depth) {
        if (depth > kTypeDepthMax) return failure("nested too deep");
        RETRACE_TRY(type, text_.substr(at_).starts_with('(') ? tuple(depth) : word());
        std::size_t levels = depth;
        while (eat('[')) {
            if (++levels > kTypeDepthMax) return failure("nested too deep");
            Type outer;
            outer.kind = Kind::array;
            if (at_digit()) {
                const auto length = number();
                if (!length || *length > kFixedArrayMax) return failure("array length out of range");
                outer.kind = Kind::fixed_array;
                outer.length = *length;
            }
            if (!eat(']')) return failure("] is missing");
            outer.size = 0;
            outer.parts.push_back(std::move(type));
            type = std::move(outer);
        }
        return type;
    }

    Result<Type> tuple(std::size_t depth) {
        ++at_;
        Type out;
        out.kind = Kind::tuple;
        out.size = 0;
        if (eat(')')) return out;
        do {
            RETRACE_TRY(part, one(depth + 1));
            out.parts.push_back(std::move(part));
        } while (eat(','));
        if (!eat(')')) return failure(") is missing");
        return out;
    }

    Result<Type> word() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z') ++at_;
        const std::string_view name = text_.substr(begin, at_ - begin);
        const bool sized = at_digit();
        const auto size = sized ? number() : std::nullopt;
        const auto make = [](Kind kind, std::uint32_t n) {
            Type type;
            type.kind = kind;
            type.size = static_cast<std::uint16_t>(n);
            return type;
        };
        if (!sized) {
            if (name == "bool") return make(Kind::boolean, 0);
            if (name == "address") return make(Kind::address, 0);
            if (name == "bytes") return make(Kind::bytes, 0);
            if (name == "string") return make(Kind::string, 0);
            return failure("unknown");
        }
        if (!size) return failure("bad size");
        const bool integer = name == "uint" || name == "int";
        if (integer && *size <= 256 && *size % 8 == 0) return make(name == "uint" ? Kind::uint : Kind::sint, *size);
        if (name == "bytes" && *size <= 32) return make(Kind::fixed_bytes, *size);
        return failure("bad size");
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

bool Type::is_dynamic() const {
    if (kind == Kind::bytes || kind == Kind::string || kind == Kind::array) return true;
    for (const Type& part : parts)
        if (part.is_dynamic()) return true;
    return false;
}

std::size_t Type::head_size() const {
    if (is_dynamic()) return 32;
    if (kind == Kind::fixed_array) return length * parts[0].head_size();
    if (kind != Kind::tuple) return 32;
    std::size_t sum = 0;
    for (const Type& part : parts) sum += part.head_size();
    return sum;
}

std::string Type::name() const {
    switch (kind) {
        case Kind::uint: return "uint" + std::to_string(size);
        case Kind::sint: return "int" + std::to_string(size);
        case Kind::boolean: return "bool";
        case Kind::address: return "address";
        case Kind::fixed_bytes: return "bytes" + std::to_string(size);
        case Kind::bytes: return "bytes";
        case Kind::string: return "string";
        case Kind::array: return parts[0].name() + "[]";
        case Kind::fixed_array: return parts[0].name() + "[" + std::to_string(length) + "]";
        case Kind::tuple: break;
    }
    std::string out = "(";
    for (std::size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : ",") + parts[i].name();
    return out + ")";
}

Result<Type> parse_type(std::string_view text) { return Parser(text).whole(); }

Result<Type> parse_signature(std::string_view text) {
    const std::size_t open = text.find('(');
    if (open == 0 || open == std::string_view::npos) return error("ABI signature without a name or parameters");
    RETRACE_TRY(type, parse_type(text.substr(open)));
    if (type.kind != Kind::tuple) return error("ABI signature does not end after its parameters");
    return type;
}

}  // namespace retrace::abi
