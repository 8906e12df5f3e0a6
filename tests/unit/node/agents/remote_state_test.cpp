// SPDX-License-Identifier: MIT
// An agent's view of a chain with very many tasks takes few round trips, so that nobody blinds it by posting tasks.
#include "node/agents/remote_state.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "node/platform/json_values.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

constexpr std::size_t kTasks = 1200;

/// A node whose slot "list" names kTasks slots, each of which names another one that holds its own number.
struct ManyTasks : ::testing::Test {
    std::atomic<int> calls{0};
    std::atomic<std::size_t> most_at_once{0}, slots_limit{1000};
    test::HostilePeer peer{[this](const std::string&, const test::HostilePeer::Send& send) {
        ++calls;
        send(test::HostilePeer::ok(answer(json::parse(peer.body()).as_object())));
    }};
    RpcClient client = *RpcClient::connect(peer.url());
    const ledger::Address contract{};

    static Bytes number(std::uint64_t value) {
        return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
    }
    static std::uint64_t number(const Bytes& bytes) {
        return bytes.size() == 2 ? std::uint64_t{bytes[0]} << 8 | bytes[1] : 0;
    }
    static Bytes key(char kind, std::uint64_t value = 0) {
        Bytes out = number(value);
        out.insert(out.begin(), static_cast<std::uint8_t>(kind));
        return out;
    }
    static Bytes value_of(const Bytes& key) {
        if (key.at(0) == 'l') return number(kTasks);
        const std::uint64_t index = number(Bytes(key.begin() + 1, key.end()));
        return key.at(0) == 't' ? number(index + 7) : number(index);
    }
    std::string answer(const json::object& call) {
        const json::array& names = call.at("params").as_array()[0].as_array();
        most_at_once = std::max<std::size_t>(most_at_once, names.size());
        if (names.size() > slots_limit)
            return R"({"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the slots hold more than 8 MiB"}})";
        json::array values;
        for (const json::value& name : names)
            values.emplace_back(rpc::data(View(value_of(*rpc::parse_data(name.as_object().at("key"))))));
        return json::serialize(json::object{
            {"jsonrpc", "2.0"}, {"id", 1}, {"result", json::object{{"height", "0x5"}, {"values", std::move(values)}}}});
    }
    std::uint64_t read(const RemoteState& state, const Bytes& key) const { return number(state.slot(contract, key)); }
    std::uint64_t sum_of(const RemoteState& state) const {
        std::uint64_t sum = 0;
        const std::uint64_t count = read(state, key('l'));
        for (std::uint64_t i = 0; i < count; ++i) sum += read(state, key('r', read(state, key('t', i))));
        return sum;
    }
    static constexpr std::uint64_t kSum = kTasks * (kTasks - 1) / 2 + 7 * kTasks;
};

TEST_F(ManyTasks, AreReadAheadInFewCalls) {
    const RemoteState state(client, 5);
    std::uint64_t sum = 0;
    const auto reading = [&] { sum = sum_of(state); };
    state.read_ahead(reading);
    EXPECT_LE(calls, 1 + 3 + 3);
    EXPECT_LE(most_at_once, 500u);
    const int ahead = calls;
    state.read(reading);
    EXPECT_FALSE(state.failure());
    EXPECT_EQ(sum, kSum);
    EXPECT_EQ(calls, ahead) << "everything is there";
}

TEST_F(ManyTasks, AreRequestedInHalvesWhenTheirSlotsAreTooLongForOneAnswer) {
    slots_limit = 130;
    const RemoteState state(client, 5);
    std::uint64_t sum = 0;
    state.read_ahead([&] { sum = sum_of(state); });
    state.read([&] { sum = sum_of(state); });
    EXPECT_FALSE(state.failure());
    EXPECT_EQ(sum, kSum);
}

TEST_F(ManyTasks, AreNotWaitedForWhenTheNodeRefusesEverything) {
    slots_limit = 0;
    const RemoteState state(client, 5);
    state.read_ahead([&] { sum_of(state); });
    ASSERT_TRUE(state.failure());
    EXPECT_LE(calls, 2);
}

/// The invariants of the rules do not hold before every slot is there.
TEST_F(ManyTasks, ABrokenInvariantEndsARoundAndNotTheReading) {
    const RemoteState state(client, 5);
    std::uint64_t sum = 0;
    const auto reading = [&] {
        ensure(read(state, key('l')) != 0, "a list has entries");
        sum = sum_of(state);
    };
    state.read_ahead(reading);
    state.read(reading);
    EXPECT_FALSE(state.failure());
    EXPECT_EQ(sum, kSum);
}

}  // namespace
}  // namespace retrace::node
