// SPDX-License-Identifier: MIT
#include "verifier/game/narrowing.hpp"

#include <algorithm>
#include <bit>

#include "merkle/base/ensure.hpp"

namespace retrace::verifier {
namespace {

constexpr std::uint32_t kLevelsARound = 4;
static_assert(std::uint64_t{1} << kLevelsARound == kArity);

/// A node without a right sibling was promoted: the node below it has the same hash, so no question is needed.
Descent past_promoted(Descent descent) {
    while (descent.level > 0 && 2 * descent.index + 1 >= merkle::level_width(descent.leaves, descent.level - 1)) {
        --descent.level;
        descent.index *= 2;
    }
    return descent;
}

}  // namespace

std::vector<std::uint64_t> search_positions(const Search& search) {
    std::vector<std::uint64_t> positions;
    const std::uint64_t span = search.high - search.low;
    if (span < 2) return positions;
    const std::uint64_t parts = std::min(span, kArity);
    const std::uint64_t whole = span / parts, rest = span % parts;
    // The first `rest` parts are longer by one, so no part is longer than ceil(span / 16).
    for (std::uint64_t i = 1; i < parts; ++i) positions.push_back(search.low + i * whole + std::min(i, rest));
    return positions;
}

Search narrow(const Search& search, std::span<const Hash32> posted, std::uint64_t index) {
    const std::vector<std::uint64_t> positions = search_positions(search);
    ensure(positions.size() == posted.size() && index <= posted.size(), "an answer to what was posted");
    Search next = search;
    if (index < posted.size()) {
        next.high = positions[index];
        next.high_hash = posted[index];
    }
    if (index > 0) {
        next.low = positions[index - 1];
        next.low_hash = posted[index - 1];
    }
    return next;
}

Children children_of(const Descent& descent) {
    ensure(descent.level > 0, "a leaf has no children");
    const std::uint32_t down = std::min(descent.level, kLevelsARound);
    Children children;
    children.level = descent.level - down;
    children.first = descent.index << down;
    const std::uint64_t width = merkle::level_width(descent.leaves, children.level);
    children.count = std::min(std::uint64_t{1} << down, width - children.first);
    return children;
}

Descent descend_from(std::uint64_t leaves, const Hash32& root) {
    ensure(leaves > 0, "a tree with leaves");
    return past_promoted({leaves, 0, merkle::level_count(leaves) - 1, root});
}

bool are_children(const Descent& descent, std::span<const Hash32> hashes) {
    return hashes.size() == children_of(descent).count && merkle::tree_root(hashes) == descent.node;
}

std::vector<Hash32> left_of_path(const Descent& descent, std::span<const Hash32> posted, std::uint64_t index) {
    std::vector<Hash32> roots;
    for (std::uint32_t up = descent.level - children_of(descent).level; up-- > 0;) {
        if ((index >> up & 1) == 0) continue;
        const std::uint64_t first = ((index >> up) - 1) << up;
        roots.push_back(merkle::tree_root(posted.subspan(first, std::uint64_t{1} << up)));
    }
    return roots;
}

LeftSubtree left_subtree(std::uint64_t leaf, std::uint64_t before) {
    ensure(before < leaf, "an earlier leaf");
    LeftSubtree subtree;
    subtree.level = static_cast<std::uint32_t>(std::bit_width(leaf ^ before)) - 1;
    subtree.place = static_cast<std::size_t>(std::popcount(leaf >> subtree.level)) - 1;
    return subtree;
}

Descent descend_to(const Descent& descent, std::uint64_t index, const Hash32& child) {
    const Children children = children_of(descent);
    ensure(index < children.count, "a child that was posted");
    return past_promoted({descent.leaves, children.first + index, children.level, child});
}

}  // namespace retrace::verifier
