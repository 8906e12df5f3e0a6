// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "kernels/program/codec.hpp"
#include "node/artifacts/program_parts.hpp"
#include "node/artifacts/tensor_files.hpp"
#include "solver/checkpoints/turn_lock.hpp"

namespace retrace::node {

/// Programs, tensors and states on disk, each under the root that commits to it. What comes out has been
/// compared with its root; what goes in has been, before it is visible. Every write is atomic and synced.
///
/// Safe to use from several threads; one process at a time (a lock file).
class Store {
public:
    struct Options {
        TensorFiles::Limits tensors;
        kernels::Limits programs;
        std::size_t program_bytes = std::size_t{80}
                                    << 20;  ///< Of a program file; its constants are limited to 64 MiB.
        std::size_t piece_bytes = std::size_t{1} << 20;  ///< Of a piece of a program file, at least.
        unsigned threads = 0;               ///< That hash; 0: as many as the machine has.
    };

    /// in_use when another process has the store open.
    static Result<std::unique_ptr<Store>, Failure> open(const std::filesystem::path& folder,
                                                        const Options& options);
    static Result<std::unique_ptr<Store>, Failure> open(const std::filesystem::path& folder) {
        return open(folder, Options{});
    }

    /// Decodes and checks the program file; returns its root.
    Result<Hash32, Failure> put_program(View file);
    Result<Hash32, Failure> put_tensor(const kernels::Tensor& tensor);
    /// Stores the tensors, then the manifest; returns the state root.
    Result<Hash32, Failure> put_state(const Hash32& program_root, const kernels::State& state);

    Result<Bytes, Failure> program_file(const Hash32& root) const;
    Result<kernels::Program, Failure> program(const Hash32& root) const;
    Result<kernels::Tensor, Failure> tensor(const Hash32& root);
    /// incomplete while tensors of it are missing.
    Result<kernels::State, Failure> state(const Hash32& root);
    Result<wire::StateManifest, Failure> manifest(const Hash32& root) const;
    Result<wire::TileRange, Failure> tiles(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// As cut_leaves.
    Result<Bytes, Failure> leaves(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// Of a program, a tensor or a state; not_found when nothing is known. A state is complete when all its
    /// tensors are.
    Result<wire::Info, Failure> info(const Hash32& root);

    /// Pieces from outside. Each is compared with `root` before anything is written.
    Status<Failure> add_program(const Hash32& root, View file);
    /// A piece of a program file; pieces of an upload come in order, and one from byte 0 begins anew. The last one is
    /// compared with `root` together with all before it. incomplete: another piece is due.
    Status<Failure> add_program_piece(const Hash32& root, const ProgramParts::Place& place, View piece);
    Status<Failure> add_manifest(const Hash32& root, const wire::StateManifest& manifest);
    Status<Failure> begin_tensor(const Hash32& root, const kernels::TensorHeader& header);
    Status<Failure> add_tiles(const Hash32& root, const wire::TileRange& range);

    /// Forgets the state and those of its tensors that no other state here names. Tensors that the caller
    /// wants to keep for another reason (data sets) go into `keep`.
    void remove_state(const Hash32& root, const std::set<Hash32>& keep);
    void remove_program(const Hash32& root);
    void remove_tensor(const Hash32& root);
    /// Ascending.
    std::vector<Hash32> states() const;
    /// Some of it is here, whatever it is.
    bool known(const Hash32& root) const;
    /// What each artifact takes of the disk, or will: a tensor that is arriving counts whole.
    std::map<Hash32, std::uint64_t> sizes() const;
    /// Of everything that stands for itself: programs, states, and tensors that no state here names. Ascending.
    std::vector<Hash32> roots() const;
    /// Whatever it is; `keep` as for remove_state.
    void remove(const Hash32& root, const std::set<Hash32>& keep);

    const Options& options() const noexcept { return options_; }
    const std::filesystem::path& folder() const noexcept { return folder_; }

private:
    Store(std::filesystem::path folder, const Options& options, File lock);

    std::filesystem::path program_path(const Hash32& root) const;
    std::filesystem::path state_path(const Hash32& root) const;
    Result<wire::StateManifest, Failure> read_manifest(const Hash32& root) const;
    Status<Failure> write_manifest(const Hash32& root, const wire::StateManifest& manifest);
    std::vector<Hash32> list_states() const;

    std::filesystem::path folder_;
    Options options_;
    File lock_;
    mutable solver::TurnLock mutex_;  ///< Strangers read while the party fetches.
    kernels::ThreadPool pool_;
    TensorFiles tensors_;
    ProgramParts parts_;
};

}  // namespace retrace::node
