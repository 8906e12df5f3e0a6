// SPDX-License-Identifier: MIT
#include "node/masks/mask_values.hpp"

#include <algorithm>
#include <bit>

#include "kernels/random/chacha.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kBlockWords = 16;

/// The words of a seed, little endian: the key tensor i32 [8] of `chacha_bits`. Wiped on destruction.
struct MaskKey : kernels::ChaChaKey {
    explicit MaskKey(const market::MaskSeed& seed) {
        Reader in(view(seed));
        for (std::uint32_t& each : word) each = in.u32();
    }
    ~MaskKey() { ledger::wipe({reinterpret_cast<std::uint8_t*>(word), sizeof word}); }
    MaskKey(const MaskKey&) = delete;
    MaskKey& operator=(const MaskKey&) = delete;
};

}  // namespace

unsigned masked_bits(unsigned value_bits, std::size_t members) {
    return value_bits + static_cast<unsigned>(std::bit_width(members - 1));
}

void apply_mask(std::span<std::uint32_t> words, const market::MaskSeed& seed, bool add) {
    const MaskKey key(seed);
    const kernels::ChaChaNonce nonce = kernels::chacha_nonce(0, 0);  // A seed serves one message.
    for (std::size_t at = 0; at < words.size(); at += kBlockWords) {
        const auto block = kernels::chacha_block(key, static_cast<std::uint32_t>(at / kBlockWords), nonce);
        const std::size_t count = std::min(kBlockWords, words.size() - at);
        for (std::size_t i = 0; i < count; ++i) words[at + i] += add ? block.word[i] : 0 - block.word[i];
    }
}

void keep_bits(std::span<std::uint32_t> words, unsigned bits) {
    ensure(bits >= 1 && bits <= 32, "bits of a masked value");
    for (std::uint32_t& word : words) word &= 0xffffffffu >> (32 - bits);
}

std::vector<std::int32_t> unmasked(std::vector<std::uint32_t> sum, const std::vector<market::MaskTerm>& terms,
                                   unsigned bits) {
    for (const market::MaskTerm& term : terms) apply_mask(sum, term.seed, !term.added);
    keep_bits(sum, bits);
    std::vector<std::int32_t> out;
    out.reserve(sum.size());
    for (const std::uint32_t word : sum) out.push_back(static_cast<std::int32_t>(word << (32 - bits)) >> (32 - bits));
    return out;
}

}  // namespace retrace::node
