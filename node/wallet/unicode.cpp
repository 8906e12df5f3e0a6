// SPDX-License-Identifier: MIT
#include "node/wallet/unicode.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/utf8.h>

namespace retrace::node::wallet {
namespace {

/// Checked because ICU replaces invalid bytes, and a passphrase must not change silently.
bool is_utf8(std::string_view text) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const auto size = static_cast<std::int32_t>(text.size());
    for (std::int32_t at = 0; at < size;) {
        UChar32 point = 0;
        U8_NEXT(bytes, at, size, point);
        if (point < 0) return false;
    }
    return true;
}

using Form = const icu::Normalizer2* (*)(UErrorCode&);

Result<std::string> normalised(std::string_view text, Form form) {
    constexpr std::size_t kTextMax = 1U << 20;
    if (text.size() > kTextMax || !is_utf8(text)) return error("the passphrase is no UTF-8 text");
    UErrorCode code = U_ZERO_ERROR;
    const icu::Normalizer2* normalizer = form(code);
    if (U_FAILURE(code)) return error("ICU has no data for the forms of Unicode");
    std::string out;
    out.reserve(18 * text.size());  // maximum expansion of either form, so the buffer never grows and copies
    icu::StringByteSink<std::string> sink(&out);
    const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
    normalizer->normalizeUTF8(0, piece, sink, nullptr, code);
    if (U_FAILURE(code)) return error("the passphrase cannot be normalised");
    return out;
}

}  // namespace

Result<std::string> nfkd(std::string_view text) { return normalised(text, icu::Normalizer2::getNFKDInstance); }

Result<std::string> nfkc(std::string_view text) { return normalised(text, icu::Normalizer2::getNFKCInstance); }

}  // namespace retrace::node::wallet
