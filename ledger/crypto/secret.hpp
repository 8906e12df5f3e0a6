// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::ledger {

/// Overwrites a secret with zeros in a way that the compiler may not optimise away.
void wipe(std::span<std::uint8_t> secret) noexcept;
void wipe(std::string& secret) noexcept;

/// A passphrase, a mnemonic or a key in hex, wiped on destruction. Its buffer never moves, so no copy stays behind.
class SecretText {
public:
    /// Holds up to `capacity` bytes.
    explicit SecretText(std::size_t capacity) { text_.reserve(capacity); }
    ~SecretText();
    SecretText(SecretText&&) noexcept = default;
    SecretText& operator=(SecretText&&) = delete;

    /// Returns false and appends nothing if the text is full.
    [[nodiscard]] bool push_back(char c);
    [[nodiscard]] bool append(std::string_view text);
    void pop_back() { text_.pop_back(); }
    std::string_view view() const noexcept { return {text_.data(), text_.size()}; }

private:
    std::vector<char> text_;
};

/// Fills `out` from the operating system's random source; aborts when it has none.
void random_bytes(std::span<std::uint8_t> out);

}  // namespace retrace::ledger
