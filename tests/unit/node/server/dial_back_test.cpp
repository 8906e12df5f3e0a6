// SPDX-License-Identifier: MIT
// A node connects back to who asks and to nobody else, and tells nothing but whether an agent answered.
#include "node/server/dial_back.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/net/reach.hpp"
#include "node/platform/process.hpp"
#include "node/server/http/server.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"
#include "tests/unit/node/dial_back_fixture.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node {
namespace {

using namespace std::chrono_literals;
using test::AgentPort;
using test::quick;
using ::testing::HasSubstr;
using Outcome = DialBack::Outcome;

const Hash32 kNonce{{1, 2, 3}};
const std::string kHere = "127.0.0.1";

std::uint16_t port_of(const std::string& url) {
    return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
}

/// Asks until the outcome is known.
Outcome outcome_of(DialBack& dial_back, std::uint16_t port, const Hash32& nonce = kNonce,
                   const std::optional<Url>& named = {}, const std::string& address = kHere) {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms)) {
        const auto outcome = dial_back.ask(address, port, nonce, named);
        if (!outcome) {
            ADD_FAILURE() << outcome.error().message;
            break;
        }
        if (*outcome != Outcome::dialling) return *outcome;
    }
    return Outcome::dialling;
}

TEST(DialBack, ReachesAnAgent) {
    const AgentPort agent;
    DialBack dial_back(quick());
    EXPECT_EQ(outcome_of(dial_back, agent.http->port()), Outcome::reached);
}

TEST(DialBack, NamesTheHostOfAnEndpointToAnAgentThatAnswersToThatNameAlone) {
    ArtifactHttpServer::Options options;
    options.hosts = {"agent.example"};  // As behind a proxy that passes on the Host field.
    const AgentPort agent(options);
    DialBack by_address(quick()), by_name(quick());
    EXPECT_EQ(outcome_of(by_address, agent.http->port()), Outcome::not_reached);
    const Url named{"agent.example", std::to_string(agent.http->port()), false, {}};
    EXPECT_EQ(outcome_of(by_name, agent.http->port(), kNonce, named), Outcome::reached);
}

/// An agent that is reached by https and has signed its certificate, for agent.example, itself.
struct HttpsAgent {
    HttpsAgent() {
        options.port = 0;
        options.json_rpc = false;
        options.tls = tls::self_signed(folder.path().string(), "agent.example").value();
        server.emplace(options, *world.dispatcher);
        server->route({"/reach/", 0, [](const HttpRequest& request) {
                           return HttpReply{200, "text/plain", to_bytes(view(reach_answer_to(request.target)))};
                       }});
        port = server->bind().value();
        server->serve();
    }
    ~HttpsAgent() { server->stop(); }

    const test::TemporaryFolder folder;
    const test::RpcWorld world;
    rpc::ServerOptions options;
    std::optional<rpc::Server> server;
    std::uint16_t port = 0;
};

TEST(DialBack, ReachesAnAgentByHttpsIfItsCertificateIsTrusted) {
    const HttpsAgent agent;
    Url named{"agent.example", std::to_string(agent.port), true, {}};
    DialBack by_authority(quick()), by_fingerprint(quick()), without_tls(quick());
    EXPECT_EQ(outcome_of(by_authority, agent.port, kNonce, named), Outcome::not_reached) << "nobody signed it";
    named.trust.fingerprint = tls::fingerprint_of(agent.options.tls->certificate).value();
    EXPECT_EQ(outcome_of(by_fingerprint, agent.port, kNonce, named), Outcome::reached);
    EXPECT_EQ(outcome_of(without_tls, agent.port), Outcome::not_reached);
}

TEST(DialBack, ReachesAnAgentByHttpsUnderTheNamesOfItsCertificateAlone) {
    const HttpsAgent agent;
    // The certificate is its own authority.
    Url named{"agent.example", std::to_string(agent.port), true, {agent.options.tls->certificate, {}}};
    DialBack right(quick()), wrong(quick());
    EXPECT_EQ(outcome_of(right, agent.port, kNonce, named), Outcome::reached);
    named.host = "other.example";
    EXPECT_EQ(outcome_of(wrong, agent.port, kNonce, named), Outcome::not_reached);
}

TEST(DialBack, ReadsNoAuthoritiesBeforeItHasConnected) {
    const Url url{kHere, std::to_string(free_port().value()), true, {"/no/such/file", {}}};
    HttpConnection connection(url);
    const auto reply = connection.exchange({"GET", "/", {}}, 10, kernels::StopToken::after(5s));
    ASSERT_FALSE(reply);
    EXPECT_THAT(reply.error().message, HasSubstr("cannot connect"));
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

TEST(DialBack, WhoWaitsBehindAnAttemptLearnsNothingOfItsEnd) {
    DialBack::Options options = quick();
    options.threads = 1;
    const test::HostilePeer silent(
        [](const std::string&, const test::HostilePeer::Send&) { std::this_thread::sleep_for(700ms); });
    const AgentPort agent;
    const std::uint16_t closed = free_port().value();
    for (const std::uint16_t port : {port_of(silent.url()), closed, agent.http->port()}) {
        DialBack dial_back(options);
        const auto begin = DialBack::Clock::now();
        ASSERT_TRUE(dial_back.ask(kHere, port, kNonce));
        EXPECT_EQ(outcome_of(dial_back, closed, kNonce, {}, "127.0.0.2"), Outcome::not_reached);
        EXPECT_GE(DialBack::Clock::now() - begin, 2 * options.told) << port;
    }
}

TEST(DialBack, ANetworkOfSixteenBitsOfSubnetsHasFewAttempts) {
    DialBack::Options options = quick();
    options.per_network = 2;
    DialBack dial_back(options);
    EXPECT_TRUE(dial_back.ask("2001:db8:0:1::1", 9000, kNonce));
    EXPECT_TRUE(dial_back.ask("2001:db8:0:2::1", 9000, kNonce));
    EXPECT_FALSE(dial_back.ask("2001:db8:0:3::1", 9000, kNonce));
    EXPECT_TRUE(dial_back.ask("2001:db8:1:3::1", 9000, kNonce)) << "another /48";
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
