// SPDX-License-Identifier: MIT
// A crowd of subscribers: their cost for other clients, and the complete and ordered delivery to each of them.
#include <sys/resource.h>

#include <algorithm>

#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kCrowd = 1000;
constexpr std::uint64_t kBlocks = 5;
constexpr std::uint64_t kLogs = 20;  // per block

/// This process has both ends of every connection.
bool allow_many_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 2 * kCrowd + 100) return false;
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 2 * kCrowd + 100);
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// Sends requests over one connection until it is stopped, and measures the time of each answer.
class LatencyProbe {
public:
    explicit LatencyProbe(std::uint16_t port)
        : thread_([this, port] {
              Client client(port);
              while (!stop_) {
                  const auto start = steady_clock::now();
                  const json::value answer = json::parse(client.post(kChainId).body());
                  seconds_.push_back(std::chrono::duration<double>(steady_clock::now() - start).count());
                  ok_ = ok_ && answer.at("result") == "0x1c82";
              }
          }) {}
    /// Stops and returns the times of the answers in ascending order.
    std::vector<double> end() {
        stop_ = true;
        thread_.join();
        EXPECT_TRUE(ok_);
        std::sort(seconds_.begin(), seconds_.end());
        return seconds_;
    }

private:
    std::atomic<bool> stop_{false};
    bool ok_ = true;
    std::vector<double> seconds_;
    std::thread thread_;  // last, because it uses the members above
};

TEST(RpcSubscribers, AThousandKeepNobodyElseWaiting) {
    if (!allow_many_files()) GTEST_SKIP() << "this machine allows too few open files";
    Served served;
    std::deque<WsClient> crowd;
    for (std::size_t i = 0; i < kCrowd; ++i) {
        crowd.emplace_back(served.port);
        crowd.back().call("eth_subscribe", {"newHeads"});
        crowd.back().call("eth_subscribe", {"logs", json::object{}});
    }
    LatencyProbe probe(served.port);
    for (std::uint64_t block = 1; block <= kBlocks; ++block) {
        for (std::uint64_t i = 0; i < kLogs; ++i)
            served.world.send(served.world.make_tx(0, ToyExecutor::contract(), 0, Bytes(200, ToyExecutor::emit)));
        served.world.mine();
        // The last subscriber to be notified has it, so the crowd's share of this block is done.
        for (std::size_t i = 0; i < kCrowd; i += kCrowd - 1) {
            for (std::uint64_t n = 0; n <= kLogs; ++n) crowd[i].read();
        }
    }
    const std::vector<double> seconds = probe.end();
    const double slowest = seconds.back(), p99 = seconds[seconds.size() * 99 / 100];
    std::printf("%zu answers beside %zu subscribers: p99 %.1f ms, slowest %.1f ms\n", seconds.size(), kCrowd, p99 * 1e3,
                slowest * 1e3);
    EXPECT_LT(slowest, 0.5) << "a busy machine's measure; an idle one needs a tenth";
    for (std::size_t i = 1; i + 1 < kCrowd; ++i) {
        for (std::uint64_t block = 1; block <= kBlocks; ++block) {
            std::uint64_t heads = 0, logs = 0;
            for (std::uint64_t n = 0; n <= kLogs; ++n) {
                const json::value event = crowd[i].read().at("params").at("result");
                const json::object& fields = event.as_object();
                if (fields.contains("parentHash")) {
                    ++heads;
                    ASSERT_EQ(text(fields.at("number")), "0x" + std::to_string(block));
                } else {
                    ASSERT_EQ(text(fields.at("blockNumber")), "0x" + std::to_string(block));
                    // Subscriptions are notified in order of their ids, so the head may come before or after the logs.
                    ASSERT_EQ(std::stoull(std::string(fields.at("logIndex").as_string()), nullptr, 16), logs++);
                }
            }
            ASSERT_EQ(heads, 1U);
            ASSERT_EQ(logs, kLogs);
        }
    }
    EXPECT_EQ(served.server->stats().refused, 0U);
}

}  // namespace
}  // namespace retrace::node::test
