// SPDX-License-Identifier: MIT
#include "node/platform/permissions.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace retrace::node {
namespace {

Unexpected<Error> permission_error(const std::string& path, const char* what) {
    return error(path + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

Status<> make_folder(const std::string& path) {
    std::error_code failed;
    const bool is_new = std::filesystem::create_directories(path, failed);
    if (failed) return error(path + ": the folder cannot be created: " + failed.message());
    if (is_new && ::chmod(path.c_str(), 0700) != 0)
        return permission_error(path, "the access of others cannot be removed");
    return Unit{};
}

Status<> make_private_folder(const std::string& path) {
    RETRACE_CHECK(make_folder(path));
    return close_to_others(path);
}

Status<> close_to_others(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return permission_error(path, "its permissions cannot be read");
    if ((info.st_mode & 077) == 0) return Unit{};
    if (::chmod(path.c_str(), info.st_mode & 0700) != 0)
        return permission_error(path, "others may read it, and their access cannot be removed");
    return Unit{};
}

std::optional<std::string> warning_if_open(const std::string& path) {
    struct stat info {};
    // Only regular files are checked, not e.g. pipes.
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 07) == 0) return std::nullopt;
    return "everybody may read or change " + path + "; chmod o-rwx it";
}

}  // namespace retrace::node
