// SPDX-License-Identifier: MIT
#include "solver/checkpoints/file_batch.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace retrace::solver {

FileBatch::FileBatch(std::filesystem::path folder, std::size_t files)
    : folder_(std::move(folder)), together_(files > kSyncedAlone) {}

FileBatch::~FileBatch() {
    for (const std::filesystem::path& path : waiting_) (void)::unlink(unfinished_path(path).c_str());
}

Status<> FileBatch::sync(int fd, bool whole_file_system) {
    ++syncs_;
    if ((whole_file_system ? ::syncfs(fd) : ::fsync(fd)) != 0) return file_error(folder_, "cannot sync");
    return Unit{};
}

Status<> FileBatch::add(const std::string& name, std::initializer_list<View> parts) {
    const std::filesystem::path path = folder_ / name;
    RETRACE_TRY(file, create_file(unfinished_path(path), 0600));
    waiting_.push_back(path);
    for (const View part : parts)
        if (!write_all(file.get(), part)) return file_error(unfinished_path(path), "cannot write");
    if (!together_) RETRACE_CHECK(sync(file.get(), false));
    return Unit{};
}

Status<> FileBatch::finish() {
    if (waiting_.empty()) return Unit{};
    const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return file_error(folder_, "cannot open");
    if (together_) RETRACE_CHECK(sync(folder.get(), true));
    for (const std::filesystem::path& path : waiting_)
        if (::rename(unfinished_path(path).c_str(), path.c_str()) != 0)
            return file_error(path, "cannot rename into place");
    RETRACE_CHECK(sync(folder.get(), false));
    waiting_.clear();
    return Unit{};
}

}  // namespace retrace::solver
