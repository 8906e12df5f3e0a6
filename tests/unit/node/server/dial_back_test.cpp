// SPDX-License-Identifier: MIT
// A node connects back to who asks and to nobody else, and tells nothing but whether an agent answered.
#include "node/server/dial_back.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/artifacts/http_server.hpp"
#include "node/net/reach.hpp"
#include "node/platform/process.hpp"
#include "node/server/dial_back_method.hpp"
#include "node/server/http/server.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"
#include "tests/unit/node/rpc_world.hpp"

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
Outcome outcome_of(DialBack& dial_back, std::uint16_t port, const Hash32& nonce = kNonce,
                   const std::optional<Url>& named = {}) {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(10ms)) {
        const auto outcome = dial_back.ask(kHere, port, nonce, named);
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
    explicit AgentPort(const ArtifactHttpServer::Options& options = {}) {
        server.answer_party([](std::string_view) { return std::string(); });
        http = std::move(ArtifactHttpServer::start(server, options)).value();
    }
};

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

TEST(DialBack, ReachesAnAgentByHttpsIfItsCertificateIsTrusted) {
    const test::TemporaryFolder folder;
    const test::RpcWorld world;
    rpc::ServerOptions options;
    options.port = 0;
    options.json_rpc = false;
    options.tls = tls::self_signed(folder.path().string(), "agent.example").value();
    rpc::Server server(options, *world.dispatcher);
    server.route({"/reach/", 0, [](const HttpRequest& request) {
                      return HttpReply{200, "text/plain", to_bytes(view(reach_answer_to(request.target)))};
                  }});
    const std::uint16_t port = server.bind().value();
    server.serve();
    Url named{"agent.example", std::to_string(port), true, {}};
    DialBack by_authority(quick()), by_fingerprint(quick()), without_tls(quick());
    EXPECT_EQ(outcome_of(by_authority, port, kNonce, named), Outcome::not_reached) << "nobody signed it";
    named.trust.fingerprint = tls::fingerprint_of(options.tls->certificate).value();
    EXPECT_EQ(outcome_of(by_fingerprint, port, kNonce, named), Outcome::reached);
    EXPECT_EQ(outcome_of(without_tls, port), Outcome::not_reached);
    server.stop();
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

    rpc::Answer call(const std::string& peer, const boost::json::value& port, const std::string& nonce,
                     const boost::json::value& endpoint = {}, bool proxied = false) {
        rpc::Caller caller;
        caller.peer = peer;
        caller.proxied = proxied;
        boost::json::array params{port, boost::json::string(nonce)};
        if (!endpoint.is_null()) params.push_back(endpoint);
        return router.call("retrace_dialBack", params, caller);
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
                HasSubstr("connects back to ports 80 (443 for https), or from 1024 to 65535: have the agent listen"));
    for (const char* bad : {"", "0x", "aa", "0x12"})
        EXPECT_EQ(call("198.51.100.7", "0x50", bad).error().code, rpc::kInvalidParams);
    EXPECT_TRUE(call("198.51.100.7", "0x50", nonce));
    EXPECT_EQ(call("198.51.100.7", "0x51", nonce).error().code, rpc::kInvalidParams);
    EXPECT_EQ(call("198.51.100.7", "0x400", nonce).error().code, rpc::kLimitExceeded);
}

TEST_F(DialBackMethod, RefusesEndpointsThatAreNotOfThePortOrNameNoHost) {
    register_dial_back(router, dial_back);
    const std::string peer = "198.51.100.7";
    const std::string long_name = "https://" + std::string(254, 'a') + ":9000";
    for (const boost::json::value& bad : {boost::json::value(7),
                                          {""},
                                          {"agent.example:9000"},
                                          {"https://agent.example"},
                                          {"https://agent.example:9001"},
                                          {"https://a_b.example:9000"},
                                          {"https://a\r\nb:9000"},
                                          {"https://agent.example:9000/path"},
                                          {"https://agent.example:9000#ca=/etc/passwd"},
                                          {"https://agent.example:9000#sha256=12"},
                                          {"ftp://agent.example:9000"},
                                          {long_name},
                                          {"https://" + std::string(5000, 'a') + ":9000"}}) {
        const auto answer = call(peer, "0x2328", nonce, bad);
        ASSERT_FALSE(answer) << bad;
        EXPECT_EQ(answer.error().code, rpc::kInvalidParams) << bad;
    }
    for (const auto& [port, endpoint] : {std::pair{"0x1bb", "http://agent.example:443"},
                                         {"0x50", "https://agent.example:80"},
                                         {"0x19", "https://agent.example:25"}})
        EXPECT_THAT(call(peer, port, nonce, endpoint).error().message, HasSubstr("80 (443 for https)")) << endpoint;
    EXPECT_TRUE(call(peer, "0x1bb", nonce, "https://agent.example"));
}

TEST_F(DialBackMethod, DialsNoProxy) {
    register_dial_back(router, dial_back, true);
    for (const char* peer : {"198.51.100.7", "127.0.0.1"}) {
        const auto answer = call(peer, "0x2328", nonce, {}, true);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, rpc::kServerError);
        EXPECT_THAT(answer.error().message, HasSubstr("came by a proxy"));
    }
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
