// SPDX-License-Identifier: MIT
#include "node/platform/base64.hpp"

#include <openssl/evp.h>

namespace retrace::node {

std::string to_base64(View bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends the text with a zero
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes.data(), static_cast<int>(bytes.size()));
    out.pop_back();
    return out;
}

std::optional<Bytes> from_base64(std::string_view text, std::size_t size) {
    if (text.size() != (size + 2) / 3 * 4) return std::nullopt;
    Bytes out(text.size() / 4 * 3);
    const int length =
        EVP_DecodeBlock(out.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (length < 0 || static_cast<std::size_t>(length) < size) return std::nullopt;
    out.resize(size);
    if (to_base64(out) != text) return std::nullopt;  // e.g. padding in place of bytes
    return out;
}

}  // namespace retrace::node
