// SPDX-License-Identifier: MIT
// retrace_dialBack: whom it dials, and what it refuses.
#include "node/server/dial_back_method.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/unit/node/dial_back_fixture.hpp"

namespace retrace::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct DialBackMethod : ::testing::Test {
    DialBack dial_back{test::quick()};
    rpc::Router router;

    rpc::Answer call(const std::string& peer, const boost::json::value& port, const std::string& nonce,
                     const boost::json::value& endpoint = {}, const std::function<void(rpc::Caller&)>& change = {}) {
        rpc::Caller caller;
        caller.peer = peer;
        if (change) change(caller);
        boost::json::array params{port, boost::json::string(nonce)};
        if (!endpoint.is_null()) params.push_back(endpoint);
        return router.call("retrace_dialBack", params, caller);
    }
    const std::string nonce = "0x" + std::string(64, 'a');
};

TEST_F(DialBackMethod, DialsWhoAsks) {
    register_dial_back(router, dial_back, DialBackScope::also_own);
    const test::AgentPort agent;
    char digits[8];
    std::snprintf(digits, sizeof digits, "0x%x", agent.http->port());
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
        const auto answer = call("127.0.0.1", digits, nonce);
        ASSERT_TRUE(answer) << answer.error().message;
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
    const auto from_own =
        call("198.51.100.7", "0x2328", nonce, {}, [](auto& caller) { caller.from_own_address = true; });
    ASSERT_FALSE(from_own);
    EXPECT_THAT(from_own.error().message, HasSubstr("the node's own machine, or by a proxy on it"));
    for (const char* peer : {"", "0.0.0.0", "224.0.0.1", "255.255.255.255", "ff02::1", "::", "nowhere"}) {
        const auto answer = call(peer, "0x2328", nonce);
        ASSERT_FALSE(answer) << peer;
        EXPECT_THAT(answer.error().message, HasSubstr("no address that could be connected to"));
    }
}

TEST_F(DialBackMethod, DialsPrivateAddressesOnlyWhereItMayAndTellsThemToNobody) {
    rpc::Router of_all;
    register_dial_back(router, dial_back);
    register_dial_back(of_all, dial_back, DialBackScope::all);
    for (const char* peer : {"10.0.0.9", "172.16.0.1", "192.168.7.7", "169.254.169.254", "100.64.0.1", "fd00::1",
                             "fe80::1%lo", "::ffff:10.0.0.8", "64:ff9b::10.0.0.8", "2002:a00:8::1"}) {
        const auto answer = call(peer, "0x2328", nonce);
        ASSERT_FALSE(answer) << peer;
        EXPECT_EQ(answer.error().code, rpc::kServerError);
        EXPECT_THAT(answer.error().message, HasSubstr("an address of a private network"));
    }
    rpc::Caller caller;
    caller.peer = "10.0.0.9";
    const auto answer = of_all.call("retrace_dialBack", {"0x2328", nonce}, caller);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_FALSE(answer->as_object().contains("address"));
    caller.peer = "127.0.0.1";
    EXPECT_FALSE(of_all.call("retrace_dialBack", {"0x2328", nonce}, caller));
    const auto open = call("198.51.100.7", "0x2328", nonce);
    ASSERT_TRUE(open) << open.error().message;
    EXPECT_EQ(open->at("address").as_string(), "198.51.100.7");
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
    const auto why_not = [&](const boost::json::value& endpoint) {
        const auto answer = call("198.51.100.7", "0x2328", nonce, endpoint);
        EXPECT_FALSE(answer) << endpoint;
        EXPECT_TRUE(answer || answer.error().code == rpc::kInvalidParams) << endpoint;
        return answer ? std::string() : answer.error().message;
    };
    const std::string a254(254, 'a');
    const std::vector<std::pair<std::string, std::string>> refused{
        {"", "not an address of the form"},
        {"agent.example:9000", "not an address of the form"},
        {"https://agent.example", "the endpoint has another port"},
        {"https://agent.example:9001", "the endpoint has another port"},
        {"https://a*b.example:9000", "no name of the DNS"},
        {"https://a%b.example:9000", "no name of the DNS"},
        {"https://a\r\nb:9000", "not an address of the form"},
        {"https://agent.example:9000/path", "not an address of the form"},
        {"https://agent.example:9000#ca=/etc/passwd", "names no file"},
        {"https://agent.example:9000#sha256=12", "not an address of the form"},
        {"ftp://agent.example:9000", "not an address of the form"},
        {"https://" + a254 + ":9000", "no name of the DNS"},
        {"https://" + std::string(5000, 'a') + ":9000", "a URL of at most 384 bytes"},
    };
    for (const auto& [endpoint, why] : refused)
        EXPECT_THAT(why_not(boost::json::string(endpoint)), AllOf(HasSubstr("argument 2: "), HasSubstr(why)))
            << endpoint;
    EXPECT_THAT(why_not(7), HasSubstr("argument 2: the endpoint is a URL"));
    for (const auto& [port, endpoint] : {std::pair{"0x1bb", "http://agent.example:443"},
                                         {"0x50", "https://agent.example:80"},
                                         {"0x19", "https://agent.example:25"}})
        EXPECT_THAT(call("198.51.100.7", port, nonce, endpoint).error().message, HasSubstr("80 (443 for https)"))
            << endpoint;
    EXPECT_TRUE(call("198.51.100.7", "0x1bb", nonce, "https://agent.example"));
    EXPECT_TRUE(call("198.51.100.8", "0x2328", nonce, "https://my_agent.example:9000"));
}

TEST_F(DialBackMethod, DialsNoProxy) {
    register_dial_back(router, dial_back, DialBackScope::also_own);
    for (const char* peer : {"198.51.100.7", "127.0.0.1"}) {
        const auto answer = call(peer, "0x2328", nonce, {}, [](auto& caller) { caller.proxied = true; });
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, rpc::kServerError);
        EXPECT_THAT(answer.error().message, HasSubstr("came by a proxy"));
    }
}

}  // namespace
}  // namespace retrace::node
