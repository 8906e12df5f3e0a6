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

/// What geth and ethers write: a quarter of a gigabyte and about a second for each guess.
inline constexpr ledger::ScryptParams kStandardScrypt{262'144, 8, 1};
/// For published developer keys, where there is nothing to protect.
inline constexpr ledger::ScryptParams kLightScrypt{4'096, 8, 1};

enum class KeystoreError : std::uint8_t {
    malformed = 1,    ///< Not the JSON of a V3 keystore.
    unsupported = 2,  ///< Another version, cipher or key derivation, or parameters over the limits: a
                      ///< stranger's file may not hang the wallet, so 2^26 block mixes of scrypt, up to a
                      ///< minute, or ten million rounds of PBKDF2.
    wrong_passphrase =
        3,        ///< The MAC does not match: a wrong passphrase or damaged bytes; nobody can tell which.
    bad_key = 4,  ///< Decrypts to no private key, or to another than the file's address.
};
std::string_view slug(KeystoreError error) noexcept;

struct KeystoreFailure {
    KeystoreError code{};
    std::string message;
};

/// `json` of at most 64 KiB. The passphrase as it was typed, and then in NFKC, as ethers and this wallet
/// write it.
Result<ledger::SecretKey, KeystoreFailure> decrypt_keystore(std::string_view json,
                                                            std::string_view passphrase);
/// The address that the file claims, without decrypting; nullopt when it has none.
std::optional<ledger::Address> keystore_address(std::string_view json);
/// Whether this looks like a V3 file. One without an address may be one: the member is optional.
bool is_keystore(std::string_view json);
/// The passphrase in NFKC, so that it opens the file however it is typed; one that is no UTF-8 as it is.
std::string encrypt_keystore(const ledger::SecretKey& key, std::string_view passphrase,
                             const ledger::ScryptParams& params = kStandardScrypt);

}  // namespace retrace::node::wallet
