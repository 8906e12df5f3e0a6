// SPDX-License-Identifier: MIT
// The order of requests to the artifact server, and the replies that it holds.
#include "node/artifacts/request_queue.hpp"

#include <gtest/gtest.h>

namespace retrace::node {
namespace {

struct Requests : ::testing::Test {
    RequestQueue queue{{.per_address = 10, .total = 30}};

    /// A request that is handled at once, and its reply.
    void reply(RequestQueue::Id id, const std::string& address, std::size_t bytes) {
        EXPECT_TRUE(queue.begin(id, address));
        queue.handled(id, bytes);
    }
};

TEST_F(Requests, AreHandledOneAtATimeForEachAddress) {
    EXPECT_TRUE(queue.begin(1, "a"));
    EXPECT_FALSE(queue.begin(2, "a"));
    EXPECT_FALSE(queue.begin(3, "a"));
    EXPECT_TRUE(queue.begin(4, "b"));
    EXPECT_EQ(queue.next("a"), std::nullopt);
    queue.handled(1, 1);
    EXPECT_EQ(queue.next("a"), 2u) << "in the order of their arrival";
    EXPECT_EQ(queue.next("a"), std::nullopt);
}

TEST_F(Requests, WaitWhileTheirAddressHoldsMuch) {
    reply(1, "a", 6);
    reply(2, "a", 6);
    EXPECT_FALSE(queue.begin(3, "a")) << "12 of 10";
    reply(4, "b", 6);
    EXPECT_EQ(queue.next("a"), std::nullopt);
    queue.end(1);
    EXPECT_EQ(queue.next("a"), 3u);
    EXPECT_EQ(queue.held(), 12u);
}

TEST_F(Requests, OfWhomHoldsMostLoseAReply) {
    reply(1, "a", 6);
    reply(2, "a", 6);
    reply(3, "b", 9);
    reply(4, "c", 5);
    EXPECT_EQ(queue.drop(4), std::nullopt) << "26 of 30";
    reply(5, "d", 5);
    EXPECT_EQ(queue.drop(5), 1u) << "the older of the largest";
    EXPECT_EQ(queue.drop(5), std::nullopt);
    EXPECT_EQ(queue.held(), 25u);
    queue.end(1);
    EXPECT_EQ(queue.held(), 25u) << "it no longer counted";
}

TEST_F(Requests, ANewReplyOfWhomHoldsMostIsRefused) {
    reply(1, "a", 9);
    reply(2, "b", 9);
    reply(3, "c", 8);
    reply(4, "c", 8);
    EXPECT_EQ(queue.drop(4), 4u) << "not the older one, which may be half sent";
    EXPECT_EQ(queue.drop(4), std::nullopt);
    reply(5, "d", 80);
    EXPECT_EQ(queue.drop(5), 5u);
    EXPECT_EQ(queue.held(), 26u);
}

TEST_F(Requests, AmongEqualAddressesTheOldestReplyGoes) {
    reply(1, "a", 8);
    reply(2, "b", 8);
    reply(3, "c", 8);
    reply(4, "d", 8);
    EXPECT_EQ(queue.drop(4), 1u);
}

TEST_F(Requests, ThatEndEarlyLetOthersGoOn) {
    EXPECT_TRUE(queue.begin(1, "a"));
    EXPECT_FALSE(queue.begin(2, "a"));
    EXPECT_FALSE(queue.begin(3, "a"));
    queue.end(2);
    EXPECT_EQ(queue.next("a"), std::nullopt) << "the first one is still handled";
    queue.end(1);
    EXPECT_EQ(queue.next("a"), 3u);
    queue.end(3);
    queue.end(3);
    EXPECT_TRUE(queue.begin(4, "a"));
}

}  // namespace
}  // namespace retrace::node
