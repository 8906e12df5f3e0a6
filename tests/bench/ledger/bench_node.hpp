// SPDX-License-Identifier: MIT
// A node as its users run it: a separate process, on loopback, with a fresh data directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ledger/crypto/secp256k1.hpp"
#include "ledger/types/address.hpp"
#include "node/platform/process.hpp"

namespace retrace::bench {

inline constexpr std::uint64_t kChainId = 7299;

/// A temporary folder, removed on destruction.
class Folder {
public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// A program that serves JSON-RPC on a port of loopback.
struct NodeProgram {
    std::filesystem::path program;
    std::vector<std::string> arguments;
    std::uint16_t port = 0;
};

class BenchNode {
public:
    /// Starts `retrace node` and waits until it answers. Throws std::runtime_error if it does not.
    BenchNode(const std::filesystem::path& folder, const std::vector<std::string>& arguments);
    /// The same with any program; its log goes to `folder`.
    BenchNode(const NodeProgram& program, const std::filesystem::path& folder);

    std::uint16_t port() const noexcept { return port_; }
    double seconds_to_answer() const noexcept { return seconds_to_answer_; }
    double resident_mib() const;  ///< Current resident memory.
    double cpu_seconds() const;   ///< Processor time of all its threads so far.

private:
    std::filesystem::path folder_;
    std::optional<node::Process> process_;
    std::uint16_t port_ = 0;
    double seconds_to_answer_ = 0;
};

/// Secret keys 1, 2, 3, …, so that every run has the same accounts.
std::vector<ledger::SecretKey> make_keys(std::size_t count);
/// Accounts without keys, spread over the whole address space.
ledger::Address plain_account(std::uint64_t number);
/// Returns a port that was free just now. Throws std::runtime_error if there is none.
std::uint16_t free_port();
/// Writes a genesis that gives each of the accounts a million coins, and returns its path.
std::filesystem::path write_genesis(const std::filesystem::path& folder, const std::vector<ledger::Address>& accounts);

}  // namespace retrace::bench
