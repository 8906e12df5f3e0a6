// SPDX-License-Identifier: MIT
// A slow link over which an auditor fetches a state: what the member's machine sends beside it does not wait.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "node/artifacts/client.hpp"
#include "node/artifacts/http_server.hpp"
#include "tests/netlab/namespaces.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr std::uint64_t kRate = 256 << 10;  ///< Bytes per second. The link holds a second of them (limit_rate).

/// Moves the calling thread to the far end of the link.
bool enter_node() {
    const int there = ::open("/run/netns/node0", O_RDONLY | O_CLOEXEC);
    const bool moved = there >= 0 && ::setns(there, CLONE_NEWNET) == 0;
    if (there >= 0) ::close(there);
    return moved;
}

TEST(Link, AFetchedStateDelaysNoCall) {
    auto namespaces = Namespaces::enter(1);
    if (!namespaces) GTEST_SKIP() << "SKIP: no network namespaces: " << namespaces.error().message;
    const auto limited = namespaces->limit_rate(0, kRate);
    if (!limited) GTEST_SKIP() << "SKIP: no slow links: " << limited.error().message;
    test::TemporaryFolder folder;
    const auto store = test::open_store(folder.path() / "store");
    ArtifactServer server(*store, [](const Hash32&) { return false; });
    std::vector<Hash32> roots;
    for (unsigned i = 0; i < 3; ++i)
        roots.push_back(*store->put_tensor(test::random_tensor(kernels::DType::f32, {256, 1024}, i)));
    ArtifactHttpServer::Options serving;
    serving.address = std::string(Namespaces::kPrefix) + "254";
    const auto http = *ArtifactHttpServer::start(server, serving);

    std::atomic<int> ready{0}, fetched{0};
    std::atomic<bool> all_moved{true};
    std::vector<milliseconds> auditors(2), calls;
    const auto fetch = [&](std::size_t i) {
        all_moved = enter_node() && all_moved;
        const auto there = test::open_store(folder.path() / ("auditor " + std::to_string(i)));
        ArtifactClient client(*there);
        ++ready;
        const auto begin = Clock::now();
        EXPECT_TRUE(client.fetch_tensor({http->url()}, roots.at(i)).has_value());
        auditors[i] = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
        ++fetched;
    };
    std::thread first(fetch, 0), second(fetch, 1), caller([&] {
        all_moved = enter_node() && all_moved;
        const auto there = test::open_store(folder.path() / "caller");
        ArtifactClient::Options once;
        once.rounds = 1;
        ArtifactClient client(*there, once);
        while (ready < 2) std::this_thread::sleep_for(milliseconds(5));
        while (fetched < 2) {
            std::this_thread::sleep_for(milliseconds(100));
            const auto begin = Clock::now();
            (void)client.fetch_manifest({http->url()}, roots.at(2));  // "not_found", a small reply.
            calls.push_back(std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
        }
    });
    first.join();
    second.join();
    caller.join();
    ASSERT_TRUE(all_moved);
    ASSERT_FALSE(calls.empty());
    std::sort(calls.begin(), calls.end());
    const milliseconds transfer(1000 * (std::uint64_t{2} << 20) / kRate);
    std::printf("calls: median %d ms, longest %d ms; both states %d ms, the link alone %d ms\n",
                static_cast<int>(calls[calls.size() / 2].count()), static_cast<int>(calls.back().count()),
                static_cast<int>(std::max(auditors[0], auditors[1]).count()), static_cast<int>(transfer.count()));
    EXPECT_LT(calls[calls.size() / 2], milliseconds(300)) << "behind a full queue more than half of them take 0.6 s";
    EXPECT_LT(std::max(auditors[0], auditors[1]), transfer * 3 / 2) << "the link is not left idle";
}

}  // namespace
}  // namespace retrace::node
