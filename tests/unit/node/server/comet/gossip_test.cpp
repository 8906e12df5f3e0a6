// SPDX-License-Identifier: MIT
// What is handed to CometBFT's mempool, whose RPC a thread of the test plays.
#include "node/server/comet/gossip.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "node/platform/base64.hpp"
#include "node/server/comet/comet_rpc.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using namespace std::chrono_literals;
using engine::CometRpc;
using engine::Gossip;
using testing::ElementsAre;
using testing::SizeIs;

/// Answers POSTs on a UNIX socket with what `reply` makes of their bodies.
class FakeRpc {
public:
    using Reply = std::function<std::string(const std::string& body)>;
    FakeRpc(std::string path, Reply reply) : path_(std::move(path)), reply_(std::move(reply)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path_.data(), path_.size());
        listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ::unlink(path_.c_str());
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_.get(), 4), 0);
        thread_ = std::thread([this] { run(); });
    }
    ~FakeRpc() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
            if (connection_) ::shutdown(connection_.get(), SHUT_RDWR);
        }
        thread_.join();
        ::unlink(path_.c_str());
    }

private:
    void run() {
        for (;;) {
            FileDescriptor accepted(::accept(listener_.get(), nullptr, nullptr));
            if (!accepted) return;
            {
                const std::lock_guard lock(mutex_);
                if (stopping_) return;
                connection_ = std::move(accepted);
            }
            std::string in;
            while (exchange(in)) {
            }
        }
    }
    bool exchange(std::string& in) {
        for (;;) {
            const std::size_t head = in.find("\r\n\r\n");
            const std::size_t length_at = in.find("Content-Length: ");
            if (head != std::string::npos && length_at < head) {
                const std::size_t length = std::stoul(in.substr(length_at + 16));
                if (in.size() >= head + 4 + length) {
                    const std::string out = reply_(in.substr(head + 4, length));
                    in.erase(0, head + 4 + length);
                    const std::string answer =
                        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(out.size()) + "\r\n\r\n" + out;
                    return write_all(connection_.get(), view(std::string_view(answer)));
                }
            }
            char buffer[65536];
            const ssize_t got = ::recv(connection_.get(), buffer, sizeof buffer, 0);
            if (got <= 0) return false;
            in.append(buffer, static_cast<std::size_t>(got));
        }
    }

    std::string path_;
    Reply reply_;
    FileDescriptor listener_, connection_;
    std::mutex mutex_;
    bool stopping_ = false;
    std::thread thread_;
};

class CometGossip : public testing::Test {
protected:
    std::string path() const { return folder_.file("rpc.sock"); }
    /// Notes the transactions of a body, and the number and size of batches.
    std::string take(const std::string& body) {
        const json::value parsed = json::parse(body);
        const std::lock_guard lock(mutex_);
        bodies_.push_back(body.size());
        json::array out;
        for (const json::value& call : parsed.as_array()) {
            seen_.push_back(std::string(call.at("params").at("tx").as_string()));
            out.push_back(json::object{{"jsonrpc", "2.0"}, {"id", call.at("id")}, {"result", json::object{}}});
        }
        return json::serialize(out);
    }
    std::vector<std::string> seen() {
        const std::lock_guard lock(mutex_);
        return seen_;
    }
    template <class Condition>
    bool soon(const Condition& condition) {
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(2ms);
        return condition();
    }
    static std::string coded(const Bytes& tx) { return to_base64(tx); }

    TempFolder folder_;
    std::mutex mutex_;
    std::vector<std::string> seen_;
    std::vector<std::size_t> bodies_;
};

TEST_F(CometGossip, HandsOverWhatIsAnnouncedOnceAndInOrder) {
    FakeRpc rpc(path(), [this](const std::string& body) { return take(body); });
    Gossip gossip(path(), [](std::size_t) { return std::vector<Bytes>{}; });
    std::vector<std::string> sent;
    for (std::uint8_t i = 0; i < 25; ++i) {
        gossip.announce(Bytes{i, 1});
        sent.push_back(coded(Bytes{i, 1}));
    }
    ASSERT_TRUE(soon([&] { return seen().size() == 25; }));
    EXPECT_EQ(seen(), sent);
}

