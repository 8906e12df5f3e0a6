// SPDX-License-Identifier: MIT
// Peers that are slow on purpose cost a bounded time, and data received from honest slow peers is kept.
#include <dlfcn.h>
#include <netdb.h>

#include <chrono>
#include <new>

#include "node/artifacts/client.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/peer_source.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace {

constexpr const char* kHangs = "hangs.invalid";
constexpr const char* kThrows = "throws.invalid";
std::atomic<int> asked_for_hangs{0};

}  // namespace

/// The system's getaddrinfo, except for two names.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints, addrinfo** out) {
    if (host != nullptr && std::string_view(host) == kHangs) {
        ++asked_for_hangs;
        std::this_thread::sleep_for(std::chrono::seconds(5));
        return EAI_AGAIN;
    }
    if (host != nullptr && std::string_view(host) == kThrows) throw std::bad_alloc();
    static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(host, port, hints, out);
}

namespace retrace::node {
namespace {

using kernels::DType;
using std::chrono::milliseconds;
using test::HostilePeer;
using test::random_tensor;

std::string text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

/// Returns the number after `name=` in a request line.
std::uint64_t number_in(const std::string& line, const std::string& name) {
    return std::stoull(line.substr(line.find(name + "=") + name.size() + 1));
}

struct Timeouts : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> there = test::open_store(folder.path() / "there");
    std::unique_ptr<Store> here = test::open_store(folder.path() / "here");
    ArtifactServer server{*there, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http = *ArtifactHttpServer::start(server, {});
    const kernels::Tensor tensor = random_tensor(DType::u8, {3200, 320}, 1);  // 1000 tiles of 1 KiB.
    const Hash32 root = *there->put_tensor(tensor);
    std::atomic<bool> stop{false};

    /// Passes everything on, but waits `delay` before each answer with tiles and sends at most `most` of them.
    HostilePeer::Script slowly(milliseconds delay, std::uint64_t most) {
        return [this, delay, most](const std::string& line, const HostilePeer::Send& send) {
            if (line.find("/tiles?") == std::string::npos)
                return void(send(HostilePeer::ok(text(wire::encode(*there->info(root))))));
            for (auto slept = milliseconds(0); slept < delay && !stop; slept += milliseconds(10))
                std::this_thread::sleep_for(milliseconds(10));
            const std::uint64_t count = std::min(number_in(line, "count"), most);
            send(HostilePeer::ok(text(wire::encode(*there->tiles(root, number_in(line, "first"), count)))));
        };
    }
    static ArtifactClient::Options hasty() {
        ArtifactClient::Options options;
        options.deadline = milliseconds(600);
        options.rounds = 1;
        return options;
    }
    static milliseconds time_of(const std::function<void()>& action) {
        const auto begin = PeerClock::now();
        action();
        return std::chrono::duration_cast<milliseconds>(PeerClock::now() - begin);
    }
};

TEST_F(Timeouts, FewerTilesThanAskedForAreRefused) {
    HostilePeer peer(slowly(milliseconds(0), 1));
    ArtifactClient client(*here, hasty());
    const auto fetched = client.fetch_tensor({peer.url()}, root);
    ASSERT_FALSE(fetched) << "one tile for each message would keep us busy for ever";
    EXPECT_EQ(fetched.error().fault, Fault::malformed);
    EXPECT_EQ(peer.requests(), 2) << "info, and one message with tiles";
}

TEST_F(Timeouts, APeerBelowTheFloorRateCostsItsGraceAndTheNextIsAsked) {
    HostilePeer peer(slowly(milliseconds(450), 1024));  // Each message is in time, but all of them together are not.
    ArtifactClient::Options options = hasty();
    options.deadline = milliseconds(1200);
    options.floor_rate = 64 << 20;
    ArtifactClient client(*here, options);
    const milliseconds spent = time_of([&] { EXPECT_FALSE(client.fetch_tensor({peer.url()}, root)); });
    EXPECT_LT(spent, milliseconds(3000));
    const std::uint64_t came = client.tiles_fetched();
    EXPECT_GT(came, 0u) << "an honest peer behind a slow line gets further with every fetch";
    EXPECT_LT(came, 1000u);
    ASSERT_TRUE(client.fetch_tensor({peer.url(), http->url()}, root));
    EXPECT_EQ(client.tiles_fetched(), 1000u) << "what came is not fetched twice";
    EXPECT_EQ(*here->tensor(root), tensor);
}

TEST_F(Timeouts, APartyOfTheRunMayServeAStateMoreSlowlyThanAStranger) {
    HostilePeer peer(slowly(milliseconds(450), 1024));
    ArtifactClient::Options options = hasty();
    options.deadline = milliseconds(1200);
    options.floor_rate = 64 << 20;
    ArtifactClient of_strangers(*here, options);
    of_strangers.set_slow_rate(4 << 10);
    ASSERT_FALSE(of_strangers.fetch_tensor(PeerList({}, {peer.url()}), root));
    ArtifactClient client(*here, options);
    client.set_slow_rate(4 << 10);
    const auto fetched = client.fetch_tensor({peer.url()}, root);
    ASSERT_TRUE(fetched.has_value()) << fetched.error().message;
    EXPECT_EQ(*here->tensor(root), tensor);
}

TEST_F(Timeouts, AKeeperIsAskedBeforeAPartyThatDripsIsGivenMoreTime) {
    HostilePeer drips(slowly(milliseconds(550), 1024));  // Too slowly for longer messages: 35 s for the state.
    ArtifactClient::Options options = hasty();
    options.deadline = milliseconds(1200);
    ArtifactClient client(*here, options);
    client.set_slow_rate(1 << 10);
    const milliseconds spent = time_of([&] { EXPECT_TRUE(client.fetch_tensor({drips.url(), http->url()}, root)); });
    EXPECT_LT(spent, milliseconds(6000));
    EXPECT_EQ(*here->tensor(root), tensor);
}

TEST_F(Timeouts, GivingUpEndsAFetchInTheMiddleOfAMessage) {
    HostilePeer peer(slowly(milliseconds(60'000), 1024));
    std::atomic<bool> over{false};
    ArtifactClient::Options options;
    options.stop = [&] { return over.load(); };
    ArtifactClient client(*here, options);
    std::thread clock([&] {
        std::this_thread::sleep_for(milliseconds(200));
        over = true;
    });
    Status<Failure> fetched = Unit{};
    const milliseconds spent = time_of([&] { fetched = client.fetch_tensor({peer.url(), http->url()}, root); });
    clock.join();
    stop = true;
    ASSERT_FALSE(fetched);
    EXPECT_EQ(fetched.error().fault, Fault::timeout);
    EXPECT_LT(spent, milliseconds(2000)) << "the deadline of the message was ten seconds";
}

/// An attacker may have as many silent peers as it likes; each one of the first is asked beside them.
TEST_F(Timeouts, SilentStrangersTogetherTakeNoMoreTimeThanOnePeer) {
    std::vector<std::unique_ptr<HostilePeer>> silent;
    PeerList peers{http->url()};
    for (int i = 0; i < 6; ++i) {
        silent.push_back(std::make_unique<HostilePeer>(slowly(milliseconds(60'000), 1024)));
        peers.others.push_back(silent.back()->url());
    }
    ArtifactClient client(*here, hasty());
    const milliseconds spent = time_of([&] { EXPECT_FALSE(client.fetch_tensor(peers, Hash32{{9}})); });
    EXPECT_LT(spent, milliseconds(1500)) << "each alone takes 600 ms";
    EXPECT_TRUE(client.fetch_tensor(peers, root));
    stop = true;
}

/// One reply that held a whole program could be dropped for others again and again.
TEST_F(Timeouts, AProgramIsFetchedInPiecesAndGoesOnWhereItStopped) {
    std::vector<std::string> asked;
    HostilePeer peer([&](const std::string& line, const HostilePeer::Send& send) {
        asked.push_back(line);
        if (asked.size() != 2) send(HostilePeer::ok(std::string(asked.size() == 1 ? wire::kMessageBytesMax : 1, 'p')));
    });
    ArtifactClient client(*here, hasty());
    EXPECT_FALSE(client.fetch_program({peer.url()}, Hash32{{1}})) << "the second piece is refused";
    client.ask_again({peer.url()});
    const auto whole = client.fetch_program({peer.url()}, Hash32{{1}});
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().fault, Fault::malformed) << "no program, but complete";
    ASSERT_EQ(asked.size(), 3u);
    const std::string second = "at=" + std::to_string(wire::kMessageBytesMax) + "&";
    EXPECT_NE(asked[0].find("at=0&"), std::string::npos);
    EXPECT_NE(asked[1].find(second), std::string::npos);
    EXPECT_NE(asked[2].find(second), std::string::npos);
}

/// An agent asks its own node first, and strangers after the solver.
TEST_F(Timeouts, WhatAPeerSentOfAProgramIsKeptThoughOthersAreAskedBetween) {
    std::vector<std::string> asked;
    HostilePeer solver([&](const std::string& line, const HostilePeer::Send& send) {
        asked.push_back(line);
        if (asked.size() != 2) send(HostilePeer::ok(std::string(asked.size() == 1 ? wire::kMessageBytesMax : 1, 'p')));
    });
    int pieces = 0;
    HostilePeer stranger([&](const std::string&, const HostilePeer::Send& send) {
        if (++pieces % 2 == 1) send(HostilePeer::ok(std::string(wire::kMessageBytesMax, 'x')));
    });
    ArtifactClient client(*here, hasty());
    PeerList peers{http->url(), solver.url()};  // The node at `http` has no such program.
    peers.others = {stranger.url()};
    for (int fetch = 0; fetch < 2; ++fetch) {
        EXPECT_FALSE(client.fetch_program(peers, Hash32{{1}}));
        client.ask_again({solver.url(), stranger.url()});
    }
    ASSERT_EQ(asked.size(), 3u);
    EXPECT_NE(asked[2].find("at=" + std::to_string(wire::kMessageBytesMax) + "&"), std::string::npos) << asked[2];
    EXPECT_GT(pieces, 1) << "the stranger sent a piece of its own";
}

/// Before a solver is reported it was asked, although it failed a moment ago.
TEST_F(Timeouts, APeerThatIsToBeAskedAgainHasAQuarterOfTheTime) {
    std::atomic<bool> hangs{true};
    HostilePeer peer([&](const std::string& line, const HostilePeer::Send& send) {
        slowly(milliseconds(hangs ? 700 : 0), 1024)(line, send);
    });
    const auto wait_for_peer = [] { std::this_thread::sleep_for(milliseconds(750)); };
    ArtifactClient client(*here, hasty());
    EXPECT_FALSE(client.fetch_tensor({peer.url()}, root));
    const int asked = peer.requests();
    EXPECT_FALSE(client.fetch_tensor({peer.url()}, root));
    EXPECT_EQ(peer.requests(), asked) << "it is skipped";
    wait_for_peer();
    client.ask_again({peer.url()});
    const milliseconds spent = time_of([&] { EXPECT_FALSE(client.fetch_tensor({peer.url()}, root)); });
    EXPECT_GT(peer.requests(), asked);
    EXPECT_LT(spent, milliseconds(450));
    hangs = false;
    wait_for_peer();
    client.ask_again({peer.url()});
    EXPECT_TRUE(client.fetch_tensor({peer.url()}, root));
}

TEST_F(Timeouts, APeerThatHangsIsLeftAloneForAWhile) {
    HostilePeer peer(slowly(milliseconds(60'000), 1024));
    ArtifactClient client(*here, hasty());
    EXPECT_FALSE(client.fetch_tensor({peer.url()}, root));
    const int asked = peer.requests();
    const Hash32 other = *there->put_tensor(random_tensor(DType::u8, {64, 64}, 2));
    const milliseconds spent = time_of([&] {
        EXPECT_TRUE(client.fetch_tensor({peer.url(), http->url()}, other));
        const auto alone = client.fetch_tensor({peer.url()}, root);
        ASSERT_FALSE(alone);
        EXPECT_EQ(alone.error().fault, Fault::timeout);
    });
    stop = true;
    EXPECT_LT(spent, milliseconds(500));
    EXPECT_EQ(peer.requests(), asked) << "the same wait for every artifact would be what it wants";
}

/// A stranger controls the DNS server for its host name.
TEST_F(Timeouts, ANameThatNobodyResolvesIsWaitedForNoLongerThanAnAnswer) {
    ArtifactClient client(*here, hasty());
    const milliseconds spent = time_of([&] {
        ASSERT_TRUE(client.fetch_tensor({std::string("http://") + kHangs + ":80", http->url()}, root));
    });
    EXPECT_LT(spent, milliseconds(3000));
    std::atomic<bool> over{false};
    ArtifactClient::Options options;
    options.stop = [&] { return over.load(); };
    ArtifactClient other(*here, options);
    std::thread clock([&] {
        std::this_thread::sleep_for(milliseconds(200));
        over = true;
    });
    const Hash32 unknown{{1}};
    const milliseconds until_given_up =
        time_of([&] { EXPECT_FALSE(other.fetch_tensor({std::string("http://") + kHangs + ":80"}, unknown)); });
    clock.join();
    EXPECT_LT(until_given_up, milliseconds(2000));
    EXPECT_EQ(asked_for_hangs, 2);
}

TEST_F(Timeouts, NamesAreResolved) {
    std::string url = http->url();
    url.replace(url.find("127.0.0.1"), 9, "localhost");
    ArtifactClient client(*here, hasty());
    const auto fetched = client.fetch_tensor({url}, root);
    EXPECT_TRUE(fetched) << fetched.error().message;
}

TEST_F(Timeouts, ANameThatNoMemoryIsLeftForEndsNoProcess) {
    ArtifactClient client(*here, hasty());
    EXPECT_FALSE(client.fetch_tensor({"http://throws.invalid:80"}, root));
    const auto fetched = client.fetch_tensor({"http://throws.invalid:80", http->url()}, root);
    EXPECT_TRUE(fetched) << fetched.error().message;
}

TEST_F(Timeouts, ASourceNamesTheFirstMissingTile) {
    ASSERT_TRUE(here->add_tiles(root, *there->tiles(root, 0, 7)));
    ArtifactClient client(*here, hasty());
    PeerSource source(*here, client, [] { return std::vector<std::string>{"http://127.0.0.1:1"}; });
    EXPECT_FALSE(source.tensor(root, test::record_of(*there->tensor(root))));
    EXPECT_EQ(source.first_missing_tile(root), 7u);
    EXPECT_EQ(source.first_missing_tile(Hash32{{1}}), 0u);
}

TEST(PeerBackoff, PausesGrowWithTheTimeThatWasWasted) {
    PeerBackoff backoff;
    const auto now = PeerClock::now();
    backoff.failed("a", now, std::chrono::seconds(3));
    EXPECT_TRUE(backoff.is_backing_off("a", now + std::chrono::seconds(11)));
    EXPECT_FALSE(backoff.is_backing_off("a", now + std::chrono::seconds(12)));
    EXPECT_FALSE(backoff.is_backing_off("b", now));
    backoff.failed("a", now, std::chrono::seconds(3));
    EXPECT_TRUE(backoff.is_backing_off("a", now + std::chrono::seconds(23)));
    for (int i = 0; i < 100; ++i) backoff.failed("a", now, std::chrono::seconds(3));
    EXPECT_FALSE(backoff.is_backing_off("a", now + std::chrono::minutes(5)));
    backoff.served("a");
    EXPECT_FALSE(backoff.is_backing_off("a", now));
}

TEST(PeerPace, GrantsTheFloorRateAndOneGrace) {
    TimeAllowance allowance(milliseconds(10'000), 1 << 20);
    EXPECT_EQ(allowance.allow(0), milliseconds(10'000));
    EXPECT_EQ(allowance.allow(4 << 20), milliseconds(14'000));
    allowance.waited(milliseconds(13'000));
    EXPECT_EQ(allowance.allow(0), milliseconds(1'000));
    EXPECT_EQ(allowance.allow(std::uint64_t{64} << 30), milliseconds(1'000 + 65'536'000));
    allowance.waited(std::chrono::hours(100));
    EXPECT_EQ(allowance.allow(0), milliseconds(0));
}

}  // namespace
}  // namespace retrace::node
