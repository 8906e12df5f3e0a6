// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger::test {

/// A fresh directory that is removed on destruction.
class TempDir {
public:
    TempDir() : path_((std::filesystem::temp_directory_path() / "retrace-XXXXXX").string()) {
        ensure(mkdtemp(path_.data()) != nullptr, "no temporary directory");
    }
    ~TempDir() { std::filesystem::remove_all(path_); }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

}  // namespace retrace::ledger::test
