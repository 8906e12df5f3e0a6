// SPDX-License-Identifier: MIT
#include "tests/fuzz/driver/mutate.hpp"

#include <algorithm>
#include <iterator>

namespace retrace::fuzz {
namespace {

constexpr std::uint64_t kEdges[] = {0,          1,          2,          0x7f,       0x80,       0xb7,       0xb8,
                                    0xf7,       0xf8,       0xff,       0x100,      0x7fff,     0xffff,     0x10000,
                                    0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 1ull << 36, 1ull << 63, ~0ull};

struct Run {
    std::size_t first = 0, size = 0;
};

Run pick_run(const Bytes& bytes, Random& random, std::size_t limit) {
    const std::size_t first = random.below(bytes.size());
    const std::size_t most = std::min(limit, bytes.size() - first);
    return {first, most == 0 ? 0 : 1 + random.below(most)};
}

/// Writes a number from the list of edges over 1, 2, 4 or 8 bytes, in either byte order.
void write_edge(Bytes& bytes, Random& random) {
    const std::size_t width = std::min(std::size_t{1} << random.below(4), bytes.size());
    const std::size_t at = random.below(bytes.size() - width + 1);
    const std::uint64_t value = kEdges[random.below(std::size(kEdges))];
    const bool big_endian = random.below(2) == 0;
    for (std::size_t i = 0; i < width; ++i)
        bytes[at + (big_endian ? width - 1 - i : i)] = static_cast<std::uint8_t>(value >> (8 * i));
}

void insert(Bytes& bytes, std::size_t at, View what) {
    const Bytes copy = to_bytes(what);
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), copy.begin(), copy.end());
}

void erase(Bytes& bytes, Run run) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(run.first);
    bytes.erase(first, first + static_cast<std::ptrdiff_t>(run.size));
}

void damage(Bytes& bytes, const std::vector<Bytes>& corpus, Random& random) {
    if (bytes.empty()) {
        bytes.push_back(static_cast<std::uint8_t>(random.next()));
        return;
    }
    const std::size_t at = random.below(bytes.size());
    switch (random.below(10)) {
        case 0: bytes[at] ^= static_cast<std::uint8_t>(1u << random.below(8)); break;
        case 1: bytes[at] = static_cast<std::uint8_t>(random.next()); break;
        case 2: bytes[at] = static_cast<std::uint8_t>(bytes[at] + (random.below(2) == 0 ? 1 : 255)); break;
        case 3:
        case 4: write_edge(bytes, random); break;
        case 5: erase(bytes, pick_run(bytes, random, 40)); break;
        case 6: bytes.resize(at); break;
        case 7: {
            const Run run = pick_run(bytes, random, 80);
            insert(bytes, at, View(bytes).subspan(run.first, run.size));
            break;
        }
        case 8: {
            const Bytes& other = corpus[random.below(corpus.size())];
            if (other.empty()) break;
            const Run run = pick_run(other, random, 120);
            if (random.below(2) == 0) erase(bytes, {at, std::min(run.size, bytes.size() - at)});
            insert(bytes, at, View(other).subspan(run.first, run.size));
            break;
        }
        default: {
            const std::uint8_t noise[4] = {static_cast<std::uint8_t>(random.next()),
                                           static_cast<std::uint8_t>(random.next()), 0, 0xff};
            insert(bytes, at, View(noise).first(1 + random.below(4)));
            break;
        }
    }
}

}  // namespace

Bytes mutate(const std::vector<Bytes>& corpus, Random& random) {
    Bytes out = corpus[random.below(corpus.size())];
    const std::size_t places = 1 + random.below(random.below(3) == 0 ? 8 : 2);
    for (std::size_t i = 0; i < places; ++i) damage(out, corpus, random);
    if (out.size() > kInputMax) out.resize(kInputMax);
    return out;
}

}  // namespace retrace::fuzz
