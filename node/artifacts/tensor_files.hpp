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
/// is complete once all tiles are there and the whole hashes to the root again: so a part file that a power
/// failure left half-written is found out, and starts anew.
///
/// Not thread-safe.
class TensorFiles {
public:
    struct Limits {
        std::uint64_t tensor_bytes = std::uint64_t{64} << 30;  ///< Of the elements of one tensor.
        std::uint64_t free_bytes = std::uint64_t{256} << 20;   ///< Left free on the disk.
        std::size_t open_tensors = 256;                        ///< Mapped at once, with their trees.
    };

    TensorFiles(std::filesystem::path folder, Limits limits, kernels::ThreadPool& pool);
    ~TensorFiles();

    /// Writes the whole tensor durably and returns its root; a tensor that is there already is not written
    /// again.
    Result<Hash32, Failure> put(const kernels::Tensor& tensor);
    bool complete(const Hash32& root) const;
    /// Some of it is there.
    bool known(const Hash32& root) const;
    Result<kernels::Tensor, Failure> load(const Hash32& root);
    Result<kernels::TensorHeader, Failure> header(const Hash32& root);
    /// Tiles [first, first + count) with their proof; fewer when the range runs over wire::kRangeTilesMax or
    /// the end.
    Result<wire::TileRange, Failure> tiles(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// As cut_leaves.
    Result<Bytes, Failure> leaves(const Hash32& root, std::uint64_t first, std::uint64_t count);

    /// Makes room for a tensor that will arrive in ranges. `header` must hash to `root`. Nothing happens when
    /// it is known.
    Status<Failure> begin(const Hash32& root, const kernels::TensorHeader& header);
    /// Checks every tile against the root, then keeps it. Begins the tensor when need be. Tiles that are
    /// there already are accepted and not written again. The last missing tile completes the tensor. A range
    /// without tiles begins it.
    Status<Failure> add(const Hash32& root, const wire::TileRange& range);
    /// Gaps in ascending order, at most wire::kMissingRangesMax; none when complete; not_found when nothing
    /// is known.
    Result<std::vector<wire::Range>, Failure> missing(const Hash32& root);
    void remove(const Hash32& root);
    /// Of all that is here, complete or not; ascending.
    std::set<Hash32> roots() const;

private:
    struct Whole;
    struct Part;

    std::filesystem::path path(const Hash32& root, const char* suffix) const;
    Result<Whole*, Failure> open_whole(const Hash32& root);
    /// What cannot be gone on with is removed: not_found.
    Result<Part*, Failure> open_part(const Hash32& root);
    Result<std::unique_ptr<Part>, Failure> read_part(const Hash32& root) const;
    Status<Failure> check_room(const kernels::TensorHeader& header) const;
    Status<Failure> finish(const Hash32& root, Part& part);

    std::filesystem::path folder_;
    Limits limits_;
    kernels::ThreadPool& pool_;
    std::map<Hash32, std::unique_ptr<Whole>> whole_;
    std::map<Hash32, std::unique_ptr<Part>> parts_;
    std::uint64_t clock_ = 0;  ///< Counts uses, so that the least recently used mapping can be closed.
};

}  // namespace retrace::node
