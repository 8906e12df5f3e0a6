// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "kernels/program/codec.hpp"
#include "node/artifacts/partial_uploads.hpp"
#include "node/artifacts/tensor_files.hpp"
#include "solver/checkpoints/ticket_lock.hpp"

namespace retrace::node {

/// Programs, tensors and states on disk, each under the root that commits to it. Content is compared with its root
/// before it becomes visible, and again before it is returned. Every write is atomic and synced.
/// Thread-safe; a lock file keeps other processes out.
class Store {
public:
    struct Options {
        TensorFiles::Limits tensors;
        kernels::Limits programs;
        std::size_t program_bytes = std::size_t{80}
                                    << 20;  ///< Limit of a program file; its constants are limited to 64 MiB.
        std::size_t piece_bytes = std::size_t{1} << 20;  ///< Minimum size of a piece of a program file.
        unsigned threads = 0;                            ///< Hashing threads; 0: as many as the machine has.
    };

    /// in_use when another process has the store open.
    static Result<std::unique_ptr<Store>, Failure> open(const std::filesystem::path& folder, const Options& options);
    static Result<std::unique_ptr<Store>, Failure> open(const std::filesystem::path& folder) {
        return open(folder, Options{});
    }

    /// Decodes and checks the program file, or the file of a plan (kernels/plan); returns its root.
    Result<Hash32, Failure> put_program(View file);
    Result<Hash32, Failure> put_tensor(const kernels::Tensor& tensor);
    /// Stores the tensors, then the manifest; returns the state root.
    Result<Hash32, Failure> put_state(const Hash32& program_root, const kernels::State& state);

    /// Whether an undamaged program or plan with this root is stored.
    bool has_program(const Hash32& root) const;
    Result<Bytes, Failure> program_file(const Hash32& root) const;
    /// Returns at most `count` bytes of the program's file from `at` on, unchecked; fewer at its end.
    Result<Bytes, Failure> program_piece(const Hash32& root, std::uint64_t at, std::uint64_t count) const;
    Result<kernels::Program, Failure> program(const Hash32& root) const;
    Result<kernels::Tensor, Failure> tensor(const Hash32& root);
    /// incomplete while some of its tensors are missing.
    Result<kernels::State, Failure> state(const Hash32& root);
    Result<wire::StateManifest, Failure> manifest(const Hash32& root) const;
    Result<wire::TileRange, Failure> tiles(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// See cut_leaves.
    Result<Bytes, Failure> leaves(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// Describes a program, a tensor or a state; not_found if nothing of it is stored. A state is complete when all its
    /// tensors are.
    Result<wire::Info, Failure> info(const Hash32& root);

    /// Pieces from outside. Each is compared with `root` before anything is written.
    Status<Failure> add_program(const Hash32& root, View file);
    /// Adds a piece of a program file. The pieces of an upload come in order; one from byte 0 restarts it. With the
    /// last piece the whole file is compared with `root`. incomplete: another piece is expected.
    Status<Failure> add_program_piece(const Hash32& root, const PartialProgramUploads::Place& place, View piece);
    Status<Failure> add_manifest(const Hash32& root, const wire::StateManifest& manifest);
    /// For our own fetches: uploads begin with a tile.
    Status<Failure> begin_tensor(const Hash32& root, const kernels::TensorHeader& header);
    Status<Failure> add_tiles(const Hash32& root, const wire::TileRange& range);

    /// Removes the state and those of its tensors that no other stored state names. Tensors that the caller needs for
    /// another reason (data sets) go into `keep`. Returns what was removed.
    std::vector<Hash32> remove_state(const Hash32& root, const std::set<Hash32>& keep);
    void remove_program(const Hash32& root);
    void remove_tensor(const Hash32& root);
    /// State roots, ascending.
    std::vector<Hash32> states() const;
    /// Whether any part of the artifact, of any kind, is stored.
    bool known(const Hash32& root) const;
    /// Bytes that each artifact is charged (charge.hpp); an arriving tensor counts with its full size.
    std::map<Hash32, std::uint64_t> sizes() const;
    /// Roots of all top-level artifacts: programs, states, and tensors that no stored state names. Ascending.
    std::vector<Hash32> roots() const;
    /// Removes an artifact of any kind and returns what was removed; `keep` as for remove_state. A tensor of a stored
    /// state stays.
    std::vector<Hash32> remove(const Hash32& root, const std::set<Hash32>& keep);

    const Options& options() const noexcept { return options_; }
    const std::filesystem::path& folder() const noexcept { return folder_; }

private:
    Store(std::filesystem::path folder, const Options& options, FileDescriptor lock);

    std::filesystem::path program_path(const Hash32& root) const;
    std::filesystem::path state_path(const Hash32& root) const;
    Status<Failure> write_program(const Hash32& root, View file);
    Result<wire::StateManifest, Failure> read_manifest(const Hash32& root) const;
    Status<Failure> write_manifest(const Hash32& root, const wire::StateManifest& manifest);
    std::vector<Hash32> list_states() const;
    /// Counts the tensors of a stored state, once.
    void count_tensors(const Hash32& state, const std::vector<Hash32>& tensors);
    /// Returns the tensors of the state, which is gone.
    std::vector<Hash32> forget_tensors(const Hash32& state);

    std::filesystem::path folder_;
    Options options_;
    FileDescriptor lock_;
    mutable solver::TicketLock mutex_;  ///< Fair lock: strangers read while the party fetches.
    kernels::ThreadPool pool_;
    TensorFiles tensors_;
    PartialProgramUploads partial_uploads_;
    std::map<Hash32, std::vector<Hash32>> tensors_of_;  ///< Tensors of each stored state.
    std::map<Hash32, std::size_t> named_;               ///< How many times the stored states name a tensor.
};

}  // namespace retrace::node
