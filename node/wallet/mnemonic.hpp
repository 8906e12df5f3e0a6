// SPDX-License-Identifier: MIT
// BIP-39 mnemonics and BIP-32 keys.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/crypto/secp256k1.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::wallet {

/// Encodes 16, 20, 24, 28 or 32 bytes (asserted) as 12 to 24 English words.
ledger::SecretText mnemonic_of(View entropy);
/// Returns the entropy, which the caller must wipe; an Error for a wrong number of words, an unknown word, or a wrong
/// checksum.
Result<Bytes> entropy_of(std::string_view mnemonic);

/// A BIP-39 seed; every copy is wiped on destruction.
struct Seed {
    Seed() = default;
    Seed(const Seed&) = default;
    Seed& operator=(const Seed&) = default;
    ~Seed() { ledger::wipe(bytes); }
    operator View() const noexcept { return bytes; }
    bool operator==(const Seed&) const = default;

    std::array<std::uint8_t, 64> bytes{};
};
/// Derives the seed by PBKDF2-HMAC-SHA512 with 2048 rounds. The passphrase is normalised to NFKD, as BIP-39 requires;
/// one that is not UTF-8 is an Error.
Result<Seed> seed_of(std::string_view mnemonic, std::string_view passphrase);

/// A node of the BIP-32 tree, wiped on destruction.
struct ExtendedKey {
    explicit ExtendedKey(ledger::SecretKey key_in) : key(std::move(key_in)) {}
    ExtendedKey(ExtendedKey&&) noexcept = default;
    ExtendedKey& operator=(ExtendedKey&&) noexcept = default;
    ~ExtendedKey() { ledger::wipe(chain_code); }

    ledger::SecretKey key;
    std::array<std::uint8_t, 32> chain_code{};
};
inline constexpr std::uint32_t kHardened = 0x8000'0000U;

/// Fails only for seeds that yield no key (chance 2^-127).
Result<ExtendedKey> master_key(View seed);
Result<ExtendedKey> child_key(const ExtendedKey& parent, std::uint32_t index);
/// Parses a path such as "m/44'/60'/0'/0/0"; at most 16 levels.
Result<std::vector<std::uint32_t>> parse_path(std::string_view path);
Result<ExtendedKey> derive(View seed, const std::vector<std::uint32_t>& path);

/// Derives m/44'/60'/0'/0/index, which Ethereum wallets call account `index`; an Error from 2^31 on, where hardened
/// keys begin.
Result<ledger::SecretKey> account_key(std::string_view mnemonic, std::string_view passphrase, std::uint32_t index);

}  // namespace retrace::node::wallet
