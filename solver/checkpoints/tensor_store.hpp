// SPDX-License-Identifier: MIT
// Tensors on disk by their roots. A version of which few tiles differ from the one before is written as those
// tiles.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "solver/checkpoints/sealed_file.hpp"

namespace retrace::solver {

/// The version of a tensor that was written last, with the hashes of its tiles; without them, where only its root is
/// known (after a restart), they are computed from its file when they are needed.
struct TensorVersion {
    Hash32 root;
    kernels::DType dtype{};
    kernels::Dims dims;
    std::vector<Hash32> tiles;
};

/// Not thread-safe. Files: "<root>.tensor" is whole, "<root>.<base>.delta" holds tiles that differ from its
/// base.
class TensorStore {
public:
    /// Versions between a tensor and the whole file that it rests on.
    static constexpr std::uint32_t kDeltasMax = 8;

    /// `seal` outlives the store; null: plain files.
    TensorStore(std::filesystem::path directory, const Seal* seal)
        : directory_(std::move(directory)), seal_(seal) {}

    /// Lists what is there, removes what a crash left unfinished.
    Status<> open();
    /// The tensors of a state, durable together when it returns; what is there is not written again. `last` are the
    /// versions of the same tensors that were written before (empty: none), and become these.
    Status<> write(std::span<const Hash32> roots, std::span<const kernels::Tensor> tensors,
                   std::vector<TensorVersion>& last);
    /// Checked against its root. What is damaged is removed, so that writing it again writes it anew. `tree`, where it
    /// is given, becomes that over the tensor's tiles, which the check makes anyway.
    Result<kernels::Tensor> read(const Hash32& root, kernels::ThreadPool& pool, merkle::TileTree* tree = nullptr);
    /// Removes all but these and what they rest on.
    void keep_only(const std::set<Hash32>& needed);

    /// Bytes written since the start, before sealing.
    std::uint64_t bytes_written() const noexcept { return written_; }
    /// How often the disk was waited for since then.
    std::uint64_t syncs() const noexcept { return syncs_; }

private:
    std::filesystem::path path_of(const Hash32& root) const;
    std::filesystem::path path_of(const Hash32& root, const std::optional<Hash32>& base) const;
    /// Whether `base` rests on a whole file, not too far below it and not on `root`: a version that was
    /// damaged and is written again may have later ones that are changes of it.
    bool bears(const Hash32& base, const Hash32& root) const;
    using Files = std::map<Hash32, std::optional<Hash32>>;  ///< Root → base; none: a whole file.
    /// One tensor into the batch, and into `added`.
    Status<> add(FileBatch& batch, const Hash32& root, const kernels::Tensor& tensor, TensorVersion& last,
                 Files& added);
    /// Fills in what only the file knows; leaves `last` as it is where there is none, or a damaged one.
    void recall(TensorVersion& last);
    Result<kernels::Tensor, StoreProblem> assemble(const Hash32& root, std::uint32_t depth = 0) const;
    void remove(const Hash32& root);

    std::filesystem::path directory_;
    const Seal* seal_;
    Files files_;
    kernels::ThreadPool pool_{1};
    std::uint64_t written_ = 0, syncs_ = 0;
};

/// The files of a directory in order of their names.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& directory);
/// What cannot be removed is removed at the next start.
void remove_file(const std::filesystem::path& path);

}  // namespace retrace::solver
