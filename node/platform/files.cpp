// SPDX-License-Identifier: MIT
#include "node/platform/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

Unexpected<Failure> system_failure(const fs::path& path, const char* what, int code = errno) {
    const Fault fault = code == ENOSPC || code == EDQUOT ? Fault::no_space
                        : code == ENOENT                 ? Fault::not_found
                                                         : Fault::io;
    return failure(fault, path.string() + ": " + what + ": " + std::generic_category().message(code));
}

/// Creates a new file. Anything at `path`, also a planted link, is removed instead of being written through.
File create_new(const fs::path& path) {
    ::unlink(path.c_str());
    return File(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

Status<Failure> write_all(const File& file, View bytes, const fs::path& path) {
    while (!bytes.empty()) {
        const ssize_t done = ::write(file.get(), bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return system_failure(path, "cannot write");
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return Unit{};
}

}  // namespace

File& File::operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

File::~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

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
    const File file(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
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

Status<Failure> write_atomically(const fs::path& path, std::initializer_list<View> parts) {
    const fs::path beside = path.string() + ".tmp";
    const File file = create_new(beside);
    if (!file) return system_failure(beside, "cannot create");
    for (const View part : parts) {
        if (auto done = write_all(file, part, beside); !done) {
            ::unlink(beside.c_str());
            return done;
        }
    }
    if (::fsync(file.get()) != 0) return system_failure(beside, "cannot sync");
    if (::rename(beside.c_str(), path.c_str()) != 0) return system_failure(path, "cannot rename");
    return sync_directory(path.parent_path());
}

Status<Failure> sync_directory(const fs::path& directory) {
    const File file(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!file) return system_failure(directory, "cannot open");
    if (::fsync(file.get()) != 0) return system_failure(directory, "cannot sync");
    return Unit{};
}

Result<Bytes, Failure> read_file(const fs::path& path, std::size_t limit) {
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return system_failure(path, "cannot open");
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return system_failure(path, "cannot ask for its size");
    if (!S_ISREG(info.st_mode)) return failure(Fault::malformed, path.string() + ": not a regular file");
    if (static_cast<std::uint64_t>(info.st_size) > limit) {
        return failure(Fault::too_large, path.string() + ": longer than " + std::to_string(limit) + " bytes");
    }
    Bytes out(static_cast<std::size_t>(info.st_size));
    std::size_t at = 0;
    while (at < out.size()) {
        const ssize_t done = ::read(file.get(), out.data() + at, out.size() - at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return system_failure(path, "cannot read");
        if (done == 0) break;
        at += static_cast<std::size_t>(done);
    }
    out.resize(at);
    return out;
}

Status<Failure> create_sparse(const fs::path& path, View head, std::uint64_t size) {
    const fs::path beside = path.string() + ".tmp";
    const File file = create_new(beside);
    if (!file) return system_failure(beside, "cannot create");
    RETRACE_CHECK(write_all(file, head, beside));
    if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0)
        return system_failure(beside, "cannot extend");
    if (::rename(beside.c_str(), path.c_str()) != 0) return system_failure(path, "cannot rename");
    return Unit{};
}

Status<Failure> reserve(const fs::path& path, std::uint64_t offset, std::uint64_t size) {
    if (size == 0) return Unit{};
    const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return system_failure(path, "cannot open");
    const int code = ::posix_fallocate(file.get(), static_cast<off_t>(offset), static_cast<off_t>(size));
    if (code != 0) return system_failure(path, "cannot reserve space", code);
    return Unit{};
}

std::uint64_t free_bytes(const fs::path& path) noexcept {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) return 0;
    return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

Status<Failure> make_directory(const fs::path& path) {
    std::error_code code;
    fs::create_directories(path, code);
    if (code) return failure(Fault::io, path.string() + ": cannot create the directory: " + code.message());
    return Unit{};
}

Result<File, Failure> lock_file(const fs::path& path) {
    File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) return system_failure(path, "cannot open");
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return failure(Fault::in_use, path.string() + ": in use by another process");
        return system_failure(path, "cannot lock");
    }
    return file;
}

}  // namespace retrace::node
