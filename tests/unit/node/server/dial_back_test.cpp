// SPDX-License-Identifier: MIT
// A node connects back to who asks and to nobody else, and tells nothing but whether an agent answered.
#include "node/server/dial_back.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/artifacts/http_server.hpp"
#include "node/net/reach.hpp"
#include "node/platform/process.hpp"
#include "node/server/dial_back_method.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Outcome = DialBack::Outcome;

const Hash32 kNonce{{1, 2, 3}};
const std::string kHere = "127.0.0.1";

DialBack::Options quick() {
    DialBack::Options out;
    out.attempt = 500ms;
    out.told = 600ms;
    out.pause = 300ms;
    return out;
}

std::uint16_t port_of(const std::string& url) {
    return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
}

/// Asks until the outcome is known.
Outcome outcome_of(DialBack& dial_back, std::uint16_t port, const Hash32& nonce = kNonce) {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms)) {
        const auto outcome = dial_back.ask(kHere, port, nonce);
        if (!outcome) {
            ADD_FAILURE() << outcome.error().message;
            break;
        }
        if (*outcome != Outcome::dialling) return *outcome;
    }
    return Outcome::dialling;
}

/// The port of an agent.
struct AgentPort {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = test::open_store(folder.path() / "store");
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http;
    AgentPort() {
        server.answer_party([](std::string_view) { return std::string(); });
        http = std::move(ArtifactHttpServer::start(server, {})).value();
    }
};

TEST(DialBack, ReachesAnAgent) {
    const AgentPort agent;
    DialBack dial_back(quick());
    EXPECT_EQ(outcome_of(dial_back, agent.http->port()), Outcome::reached);
}

TEST(DialBack, TakesNothingElseForAnAgent) {
    DialBack dial_back(quick());
    Hash32 nonce = kNonce;
    for (const std::string& body :
         {std::string(), std::string(64, '0'), reach_answer(Hash32{}), std::string(5000, 'x')}) {
        const test::HostilePeer peer([&](const std::string& line, const test::HostilePeer::Send& send) {
            EXPECT_THAT(line, ::testing::StartsWith("GET /reach/"));
            send(test::HostilePeer::ok(body));
        });
        ++nonce.bytes[0];
        EXPECT_EQ(outcome_of(dial_back, port_of(peer.url()), nonce), Outcome::not_reached) << body.size();
    }
    ++nonce.bytes[0];
    const test::HostilePeer leads_on([](const std::string&, const test::HostilePeer::Send& send) {
        send("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    });
    EXPECT_EQ(outcome_of(dial_back, port_of(leads_on.url()), nonce), Outcome::not_reached);
}

TEST(DialBack, TellsAFailureAtOneTimeWhateverItsCause) {
    const test::HostilePeer silent(
        [](const std::string&, const test::HostilePeer::Send&) { std::this_thread::sleep_for(700ms); });
    const std::uint16_t closed = free_port().value();
    for (const std::uint16_t port : {port_of(silent.url()), closed}) {
        DialBack dial_back(quick());
        const auto begin = DialBack::Clock::now();
        EXPECT_EQ(outcome_of(dial_back, port), Outcome::not_reached);
        EXPECT_GE(DialBack::Clock::now() - begin, quick().told) << port;
    }
}

TEST(DialBack, OneAddressHasOneAttemptAtATime) {
    DialBack dial_back(quick());
    const std::uint16_t port = free_port().value();
    const Hash32 other{{9}};
    EXPECT_EQ(dial_back.ask(kHere, port, kNonce).value(), Outcome::dialling);
    for (const auto& refused : {dial_back.ask(kHere, port, other), dial_back.ask(kHere, 1024, kNonce)}) {
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, HasSubstr("a moment ago"));
    }
    EXPECT_TRUE(dial_back.ask("127.0.0.2", port, other));
    EXPECT_TRUE(dial_back.ask("2001:db8::1", port, other));
    EXPECT_FALSE(dial_back.ask("2001:db8::ffff", port, kNonce)) << "an address of the same /64";
    EXPECT_TRUE(dial_back.ask("2001:db8:0:1::1", port, kNonce));
    EXPECT_EQ(outcome_of(dial_back, port), Outcome::not_reached);
    EXPECT_TRUE(dial_back.ask(kHere, port, other)) << "its pause is over";
}

TEST(DialBack, ManyAddressesTakeABoundedNumberOfConnections) {
    const test::HostilePeer silent([](const std::string&, const test::HostilePeer::Send&) {});
    DialBack::Options options = quick();
    options.threads = 1;
    options.waiting = 3;
    options.addresses = 5;
    DialBack dial_back(options);
    std::size_t begun = 0;
    for (int i = 1; i < 50; ++i) {
        const auto outcome = dial_back.ask("198.51.100." + std::to_string(i), 9000, kNonce);
        if (outcome)
            ++begun;
        else
            EXPECT_THAT(outcome.error().message, HasSubstr("many others"));
    }
    EXPECT_GE(begun, 3u);
    EXPECT_LE(begun, 5u);
}

TEST(DialBack, EndsAnAttemptWithTheNode) {
    const auto begin = DialBack::Clock::now();
    {
        DialBack dial_back;
        EXPECT_TRUE(dial_back.ask("198.51.100.1", 9000, kNonce));
        std::this_thread::sleep_for(50ms);
    }
    EXPECT_LT(DialBack::Clock::now() - begin, 3s);
}

struct DialBackMethod : ::testing::Test {
    DialBack dial_back{quick()};
    rpc::Router router;

    rpc::Answer call(const std::string& peer, const boost::json::value& port, const std::string& nonce) {
        rpc::Caller caller;
        caller.peer = peer;
        return router.call("retrace_dialBack", {port, boost::json::string(nonce)}, caller);
    }
    const std::string nonce = "0x" + std::string(64, 'a');
};

TEST_F(DialBackMethod, DialsWhoAsks) {
    register_dial_back(router, dial_back, true);
    const AgentPort agent;
    char digits[8];
    std::snprintf(digits, sizeof digits, "0x%x", agent.http->port());
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms)) {
        const auto answer = call(kHere, digits, nonce);
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->at("address").as_string(), kHere);
        EXPECT_EQ(answer->at("port").as_string(), digits);
        if (answer->at("outcome").as_string() == "reached") return;
        EXPECT_EQ(answer->at("outcome").as_string(), "dialling");
    }
    FAIL() << "the agent was not reached";
}

