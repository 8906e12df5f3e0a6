// SPDX-License-Identifier: MIT
// Sharing of connections, threads and memory of the server when there is not enough for all clients.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "node/server/http/event.hpp"
#include "node/server/http/feed.hpp"
#include "node/server/http/memory_quota.hpp"
#include "node/server/http/work_pool.hpp"

namespace retrace::node::test {
namespace {

using namespace std::chrono_literals;
using rpc::MemoryQuota;
using rpc::WorkPool;
using JobOutcome = WorkPool::JobOutcome;
using Ids = std::vector<MemoryQuota::Connection>;

bool comes(const std::function<bool()>& what) {
    for (const auto end = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < end;) {
        if (what()) return true;
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

TEST(RpcMemoryQuota, TheClientWithMostLosesItsLargestConnection) {
    MemoryQuota held({.client = 100, .total = 250, .local = 50});
    EXPECT_EQ(held.add(1, "a", 60), Ids{});
    EXPECT_EQ(held.add(2, "a", 40), Ids{});
    EXPECT_EQ(held.add(3, "b", 90), Ids{});
    EXPECT_EQ(held.add(4, "c", 60), Ids{});
    EXPECT_EQ(held.add(5, "d", 1), Ids{1}) << "not who comes with little";
    EXPECT_EQ(held.add(5, "d", 59), Ids{}) << "what was dropped counts no more";
    EXPECT_EQ(held.add(6, "e", 5), Ids{3});
    held.remove(3, "b", 90);
    held.remove(1, "a", 60);
    EXPECT_EQ(held.add(6, "e", 80), Ids{}) << "nor is it taken off twice";
    EXPECT_EQ(held.add(7, "f", 6), Ids{6});
}

TEST(RpcMemoryQuota, AClientHasSoMuch) {
    MemoryQuota held({.client = 100, .total = 1000, .local = 50});
    EXPECT_EQ(held.add(1, "a", 60), Ids{});
    EXPECT_EQ(held.add(2, "a", 41), Ids{1});
    EXPECT_EQ(held.add(2, "a", 60), Ids{2}) << "its own answer is too long";
    EXPECT_EQ(held.add(3, "a", 100), Ids{});
    held.remove(3, "a", 30);
    EXPECT_EQ(held.add(4, "a", 30), Ids{});
}

TEST(RpcMemoryQuota, StrangersTakeNothingFromThisMachine) {
    MemoryQuota held({.client = 100, .total = 100, .local = 50});
    EXPECT_EQ(held.add(1, "a", 100), Ids{});
    EXPECT_EQ(held.add(2, "", 50), Ids{});
    EXPECT_EQ(held.add(3, "b", 1), Ids{1}) << "this machine holds something, and not it goes";
    EXPECT_EQ(held.add(4, "", 1), Ids{2});
}

TEST(RpcWorkPool, ClientsTakeTurns) {
    WorkPool pool({.threads = 1, .local_threads = 0, .waiting = 5, .waiting_per_client = 3});
    std::mutex mutex;
    std::string order;
    const auto job = [&](char name) {
        return [&, name](JobOutcome) {
            const std::lock_guard lock(mutex);
            order += name;
        };
    };
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.add("a", job('a')));
    EXPECT_FALSE(pool.add("a", job('a'))) << "its own limit";
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(pool.add("b", job('b')));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(pool.add("", job('-')));
    EXPECT_FALSE(pool.add("", job('-'))) << "as many as all others";
    pool.start();
    EXPECT_TRUE(comes([&] {
        const std::lock_guard lock(mutex);
        return order.size() == 10;
    }));
    EXPECT_EQ(order, "ab-ab-a---");
}

TEST(RpcWorkPool, NoNamedClientHasAllThreads) {
    WorkPool pool({.threads = 2, .local_threads = 0, .waiting = 10, .waiting_per_client = 10});
    std::atomic<bool> end{false};
    std::atomic<int> greedy{0}, modest{0};
    for (int i = 0; i < 4; ++i) {
        pool.add("a", [&](JobOutcome) {
            ++greedy;
            while (!end) std::this_thread::sleep_for(1ms);
        });
    }
    pool.start();
    EXPECT_TRUE(comes([&] { return greedy == 1; }));
    pool.add("b", [&](JobOutcome) { ++modest; });
    EXPECT_TRUE(comes([&] { return modest == 1; }));
    EXPECT_EQ(greedy, 1);
    end = true;
    EXPECT_TRUE(comes([&] { return greedy == 4; }));
    pool.stop();
    EXPECT_FALSE(pool.add("a", [](JobOutcome) {}));
}

TEST(RpcWorkPool, WhoHasMostGivesAPlaceToWhoHasFewer) {
    WorkPool pool({.threads = 1, .local_threads = 0, .waiting = 6, .waiting_per_client = 3});
    std::string ran, gave;
    std::atomic<int> count{0};
    const auto job = [&](const char* name) {
        return [&, name](JobOutcome job_outcome) {
            (job_outcome == JobOutcome::runs ? ran : gave) += name;
            ++count;
        };
    };
    for (const char* name : {"1", "2", "3"}) ASSERT_TRUE(pool.add("a", job(name)));
    for (const char* name : {"4", "5", "6"}) ASSERT_TRUE(pool.add("b", job(name)));
    EXPECT_TRUE(pool.add("c", job("7")));
    EXPECT_EQ(gave, "3") << "the newest of one with most";
    EXPECT_TRUE(pool.add("c", job("8")));
    EXPECT_EQ(gave, "36");
    EXPECT_FALSE(pool.add("c", job("9"))) << "all have two";
    EXPECT_FALSE(pool.add("a", job("9"))) << "nobody has more than it would have";
    EXPECT_TRUE(pool.add("d", job("9")));
    EXPECT_EQ(gave, "362");
    pool.start();
    EXPECT_TRUE(comes([&] { return count == 9; }));
    pool.stop();
    EXPECT_EQ(ran, "147958");
}

TEST(RpcWorkPool, WhatIsWithdrawnFreesItsPlaceAndWhatItHolds) {
    WorkPool pool({.threads = 1, .local_threads = 0, .waiting = 2, .waiting_per_client = 2});
    std::mutex mutex;
    std::string order;
    const auto body = std::make_shared<int>(0);
    const auto job = [&](char name) {
        return [&, name, held = body](JobOutcome) {
            const std::lock_guard lock(mutex);
            order += name;
        };
    };
    const auto ran = [&](const std::string& what) {
        return comes([&] {
            const std::lock_guard lock(mutex);
            return order == what;
        });
    };
    const WorkPool::JobId first = pool.add("a", job('1')), second = pool.add("b", job('2'));
    EXPECT_FALSE(pool.add("c", job('3')));
    EXPECT_FALSE(pool.withdraw("b", first)) << "it is another's";
    EXPECT_FALSE(pool.withdraw("c", first));
    EXPECT_EQ(body.use_count(), 3);
    EXPECT_TRUE(pool.withdraw("a", first));
    EXPECT_FALSE(pool.withdraw("a", first));
    EXPECT_EQ(body.use_count(), 2);
    EXPECT_TRUE(pool.add("c", job('3'))) << "its place is free";
    EXPECT_FALSE(pool.add("d", job('4')));
    pool.start();
    EXPECT_TRUE(ran("23"));
    EXPECT_FALSE(pool.withdraw("b", second)) << "it ran";
    EXPECT_TRUE(pool.add("a", job('4'))) << "who was withdrawn may come again";
    EXPECT_TRUE(ran("234"));
    pool.stop();
    EXPECT_EQ(body.use_count(), 1);
}

TEST(RpcWorkPool, ThisMachineHasPlacesAndAThreadOfItsOwn) {
    WorkPool pool({.threads = 2, .local_threads = 1, .waiting = 4, .waiting_per_client = 4});
    std::atomic<bool> end{false};
    std::atomic<int> strangers{0}, local{0}, refused{0};
    const auto wait = [&](std::atomic<int>& count) {
        return [&](JobOutcome job_outcome) {
            if (job_outcome == JobOutcome::given_up) return void(++refused);
            ++count;
            while (!end) std::this_thread::sleep_for(1ms);
        };
    };
    pool.start();
    for (const char* name : {"a", "b"}) pool.add(name, wait(strangers));
    ASSERT_TRUE(comes([&] { return strangers == 2; })) << "both handlers are taken";
    for (const char* name : {"a", "b", "c", "d", "e"}) pool.add(name, wait(strangers));
    EXPECT_TRUE(pool.add("", wait(local))) << "and all places";
    EXPECT_TRUE(comes([&] { return local == 1; }));
    EXPECT_EQ(refused, 0) << "nobody gave anything up for it";
    EXPECT_EQ(strangers, 2) << "and no stranger runs on its thread";
    end = true;
    pool.stop();
}

// Previously, each waiting event kept the subscriptions of its time: a slow client that changed them held a filter of
// four mebibytes for every event.
TEST(RpcFeed, WhatWasUnsubscribedIsGoneThoughEventsWait) {
    rpc::Feed feed(100, std::size_t{1} << 20);
    const auto event = std::make_shared<rpc::Event>(std::make_shared<ledger::Block>());
    EXPECT_EQ(feed.add(event), rpc::Feed::Added::unwanted) << "nothing was subscribed to yet";
    auto gone = std::make_shared<const rpc::Subscribed>("1", rpc::Subscription{});
    const auto stays = std::make_shared<const rpc::Subscribed>("2", rpc::Subscription{});
    const std::weak_ptr<const rpc::Subscribed> memory = gone;
    feed.subscribe({{"1", gone}, {"2", stays}});
    gone = nullptr;
    EXPECT_EQ(feed.add(event), rpc::Feed::Added::waits);
    const auto later = std::make_shared<const rpc::Subscribed>("3", rpc::Subscription{});
    feed.subscribe({{"2", stays}, {"3", later}});
    EXPECT_TRUE(memory.expired());
    EXPECT_EQ(feed.add(event), rpc::Feed::Added::waits);
    const auto told = [&] {
        std::string ids;
        const auto next = feed.take();
        for (const auto& [id, subscriber] : *next->table) ids += next->is_for(subscriber) ? id : "";
        return ids;
    };
    EXPECT_EQ(told(), "2") << "who came after the event is not told of it";
    EXPECT_EQ(told(), "23");
    EXPECT_TRUE(feed.empty());
    EXPECT_EQ(feed.bytes(), 0u);
}

TEST(RpcFeed, IsBehindByAnEventInAnyCase) {
    rpc::Feed feed(2, 1);
    const auto event = std::make_shared<rpc::Event>(std::make_shared<ledger::Block>());
    feed.subscribe({});
    EXPECT_EQ(feed.add(event), rpc::Feed::Added::waits);
    EXPECT_EQ(feed.add(event), rpc::Feed::Added::too_many);
    EXPECT_EQ(feed.add(std::make_shared<rpc::Event>(ledger::TxPtr(std::make_shared<ledger::SignedTx>()))),
              rpc::Feed::Added::unwanted)
        << "there is no subscription of pending transactions";
}

}  // namespace
}  // namespace retrace::node::test
