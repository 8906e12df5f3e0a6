// SPDX-License-Identifier: MIT
// Host names under which a port may be reached. Their handling in HTTP: functional/rpc/http_test.cpp.
#include "node/net/http_head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retrace::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HttpHead, AHostIsANameOrAnAddressWithAPortOrWithout) {
    EXPECT_EQ(host_of("localhost"), "localhost");
    EXPECT_EQ(host_of("LocalHost:8545"), "localhost");
    EXPECT_EQ(host_of("[::1]:8545"), "::1");
    EXPECT_EQ(host_of("[::1]"), "::1");
    EXPECT_EQ(host_of("localhost:"), "localhost");
    EXPECT_EQ(host_of(""), "");
    for (const char* bad : {"[::1", "[]", "[localhost]", "[::1]x", "a b", "a@b", "a/b", "a,b", "::1", "a:b", "a:123456",
                            "a:-1", "a\tb", "a\x80"})
        EXPECT_EQ(host_of(bad), std::nullopt) << bad;
}

TEST(HttpHead, LoopbackHasAClosedListOfNames) {
    EXPECT_TRUE(is_loopback("127.0.0.5"));
    EXPECT_FALSE(is_loopback("127.evil.example"));
    EXPECT_THAT(hosts_of("127.0.0.1", {}), ElementsAre("localhost", "127.0.0.1", "::1"));
    EXPECT_THAT(hosts_of("127.0.0.5", {"a.example"}),
                ElementsAre("a.example", "localhost", "127.0.0.1", "::1", "127.0.0.5"));
    EXPECT_THAT(hosts_of("0.0.0.0", {}), IsEmpty()) << "by whatever name others know the machine";
    EXPECT_THAT(hosts_of("192.0.2.1", {"a.example"}),
                ElementsAre("a.example", "localhost", "127.0.0.1", "::1", "192.0.2.1"));
}

TEST(HttpHead, NamesAreComparedWhole) {
    const std::vector<std::string> names{"localhost", "[::1]", "Node.Example"};
    for (const char* host : {"localhost", "::1", "node.example"}) EXPECT_TRUE(host_allowed(host, names)) << host;
    for (const char* host : {"", "localhost.evil.example", "evil.example", "localhos", "127.0.0.1"})
        EXPECT_FALSE(host_allowed(host, names)) << host;
    EXPECT_TRUE(host_allowed("evil.example", {"*"}));
}

TEST(HttpHead, AProxyIsKnownByItsFieldsOrByHttp10) {
    boost::beast::http::fields plain;
    for (const char* name : {"Host", "X-Real", "Forwarded-X", "Xcf-Ray", "Client-IPs", "User-Agent", "Via-X"})
        plain.set(name, "x");
    EXPECT_FALSE(came_by_proxy(plain, 11));
    EXPECT_TRUE(came_by_proxy(plain, 10));
    for (const char* name : {"Forwarded", "VIA", "x-real-ip", "X-Forwarded-For", "X-Forwarded-Proto",
                             "X-Forwarded-Host", "CF-Connecting-IP", "cf-ray", "X-Envoy-External-Address",
                             "True-Client-IP", "X-Cluster-Client-Ip", "Client-IP"}) {
        boost::beast::http::fields head = plain;
        head.set(name, "198.51.100.7");
        EXPECT_TRUE(came_by_proxy(head, 11)) << name;
    }
}

}  // namespace
}  // namespace retrace::node
