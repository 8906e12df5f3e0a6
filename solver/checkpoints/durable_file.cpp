// SPDX-License-Identifier: MIT
#include "solver/checkpoints/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace retrace::solver {
namespace {

/// Closes on the way out.
struct File {
    int fd = -1;
    explicit File(int descriptor) noexcept : fd(descriptor) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (fd >= 0) ::close(fd);
    }
};

Unexpected<Error> failed(const std::filesystem::path& path, const char* what) {
    return error(path.string() + ": cannot " + what + ": " + std::strerror(errno));
}

Status<> write_all(int fd, View bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return failed(path, "write");
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return Unit{};
}

}  // namespace

Status<> write_durably(const std::filesystem::path& path, std::initializer_list<View> parts) {
    std::filesystem::path aside = path;
    aside += kUnfinished;
    {
        const File file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (file.fd < 0) return failed(aside, "create");
        for (const View part : parts) RETRACE_CHECK(write_all(file.fd, part, aside));
        if (::fsync(file.fd) != 0) return failed(aside, "sync");
    }
    if (::rename(aside.c_str(), path.c_str()) != 0) return failed(path, "rename into place");
    const File directory(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.fd < 0 || ::fsync(directory.fd) != 0)
        return failed(path.parent_path(), "sync the directory");
    return Unit{};
}

Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t limit) {
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0) return failed(path, "open");
    struct stat info {};
    if (::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode))
        return error(path.string() + ": no regular file");
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size > limit) return error(path.string() + ": longer than " + std::to_string(limit) + " bytes");
    Bytes bytes(size);
    std::size_t at = 0;
    while (at < size) {
        const ssize_t got = ::read(file.fd, bytes.data() + at, size - at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return failed(path, "read");
        at += static_cast<std::size_t>(got);
    }
    return bytes;
}

}  // namespace retrace::solver
