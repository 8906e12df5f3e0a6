// SPDX-License-Identifier: MIT
#include "solver/checkpoints/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace retrace::solver {
namespace {

/// Owns a file descriptor; closes it on destruction.
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

std::filesystem::path aside(std::filesystem::path path) { return path += kUnfinished; }

}  // namespace

FileBatch::FileBatch(std::filesystem::path folder, std::size_t files)
    : folder_(std::move(folder)), together_(files > kSyncedAlone) {}

FileBatch::~FileBatch() {
    for (const std::filesystem::path& path : waiting_) (void)::unlink(aside(path).c_str());
}

Status<> FileBatch::sync(int fd, bool whole_file_system) {
    ++syncs_;
    if ((whole_file_system ? ::syncfs(fd) : ::fsync(fd)) != 0) return failed(folder_, "sync");
    return Unit{};
}

Status<> FileBatch::add(const std::string& name, std::initializer_list<View> parts) {
    const std::filesystem::path path = folder_ / name;
    const File file(::open(aside(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.fd < 0) return failed(aside(path), "create");
    waiting_.push_back(path);
    for (const View part : parts) RETRACE_CHECK(write_all(file.fd, part, aside(path)));
    if (!together_) RETRACE_CHECK(sync(file.fd, false));
    return Unit{};
}

Status<> FileBatch::finish() {
    if (waiting_.empty()) return Unit{};
    const File folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.fd < 0) return failed(folder_, "open");
    if (together_) RETRACE_CHECK(sync(folder.fd, true));
    for (const std::filesystem::path& path : waiting_)
        if (::rename(aside(path).c_str(), path.c_str()) != 0) return failed(path, "rename into place");
    RETRACE_CHECK(sync(folder.fd, false));
    waiting_.clear();
    return Unit{};
}

Status<> write_durably(const std::filesystem::path& path, std::initializer_list<View> parts) {
    FileBatch batch(path.parent_path(), 1);
    RETRACE_CHECK(batch.add(path.filename().string(), parts));
    return batch.finish();
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
