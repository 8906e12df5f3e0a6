// SPDX-License-Identifier: MIT
// Tensors on disk, named by their roots. A version that differs from the previous one in few tiles is stored as a delta
// of those tiles.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "solver/checkpoints/sealed_file.hpp"

namespace retrace::solver {

/// The version of a tensor that was written last, with the hashes of its tiles. After a restart only its root is known,
/// and the hashes are computed from its file when they are needed.
struct TensorVersion {
    Hash32 root;
    kernels::DType dtype{};
    kernels::Dims dims;
    std::vector<Hash32> tiles;
};

/// Not thread-safe. Files: "<root>.tensor" is a whole tensor, "<root>.<base>.delta" holds the tiles that differ from
/// its base.
class TensorStore {
public:
    /// Longest chain of deltas on a whole file.
    static constexpr std::uint32_t kDeltasMax = 8;

    /// `seal` must outlive the store; null: plain files.
    TensorStore(std::filesystem::path directory, const Seal* seal) : directory_(std::move(directory)), seal_(seal) {}

    /// Lists the files and removes those that a crash left unfinished.
    Status<> open();
    /// Writes the tensors of a state durably; existing tensors are not written again. `last` holds the previously
    /// written versions of the same tensors (empty: none) and is set to the new ones.
    Status<> write(std::span<const Hash32> roots, std::span<const kernels::Tensor> tensors,
                   std::vector<TensorVersion>& last);
    /// Reads a tensor and checks it against its root. A damaged file is removed, so that a later write replaces it.
    /// `tree`, if not null, is set to the tree over the tensor's tiles, which the check builds anyway.
    Result<kernels::Tensor> read(const Hash32& root, kernels::ThreadPool& pool, merkle::TileTree* tree = nullptr);
    /// The files of a tensor: its delta and those that it rests on, the whole file last; none if one of them is absent.
    std::vector<std::filesystem::path> chain(const Hash32& root) const;
    /// Removes all tensors but these and the bases of their deltas.
    void keep_only(const std::set<Hash32>& needed);

    /// Bytes written since the start, before sealing.
    std::uint64_t bytes_written() const noexcept { return written_; }
    /// Number of syncs to disk since the start.
    std::uint64_t syncs() const noexcept { return syncs_; }

private:
    std::filesystem::path path_of(const Hash32& root) const;
    std::filesystem::path path_of(const Hash32& root, const std::optional<Hash32>& base) const;
    /// Whether a delta of `root` may use `base`: the chain of `base` must be short enough, end at a whole file and not
    /// contain `root`. A damaged version that is written again may be the base of later deltas.
    bool can_be_base_of(const Hash32& base, const Hash32& root) const;
    using Files = std::map<Hash32, std::optional<Hash32>>;  ///< Root → base; none: a whole file.
    /// Adds one tensor to the batch and to `added`.
    Status<> add(FileBatch& batch, const Hash32& root, const kernels::Tensor& tensor, TensorVersion& last,
                 Files& added);
    /// Fills in `last` from its file; leaves it unchanged if the file is absent or damaged.
    void recall(TensorVersion& last);
    Result<kernels::Tensor, StoreProblem> assemble(const Hash32& root, std::uint32_t depth = 0) const;
    void remove(const Hash32& root);

    std::filesystem::path directory_;
    const Seal* seal_;
    Files files_;
    kernels::ThreadPool pool_{1};
    std::uint64_t written_ = 0, syncs_ = 0;
};

/// Reads dtype and shape at the beginning of a tensor's file; sets the reader's error if they are invalid.
kernels::Tensor read_tensor_head(Reader& in);
/// The files of a directory in the order of their names.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& directory);
/// Removes a file; ignores errors, because leftovers are removed at the next start.
void remove_file(const std::filesystem::path& path);

}  // namespace retrace::solver
