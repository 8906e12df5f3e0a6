// SPDX-License-Identifier: MIT
#include "kernels/offload/scratch_file.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

/// Four lanes of multiply and rotate, as in xxHash: finds errors, not attacks (nobody else can open the file).
std::uint64_t checksum(const std::uint8_t* data, std::uint64_t bytes) {
    constexpr std::uint64_t kFirst = 0x9E3779B185EBCA87, kSecond = 0xC2B2AE3D27D4EB4F;
    std::array<std::uint64_t, 4> lanes = {kFirst, kSecond, kFirst ^ kSecond, bytes};
    for (std::uint64_t at = 0; at + 32 <= bytes; at += 32) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            std::uint64_t word = 0;
            std::memcpy(&word, data + at + 8 * lane, 8);
            lanes[lane] = std::rotl(lanes[lane] + word * kSecond, 31) * kFirst;
        }
    }
    return lanes[0] ^ std::rotl(lanes[1], 7) ^ std::rotl(lanes[2], 12) ^ std::rotl(lanes[3], 18);
}

std::string reason(int number) { return std::strerror(number); }

Unexpected<Error> failed(const std::string& what, int number) {
    if (number == ENOSPC || number == EDQUOT) return error(what + ": " + reason(number) + " (disk_full)");
    return error(what + ": " + reason(number) + " (disk_failed)");
}

/// A file without a name; where the file system has none, one whose name is removed at once.
int open_unnamed(const std::filesystem::path& folder, int flags) {
    const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
    std::string name = folder / "offload-XXXXXX";
    // A file system may refuse the flags after it has made the name.
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named < 0) return named;
    ::unlink(name.c_str());
    if (flags == 0 || ::fcntl(named, F_SETFL, flags) == 0) return named;
    const int number = errno;
    ::close(named);
    errno = number;
    return -1;
}

/// Files that copy what is overwritten (btrfs) would need more than was allocated. Other file systems refuse the flag.
void overwrite_in_place(int file) {
    int flags = 0;
    if (::ioctl(file, FS_IOC_GETFLAGS, &flags) != 0) return;
    flags |= FS_NOCOW_FL;
    (void)::ioctl(file, FS_IOC_SETFLAGS, &flags);
}

/// Allocates all of a file; returns an errno or 0. Where the file system cannot, the file has its size and nothing is
/// allocated: libc would write to every block instead, and not past the page cache.
int reserve(int file, off_t bytes) {
    while (::fallocate(file, 0, 0, bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS) return ::ftruncate(file, bytes) == 0 ? 0 : errno;
        if (errno != EINTR) return errno;
    }
    return 0;
}

/// Whether a block is written and read past the page cache: some file systems open such files and refuse transfers,
/// or want another alignment.
bool transfers_directly(int file) {
    alignas(kDiskBlock) std::array<std::uint8_t, kDiskBlock> block{};
    constexpr auto kWhole = static_cast<ssize_t>(kDiskBlock);
    return ::pwrite(file, block.data(), kDiskBlock, 0) == kWhole &&
           ::pread(file, block.data(), kDiskBlock, 0) == kWhole;
}

/// Bytes that anybody may still write to the file's disk; what cannot be found out is no bound.
std::uint64_t free_bytes(int file) {
    struct statvfs info {};
    return ::fstatvfs(file, &info) == 0 ? std::uint64_t{info.f_bavail} * info.f_frsize : UINT64_MAX;
}

/// A process that exceeds its limit for files is ended by a signal.
std::uint64_t file_limit() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

