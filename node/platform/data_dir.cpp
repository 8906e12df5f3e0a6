// SPDX-License-Identifier: MIT
#include "node/platform/data_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "merkle/base/durable_file.hpp"
#include "node/platform/permissions.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kGenesisMax = std::size_t{128} << 20;

Unexpected<Error> io_error(const std::string& path, const char* what) {
    return error(path + ": " + what + ": " + std::strerror(errno));
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

}  // namespace retrace::node
