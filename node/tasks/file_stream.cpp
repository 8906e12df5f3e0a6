// SPDX-License-Identifier: MIT
#include "node/tasks/file_stream.hpp"

#include <unistd.h>

namespace retrace::node {
namespace {

Unexpected<Error> failed(const std::filesystem::path& path, const char* what) {
    return error(file_error(path, what).error.message);
}

}  // namespace

Result<FileStream> FileStream::open(const std::filesystem::path& path, mode_t mode) {
    auto file = create_file(unfinished_path(path), mode);
    if (!file) return error(file.error().message);
    return FileStream(std::move(*file), path);
}

FileStream::~FileStream() {
    if (file_) ::unlink(unfinished_path(path_).c_str());  // It may be filling the disk.
}

Status<> FileStream::append(View bytes) {
    if (!write_all(file_.get(), bytes)) return failed(path_, "cannot write");
    return Unit{};
}

Status<> FileStream::finish() {
    if (::fsync(file_.get()) != 0) return failed(path_, "cannot sync");
    if (::rename(unfinished_path(path_).c_str(), path_.c_str()) != 0) return failed(path_, "cannot rename into place");
    file_ = FileDescriptor();
    if (const auto synced = sync_folder(path_.parent_path()); !synced) return error(synced.error().message);
    return Unit{};
}

}  // namespace retrace::node
