// SPDX-License-Identifier: MIT
#include "kernels/random/philox.hpp"

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {

namespace {

std::uint32_t word_le(const std::uint8_t* p) {
    return static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8 |
           static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
}

View view_of(std::string_view text) { return View(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()); }

}  // namespace

PhiloxKey stream_key(std::uint64_t seed, std::string_view name) {
    merkle::Sha256 hash;
    hash.update(view_of("retrace/rng/1"));
    hash.update_u64(seed);
    hash.update(view_of(name));
    const Hash32 digest = hash.finish();
    return PhiloxKey{word_le(digest.data()), word_le(digest.data() + 4)};
}

std::uint64_t sample_at(PhiloxKey key, std::uint64_t n, std::uint64_t epoch, std::uint64_t position) {
    ensure(n >= 1 && n <= std::uint64_t{1} << 62 && position < n, "sample position out of range");
    return walk_samples(key, n, epoch, position);
}

}  // namespace retrace::kernels
