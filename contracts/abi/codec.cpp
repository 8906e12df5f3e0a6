// SPDX-License-Identifier: MIT
#include "contracts/abi/codec.hpp"

#include <algorithm>
#include <optional>

#include "ledger/crypto/keccak.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::abi {
namespace {

using Kind = Type::Kind;

constexpr std::size_t kWord = 32;
constexpr std::size_t kValuesMax = 65'536;

Word word_of(std::uint64_t value) {
    Word out;
    for (std::size_t i = 0; i < 8; ++i) out.bytes[31 - i] = static_cast<std::uint8_t>(value >> (8 * i));
    return out;
}
void append(Bytes& out, View bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }
void append_padded(Bytes& out, View bytes) {
    append(out, view(word_of(bytes.size())));
    append(out, bytes);
    out.resize((out.size() + kWord - 1) / kWord * kWord);
}

bool all_are(View bytes, std::uint8_t byte) {
    return std::all_of(bytes.begin(), bytes.end(), [&](std::uint8_t b) { return b == byte; });
}

/// Whether the bits outside the type have their required values.
bool fits(const Type& type, const Word& word) {
    const View w = view(word);
    switch (type.kind) {
        case Kind::uint: return all_are(w.first(kWord - type.size / 8), 0);
        case Kind::sint: {
            const std::size_t extension = kWord - type.size / 8;
            const bool negative = (w[extension] & 0x80) != 0;
            return all_are(w.first(extension), negative ? 0xff : 0);
        }
        case Kind::boolean: return all_are(w.first(31), 0) && w[31] <= 1;
        case Kind::address: return all_are(w.first(12), 0);
        case Kind::fixed_bytes: return all_are(w.subspan(type.size), 0);
        default: return false;
    }
}

/// RFC 3629: no overlong forms, no surrogates, at most U+10FFFF.
bool is_utf8(View text) {
    std::size_t i = 0;
    while (i < text.size()) {
        const std::uint8_t lead = text[i++];
        if (lead < 0x80) continue;
        const int more = lead >= 0xc2 && lead <= 0xdf   ? 1
                         : (lead & 0xf0) == 0xe0        ? 2
                         : lead >= 0xf0 && lead <= 0xf4 ? 3
                                                        : 0;
        if (more == 0 || text.size() - i < static_cast<std::size_t>(more)) return false;
        const std::uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        const std::uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (text[i] < low || text[i] > high) return false;
        for (int k = 1; k < more; ++k)
            if ((text[i + static_cast<std::size_t>(k)] & 0xc0) != 0x80) return false;
        i += static_cast<std::size_t>(more);
    }
    return true;
}

/// Returns the type of member `i` of a list of this type.
const Type& part_of(const Type& type, std::size_t i) {
    return type.kind == Kind::tuple ? type.parts[i] : type.parts[0];
}

void encode_list(const Type& type, const List& list, Bytes& out) {
    const std::size_t base = out.size();
    std::size_t head = 0;
    for (std::size_t i = 0; i < list.size(); ++i) head += part_of(type, i).head_size();
    Bytes tails;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Type& part = part_of(type, i);
        if (part.is_dynamic()) {
            append(out, view(word_of(head + tails.size())));
            append(tails, encode(part, list[i]));
        } else {
            append(out, encode(part, list[i]));
        }
    }
    ensure(out.size() - base == head, "the head has its size");
    append(out, tails);
}

class Decoder {
public:
    explicit Decoder(View data) : data_(data) {}

    /// Decodes the value of `type` whose encoding begins at `at` of `frame`.
    std::optional<Value> value(const Type& type, View frame, std::size_t at) {
        // Bounds the number of values, because aliased tails could encode very many values in little data.
        if (++values_ > kValuesMax || values_ > data_.size() / kWord * 2 + 64) return refuse(AbiError::too_long);
        switch (type.kind) {
            case Kind::bytes:
            case Kind::string: return blob(type, frame, at);
            case Kind::array: {
                const auto count = length(frame, at);
                if (!count) return std::nullopt;
                const View rest = frame.subspan(at + kWord);
                const std::size_t each = std::max<std::size_t>(type.parts[0].head_size(), kWord);
                if (*count > rest.size() / each) return refuse(AbiError::too_long);
                return list(type, *count, rest, 0);
            }
            case Kind::fixed_array: return list(type, type.length, frame, at);
            case Kind::tuple: return list(type, type.parts.size(), frame, at);
            default: break;
        }
        const auto word = word_at(frame, at);
        if (!word) return std::nullopt;
        if (!fits(type, *word)) return refuse(AbiError::out_of_range);
        return Value{*word};
    }
    AbiError error() const { return error_; }

private:
    std::nullopt_t refuse(AbiError error) {
        error_ = error;
        return std::nullopt;
    }
    std::optional<Word> word_at(View frame, std::size_t at) {
        if (at > frame.size() || frame.size() - at < kWord) return refuse(AbiError::too_short);
        return to_hash32(frame.subspan(at, kWord));
    }
    /// Reads a length or offset: at most 32 bits, which exceeds any transaction.
    std::optional<std::size_t> small(View frame, std::size_t at, AbiError over) {
        const auto word = word_at(frame, at);
        if (!word) return std::nullopt;
        if (!all_are(view(*word).first(28), 0)) return refuse(over);
        std::size_t out = 0;
        for (std::size_t i = 28; i < kWord; ++i) out = out << 8 | word->bytes[i];
        return out;
    }
    std::optional<std::size_t> length(View frame, std::size_t at) { return small(frame, at, AbiError::too_long); }