TEST_F(CometGossip, KeepsBatchesOfTheLargestTransactionsBelowTheLimitOfABody) {
    FakeRpc rpc(path(), [this](const std::string& body) { return take(body); });
    Gossip gossip(path(), [](std::size_t) { return std::vector<Bytes>{}; });
    for (std::uint8_t i = 0; i < 12; ++i) gossip.announce(Bytes(std::size_t{128} << 10, i));
    ASSERT_TRUE(soon([&] { return seen().size() == 12; }));
    const std::lock_guard lock(mutex_);
    for (const std::size_t size : bodies_) EXPECT_LT(size, 1'000'000U);
}

TEST_F(CometGossip, WaitsForACometBftThatIsNotThereYet) {
    Gossip gossip(path(), [](std::size_t) { return std::vector<Bytes>{}; });
    gossip.announce(Bytes{1});
    std::this_thread::sleep_for(100ms);
    FakeRpc rpc(path(), [this](const std::string& body) { return take(body); });
    ASSERT_TRUE(soon([&] { return seen().size() == 1; }));
}

TEST_F(CometGossip, GoesOnAfterABatchThatIsRefusedAsAWhole) {
    std::atomic<int> refused = 0;
    FakeRpc rpc(path(), [&](const std::string& body) {
        if (refused++ == 0) return std::string(R"({"jsonrpc":"2.0","id":-1,"error":{"code":-32600}})");
        return take(body);
    });
    Gossip gossip(path(), [](std::size_t) { return std::vector<Bytes>{}; });
    gossip.announce(Bytes{1});
    ASSERT_TRUE(soon([&] { return refused == 1; }));
    gossip.announce(Bytes{2});
    ASSERT_TRUE(soon([&] { return !seen().empty(); }));
    EXPECT_THAT(seen(), ElementsAre(coded(Bytes{2})));
}

TEST_F(CometGossip, HandsOverAllAgainAfterARestartAndTheBestAtIntervals) {
    std::mutex asked_mutex;
    std::set<std::size_t> asked;
    FakeRpc rpc(path(), [this](const std::string& body) { return take(body); });
    Gossip gossip(
        path(),
        [&](std::size_t bytes) {
            const std::lock_guard lock(asked_mutex);
            asked.insert(bytes);
            return std::vector<Bytes>{{7}};
        },
        50ms);
    ASSERT_TRUE(soon([&] { return seen().size() >= 3; })) << "at intervals";
    gossip.announce_all();
    ASSERT_TRUE(soon([&] {
        const std::lock_guard lock(asked_mutex);
        return asked.size() == 2;
    }));
}

TEST(CometRpcStatus, IsReadFromItsTexts) {
    TempFolder folder;
    FakeRpc fake(folder.file("rpc.sock"), [](const std::string&) {
        return std::string(R"([{"id":0,"result":{"sync_info":{"latest_block_height":"41","catching_up":true}}},)"
                           R"({"id":1,"result":{"n_peers":"3"}}])");
    });
    CometRpc rpc(folder.file("rpc.sock"));
    const auto status = rpc.status();
    ASSERT_TRUE(status.has_value()) << status.error().message;
    EXPECT_EQ(status->height, 41U);
    EXPECT_TRUE(status->catching_up);
    EXPECT_EQ(status->peers, 3U);
    FakeRpc broken(folder.file("other.sock"), [](const std::string&) { return std::string("no JSON"); });
    EXPECT_FALSE(CometRpc(folder.file("other.sock")).status().has_value());
    EXPECT_FALSE(CometRpc(folder.file("absent.sock")).status().has_value());
}

}  // namespace
}  // namespace retrace::node::test
