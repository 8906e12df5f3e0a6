// SPDX-License-Identifier: MIT
#include "node/platform/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

/// Fails with errno as the reason.
Unexpected<Failure> system_failure(const fs::path& path, const char* what) {
    return {Failure(file_error(path, what).error)};
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

Mapping::~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_);
}

Result<Mapping, Failure> Mapping::open(const fs::path& path, bool writable) {
    const FileDescriptor file(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
    if (!file) return system_failure(path, "cannot open");
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return system_failure(path, "cannot ask for its size");
    if (!S_ISREG(info.st_mode)) return failure(Fault::corrupt, path.string() + ": not a regular file");
    Mapping out;
    if (info.st_size == 0) return out;
    void* const data = ::mmap(nullptr, static_cast<std::size_t>(info.st_size),
                              writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) return system_failure(path, "cannot map");
    out.data_ = static_cast<std::uint8_t*>(data);
    out.size_ = static_cast<std::size_t>(info.st_size);
    return out;
}

Status<Failure> Mapping::sync() {
    if (data_ != nullptr && ::msync(data_, size_, MS_SYNC) != 0) {
        return failure(Fault::io, "cannot sync a mapping: " + std::generic_category().message(errno));
    }
    return Unit{};
}

Status<Failure> create_sparse(const fs::path& path, View head, std::uint64_t size) {
    const fs::path beside = unfinished_path(path);
    RETRACE_TRY(file, create_file(beside, 0644));
    if (!write_all(file.get(), head)) return system_failure(beside, "cannot write");
    if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return system_failure(beside, "cannot extend");
    if (::rename(beside.c_str(), path.c_str()) != 0) return system_failure(path, "cannot rename");
    return Unit{};
}

Status<Failure> reserve(const fs::path& path, std::uint64_t offset, std::uint64_t size) {
    if (size == 0) return Unit{};
    const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return system_failure(path, "cannot open");
    errno = ::posix_fallocate(file.get(), static_cast<off_t>(offset), static_cast<off_t>(size));
    if (errno != 0) return system_failure(path, "cannot reserve space");
    return Unit{};
}

DiskSpace free_space(const struct statvfs& info) noexcept {
    return {static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize, info.f_files == 0 ? UINT64_MAX : info.f_favail};
}

DiskSpace free_space(const fs::path& path) noexcept {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) return {};
    return free_space(info);
}

Status<Failure> check_disk(const fs::path& path, const DiskSpace& rest, std::uint64_t bytes, const std::string& what) {
    const DiskSpace free = free_space(path);
    if (free.bytes >= rest.bytes && free.bytes - rest.bytes >= bytes && free.inodes >= rest.inodes) return Unit{};
    const auto text = [](const DiskSpace& space) {
        return std::to_string(space.bytes >> 20) + " MiB and " +
               (space.inodes == UINT64_MAX ? "any number of" : std::to_string(space.inodes)) + " inodes";
    };
    const std::string refused = bytes == 0 ? "there is no room on the disk for " + what
                                           : what + " of " + std::to_string(bytes) + " bytes does not fit on the disk";
    return failure(Fault::no_space, refused + ": " + text(free) + " are free, and " + text(rest) +
                                        " have to stay free; make room on the disk of " + path.string());
}

Status<Failure> make_directory(const fs::path& path) {
    std::error_code code;
    fs::create_directories(path, code);
    if (code) return failure(Fault::io, path.string() + ": cannot create the directory: " + code.message());
    return Unit{};
}

Result<FileDescriptor, Failure> lock_file(const fs::path& path) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) return system_failure(path, "cannot open");
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return failure(Fault::in_use, path.string() + ": in use by another process");
        return system_failure(path, "cannot lock");
    }
    return file;
}

}  // namespace retrace::node
