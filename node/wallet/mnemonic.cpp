// SPDX-License-Identifier: MIT
#include "node/wallet/mnemonic.hpp"

#include <algorithm>
#include <charconv>

#include "ledger/crypto/kdf.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/wallet/unicode.hpp"
#include "node/wallet/wipe_stack.hpp"
#include "node/wallet/wordlist.hpp"

namespace retrace::node::wallet {
namespace {

constexpr std::size_t kWordBits = 11, kWordMax = 8;  // bits, letters
constexpr std::uint32_t kSeedRounds = 2048;
constexpr std::size_t kPathMax = 16;

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> out;
    while (true) {
        const std::size_t end = text.find(separator);
        out.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return out;
        text.remove_prefix(end + 1);
    }
}

const std::vector<std::string_view>& words() {
    static const std::vector<std::string_view> list = split(kEnglishWords, ' ');
    return list;
}

bool bit(View bytes, std::size_t index) { return (bytes[index / 8] >> (7 - index % 8) & 1) != 0; }

/// Returns the words separated by single spaces, whatever whitespace was typed.
ledger::SecretText normalised(std::string_view mnemonic) {
    ledger::SecretText out(mnemonic.size());
    bool gap = false;
    for (const char c : mnemonic) {
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            gap = !out.view().empty();
            continue;
        }
        ensure((!gap || out.push_back(' ')) && out.push_back(c), "it is never longer than what was typed");
        gap = false;
    }
    return out;
}

std::array<std::uint8_t, 4> big_endian(std::uint32_t v) {
    return {static_cast<std::uint8_t>(v >> 24), static_cast<std::uint8_t>(v >> 16), static_cast<std::uint8_t>(v >> 8),
            static_cast<std::uint8_t>(v)};
}

}  // namespace

ledger::SecretText mnemonic_of(View entropy) {
    ensure(entropy.size() >= 16 && entropy.size() <= 32 && entropy.size() % 4 == 0, "entropy of a BIP-39 size");
    Bytes bits(entropy.size() + 1);  // allocated at full size: a growing vector leaves copies behind
    std::copy(entropy.begin(), entropy.end(), bits.begin());
    bits.back() = merkle::sha256(entropy).bytes[0];  // the checksum is its first size/4 bits
    const std::size_t count = (entropy.size() * 8 + entropy.size() / 4) / kWordBits;
    ledger::SecretText out(count * (kWordMax + 1));
    for (std::size_t word = 0; word < count; ++word) {
        std::size_t index = 0;
        for (std::size_t i = 0; i < kWordBits; ++i) index = index << 1 | (bit(bits, word * kWordBits + i) ? 1 : 0);
        ensure((word == 0 || out.push_back(' ')) && out.append(words()[index]), "room for every word");
    }
    ledger::wipe(bits);
    return out;
}

Result<Bytes> entropy_of(std::string_view mnemonic) {
    const ledger::SecretText text = normalised(mnemonic);
    const std::vector<std::string_view> parts = split(text.view(), ' ');
    if (parts.size() < 12 || parts.size() > 24 || parts.size() % 3 != 0) {
        return error("a mnemonic has 12, 15, 18, 21 or 24 words, this one has " + std::to_string(parts.size()));
    }
    Bytes bits(parts.size() * kWordBits / 8 + 1);
    for (std::size_t word = 0; word < parts.size(); ++word) {
        const auto it = std::lower_bound(words().begin(), words().end(), parts[word]);
        if (it == words().end() || *it != parts[word]) {
            ledger::wipe(bits);
            return error("word " + std::to_string(word + 1) + " of the mnemonic is not in the English BIP-39 list");
        }
        const auto index = static_cast<std::size_t>(it - words().begin());
        for (std::size_t i = 0; i < kWordBits; ++i) {
            const std::size_t at = word * kWordBits + i;
            if ((index >> (kWordBits - 1 - i) & 1) != 0) bits[at / 8] |= static_cast<std::uint8_t>(0x80U >> at % 8);
        }
    }
    Bytes entropy(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(parts.size() / 3 * 4));
    ledger::wipe(bits);
    if (mnemonic_of(entropy).view() != text.view()) {
        ledger::wipe(entropy);
        return error("the mnemonic's checksum is wrong: a word is mistyped or misplaced");
    }
    return entropy;
}