bool is_in_memory(const std::filesystem::path& folder) {
    struct statfs info {};
    return ::statfs(folder.c_str(), &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

Result<ScratchFile> ScratchFile::open(const std::filesystem::path& folder) {
    std::error_code made;
    std::filesystem::create_directories(folder, made);
    int descriptor = open_unnamed(folder, O_DIRECT);
    const bool direct = descriptor >= 0;
    if (!direct && errno == EINVAL) descriptor = open_unnamed(folder, 0);
    if (descriptor < 0) return failed("no file for offloading in " + folder.string(), errno);
    overwrite_in_place(descriptor);
    ScratchFile file(descriptor);
    file.direct_ = direct;
    return file;
}

Status<> ScratchFile::allocate(std::uint64_t bytes) {
    const std::string needs = "offloading needs a file of " + std::to_string(bytes) + " bytes; ";
    if (bytes > file_limit())
        return error(needs + "this process may write " + std::to_string(file_limit()) + " (ulimit -f, disk_failed)");
    // Filling the disk first would harm everybody else on it.
    if (const std::uint64_t free = free_bytes(file_); bytes > free)
        return error(needs + std::to_string(free) + " are free there (disk_full)");
    if (bytes == 0) return Unit{};
    if (const int number = reserve(file_, static_cast<off_t>(bytes)); number != 0)
        return failed(needs + "there is no room for it", number);
    if (!direct_ || (bytes >= kDiskBlock && transfers_directly(file_))) return Unit{};
    direct_ = false;
    if (::fcntl(file_, F_SETFL, 0) != 0) return failed("the file of offloading", errno);
    return Unit{};
}

Result<ScratchFile> ScratchFile::open(const std::filesystem::path& folder, std::uint64_t bytes) {
    RETRACE_TRY(file, open(folder));
    if (const auto allocated = file.allocate(bytes); !allocated)
        return error(folder.string() + ": " + allocated.error().message);
    return file;
}

Result<ScratchFolder> ScratchFolder::opened(const std::filesystem::path& folder, std::size_t count) {
    ScratchFolder out(folder);
    out.opened_ = std::make_shared<std::vector<ScratchFile>>();
    while (out.opened_->size() < count) {
        RETRACE_TRY(file, ScratchFile::open(folder));
        out.opened_->push_back(std::move(file));
    }
    return out;
}

Result<ScratchFile> ScratchFolder::make(std::uint64_t bytes) {
    if (opened_ == nullptr) return ScratchFile::open(folder_, bytes);
    if (opened_->empty()) return error("no file of offloading is left (disk_failed)");
    ScratchFile file = std::move(opened_->back());
    opened_->pop_back();
    RETRACE_CHECK(file.allocate(bytes));
    return file;
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)), direct_(other.direct_), sums_(std::move(other.sums_)) {}

ScratchFile& ScratchFile::operator=(ScratchFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(direct_, other.direct_);
    std::swap(sums_, other.sums_);
    return *this;
}

ScratchFile::~ScratchFile() {
    if (file_ >= 0) ::close(file_);
}

Status<> ScratchFile::write(std::uint64_t at, const std::uint8_t* from, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t piece = std::min(kPiece, bytes - done);
        sums_[at + done] = checksum(from + done, piece);
        for (std::uint64_t part = 0; part < piece;) {
            const ssize_t count =
                ::pwrite(file_, from + done + part, piece - part, static_cast<off_t>(at + done + part));
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return failed("writing the file of offloading", count < 0 ? errno : ENOSPC);
            part += static_cast<std::uint64_t>(count);
        }
        done += piece;
    }
    return Unit{};
}

Status<> ScratchFile::read(std::uint64_t at, std::uint8_t* to, std::uint64_t bytes) const {
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t piece = std::min(kPiece, bytes - done);
        for (std::uint64_t part = 0; part < piece;) {
            const ssize_t count = ::pread(file_, to + done + part, piece - part, static_cast<off_t>(at + done + part));
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return failed("reading the file of offloading", count < 0 ? errno : EIO);
            part += static_cast<std::uint64_t>(count);
        }
        const auto sum = sums_.find(at + done);
        if (sum == sums_.end() || sum->second != checksum(to + done, piece))
            return error("the file of offloading does not have what was written at " + std::to_string(at + done) +
                         " (damaged)");
        done += piece;
    }
    return Unit{};
}

}  // namespace retrace::kernels