TEST_F(DialBackMethod, DialsNoPortOfTheNodesOwnMachine) {
    register_dial_back(router, dial_back);
    for (const char* peer : {"127.0.0.1", "::1", "127.9.9.9"}) {
        const auto answer = call(peer, "0x2328", nonce);
        ASSERT_FALSE(answer) << peer;
        EXPECT_EQ(answer.error().code, rpc::kServerError);
        EXPECT_THAT(answer.error().message, HasSubstr("the node's own machine, or by a proxy on it"));
    }
    for (const char* peer : {"", "0.0.0.0", "224.0.0.1", "fe80::1%eth0", "nowhere"}) {
        const auto answer = call(peer, "0x2328", nonce);
        ASSERT_FALSE(answer) << peer;
        EXPECT_THAT(answer.error().message, HasSubstr("no address that could be connected to"));
    }
}

TEST_F(DialBackMethod, RefusesBadParameters) {
    register_dial_back(router, dial_back);
    for (const char* port : {"0x0", "0x16", "0x19", "0x1bb", "0x3ff", "0x10000", "9000", ""}) {
        const auto answer = call("198.51.100.7", port, nonce);
        ASSERT_FALSE(answer) << port;
        EXPECT_EQ(answer.error().code, rpc::kInvalidParams) << port;
    }
    EXPECT_THAT(call("198.51.100.7", "0x19", nonce).error().message,
                HasSubstr("the port is 80, or from 1024 to 65535"));
    for (const char* bad : {"", "0x", "aa", "0x12"})
        EXPECT_EQ(call("198.51.100.7", "0x50", bad).error().code, rpc::kInvalidParams);
    EXPECT_TRUE(call("198.51.100.7", "0x50", nonce));
    EXPECT_EQ(call("198.51.100.7", "0x51", nonce).error().code, rpc::kInvalidParams);
    EXPECT_EQ(call("198.51.100.7", "0x400", nonce).error().code, rpc::kLimitExceeded);
}

TEST(ReachAnswer, IsGivenToOneSpellingOnly) {
    EXPECT_EQ(reach_answer_to("/reach/" + std::string(64, '0')), reach_answer(Hash32{}));
    for (const std::string& target :
         {std::string("/reach/"), "/reach/" + std::string(63, '0'), "/reach/" + std::string(65, '0'),
          "/reach/" + std::string(64, 'A'), "/reach/" + std::string(64, 'g'), "/other/" + std::string(64, '0'),
          "/reach/" + std::string(64, '0') + "?"})
        EXPECT_EQ(reach_answer_to(target), "") << target;
}

}  // namespace
}  // namespace retrace::node
