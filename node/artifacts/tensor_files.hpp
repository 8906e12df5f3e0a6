// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "node/platform/files.hpp"
#include "node/wire/artifact_codec.hpp"

namespace retrace::node {

/// Tensors in one folder, each under its root; whole ones, and ones whose tiles are still arriving.
///
/// `<root>.tensor` is the encoded TensorHeader padded with zeros to 128 bytes, then the row-major elements.
/// The header hashes to the name of the file; the elements are hashed when the tensor is opened for the first
/// time.
/// `<root>.part` has the same layout with holes, `<root>.have` one byte for each tile that is there. A tensor
/// is complete once all tiles are there and the whole file hashes to the root again. So a part file that a power
/// failure left half-written is detected, and its transfer restarts.
///
/// Not thread-safe.
class TensorFiles {
public:
    struct Limits {
        std::uint64_t tensor_bytes = std::uint64_t{64} << 30;  ///< Limit of the elements of one tensor.
        /// Left free on the disk, where the chain's database creates files too. ext4 makes 16,384 inodes for 256 MiB.
        DiskSpace left_free{std::uint64_t{256} << 20, 16'384};
        std::size_t open_tensors = 256;  ///< Limit on mapped tensors, with their trees.
    };

    TensorFiles(std::filesystem::path folder, Limits limits, kernels::ThreadPool& pool);
    ~TensorFiles();

    /// Writes the whole tensor durably and returns its root; a tensor that is there already is not written
    /// again.
    Result<Hash32, Failure> put(const kernels::Tensor& tensor);
    bool complete(const Hash32& root) const;
    /// Whether any part of the tensor is stored.
    bool known(const Hash32& root) const;
    Result<kernels::Tensor, Failure> load(const Hash32& root);
    Result<kernels::TensorHeader, Failure> header(const Hash32& root);
    /// Tiles [first, first + count) with their proof; fewer if the range exceeds wire::kRangeTilesMax or the end.
    Result<wire::TileRange, Failure> tiles(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// See cut_leaves.
    Result<Bytes, Failure> leaves(const Hash32& root, std::uint64_t first, std::uint64_t count);

    /// Creates the files of a tensor that will arrive in ranges, for a caller that will fetch it. `header` must hash to
    /// `root`. Does nothing if the tensor is known.
    Status<Failure> begin(const Hash32& root, const kernels::TensorHeader& header);
    /// Checks every tile against the root, then stores it. Calls `begin` if needed, once the tiles are checked. A range
    /// without tiles is only for a tensor without tiles, otherwise no_tiles. Tiles that are stored already are accepted
    /// and not written again. The last missing tile completes the tensor.
    Status<Failure> add(const Hash32& root, const wire::TileRange& range);
    /// Returns the gaps in ascending order, at most wire::kMissingRangesMax; none when complete; not_found when nothing
    /// is known.
    Result<std::vector<wire::Range>, Failure> missing(const Hash32& root);
    void remove(const Hash32& root);
    /// Roots of all tensors here, complete or not; ascending.
    std::set<Hash32> roots() const;

private:
    struct Whole;
    struct Part;

    std::filesystem::path path(const Hash32& root, const char* suffix) const;
    Result<Whole*, Failure> open_whole(const Hash32& root);
    /// A part file that cannot be resumed is removed: not_found.
    Result<Part*, Failure> open_part(const Hash32& root);
    Result<std::unique_ptr<Part>, Failure> read_part(const Hash32& root) const;
    Status<Failure> check_space(const kernels::TensorHeader& header) const;
    Status<Failure> finish(const Hash32& root, Part& part);

    std::filesystem::path folder_;
    Limits limits_;
    kernels::ThreadPool& pool_;
    std::map<Hash32, std::unique_ptr<Whole>> whole_;
    std::map<Hash32, std::unique_ptr<Part>> parts_;
    std::uint64_t clock_ = 0;  ///< Counts uses, so that the least recently used mapping can be closed.
};

}  // namespace retrace::node
