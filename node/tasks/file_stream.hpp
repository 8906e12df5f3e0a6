// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "merkle/base/durable_file.hpp"

namespace retrace::node {

/// Writes a file piece by piece, for contents that are larger than memory. Like that of `write_durably` it is complete or
/// absent: it takes its place at `finish`, and without it nothing is left.
class FileStream {
public:
    static Result<FileStream> open(const std::filesystem::path& path, mode_t mode = 0644);
    FileStream(FileStream&&) noexcept = default;
    FileStream& operator=(FileStream&&) = delete;
    ~FileStream();

    Status<> append(View bytes);
    Status<> finish();

private:
    FileStream(FileDescriptor file, std::filesystem::path path) : file_(std::move(file)), path_(std::move(path)) {}

    FileDescriptor file_;
    std::filesystem::path path_;
};

}  // namespace retrace::node