    std::optional<Value> blob(const Type& type, View frame, std::size_t at) {
        const auto size = length(frame, at);
        if (!size) return std::nullopt;
        const View rest = frame.subspan(at + kWord);
        if (*size > rest.size()) return refuse(AbiError::too_short);
        const View bytes = rest.first(*size);
        if (type.kind == Kind::string && !is_utf8(bytes)) return refuse(AbiError::bad_utf8);
        return Value{to_bytes(bytes)};
    }

    /// Decodes members whose heads begin at `at`, from where offsets count.
    std::optional<Value> list(const Type& type, std::size_t count, View frame, std::size_t at) {
        if (at > frame.size()) return refuse(AbiError::too_short);
        const View base = frame.subspan(at);
        List out;
        std::size_t head = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const Type& part = part_of(type, i);
            std::size_t place = head;
            if (part.is_dynamic()) {
                const auto offset = small(base, head, AbiError::bad_offset);
                if (!offset) return std::nullopt;
                if (*offset >= base.size()) return refuse(AbiError::bad_offset);
                place = *offset;
            }
            auto member = value(part, base, place);
            if (!member) return std::nullopt;
            out.push_back(std::move(*member));
            head += part.head_size();
        }
        return Value{std::move(out)};
    }

    View data_;
    std::size_t values_ = 0;
    AbiError error_ = AbiError::too_short;
};

}  // namespace

std::string_view slug(AbiError error) noexcept {
    switch (error) {
        case AbiError::too_short: return "abi_too_short";
        case AbiError::bad_offset: return "abi_bad_offset";
        case AbiError::out_of_range: return "abi_out_of_range";
        case AbiError::too_long: return "abi_too_long";
        case AbiError::bad_utf8: return "abi_bad_utf8";
        case AbiError::not_canonical: return "abi_not_canonical";
    }
    return "unknown";
}

Bytes encode(const Type& type, const Value& value) {
    Bytes out;
    if (const auto* word = std::get_if<Word>(&value.data)) {
        ensure(fits(type, *word), "a word fits its ABI type");
        append(out, view(*word));
    } else if (const auto* bytes = std::get_if<Bytes>(&value.data)) {
        ensure(type.kind == Kind::bytes || type.kind == Kind::string, "bytes are encoded as bytes or string");
        append_padded(out, *bytes);
    } else {
        const List& list = std::get<List>(value.data);
        const bool tuple = type.kind == Kind::tuple;
        ensure(tuple || type.kind == Kind::array || type.kind == Kind::fixed_array, "a list is an array or a tuple");
        ensure(!tuple || list.size() == type.parts.size(), "a tuple has all its members");
        ensure(type.kind != Kind::fixed_array || list.size() == type.length, "a fixed array has its length");
        if (type.kind == Kind::array) append(out, view(word_of(list.size())));
        encode_list(type, list, out);
    }
    return out;
}

Result<Value, AbiError> decode(const Type& type, View data) {
    ensure(type.kind == Kind::tuple, "arguments are a tuple");
    Decoder decoder(data);
    auto value = decoder.value(type, data, 0);
    if (!value) return Unexpected{decoder.error()};
    // Comparing with the canonical encoding refuses aliasing, gaps, dirty padding and trailing bytes at once.
    if (!equal(encode(type, *value), data)) return Unexpected{AbiError::not_canonical};
    return std::move(*value);
}

std::uint32_t selector(std::string_view signature) {
    const Hash32 hash = topic(signature);
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) out = out << 8 | hash.bytes[i];
    return out;
}

Hash32 topic(std::string_view signature) { return ledger::keccak256(view(signature)); }

Hash32 indexed_topic(const Value& value) {
    if (const auto* word = std::get_if<Word>(&value.data)) return *word;
    ensure(std::holds_alternative<Bytes>(value.data), "no event indexes a list");
    return ledger::keccak256(std::get<Bytes>(value.data));
}

}  // namespace retrace::abi