Result<Seed> seed_of(std::string_view mnemonic, std::string_view passphrase) {
    RETRACE_TRY(entropy, entropy_of(mnemonic));
    ledger::wipe(entropy);
    RETRACE_TRY(secret, nfkd(passphrase));
    std::string salt = "mnemonic" + secret;
    auto derived = ledger::pbkdf2_hmac_sha512(view(normalised(mnemonic).view()), view(salt), kSeedRounds, 64);
    for (std::string* used : {&secret, &salt}) ledger::wipe(*used);
    RETRACE_TRY(bytes, std::move(derived));
    Seed seed;
    std::copy(bytes.begin(), bytes.end(), seed.bytes.begin());
    ledger::wipe(bytes);
    return seed;
}

Result<ExtendedKey> master_key(View seed) {
    auto digest = ledger::hmac_sha512(view(std::string_view("Bitcoin seed")), seed);
    auto key = ledger::SecretKey::from_bytes(View(digest).first(32));
    if (!key) return error("the seed yields no key");
    ExtendedKey out(std::move(*key));
    std::copy(digest.begin() + 32, digest.end(), out.chain_code.begin());
    ledger::wipe(digest);
    return out;
}

Result<ExtendedKey> child_key(const ExtendedKey& parent, std::uint32_t index) {
    Bytes message;
    message.reserve(1 + 32 + 4);
    if ((index & kHardened) != 0) {
        message.push_back(0);
        message.insert(message.end(), parent.key.bytes().begin(), parent.key.bytes().end());
    } else {
        const auto point = parent.key.public_key().compressed();
        message.assign(point.begin(), point.end());
    }
    const auto suffix = big_endian(index);
    message.insert(message.end(), suffix.begin(), suffix.end());
    auto digest = ledger::hmac_sha512(parent.chain_code, message);
    ledger::wipe(message);
    auto key = parent.key.add_tweak(View(digest).first(32));
    if (!key) return error("index " + std::to_string(index) + " yields no key; take the next one");
    ExtendedKey out(std::move(*key));
    std::copy(digest.begin() + 32, digest.end(), out.chain_code.begin());
    ledger::wipe(digest);
    return out;
}

Result<std::vector<std::uint32_t>> parse_path(std::string_view path) {
    const std::vector<std::string_view> parts = split(path, '/');
    if (parts.front() != "m" || parts.size() > kPathMax + 1) return error("a path is m/44'/60'/0'/0/0 or alike");
    std::vector<std::uint32_t> out;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        std::string_view part = parts[i];
        const bool hardened = !part.empty() && part.back() == '\'';
        if (hardened) part.remove_suffix(1);
        std::uint32_t index = 0;
        const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), index);
        if (part.empty() || failed != std::errc{} || end != part.data() + part.size() || index >= kHardened) {
            return error("level " + std::to_string(i) + " of the path is not a number below 2^31");
        }
        out.push_back(hardened ? index | kHardened : index);
    }
    return out;
}

Result<ExtendedKey> derive(View seed, const std::vector<std::uint32_t>& path) {
    RETRACE_TRY(key, master_key(seed));
    for (const std::uint32_t index : path) {
        RETRACE_TRY(child, child_key(key, index));
        key = std::move(child);
    }
    return key;
}

namespace {

/// Not inlined, so that its stack frame is wiped after it has returned.
[[gnu::noinline]] Result<ledger::SecretKey> derive_account(std::string_view mnemonic, std::string_view passphrase,
                                                           std::uint32_t index) {
    RETRACE_TRY(seed, seed_of(mnemonic, passphrase));
    auto key = derive(seed, {44 | kHardened, 60 | kHardened, kHardened, 0, index});
    if (!key) return error(key.error().message);
    return std::move(key->key);
}

}  // namespace

Result<ledger::SecretKey> account_key(std::string_view mnemonic, std::string_view passphrase, std::uint32_t index) {
    if (index >= kHardened) return error("the index of an account is below 2^31: " + std::to_string(index));
    auto key = derive_account(mnemonic, passphrase, index);
    wipe_stack();
    return key;
}

}  // namespace retrace::node::wallet
