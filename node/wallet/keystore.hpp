// SPDX-License-Identifier: MIT
// Keystore V3 files (Web3 Secret Storage): a private key under a passphrase. Reads scrypt and PBKDF2, writes
// scrypt.
#pragma once

#include <string>
#include <string_view>

#include "ledger/crypto/scrypt.hpp"
#include "ledger/crypto/secp256k1.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::wallet {

/// Parameters that geth and ethers write: 256 MiB and about a second for each guess.
inline constexpr ledger::ScryptParams kStandardScrypt{262'144, 8, 1};
/// For published developer keys, which need no protection.
inline constexpr ledger::ScryptParams kLightScrypt{4'096, 8, 1};

enum class KeystoreError : std::uint8_t {
    malformed = 1,         ///< Not the JSON of a V3 keystore.
    unsupported = 2,       ///< Another version, cipher or key derivation, or parameters over the limits: a
                           ///< stranger's file may not hang the wallet, so 2^26 block mixes of scrypt, up to a
                           ///< minute, or ten million rounds of PBKDF2.
    wrong_passphrase = 3,  ///< The MAC does not match: a wrong passphrase or damaged bytes, which look the same.
    bad_key = 4,           ///< Decrypts to an invalid private key, or not to the file's address.
};
std::string_view slug(KeystoreError error) noexcept;

struct KeystoreFailure {
    KeystoreError code{};
    std::string message;
};

/// Decrypts `json` of at most 64 KiB. Tries the passphrase as typed, and then in NFKC, as ethers and this wallet write
/// it.
Result<ledger::SecretKey, KeystoreFailure> decrypt_keystore(std::string_view json, std::string_view passphrase);
/// Returns the address that the file claims, without decrypting; nullopt when it has none.
std::optional<ledger::Address> keystore_address(std::string_view json);
/// Whether this looks like a V3 file. A file without an address can be one, because that member is optional.
bool is_keystore(std::string_view json);
/// Encrypts under the passphrase in NFKC, so that it opens the file however it is typed; a passphrase that is not UTF-8
/// is used unchanged.
std::string encrypt_keystore(const ledger::SecretKey& key, std::string_view passphrase,
                             const ledger::ScryptParams& params = kStandardScrypt);

}  // namespace retrace::node::wallet
