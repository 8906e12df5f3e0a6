// SPDX-License-Identifier: MIT
#include "solver/checkpoints/partial_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace retrace::solver {
namespace {

/// Fills `out` from the file's offset `at`; an error also if the file ends before.
Status<> read_exactly(int file, const std::filesystem::path& path, std::uint64_t at, std::span<std::uint8_t> out) {
    while (!out.empty()) {
        const ssize_t got = ::pread(file, out.data(), out.size(), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(path, "cannot read");
        if (got == 0) return error(path.string() + ": became shorter while it was read");
        at += static_cast<std::uint64_t>(got);
        out = out.subspan(static_cast<std::size_t>(got));
    }
    return Unit{};
}

}  // namespace

Result<PartialFile, StoreProblem> PartialFile::open(const std::filesystem::path& path, const Seal* seal) {
    PartialFile out;
    out.path_ = path;
    out.seal_ = seal;
    out.file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!out.file_ && errno == ENOENT) return fault(path, StoreFault::missing, "this file is not here");
    struct stat info {};
    if (!out.file_ || ::fstat(out.file_.get(), &info) != 0) return Unexpected{file_error(path, "cannot open").error};
    out.stored_ = static_cast<std::uint64_t>(info.st_size);
    const auto size = seal == nullptr ? std::optional(out.stored_) : seal->plain_size(out.stored_);
    if (!size) return fault(path, StoreFault::damaged, "its length is that of no encrypted file");
    out.size_ = *size;
    return out;
}

Result<Bytes> PartialFile::read_stored(std::uint64_t at, std::uint64_t size) const {
    Bytes out(size);
    RETRACE_CHECK(read_exactly(file_.get(), path_, at, out));
    return out;
}

Status<StoreProblem> PartialFile::need_chunk(std::uint64_t index) {
    if (index == index_) return Unit{};
    std::optional<Error> unread;  // The system failed, which says nothing about the file.
    const ReadAt read = [&](std::uint64_t at, std::uint64_t size) {
        auto bytes = read_stored(at, size);
        if (!bytes) unread = bytes.error();
        return bytes;
    };
    auto opened = seal_->open_chunk(read, stored_, index, path_.filename().string());
    if (!opened && unread) return Unexpected{StoreProblem(*unread)};
    if (!opened) return fault(path_, StoreFault::damaged, opened.error().message);
    chunk_ = std::move(opened).value();
    index_ = index;
    return Unit{};
}

Status<StoreProblem> PartialFile::read(std::uint64_t at, std::span<std::uint8_t> out) {
    if (out.size() > size_ || at > size_ - out.size()) return fault(path_, StoreFault::damaged, "it is too short");
    if (seal_ == nullptr) {
        RETRACE_CHECK(read_exactly(file_.get(), path_, at, out));
        return Unit{};
    }
    while (!out.empty()) {
        RETRACE_CHECK(need_chunk(at / kSealChunk));
        const std::size_t begin = at % kSealChunk;
        ensure(begin < chunk_.size(), "a chunk as long as the file says");
        const std::size_t count = std::min(out.size(), chunk_.size() - begin);
        std::copy_n(chunk_.begin() + static_cast<std::ptrdiff_t>(begin), count, out.begin());
        at += count;
        out = out.subspan(count);
    }
    return Unit{};
}

}  // namespace retrace::solver
