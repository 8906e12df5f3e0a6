// SPDX-License-Identifier: MIT
// The ABCI socket: framing, order, back-pressure, and peers that break the protocol.
#include "node/server/comet/abci_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "tests/unit/node/rpc_world.hpp"
#include "tests/unit/node/server/comet/abci_driver.hpp"

namespace retrace::node::test {
namespace {

using engine::AbciAnswer;
using engine::AbciServer;
using engine::FrameReader;
using testing::HasSubstr;

Bytes hex(const char* text) { return *from_hex(text); }

TEST(AbciFrame, HasTheBytesOfCometBft) {
    // Requests flush and echo "hello", as encoded by protoc and CometBFT.
    EXPECT_EQ(to_frame(flush_request()), hex("021200"));
    abci::Request echo;
    echo.mutable_echo()->set_message("hello");
    EXPECT_EQ(to_frame(echo), hex("090a070a0568656c6c6f"));
}

TEST(AbciFrame, IsReadInPiecesOfAnySize) {
    Bytes stream;
    std::vector<Bytes> sent;
    for (const std::size_t size : {0U, 1U, 127U, 128U, 300U, 70'000U}) {
        sent.emplace_back(size, static_cast<std::uint8_t>(size));
        engine::append_length(stream, size);
        stream.insert(stream.end(), sent.back().begin(), sent.back().end());
    }
    for (const std::size_t piece : {1U, 2U, 3U, 127U, 4096U, 100'000U}) {
        FrameReader reader;
        std::vector<Bytes> read;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            ASSERT_TRUE(reader.feed(View(stream).subspan(at, std::min(piece, stream.size() - at))).has_value());
            while (auto message = reader.next()) read.push_back(*std::move(message));
        }
        EXPECT_EQ(read, sent) << piece;
    }
}

TEST(AbciFrame, RefusesALengthOverTheLimitAndOneThatDoesNotEnd) {
    FrameReader small(100);
    EXPECT_TRUE(small.feed(hex("64")).has_value());
    FrameReader over(100);
    const auto refused = over.feed(hex("65"));
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("101 bytes is over the limit of 100"));
    FrameReader endless;
    EXPECT_FALSE(endless.feed(hex("ffffffffffff")).has_value());
}

class AbciSocket : public testing::Test {
protected:
    /// Answers CheckTx with the number of the transaction's bytes, and flush.
    void start(std::size_t queue_bytes = 64U << 20) {
        engine::AbciServerOptions options;
        options.path = folder_.file("abci.sock");
        options.queue_bytes = queue_bytes;
        auto server = AbciServer::start(
            options,
            [this](View message) {
                abci::Request request;
                abci::Response response;
                AbciAnswer answer;
                answer.fatal = !request.ParseFromArray(message.data(), static_cast<int>(message.size()));
                answer.flush = request.has_flush();
                if (answer.flush) response.mutable_flush();
                if (request.has_check_tx()) {
                    ++checked_;
                    response.mutable_check_tx()->set_code(static_cast<std::uint32_t>(request.check_tx().tx().size()));
                }
                if (request.has_echo()) {
                    response.mutable_echo()->set_message(std::string(answer_bytes_, 'x'));
                    answer.fatal = request.echo().message() == "fatal";
                }
                answer.message.resize(response.ByteSizeLong());
                response.SerializeToArray(answer.message.data(), static_cast<int>(answer.message.size()));
                return answer;
            },
            [this](const std::string&) { ++failures_; });
        ASSERT_TRUE(server.has_value()) << server.error().message;
        server_ = std::move(server).value();
    }
    std::string path() const { return folder_.file("abci.sock"); }

