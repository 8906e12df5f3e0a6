// SPDX-License-Identifier: MIT
#include "solver/checkpoints/tensor_parts.hpp"

#include <algorithm>
#include <array>

#include "kernels/program/limits.hpp"
#include "solver/checkpoints/tensor_store.hpp"

namespace retrace::solver {
namespace {

constexpr std::uint64_t kSide = 32, kElementsOfTile = kSide * kSide;
constexpr std::size_t kHeadMax = 2 + 8 * kernels::kRankMax + 8;
/// Bytes of tiles that are hashed at a time: so many that few chunks of a wide tensor are decrypted more than once.
constexpr std::uint64_t kHashedAtOnce = 64 << 20;

}  // namespace

Result<TensorParts, StoreProblem> TensorParts::open(const Hash32& root, std::span<const std::filesystem::path> chain,
                                                    const Seal* seal) {
    TensorParts out;
    out.seal_ = seal;
    for (std::size_t i = 0; i < chain.size(); ++i) RETRACE_CHECK(out.add(chain[i], i + 1 == chain.size()));
    RETRACE_CHECK(out.hash());
    if (out.header_.root() != root)
        return fault(chain.front(), StoreFault::damaged, "its content does not hash to its name");
    return out;
}

Status<StoreProblem> TensorParts::add(const std::filesystem::path& path, bool is_whole) {
    RETRACE_TRY(file, PartialFile::open(path, seal_));
    Bytes head(std::min<std::uint64_t>(file.size(), kHeadMax));
    RETRACE_CHECK(file.read(0, head));
    Reader in(head);
    kernels::Tensor tensor = read_tensor_head(in);
    File added{path, 0, {}};
    const std::uint64_t count = is_whole || !in.ok() ? 0 : in.u64();
    added.begin = head.size() - in.left();
    if (!in.ok()) return fault(path, StoreFault::damaged, "it does not begin as a tensor does");
    if (files_.empty()) {
        header_ = {tensor.dtype, std::move(tensor.dims), {}};
        shape_ = kernels::geometry(header_.dims);
        element_ = kernels::size_of(header_.dtype);
        tile_ = kElementsOfTile * element_;
    } else if (tensor.dtype != header_.dtype || tensor.dims != header_.dims) {
        return fault(path, StoreFault::damaged, "it is no version of the same tensor");
    }
    const std::uint64_t stored = is_whole ? shape_.elements() * element_ : count * (8 + tile_);
    if (count > shape_.tiles() || file.size() - added.begin != stored)
        return fault(path, StoreFault::damaged, "its length is not that of its shape");
    for (std::uint64_t i = 0; i < count; ++i) {
        std::array<std::uint8_t, 8> number{};
        RETRACE_CHECK(file.read(added.begin + i * (8 + tile_), number));
        const std::uint64_t tile = load_u64(number.data());
        if (tile >= shape_.tiles() || (i > 0 && tile <= added.tiles.back()))
            return fault(path, StoreFault::damaged, "it changes a tile that is not there");
        added.tiles.push_back(tile);
    }
    files_.push_back(std::move(added));
    return Unit{};
}

Status<StoreProblem> TensorParts::hash() {
    std::vector<Hash32> leaves;
    leaves.reserve(shape_.tiles());
    while (leaves.size() < shape_.tiles()) {
        const std::uint64_t count = std::min(shape_.tiles() - leaves.size(), kHashedAtOnce / tile_);
        RETRACE_TRY(tiles, read(leaves.size(), count));
        const std::vector<Hash32> hashed = hashes(tiles, count);
        leaves.insert(leaves.end(), hashed.begin(), hashed.end());
    }
    tree_ = merkle::TileTree(std::move(leaves));
    header_.tree_root = tree_.root();
    return Unit{};
}

std::vector<Hash32> TensorParts::hashes(const Bytes& tiles, std::uint64_t count) const {
    kernels::ThreadPool pool(1);
    // One tile below the other they are a tensor of 32 columns.
    return kernels::tile_leaves(tiles.data(), header_.dtype, {count * kSide, kSide}, pool);
}

Result<Bytes, StoreProblem> TensorParts::tiles(std::uint64_t first, std::uint64_t count) const {
    RETRACE_TRY(out, read(first, count));
    const std::vector<Hash32> hashed = hashes(out, count);
    for (std::uint64_t i = 0; i < count; ++i)
        if (hashed[i] != tree_.node(0, first + i))
            return fault(files_.front().path, StoreFault::damaged, "it was changed since it was checked");
    return out;
}

Result<Bytes, StoreProblem> TensorParts::read(std::uint64_t first, std::uint64_t count) const {
    Bytes out(count * tile_);
    std::vector<bool> done(count);
    for (std::size_t i = 0; i + 1 < files_.size(); ++i) {
        const File& delta = files_[i];
        const auto begin = std::lower_bound(delta.tiles.begin(), delta.tiles.end(), first);
        if (begin == delta.tiles.end() || *begin - first >= count) continue;
        RETRACE_TRY(file, PartialFile::open(delta.path, seal_));
        for (auto at = begin; at != delta.tiles.end() && *at - first < count; ++at) {
            if (done[*at - first]) continue;
            const auto place = static_cast<std::uint64_t>(at - delta.tiles.begin());
            RETRACE_CHECK(
                file.read(delta.begin + place * (8 + tile_) + 8, std::span(out).subspan((*at - first) * tile_, tile_)));
            done[*at - first] = true;
        }
    }
    if (std::find(done.begin(), done.end(), false) != done.end()) RETRACE_CHECK(read_whole(first, done, out));
    return out;
}

Status<StoreProblem> TensorParts::read_whole(std::uint64_t first, const std::vector<bool>& done, Bytes& out) const {
    const File& whole = files_.back();
    RETRACE_TRY(file, PartialFile::open(whole.path, seal_));
    const std::uint64_t width = shape_.tile_cols(), line_bytes = kSide * element_;
    for (std::uint64_t at = 0; at < done.size();) {
        // The tiles [at, at + run) lie beside each other: each line of elements through all of them is read at once.
        const std::uint64_t row = (first + at) / width * kSide, col = (first + at) % width;
        const std::uint64_t run = std::min<std::uint64_t>(width - col, done.size() - at);
        const std::uint64_t cols = std::min((col + run) * kSide, shape_.cols) - col * kSide;
        Bytes line(cols * element_);
        for (std::uint64_t r = 0; r < std::min(kSide, shape_.rows - row); ++r) {
            const std::uint64_t element = (row + r) * shape_.cols + col * kSide;
            RETRACE_CHECK(file.read(whole.begin + element * element_, line));
            for (std::uint64_t i = 0; i < run; ++i) {
                if (done[at + i]) continue;
                const View part = View(line).subspan(i * line_bytes);
                std::copy_n(part.begin(), std::min<std::uint64_t>(part.size(), line_bytes),
                            out.begin() + static_cast<std::ptrdiff_t>((at + i) * tile_ + r * line_bytes));
            }
        }
        at += run;
    }
    return Unit{};
}

std::uint64_t TensorParts::bytes() const noexcept {
    constexpr std::uint64_t kRecords = 512;
    std::uint64_t out = kRecords + 2 * sizeof(Hash32) * tree_.leaf_count();
    for (const File& file : files_)
        out += sizeof(File) + file.path.native().capacity() + file.tiles.capacity() * sizeof(std::uint64_t);
    return out;
}

}  // namespace retrace::solver
