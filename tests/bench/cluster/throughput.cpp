// SPDX-License-Identifier: MIT
// Ours and CometBFT's own kvstore with the same configuration of CometBFT: over its socket, transactions of equal size,
// 100 in a request, at most 15,000 of them waiting. Ours are signed and executed; the kvstore stores a key.
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "node/platform/base64.hpp"
#include "node/platform/process.hpp"
#include "tests/bench/cluster/measurements.hpp"
#include "tests/bench/cluster/network.hpp"
#include "tests/bench/ledger/transfer_load.hpp"

namespace retrace::bench {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLoadInterval{500};
constexpr std::uint32_t kPeers = 4;
constexpr std::size_t kWaiting = 15'000;
constexpr std::size_t kRounds = 3;  // of each, in turn

std::string read_text(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The configuration with the value of a key of a section replaced.
std::string with(const std::string& text, const std::string& section, const std::string& key,
                 const std::string& value) {
    std::string out, line, in;
    for (std::size_t at = 0; at < text.size(); at += line.size() + 1) {
        line = text.substr(at, text.find('\n', at) - at);
        if (line.starts_with("[")) in = line;
        out += (in == section && line.starts_with(key + " = ") ? key + " = \"" + value + "\"" : line) + "\n";
    }
    return out;
}

/// Four nodes of CometBFT with a kvstore each.
class KvNetwork {
public:
    KvNetwork(const ClusterOptions& options, const fs::path& ours) : p2p_(free_port()), rpc_(free_port()) {
        const fs::path all = folder_.path() / "kv";
        run(options.comet, {"testnet", "--v", std::to_string(kPeers), "--o", all.string()});
        std::string peers;
        for (std::uint32_t i = 0; i < kPeers; ++i) {
            run(options.comet, {"show-node-id", "--home", home(i).string()});
            std::string id = read_text(folder_.path() / "run.log");
            id = id.substr(0, id.find('\n'));
            peers += (i == 0 ? "" : ",") + id + "@" + host(i) + ":" + std::to_string(p2p_);
        }
        const std::string config = read_text(ours / "config" / "config.toml");
        json::value genesis = json::parse(read_text(home(0) / "config" / "genesis.json"));
        const json::value our_genesis = json::parse(read_text(ours / "config" / "genesis.json"));
        genesis.at("consensus_params").at("block") = our_genesis.at("consensus_params").at("block");
        for (std::uint32_t i = 0; i < kPeers; ++i) {
            const std::string socket = "unix://" + (folder_.path() / ("kv" + std::to_string(i) + ".sock")).string();
            std::string own = with(config, "", "proxy_app", socket);
            own = with(own, "[rpc]", "laddr", "tcp://" + host(i) + ":" + std::to_string(rpc_));
            own = with(own, "[p2p]", "laddr", "tcp://" + host(i) + ":" + std::to_string(p2p_));
            own = with(own, "[p2p]", "persistent_peers", peers);
            own.replace(own.find("[rpc]\n"), 6, "[rpc]\nmax_request_batch_size = " + std::to_string(kBatch) + "\n");
            std::ofstream(home(i) / "config" / "config.toml") << own;
            std::ofstream(home(i) / "config" / "genesis.json") << json::serialize(genesis);
            start(options.kvstore, {"kvstore", "--address", socket});
            start(options.comet, {"start", "--home", home(i).string()});
            nodes_.push_back({rpc_, 0x7f000001 + i});
        }
        const Clock::time_point begun = Clock::now();
        while (height() < 2) {
            if (seconds_since(begun) > 60) throw std::runtime_error("the kvstore's network makes no blocks");
            std::this_thread::sleep_for(100ms);
        }
    }

    const std::vector<Endpoint>& nodes() const noexcept { return nodes_; }
    std::uint64_t height() {
        try {
            return std::stoull(std::string(ask("status", {}).at("sync_info").at("latest_block_height").as_string()));
        } catch (const std::exception&) {
            return 0;
        }
    }
    std::size_t transactions_of(std::uint64_t height) {
        const std::string text = std::to_string(height);
        const json::value found = ask("blockchain", {{"minHeight", text}, {"maxHeight", text}});
        return std::stoull(std::string(found.at("block_metas").at(0).at("num_txs").as_string()));
    }

private:
    static std::string host(std::uint32_t i) { return "127.0.0." + std::to_string(i + 1); }
    fs::path home(std::uint32_t i) const { return folder_.path() / "kv" / ("node" + std::to_string(i)); }
    json::value ask(const std::string& method, const json::object& params) {
        Connection connection({rpc_});
        const json::object call{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
        return json::parse(connection.exchange(http_request(json::serialize(call)))).at("result");
    }
    void run(const fs::path& program, const std::vector<std::string>& arguments) {
        std::error_code ignored;
        fs::remove(folder_.path() / "run.log", ignored);
        auto child = node::Process::start(program, arguments, folder_.path() / "run.log");
        while (child && child->running()) std::this_thread::sleep_for(5ms);
        if (!child || *child->exit_status() != 0)
            throw std::runtime_error(program.string() + " " + arguments[0] + " failed");
    }
    void start(const fs::path& program, const std::vector<std::string>& arguments) {
        auto child = node::Process::start(program, arguments, folder_.path() / "kv.log");
        if (!child) throw std::runtime_error(child.error().message);
        children_.push_back(std::move(*child));
    }

    Folder folder_;
    std::uint16_t p2p_, rpc_;
    std::vector<Endpoint> nodes_;
    std::vector<node::Process> children_;
};

/// Requests of kBatch keys each, as long as a transfer.
std::vector<std::string> kv_requests(std::size_t first, std::size_t batches, std::size_t size) {
    std::vector<std::string> out;
    for (std::size_t b = first; b < first + batches; ++b) {
        std::string body = "[";
        for (std::size_t i = 0; i < kBatch; ++i) {
            std::string tx = std::to_string(b * kBatch + i) + "=";
            tx.resize(size, 'x');
            body += (i == 0 ? "" : ",");
            body += R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                    R"(,"method":"broadcast_tx_sync","params":{"tx":")" + node::to_base64(view(std::string_view(tx))) +
                    "\"}}";
        }
        out.push_back(http_request(body + "]"));
    }
    return out;
}

/// Transactions in blocks a second.
double kv_rate(KvNetwork& network, const std::vector<std::string>& requests, double seconds) {
    std::vector<Connection> connections;
    for (std::size_t i = 0; i < kConnections; ++i)
        connections.emplace_back(network.nodes()[i % network.nodes().size()]);
    std::atomic<std::size_t> included{0};
    std::atomic<bool> stop{false};
    Clock::time_point last = Clock::now();
    std::thread follower([&] {
        for (std::uint64_t next = network.height() + 1; !stop; std::this_thread::sleep_for(20ms)) {
            const std::uint64_t tip = network.height();
            for (; next <= tip; ++next) {
                const std::size_t count = network.transactions_of(next);
                if (count != 0) last = Clock::now();
                included += count;
            }
        }
    });
    const Clock::time_point start = Clock::now();
    std::size_t at = 0, refused = 0;
    Load load;
    load.next = [&](std::size_t) -> std::string_view {
        if (at == requests.size() || at * kBatch > included + kWaiting) return {};
        return requests[at++];
    };
    load.done = [&](std::size_t, std::string_view body, Clock::time_point) {
        for (std::size_t e = body.find("\"error\""); e != std::string_view::npos; e = body.find("\"error\"", e + 1))
            if (refused++ == 0) std::fprintf(stderr, "kvstore refused: %.300s\n", body.substr(e).data());
    };
    load.finished = [&] { return at == requests.size(); };
    run_load(connections, load, start + std::chrono::milliseconds(static_cast<long>(1000 * seconds)));
    while (included + refused < at * kBatch && seconds_since(start) < seconds + 30) std::this_thread::sleep_for(20ms);
    stop = true;
    follower.join();
    return static_cast<double>(included) / std::chrono::duration<double>(last - start).count();
}

}  // namespace

std::vector<Row> measure_throughput(const ClusterOptions& options) {
    if (options.comet.empty()) return {{"cluster_throughput", "1/s", "skipped: no cometbft"}};
    constexpr double kMost = 6000;  // transfers a second that are signed beforehand
    const auto share = static_cast<std::size_t>(kMost * options.seconds / kBatch / kConnections + 1) * kConnections;
    const auto keys = make_keys(kSenders);
    std::fprintf(stderr, "throughput: signing %zu transfers\n", share * kBatch);
    const Prepared prepared = prepare(keys, share);  // For a new chain in each round.
    const std::size_t size = transfer(keys[0], 0, 0)->raw.size();
    std::vector<double> ours, theirs;
    for (std::size_t round = 0; round < kRounds; ++round) {
        const Network network(kPeers, kLoadInterval, keys);
        const Outcome outcome = offer(network.nodes(), prepared, {0, share, 0, options.seconds});
        if (outcome.inclusions.size() + outcome.refused != outcome.sent)
            throw std::runtime_error("the network lost transfers");
        ours.push_back(static_cast<double>(outcome.inclusions.size()) / outcome.seconds);
        std::fprintf(stderr, "throughput: %.0f a second, %zu refused\n", ours.back(), outcome.refused);
        if (options.kvstore.empty()) continue;
        KvNetwork peer(options, network.folder_of(0) / "data" / "comet");
        theirs.push_back(kv_rate(peer, kv_requests(round * share, share, size), options.seconds));
        std::fprintf(stderr, "throughput: kvstore %.0f a second\n", theirs.back());
    }
    return {{"cluster_throughput", "1/s",
             theirs.empty() ? "skipped: no abci-cli, which `./dev bench` makes" : "CometBFT's kvstore over its socket",
             median(ours), theirs.empty() ? 0 : median(theirs)}};
}

}  // namespace retrace::bench
