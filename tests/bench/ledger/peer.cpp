// SPDX-License-Identifier: MIT
// Compares our node with anvil, a reference node of the Foundry project: the same signed transfers are sent to both in
// turn, one share at a time. anvil keeps its chain in memory; ours is on disk and synced twice per block.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/ledger/measurements.hpp"
#include "tests/bench/ledger/transfer_load.hpp"

namespace retrace::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRounds = 3;
constexpr std::size_t kShare = 320;  // requests per round
constexpr const char* kMissing = "anvil is skipped: not in ANVIL, PATH or build/peers (see ledger/BENCHMARKS.md)";

/// Returns $ANVIL, or `anvil` on the PATH, or the one that npm installed in build/peers; empty if there is none.
fs::path find_anvil() {
    std::error_code ignored;
    if (const char* named = std::getenv("ANVIL"); named != nullptr && fs::is_regular_file(named, ignored)) return named;
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (fs::is_regular_file(fs::path(folder) / "anvil", ignored)) return fs::path(folder) / "anvil";
    }
    // The platform's package holds the program itself; the command next to it is a wrapper script.
    for (const auto& entry :
         fs::directory_iterator(fs::path(RETRACE_PEERS) / "node_modules" / "@foundry-rs", ignored)) {
        const fs::path program = entry.path() / "bin" / "anvil";
        if (fs::is_regular_file(program, ignored)) return program;
    }
    return {};
}

/// Genesis in geth's format, with the same accounts as ours.
fs::path write_peer_genesis(const fs::path& folder, const std::vector<ledger::Address>& accounts) {
    const fs::path path = folder / "peer-genesis.json";
    std::ofstream out(path);
    out << R"({"config":{"chainId":)" << kChainId
        << R"(},"difficulty":"0x0","gasLimit":"0x1fffffffffffff","timestamp":"0x6955b900","alloc":{)";
    const char* separator = "";
    for (const ledger::Address& account : accounts) {
        out << separator << '"' << ledger::to_0x(account) << R"(":{"balance":"0xd3c21bcecceda1000000"})";
        separator = ",";
    }
    out << "}}";
    return path;
}

NodeProgram anvil(const fs::path& program, const fs::path& genesis) {
    NodeProgram out{program, {}, free_port()};
    out.arguments = {"--port",      std::to_string(out.port), "--chain-id", std::to_string(kChainId),
                     "--init",      genesis.string(),         "--accounts", "0",
                     "--gas-limit", "9007199254740991",       "--quiet",    "--block-base-fee-per-gas",
                     "1",           "--block-time",           "1"};
    return out;
}

/// One of the two nodes, and the results of each round.
struct Side {
    const char* name;
    const BenchNode& node;
    std::vector<double> rates, cpu_us;

    void run(const Prepared& prepared, std::size_t round) {
        const double before = node.cpu_seconds();
        const Outcome outcome = offer({{node.port()}}, prepared, {round * kShare, (round + 1) * kShare});
        if (outcome.inclusions.size() != outcome.sent) {
            throw std::runtime_error(std::string(name) + " refused or lost transfers");
        }
        const auto count = static_cast<double>(outcome.sent);
        rates.push_back(count / outcome.seconds);
        cpu_us.push_back(1e6 * (node.cpu_seconds() - before) / count);
        std::fprintf(stderr, "peer: %s took %.0f transfers in %.2f s, %.1f us of processor time each\n", name, count,
                     outcome.seconds, cpu_us.back());
    }
};

}  // namespace

std::vector<Row> measure_peer(const Options&) {
    const fs::path program = find_anvil();
    if (program.empty()) {
        std::fprintf(stderr, "peer: %s\n", kMissing);
        return {{"transfers_taken", "1/s", kMissing, 0, 0}};
    }
    std::fprintf(stderr, "peer: signing %zu transfers for %s\n", kRounds * kShare * kBatch, program.c_str());
    const auto keys = make_keys(kSenders);
    const Prepared prepared = prepare(keys, kRounds * kShare);
    std::vector<ledger::Address> rich;
    for (const auto& key : keys) rich.push_back(key.address());
    const Folder ours_folder, peer_folder;
    const fs::path genesis = write_genesis(ours_folder.path(), rich);
    const BenchNode our_node(ours_folder.path(), {"--genesis", genesis.string()});
    const BenchNode peer_node(anvil(program, write_peer_genesis(peer_folder.path(), rich)), peer_folder.path());
    Side ours{"retrace", our_node, {}, {}}, peer{"anvil", peer_node, {}, {}};
    for (std::size_t round = 0; round < kRounds; ++round) {
        ours.run(prepared, round);
        peer.run(prepared, round);
    }
    return {{"transfers_taken", "1/s", "anvil, in memory", median(ours.rates), median(peer.rates)},
            {"transfer_cpu_taken", "us", "anvil, in memory", median(ours.cpu_us), median(peer.cpu_us)}};
}

}  // namespace retrace::bench
