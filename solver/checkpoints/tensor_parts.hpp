// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "solver/checkpoints/partial_file.hpp"

namespace retrace::solver {

/// A stored tensor whose tiles are read from its files when they are requested. It was read and hashed once; its tree
/// stays in memory, the tensor does not. Does not change, so several threads may read.
class TensorParts {
public:
    /// `chain`: TensorStore::chain. Reads the tensor piece by piece; damaged if it does not hash to `root`, missing if
    /// a file was removed. `seal` outlives the result; null: plain files.
    static Result<TensorParts, StoreProblem> open(const Hash32& root, std::span<const std::filesystem::path> chain,
                                                  const Seal* seal);

    const kernels::TensorHeader& header() const noexcept { return header_; }
    const merkle::TileTree& tree() const noexcept { return tree_; }
    /// Contents of the tiles [first, first + count), which exist, one after the other as kernels::tile_bytes gives
    /// them. Each is compared with its hash in the tree. A tile of a wide tensor lies in 32 places of its file, so up
    /// to 64 chunks may be decrypted for each row of tiles that the range touches.
    Result<Bytes, StoreProblem> tiles(std::uint64_t first, std::uint64_t count) const;
    /// Memory in bytes.
    std::uint64_t bytes() const noexcept;

private:
    struct File {
        std::filesystem::path path;
        std::uint64_t begin = 0;           ///< Offset of the elements, or of a delta's first tile.
        std::vector<std::uint64_t> tiles;  ///< Tiles of a delta, ascending.
    };

    TensorParts() = default;
    Status<StoreProblem> add(const std::filesystem::path& path, bool is_whole);
    Status<StoreProblem> hash();
    Result<Bytes, StoreProblem> read(std::uint64_t first, std::uint64_t count) const;
    /// Reads those tiles of a range that are not `done` from the whole file.
    Status<StoreProblem> read_whole(std::uint64_t first, const std::vector<bool>& done, Bytes& out) const;
    std::vector<Hash32> hashes(const Bytes& tiles, std::uint64_t count) const;

    const Seal* seal_ = nullptr;
    kernels::TensorHeader header_;
    kernels::Geometry shape_;
    std::uint64_t element_ = 0, tile_ = 0;  ///< Bytes of one.
    std::vector<File> files_;               ///< The newest delta first, the whole file last.
    merkle::TileTree tree_;
};

}  // namespace retrace::solver
