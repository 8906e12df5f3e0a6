// SPDX-License-Identifier: MIT
#include "kernels/offload/scratch_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
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

}  // namespace

bool is_in_memory(const std::filesystem::path& folder) {
    struct statfs info {};
    return ::statfs(folder.c_str(), &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

Result<ScratchFile> ScratchFile::open(const std::filesystem::path& folder, std::uint64_t bytes) {
    std::error_code made;
    std::filesystem::create_directories(folder, made);
    int descriptor = open_unnamed(folder, O_DIRECT);
    const bool direct = descriptor >= 0;
    if (!direct && errno == EINVAL) descriptor = open_unnamed(folder, 0);
    if (descriptor < 0) return failed("no file for offloading in " + folder.string(), errno);
    ScratchFile file(descriptor);
    file.direct_ = direct;
    std::error_code unknown;
    // Filling the disk first would harm everybody else on it.
    if (const std::uint64_t free = std::filesystem::space(folder, unknown).available; !unknown && bytes > free)
        return error("offloading needs " + std::to_string(bytes) + " bytes in " + folder.string() + ", where " +
                     std::to_string(free) + " are free (disk_full)");
    if (const int number = bytes == 0 ? 0 : ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)); number != 0)
        return failed(folder.string() + " has no room for the " + std::to_string(bytes) + " bytes of offloading",
                      number);
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
