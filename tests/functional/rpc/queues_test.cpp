// SPDX-License-Identifier: MIT
// Requests that wait for the handlers and workers, the memory that they hold, and requests that bypass the queue.
#include <malloc.h>

#include <ctime>
#include <deque>

#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr const char* kQueueToken = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const std::string kWaits = R"({"jsonrpc":"2.0","id":7,"method":"test_waits"})";

std::string post_of(const std::string& body) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool comes(const std::function<bool()>& what) {
    for (const auto end = steady_clock::now() + 10s; steady_clock::now() < end;) {
        if (what()) return true;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

rpc::ServerOptions for_strangers(rpc::ServerOptions options = {}) {
    options.limit_loopback = true;
    options.request_timeout = 60s;
    return options;
}

/// A server whose two handlers are kept busy by two strangers until they are released.
class Busy {
public:
    explicit Busy(const rpc::ServerOptions& options) : served_(for_strangers(options)) {
        rpc::Method waits{.name = "test_waits", .summary = "", .params = {}, .result = "Any", .handler = {}};
        waits.handler = [this](const rpc::Params&, rpc::Caller& caller) -> rpc::Answer {
            for (++running_; !go_; std::this_thread::sleep_for(1ms)) {
                if (const auto spent = caller.spend(0); !spent) return Unexpected{spent.error()};
            }
            return json::value("done");
        };
        served_.world.router.add(std::move(waits));
        for (const char* from : {"127.0.0.2", "127.0.0.3"}) hogs_.emplace_back(port(), from).write(post_of(kWaits));
        EXPECT_TRUE(comes([this] { return running_ == 2; }));
    }
    ~Busy() { go_ = true; }

    std::uint16_t port() const { return served_.port; }
    std::uint64_t refused() const { return served_.server->stats().refused; }
    /// Returns the answer to a request from "127.0.0.4" that waits until the handlers are free.
    json::value ask_and_let_go() {
        Client client(port(), "127.0.0.4");
        client.write(post_of(kWaits));
        std::this_thread::sleep_for(200ms);
        go_ = true;
        return json::parse(client.read().body());
    }

private:
    std::atomic<bool> go_{false};
    std::atomic<int> running_{0};
    Served served_;  // its handlers refer to the members above
    std::deque<Client> hogs_;
};

// A closed connection no longer counts towards the held bytes, so its requests must be freed.
TEST(RpcQueues, WhatIsCutOffWaitsNoLonger) {
    rpc::ServerOptions options;
    options.held.client = kMiB;
    options.handlers.waiting_per_client = 8;
    Busy busy(options);
    const std::string post = post_of(kWaits + std::string(kMiB / 4, ' '));
    std::deque<Client> crowd;
    for (int i = 0; i < 20; ++i) {
        try {
            crowd.emplace_back(busy.port(), "127.0.0.4").write(post);
        } catch (const boost::system::system_error&) {  // it was already closed
        }
        std::this_thread::sleep_for(25ms);  // one after the other, so that each is complete
    }
    ASSERT_TRUE(comes([&] { return busy.refused() >= 12; }));
    const json::value answer = busy.ask_and_let_go();
    ASSERT_TRUE(answer.as_object().contains("result")) << json::serialize(answer);
}

TEST(RpcQueues, WhoHangsUpWaitsNoLonger) {
    rpc::ServerOptions options;
    options.handlers.waiting_per_client = 3;
    Busy busy(options);
    {
        std::deque<Client> crowd;
        for (int i = 0; i < 3; ++i) crowd.emplace_back(busy.port(), "127.0.0.4").write(post_of(kWaits));
        std::this_thread::sleep_for(300ms);
    }
    std::this_thread::sleep_for(500ms);
    const json::value answer = busy.ask_and_let_go();
    ASSERT_TRUE(answer.as_object().contains("result")) << json::serialize(answer);
}

std::string chunked(std::size_t head) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: "
           "chunked\r\n\r\n" +
           std::string("2;") + std::string(head, 'a');
}

TEST(RpcQueues, WhatIsNotUnderstoodYetIsCounted) {
    rpc::ServerOptions options;
    options.held.local = kMiB;
    Served served(options);
    std::deque<Client> crowd;
    for (int i = 0; i < 40; ++i) {
        try {
            crowd.emplace_back(served.port).write(chunked(60'000));
        } catch (const boost::system::system_error&) {
        }
    }
    EXPECT_TRUE(comes([&] { return served.server->stats().refused >= 20; }));
    Client honest(served.port);
    EXPECT_EQ(honest.post(kChainId).result_int(), 200U);
}

TEST(RpcQueues, WhoIsIdleKeepsNoBuffer) {
    const auto allocated = [] {
        const struct mallinfo2 info = ::mallinfo2();
        return info.uordblks + info.hblkhd;
    };
    Served served;
    const std::size_t before = allocated();
    std::deque<Client> crowd;
    for (int i = 0; i < 200; ++i) {
        Client& one = crowd.emplace_back(served.port);
        one.write(chunked(60'000) + "\r\n{}\r\n0\r\n\r\n");
        ASSERT_EQ(one.read().result_int(), 200U);
    }
    EXPECT_EQ(served.server->stats().http_connections, 200U);
    EXPECT_LT(allocated(), before + 6 * kMiB) << "of twelve that were sent";
}

/// A server whose route holds requests with the body "wait" until destruction, even if the test fails.
struct Keeping {
    explicit Keeping(const rpc::ServerOptions& options) : served(options) {
        served.on_wait = [this] {
            for (++waiting; !over;) std::this_thread::sleep_for(1ms);
        };
    }
    ~Keeping() { over = true; }

    std::atomic<bool> over{false};
    std::atomic<int> waiting{0};
    Served served;
};

constexpr char kWait[] = "PUT /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nwait";

// A single request of a route may read and hash a large tensor.
TEST(RpcQueues, OneAddressKeepsNoOtherFromTheRoutes) {
    rpc::ServerOptions options = for_strangers();
    options.admin_token = kQueueToken;
    Keeping keeping(options);
    const std::uint16_t port = keeping.served.port;
    std::deque<Client> crowd;
    for (int i = 0; i < 8; ++i) crowd.emplace_back(port, "127.0.0.2").write(kWait);
    ASSERT_TRUE(comes([&] { return keeping.waiting == 1; }));
    Client other(port, "127.0.0.3");
    EXPECT_EQ(other.request("GET /hello").result_int(), 200U);
    EXPECT_EQ(keeping.waiting, 1) << "one of an address at a time";
    other.write(kWait);
    ASSERT_TRUE(comes([&] { return keeping.waiting == 2; })) << "both workers are taken";
    Client own(port, "127.0.0.4");
    EXPECT_EQ(own.request("GET /hello", "Authorization: Bearer " + std::string(kQueueToken) + "\r\n").result_int(),
              200U);
    keeping.over = true;
    for (Client& one : crowd) EXPECT_EQ(one.read().result_int(), 200U) << "each gets its turn";
}

TEST(RpcQueues, WhatARouteComputesIsPaidFor) {
    rpc::ServerOptions options = for_strangers();
    options.requests_per_second = 1;
    options.request_burst = 50;
    Served served(options);
    served.on_wait = [] {
        timespec now{};
        do {
            ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        } while (now.tv_sec == 0 && now.tv_nsec < 100'000'000);
    };
    Client dear(served.port, "127.0.0.2");
    EXPECT_EQ(dear.request("PUT /hello", "Content-Length: 4\r\n", "wait").result_int(), 200U);
    EXPECT_EQ(dear.request("GET /hello").result_int(), 429U);
    EXPECT_EQ(Client(served.port, "127.0.0.3").request("GET /hello").result_int(), 200U);
}

TEST(RpcQueues, TooManyThatWaitForARouteAreToldSo) {
    rpc::ServerOptions options = for_strangers();
    options.handlers.waiting_per_client = 2;
    Keeping keeping(options);
    const std::uint16_t port = keeping.served.port;
    std::deque<Client> crowd;
    for (int i = 0; i < 3; ++i) {
        crowd.emplace_back(port, "127.0.0.2").write(kWait);
        ASSERT_TRUE(comes([&] { return keeping.waiting == 1; }));
    }
    std::this_thread::sleep_for(200ms);
    EXPECT_EQ(Client(port, "127.0.0.2").request("GET /hello").result_int(), 503U);
}

}  // namespace
}  // namespace retrace::node::test
