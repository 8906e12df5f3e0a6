// SPDX-License-Identifier: MIT
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "node/light/light_client.hpp"
#include "node/platform/process.hpp"
#include "node/server/comet/home.hpp"
#include "tests/bench/cluster/measurements.hpp"
#include "tests/bench/cluster/network.hpp"

namespace retrace::bench {
namespace {

using namespace std::chrono_literals;
constexpr double kSyncTimeout = 600;  // seconds for each part

/// A node without a validator's key in the genesis, on 127.0.0.N.
class Follower {
public:
    Follower(const Network& network, int n, const std::string& more)
        : host_("127.0.0." + std::to_string(n)), url_("http://" + host_ + ":" + std::to_string(network.rpc_port())) {
        const auto keys = node::engine::make_keys(network.folder_of(0) / "data" / "comet");
        if (!keys) throw std::runtime_error(keys.error().message);
        const std::filesystem::path config = folder_.path() / "retrace.toml";
        std::ofstream(config) << "[node]\ndata_dir = \"" << (folder_.path() / "data").string() << "\"\ngenesis = \""
                              << (network.folder_of(0) / "genesis.json").string() << "\"\n[rpc]\nhost = \"" << host_
                              << "\"\nport = " << network.rpc_port() << "\n[engine]\nkind = \"comet\"\np2p_host = \""
                              << host_ << "\"\np2p_port = " << network.p2p_port() << "\npeers = [\"" << keys->node_id
                              << "@127.0.0.1:" << network.p2p_port() << "\"]\nprivate_network = true\n"
                              << more;
        start_ = Clock::now();
        auto process =
            node::Process::start(RETRACE_PROGRAM, {"node", "--config", config.string()}, folder_.path() / "node.log");
        if (!process) throw std::runtime_error(process.error().message);
        process_.emplace(std::move(*process));
    }
    const std::string& url() const noexcept { return url_; }
    /// Seconds from the start of its process until it has the block.
    double seconds_to(std::uint64_t height) {
        while (height_at(url_) < height) {
            if (!process_->running() || seconds_since(start_) > kSyncTimeout)
                throw std::runtime_error("a new node does not catch up");
            std::this_thread::sleep_for(20ms);
        }
        return seconds_since(start_);
    }

private:
    Folder folder_;
    std::string host_, url_;
    Clock::time_point start_;
    std::optional<node::Process> process_;
};

void make_blocks(Network& network, std::uint64_t blocks) {
    const Clock::time_point start = Clock::now();
    for (std::uint64_t last = 0; last < blocks;) {
        std::this_thread::sleep_for(1s);
        const std::uint64_t height = network.height(0);
        if (height / 1000 != last / 1000)
            std::fprintf(stderr, "sync: %llu blocks made\n", static_cast<unsigned long long>(height));
        last = height;
        if (seconds_since(start) > kSyncTimeout) throw std::runtime_error("the blocks take too long to make");
    }
    // It serves blocks now, and makes none that a new node would have to fetch too.
    network.set_interval(0, 1h);
}

}  // namespace

std::vector<Row> measure_sync(const ClusterOptions& options) {
    if (options.comet.empty())
        return {{"sync_blocks", "s", "skipped: no cometbft"}, {"sync_snapshot", "s", "skipped: no cometbft"}};
    Network network(1, 1ms, make_keys(1));
    make_blocks(network, options.blocks);
    const std::uint64_t tip = network.height(0);
    const std::string of = std::to_string(tip) + " blocks";

    // A block is verified with the votes in the one after it.
    Follower by_blocks(network, 2, "");
    const double blocks = by_blocks.seconds_to(tip - 1);
    std::fprintf(stderr, "sync: by blocks in %.1f s\n", blocks);

    const auto trusted = node::light::node_source(node::parse_url(network.urls()[0]).value())(5);
    if (!trusted) throw std::runtime_error(trusted.error().message);
    Follower by_snapshot(network, 3,
                         "sync_from = [\"" + network.urls()[0] + "\", \"" + by_blocks.url() +
                             "\"]\ntrust_height = 5\ntrust_hash = \"" + to_hex(view(hash_of(trusted->header))) +
                             "\"\n");
    const double snapshot = by_snapshot.seconds_to(tip - 1);
    return {{"sync_blocks", "s", "none, " + of, blocks, 0},
            {"sync_snapshot", "s", "none, of a chain of " + of + ", 5 s to discover it", snapshot, 0}};
}

}  // namespace retrace::bench