    TempFolder folder_;
    std::atomic<int> checked_ = 0, failures_ = 0;
    std::size_t answer_bytes_ = 3;
    std::unique_ptr<AbciServer> server_;
};

abci::Request check_tx(std::size_t bytes) {
    abci::Request request;
    request.mutable_check_tx()->set_tx(std::string(bytes, 't'));
    return request;
}

TEST_F(AbciSocket, AnswersPipelinedRequestsInOrderToAReaderThatComesLate) {
    start(64U << 10);  // Less than what is sent: the server has to stop reading, and to go on.
    AbciDriver comet(path());
    ASSERT_TRUE(comet.connected());
    constexpr std::size_t kCalls = 5'000;
    std::thread writer([&] {
        Bytes stream;
        for (std::size_t i = 0; i < kCalls; ++i) {
            const Bytes frame = to_frame(check_tx(i % 700));
            stream.insert(stream.end(), frame.begin(), frame.end());
        }
        const Bytes flush = to_frame(flush_request());
        stream.insert(stream.end(), flush.begin(), flush.end());
        EXPECT_TRUE(comet.send(stream));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (std::size_t i = 0; i < kCalls; ++i) {
        const auto answer = comet.receive();
        ASSERT_TRUE(answer && answer->has_check_tx()) << i;
        ASSERT_EQ(answer->check_tx().code(), i % 700);
    }
    const auto last = comet.receive();
    EXPECT_TRUE(last && last->has_flush());
    writer.join();
    EXPECT_EQ(checked_, static_cast<int>(kCalls));
}

TEST_F(AbciSocket, GoesOnReadingWhileItsPeerDoesNotRead) {
    // CometBFT holds a lock while it writes that it needs to read: whoever stops reading then stops both for ever.
    answer_bytes_ = 64U << 10;
    start();
    AbciDriver comet(path());
    abci::Request echo;
    echo.mutable_echo()->set_message(std::string(64U << 10, 'e'));
    const Bytes frame = to_frame(echo);
    constexpr int kCalls = 300;  // 19 MB each way: more than the buffers of a socket
    for (int i = 0; i < kCalls; ++i) ASSERT_TRUE(comet.send(frame));
    ASSERT_TRUE(comet.send(to_frame(flush_request())));
    for (int i = 0; i < kCalls; ++i) ASSERT_TRUE(comet.receive().has_value()) << i;
}

TEST_F(AbciSocket, ReadsAFrameThatComesByteByByte) {
    start();
    AbciDriver comet(path());
    Bytes stream = to_frame(check_tx(5));
    const Bytes flush = to_frame(flush_request());
    stream.insert(stream.end(), flush.begin(), flush.end());
    for (const std::uint8_t byte : stream) ASSERT_TRUE(comet.send(View(&byte, 1)));
    const auto answer = comet.receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->check_tx().code(), 5U);
}

TEST_F(AbciSocket, ClosesAConnectionThatSendsAnOversizedFrameAndKeepsTheOthers) {
    start();
    AbciDriver bad(path()), good(path());
    ASSERT_TRUE(bad.send(hex("ffffffff7f")));
    EXPECT_FALSE(bad.receive().has_value());
    EXPECT_EQ(failures_, 1);
    EXPECT_TRUE(good.call(check_tx(1)).has_value());
}

TEST_F(AbciSocket, ClosesTheConnectionAfterAFatalAnswer) {
    start();
    AbciDriver comet(path());
    abci::Request fatal;
    fatal.mutable_echo()->set_message("fatal");
    ASSERT_TRUE(comet.send(to_frame(fatal)));
    EXPECT_TRUE(comet.receive().has_value());
    EXPECT_FALSE(comet.receive().has_value());
}

TEST_F(AbciSocket, ReplacesTheSocketOfAProcessThatDied) {
    start();
    std::filesystem::rename(path(), path() + ".kept");  // The destructor removes it: as if the process had been killed.
    server_.reset();
    std::filesystem::rename(path() + ".kept", path());
    start();
    EXPECT_TRUE(AbciDriver(path()).call(check_tx(1)).has_value());
}

TEST_F(AbciSocket, RefusesAPathThatIsTooLong) {
    engine::AbciServerOptions options;
    options.path = folder_.file(std::string(120, 'a'));
    const auto server = AbciServer::start(options, {}, {});
    ASSERT_FALSE(server.has_value());
    EXPECT_THAT(server.error().message, HasSubstr("shorter --data-dir"));
}

}  // namespace
}  // namespace retrace::node::test
