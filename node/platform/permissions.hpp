// SPDX-License-Identifier: MIT
// Permissions of files and folders: what is private is closed to other users.
#pragma once

#include <optional>
#include <string>

#include "merkle/base/result.hpp"

namespace retrace::node {

/// Creates the folder (mode 0700) and missing parents; leaves an existing folder as its owner set it.
Status<> make_folder(const std::string& path);
/// Creates the folder (mode 0700) and missing parents. Removes the access of others to an existing folder, because
/// earlier versions left it open.
Status<> make_private_folder(const std::string& path);
/// Removes all permissions of group and others from a file or folder; an Error that names it if that fails. Only for
/// this program's own files: files that it merely reads may be shared on purpose.
Status<> close_to_others(const std::string& path);
/// Checks a secret that is only read: returns a warning that names it if others may access it. Group access is allowed.
std::optional<std::string> warning_if_open(const std::string& path);

}  // namespace retrace::node
