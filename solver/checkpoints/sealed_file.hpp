// SPDX-License-Identifier: MIT
// Reads and writes files that are sealed if the store has a key.
#pragma once

#include <optional>

#include "solver/checkpoints/file_batch.hpp"
#include "solver/checkpoints/seal.hpp"

namespace retrace::solver {

/// Fault of a stored checkpoint; its slug ends the error message.
enum class StoreFault : std::uint8_t {
    missing = 1,    ///< The file, or the base of the delta, is absent.
    damaged = 2,    ///< The content does not match its name or digest; it was removed or set aside.
    sealed = 3,     ///< The store is encrypted, and no key was given.
    wrong_key = 4,  ///< The store was made with another key.
    plain = 5,      ///< A key was given, and the store was created without one.
};
std::string_view slug(StoreFault fault) noexcept;
/// An error with its kind; one without a kind comes from the system (a full disk, too many open files).
struct StoreProblem {
    std::optional<StoreFault> kind;
    std::string message;
    StoreProblem(std::optional<StoreFault> fault, std::string words) : kind(fault), message(std::move(words)) {}
    StoreProblem(Error system) : message(std::move(system.message)) {}
    operator Error() const { return {message}; }
};
/// Makes an error with the message "path: sentence (slug)".
Unexpected<StoreProblem> fault(const std::filesystem::path& path, StoreFault kind, std::string_view sentence);

/// FileBatch::add; seals the content under the file's name if `seal` is not null.
Status<> add_sealed(FileBatch& batch, const std::string& name, std::initializer_list<View> parts, const Seal* seal);
/// write_durably; seals the content under the file's name if `seal` is not null.
Status<> write_sealed(const std::filesystem::path& path, std::initializer_list<View> parts, const Seal* seal);
/// read_file, and opens the seal. With a seal an unsealed file counts as damaged, because anybody with write access may
/// have made it.
Result<Bytes, StoreProblem> read_sealed(const std::filesystem::path& path, std::uint64_t limit, const Seal* seal);

/// Checks with a small file in the directory that its checkpoints belong to this key, or to none without a seal. Must
/// be called before anything is read: with a wrong key files look damaged, and damaged files are removed.
Status<> check_key(const std::filesystem::path& directory, const Seal* seal);

}  // namespace retrace::solver
