// SPDX-License-Identifier: MIT
#include "merkle/base/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace retrace {
namespace {

namespace fs = std::filesystem;

Unexpected<FileError> not_expected(const fs::path& path, const std::string& what, bool too_long) {
    FileError out;
    out.message = path.string() + ": " + what;
    out.too_long = too_long;
    return {out};
}

/// Advances past `done` written bytes. False: the write failed and is not to be repeated.
bool advance(View& bytes, ssize_t done) noexcept {
    if (done < 0) return errno == EINTR;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    return true;
}

Status<FileError> write_and_rename(const FileDescriptor& file, const fs::path& beside, const fs::path& path,
                                   std::initializer_list<View> parts) {
    for (const View part : parts)
        if (!write_all(file.get(), part)) return file_error(beside, "cannot write");
    if (::fsync(file.get()) != 0) return file_error(beside, "cannot sync");
    if (::rename(beside.c_str(), path.c_str()) != 0) return file_error(path, "cannot rename into place");
    return Unit{};
}

}  // namespace

Unexpected<FileError> file_error(const fs::path& path, std::string_view what) {
    FileError out;
    out.code = errno;
    out.message = path.string() + ": " + std::string(what) + ": " + std::strerror(out.code);
    return {out};
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

FileDescriptor::~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

fs::path unfinished_path(const fs::path& path) {
    return path.string() + "." + std::to_string(::getpid()) + std::string(kUnfinished);
}

Result<FileDescriptor, FileError> create_file(const fs::path& path, mode_t mode) {
    ::unlink(path.c_str());
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file) return file_error(path, "cannot create");
    if (::fchmod(file.get(), mode) != 0) return file_error(path, "cannot set its permissions");
    return file;
}

bool write_all(int descriptor, View bytes) noexcept {
    while (!bytes.empty())
        if (!advance(bytes, ::write(descriptor, bytes.data(), bytes.size()))) return false;
    return true;
}

bool write_all_at(int descriptor, View bytes, std::uint64_t offset) noexcept {
    const std::uint64_t end = offset + bytes.size();
    while (!bytes.empty()) {
        const auto at = static_cast<off_t>(end - bytes.size());
        if (!advance(bytes, ::pwrite(descriptor, bytes.data(), bytes.size(), at))) return false;
    }
    return true;
}

Status<FileError> sync_folder(const fs::path& folder) {
    const FileDescriptor file(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!file) return file_error(folder, "cannot open the folder");
    if (::fsync(file.get()) != 0) return file_error(folder, "cannot sync the folder");
    return Unit{};
}

Status<FileError> write_durably(const fs::path& path, std::initializer_list<View> parts, mode_t mode) {
    const fs::path beside = unfinished_path(path);
    RETRACE_TRY(file, create_file(beside, mode));
    if (auto written = write_and_rename(file, beside, path, parts); !written) {
        ::unlink(beside.c_str());  // It may be filling the disk.
        return written;
    }
    return sync_folder(path.parent_path());
}

Result<Bytes, FileError> read_file(const fs::path& path, std::uint64_t limit) {
    // A pipe without a writer would be waited for.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file) return file_error(path, "cannot open");
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return file_error(path, "cannot ask for its size");
    if (!S_ISREG(info.st_mode)) return not_expected(path, "not a regular file", false);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size > limit) return not_expected(path, "longer than " + std::to_string(limit) + " bytes", true);
    Bytes bytes(size);
    std::size_t at = 0;
    while (at < bytes.size()) {
        const ssize_t got = ::read(file.get(), bytes.data() + at, bytes.size() - at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(path, "cannot read");
        if (got == 0) return not_expected(path, "became shorter while it was read", false);
        at += static_cast<std::size_t>(got);
    }
    return bytes;
}

}  // namespace retrace
