// SPDX-License-Identifier: MIT
#include "ledger/crypto/secret.hpp"

#include <string.h>
#include <sys/random.h>

#include <algorithm>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger {

void wipe(std::span<std::uint8_t> secret) noexcept {
    if (!secret.empty()) explicit_bzero(secret.data(), secret.size());  // explicit_bzero takes no null pointer
}

void wipe(std::string& secret) noexcept { wipe({reinterpret_cast<std::uint8_t*>(secret.data()), secret.size()}); }

SecretText::~SecretText() {
    text_.resize(text_.capacity());  // removed characters are still in the buffer
    if (!text_.empty()) explicit_bzero(text_.data(), text_.size());
}

bool SecretText::push_back(char c) {
    if (text_.size() == text_.capacity()) return false;
    text_.push_back(c);
    return true;
}

bool SecretText::append(std::string_view text) {
    if (text.size() > text_.capacity() - text_.size()) return false;
    text_.insert(text_.end(), text.begin(), text.end());
    return true;
}

void random_bytes(std::span<std::uint8_t> out) {
    // getrandom never returns short for up to 256 bytes, and is interrupted only before the pool is ready.
    for (std::size_t at = 0; at < out.size();) {
        const std::size_t size = std::min<std::size_t>(out.size() - at, 256);
        ensure(getrandom(out.data() + at, size, 0) == static_cast<ssize_t>(size), "no random source");
        at += size;
    }
}

}  // namespace retrace::ledger
