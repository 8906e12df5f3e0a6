// SPDX-License-Identifier: MIT
// A reader of ABI arguments that shares no code with contracts/abi: types are strings, parts of the data are copied,
// and tails must lie where an encoder puts them, one after the other. Values are written as text.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::fuzz {

class NaiveAbi {
public:
    /// Returns the text of the arguments, for `types` such as "(uint64,string)"; nullopt unless `data` is their unique
    /// encoding.
    static std::optional<std::string> read(const std::string& types, const Bytes& data) {
        const auto out = members(parts(types), data);
        if (!out || out->size != data.size()) return std::nullopt;
        return out->text;
    }

private:
    using Types = std::vector<std::string>;
    struct Read {
        std::string text;
        std::size_t size;  ///< Number of bytes read.
    };
    using Maybe = std::optional<Read>;

    /// Splits "(a,(b,c)[])" into "a" and "(b,c)[]".
    static Types parts(const std::string& tuple) {
        Types out;
        std::string part;
        int depth = 0;
        for (const char c : tuple.substr(1, tuple.size() - 2)) {
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            if (c == ',' && depth == 0)
                out.push_back(std::exchange(part, {}));
            else
                part += c;
        }
        if (!part.empty()) out.push_back(part);
        return out;
    }
    static bool ends(const std::string& type, const char* end) { return type.ends_with(end); }
    static std::string element(const std::string& type) { return type.substr(0, type.rfind('[')); }
    static std::size_t count(const std::string& type) { return std::stoul(type.substr(type.rfind('[') + 1)); }
    /// Returns the members of a tuple or of an array of fixed length; none for any other type.
    static Types inside(const std::string& type) {
        if (ends(type, ")")) return parts(type);
        if (ends(type, "]") && !ends(type, "[]")) return Types(count(type), element(type));
        return {};
    }
    static bool dynamic(const std::string& type) {
        if (type == "bytes" || type == "string" || ends(type, "[]")) return true;
        for (const std::string& part : inside(type))
            if (dynamic(part)) return true;
        return false;
    }
    static std::size_t head(const std::string& type) {
        if (dynamic(type) || inside(type).empty()) return 32;
        std::size_t sum = 0;
        for (const std::string& part : inside(type)) sum += head(part);
        return sum;
    }

    static Bytes from(const Bytes& data, std::size_t at) {
        return at > data.size() ? Bytes() : Bytes(data.begin() + static_cast<std::ptrdiff_t>(at), data.end());
    }
    /// Returns the first word as a number if it is small; nullopt otherwise.
    static std::optional<std::size_t> number(const Bytes& data) {
        std::size_t out = 0;
        for (std::size_t i = 0; i < 32; ++i) {
            if (i >= data.size() || out > 0xffff'ffff) return std::nullopt;
            out = out * 256 + data[i];
        }
        return out;
    }

    static Maybe members(const Types& types, const Bytes& data) {
        std::size_t at = 0, tail = 0;
        for (const std::string& type : types) tail += head(type);
        if (tail > data.size()) return std::nullopt;
        std::string text;
        for (const std::string& type : types) {
            if (dynamic(type) && number(from(data, at)) != tail) return std::nullopt;
            const Maybe read = value(type, from(data, dynamic(type) ? tail : at));
            if (!read) return std::nullopt;
            text += read->text;
            at += head(type);
            if (dynamic(type)) tail += read->size;
        }
        return Read{"[" + text + "]", tail};
    }

    static Maybe value(const std::string& type, const Bytes& data) {
        if (type == "bytes" || type == "string") return blob(type, data);
        if (!inside(type).empty()) return members(inside(type), data);
        if (!ends(type, "[]")) return word(type, data);
        const auto length = number(data);
        if (!length || *length > data.size() / 32) return std::nullopt;
        const Maybe read = members(Types(*length, element(type)), from(data, 32));
        return read ? Maybe(Read{read->text, 32 + read->size}) : std::nullopt;
    }

    static Maybe blob(const std::string& type, const Bytes& data) {
        const auto length = number(data);
        if (!length || *length > data.size()) return std::nullopt;
        const std::size_t padded = 32 + (*length + 31) / 32 * 32;
        if (padded > data.size()) return std::nullopt;
        for (std::size_t i = 32 + *length; i < padded; ++i)
            if (data[i] != 0) return std::nullopt;
        const std::string text(data.begin() + 32, data.begin() + 32 + static_cast<std::ptrdiff_t>(*length));
        if (type == "string" && !utf8(text)) return std::nullopt;
        return Read{to_hex(view(text)) + ".", padded};
    }

    static Maybe word(const std::string& type, const Bytes& data) {
        if (data.size() < 32) return std::nullopt;
        const auto all = [&](std::size_t begin, std::size_t end, int byte) {
            for (std::size_t i = begin; i < end; ++i)
                if (data[i] != byte) return false;
            return true;
        };
        const auto size = [&](std::size_t name) { return static_cast<std::size_t>(std::stoul(type.substr(name))); };
        bool fits = false;
        if (type == "bool")
            fits = all(0, 31, 0) && (data[31] == 0 || data[31] == 1);
        else if (type == "address")
            fits = all(0, 12, 0);
        else if (type.starts_with("bytes"))
            fits = all(size(5), 32, 0);
        else if (type.starts_with("uint"))
            fits = all(0, 32 - size(4) / 8, 0);
        else if (type.starts_with("int"))
            fits = all(0, 32 - size(3) / 8, data[32 - size(3) / 8] < 128 ? 0 : 255);
        if (!fits) return std::nullopt;
        return Read{to_hex(View(data).first(32)) + ",", 32};
    }

    /// Whether every character has its RFC 3629 encoding.
    static bool utf8(const std::string& text) {
        const auto spell = [](std::uint32_t c) -> std::string {
            const auto more = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 63)); };
            if (c < 0x80) return {static_cast<char>(c)};
            if (c < 0x800) return {static_cast<char>(0xc0 | c >> 6), more(0)};
            if (c < 0x10000) return {static_cast<char>(0xe0 | c >> 12), more(6), more(0)};
            return {static_cast<char>(0xf0 | c >> 18), more(12), more(6), more(0)};
        };
        for (std::size_t at = 0; at < text.size();) {
            const auto lead = static_cast<std::uint8_t>(text[at]);
            const std::size_t size = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
            std::uint32_t c = size == 1 ? lead : lead & (0x7fu >> size);
            for (std::size_t i = 1; i < size && at + i < text.size(); ++i)
                c = c << 6 | (static_cast<std::uint8_t>(text[at + i]) & 63);
            const bool surrogate = c >= 0xd800 && c < 0xe000;
            if (size == 0 || c > 0x10ffff || surrogate || text.substr(at, size) != spell(c)) return false;
            at += size;
        }
        return true;
    }
};

}  // namespace retrace::fuzz
