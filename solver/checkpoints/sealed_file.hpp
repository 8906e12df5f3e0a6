// SPDX-License-Identifier: MIT
// Files that are sealed where a store has a key.
#pragma once

#include <optional>

#include "solver/checkpoints/durable_file.hpp"
#include "solver/checkpoints/seal.hpp"

namespace retrace::solver {

/// What is wrong with a stored checkpoint; the slug stands at the end of the error's sentence.
enum class StoreFault : std::uint8_t {
    missing = 1,    ///< It, or the version that it is a change of, is not here.
    damaged = 2,    ///< Its content is not what its name or digest says; it was removed or set aside.
    sealed = 3,     ///< Encrypted, and no key was given.
    wrong_key = 4,  ///< The store was made with another key.
    plain = 5,      ///< A store that was begun without a key, where one was given.
};
std::string_view slug(StoreFault fault) noexcept;
/// An error that knows its kind; without one it is the system's (a full disk, too many open files).
struct StoreProblem {
    std::optional<StoreFault> kind;
    std::string message;
    StoreProblem(std::optional<StoreFault> fault, std::string words)
        : kind(fault), message(std::move(words)) {}
    StoreProblem(Error system) : message(std::move(system.message)) {}
    operator Error() const { return {message}; }
};
/// "path: sentence (slug)"
Unexpected<StoreProblem> fault(const std::filesystem::path& path, StoreFault kind, std::string_view sentence);

/// As FileBatch::add; sealed under the file's name when there is a seal.
Status<> add_sealed(FileBatch& batch, const std::string& name, std::initializer_list<View> parts, const Seal* seal);
/// As write_durably; sealed under the file's name when there is a seal.
Status<> write_sealed(const std::filesystem::path& path, std::initializer_list<View> parts, const Seal* seal);
/// As read_file. With a seal a file that is not sealed is damaged: whoever can write here may have made it.
Result<Bytes, StoreProblem> read_sealed(const std::filesystem::path& path, std::uint64_t limit,
                                        const Seal* seal);

/// Makes sure that the checkpoints of the directory belong to this key (to none): a small file in it tells. Before
/// anything is read, for a wrong key looks like damage, and what is damaged is removed.
Status<> check_key(const std::filesystem::path& directory, const Seal* seal);

}  // namespace retrace::solver
