// SPDX-License-Identifier: MIT
#include "node/platform/data_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "merkle/base/durable_file.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kGenesisMax = std::size_t{128} << 20;

Unexpected<Error> io_error(const std::string& path, const char* what) {
    return error(path + ": " + what + ": " + std::strerror(errno));
}

/// A new folder gets mode 0700; the mode of an existing one is left as its owner set it.
Status<> make_folder(const std::string& path) {
    std::error_code failed;
    const bool is_new = std::filesystem::create_directories(path, failed);
    if (failed) return error(path + ": cannot make the data directory: " + failed.message());
    if (is_new && ::chmod(path.c_str(), 0700) != 0) return io_error(path, "cannot close it to others");
    return Unit{};
}

}  // namespace

Result<std::unique_ptr<DataDir>> DataDir::open(const std::string& path) {
    RETRACE_CHECK(make_folder(path));
    const std::string name = path + "/LOCK";
    const int lock = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) return io_error(name, "cannot open the lock");
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
        ::close(lock);
        return error(path + ": the data directory is in use by another process; stop it or choose another --data-dir");
    }
    return std::unique_ptr<DataDir>(new DataDir(path, lock));
}

DataDir::~DataDir() { ::close(lock_); }

Result<std::optional<ledger::Genesis>> DataDir::genesis() const {
    if (!std::filesystem::exists(file("genesis"))) return std::optional<ledger::Genesis>();
    RETRACE_TRY(bytes, read_file(file("genesis"), kGenesisMax));
    auto genesis = ledger::decode_genesis(bytes);
    if (!genesis) return error(file("genesis") + ": " + genesis.error().message);
    return std::optional<ledger::Genesis>(std::move(genesis).value());
}

Status<> DataDir::keep_genesis(const ledger::Genesis& genesis) const {
    RETRACE_CHECK(write_durably(file("genesis"), {ledger::encode(genesis)}, 0600));
    return Unit{};
}

Status<> make_private_folder(const std::string& path) {
    RETRACE_CHECK(make_folder(path));
    return close_to_others(path);
}

std::optional<std::string> warning_if_open(const std::string& path) {
    struct stat info {};
    // Only regular files are checked, not e.g. pipes.
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 07) == 0) return std::nullopt;
    return "everybody may read or change " + path + "; chmod o-rwx it";
}

Status<> close_to_others(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return io_error(path, "cannot be looked at");
    if ((info.st_mode & 077) == 0) return Unit{};
    if (::chmod(path.c_str(), info.st_mode & 0700) != 0)
        return io_error(path, "others may read it, and it cannot be closed to them");
    return Unit{};
}

}  // namespace retrace::node
