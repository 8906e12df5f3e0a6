// SPDX-License-Identifier: MIT
// Four validators and a node that follows them on this machine: one chain, whatever becomes of one of them, and no blocks
// without two.
#include "tests/functional/comet/testnet_fixture.hpp"

namespace retrace::node {
namespace {

class Testnet : public TestnetTest {};

TEST_F(Testnet, FourValidatorsAreOneChainAndOutliveOneOfThem) {
    // A transaction given to one node is executed on all.
    ASSERT_EQ(send(0, "1"), 0);
    expect_equal_chains(height(0));
    for (std::size_t i = 0; i < kNodes; ++i) {
        const json::value status = ask(i, "retrace_status");
        EXPECT_EQ(status.at("engine").as_string(), "comet");
        EXPECT_FALSE(status.at("halted").as_bool());
        EXPECT_EQ(ask(i, "eth_getBalance", {kReceiver, "latest"}).as_string(), "0xde0b6b3a7640000") << i;
    }

    // What a node that proposes nothing accepts reaches those that do.
    const auto end = Clock::now() + 30s;
    while (ask(kFollower, "retrace_status").at("peers").as_int64() < 4 && Clock::now() < end)
        std::this_thread::sleep_for(100ms);
    EXPECT_EQ(ask(kFollower, "retrace_status").at("peers").as_int64(), 4);
    ASSERT_EQ(send(kFollower, "1"), 0);

    // One is killed, with its CometBFT: the others go on.
    network_->node(3).kill();
    ASSERT_EQ(send(1, "2"), 0);
    const std::uint64_t without = height(0);
    ASSERT_TRUE(reaches(0, without + 3));

    // It comes back and has what was decided without it.
    ASSERT_TRUE(network_->restart(3).has_value());
    ASSERT_TRUE(network_->await(3, 60s).has_value());
    expect_equal_chains(without + 3);
    EXPECT_EQ(ask(3, "eth_getBalance", {kReceiver, "latest"}).as_string(), "0x3782dace9d900000");

    // Two are killed: the rest decides nothing.
    network_->node(2).kill();
    network_->node(3).kill();
    std::this_thread::sleep_for(1500ms);  // A block that was decided before may still come.
    const std::uint64_t halted = height(0);
    std::this_thread::sleep_for(3s);
    EXPECT_EQ(height(0), halted);
    EXPECT_EQ(height(1), halted);
    ASSERT_TRUE(network_->restart(2).has_value());
    ASSERT_TRUE(network_->restart(3).has_value());
    ASSERT_EQ(send(2, "3"), 0);
    ASSERT_TRUE(reaches(0, halted + 2));
    expect_equal_chains(halted + 2);
}

/// CometBFT can be told to end at one of the ten places where it has just stored, or not yet stored, a part of a block.
TEST_F(Testnet, ANodeComesBackFromEachOfCometsCrashPoints) {
    const fs::path log = folder_ / "node3" / "node.log";
    const auto deaths = [&] {
        std::ifstream in(log);
        std::string line;
        std::size_t count = 0;
        while (std::getline(in, line)) count += line.find("event=cometbft_ended") != std::string::npos ? 1 : 0;
        return count;
    };
    for (int point = 0; point < 10; ++point) {
        network_->node(3).stop();
        const std::size_t before = deaths();
        ::setenv("FAIL_TEST_INDEX", std::to_string(point).c_str(), 1);
        const auto started = network_->restart(3);
        ::unsetenv("FAIL_TEST_INDEX");
        ASSERT_TRUE(started.has_value());
        const auto end = Clock::now() + 30s;
        while (deaths() == before && Clock::now() < end) std::this_thread::sleep_for(20ms);
        ASSERT_GT(deaths(), before) << "CometBFT did not end at point " << point;
        network_->node(3).kill();
        ASSERT_EQ(send(0, "1"), 0);
        ASSERT_TRUE(network_->restart(3).has_value());
        ASSERT_TRUE(network_->await(3, 60s).has_value()) << "after point " << point;
        expect_equal_chains(height(0));
    }
}

TEST_F(Testnet, ANodeWhoseProcessesStandStillCatchesUp) {
    // First the node, so that its CometBFT waits for it; then its CometBFT, so that the node sees no blocks.
    for (const int pid : {network_->node(3).pid(), child_of(network_->node(3).pid())}) {
        ASSERT_GT(pid, 0);
        ASSERT_EQ(::kill(pid, SIGSTOP), 0);
        const std::uint64_t from = height(0);
        EXPECT_TRUE(reaches(0, from + 12));
        ASSERT_EQ(::kill(pid, SIGCONT), 0);
        EXPECT_TRUE(reaches(3, from + 12));
        expect_equal_chains(from + 12);
    }
}

TEST_F(Testnet, ANewNodeFetchesASnapshotInsteadOfAllBlocks) {
    ASSERT_EQ(send(0, "1"), 0);
    // A snapshot is made at height 30; its light client needs the two blocks after it. CometBFT looks for snapshots for
    // five seconds, within which none may be gone: two are kept, so the interval is longer than that.
    ASSERT_TRUE(reaches(0, 34));
    ASSERT_TRUE(reaches(1, 34));
    const auto trusted = comet_block(0, 5), same = comet_block(1, 5);
    ASSERT_TRUE(trusted.has_value()) << trusted.error().message;
    ASSERT_TRUE(same.has_value()) << same.error().message;
    const std::string hash = to_hex(view(hash_of(trusted->header)));
    EXPECT_EQ(hash, to_hex(view(hash_of(same->header))));

    // A wallet that trusts that block needs to trust no node.
    const json::value proven = balance(0, {"--trust-height", "5", "--trust-hash", hash});
    EXPECT_EQ(proven.at("balance").as_string(), "1000000000000000000");
    const std::uint64_t proven_at = proven.at("proven").at("height").to_number<std::uint64_t>();
    EXPECT_GE(proven_at, 10U);
    EXPECT_LE(proven_at, height(0));
    EXPECT_EQ(proven.at("proven").at("block_hash"), ask(1, "eth_getBlockByNumber", {hex(proven_at), false}).at("hash"));
    EXPECT_TRUE(balance(0, {"--trust-height", "6", "--trust-hash", hash}).is_null());
    EXPECT_TRUE(balance(0, {"--trust-height", "5"}).is_null());

    // A node that the others do not know, with the follower's peers.
    const fs::path from = folder_ / "node4", to = folder_ / "joined";
    fs::create_directories(to);
    fs::copy_file(from / "genesis.json", to / "genesis.json");
    const std::string url = "http://127.0.0.6" + network_->urls()[0].substr(network_->urls()[0].rfind(':'));
    const auto start = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"node",
                                           "--config",
                                           (from / "retrace.toml").string(),
                                           "--data-dir",
                                           (to / "data").string(),
                                           "--genesis",
                                           (to / "genesis.json").string(),
                                           "--rpc-host",
                                           "127.0.0.6",
                                           "--p2p-host",
                                           "127.0.0.6"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return Process::start(RETRACE_PROGRAM, arguments, to / "node.log");
    };
    const auto answers_at = [&](std::uint64_t wanted) {
        const auto end = Clock::now() + 60s;
        while (Clock::now() < end) {
            auto client = RpcClient::connect(url);
            if (client && client->height().value_or(0) >= wanted) return true;
            std::this_thread::sleep_for(50ms);
        }
        return false;
    };
    const auto block_at = [&](const std::string& number) {
        const auto answer = RpcClient::connect(url)->call("eth_getBlockByNumber", {number, false});
        return answer ? *answer : json::value(answer.error().message);
    };
    {
        auto wrong = start({"--sync-from", network_->urls()[0], "--sync-from", network_->urls()[1], "--trust-height",
                            "6", "--trust-hash", hash});
        ASSERT_TRUE(wrong.has_value());
        const auto end = Clock::now() + 60s;
        while (wrong->running() && Clock::now() < end) std::this_thread::sleep_for(50ms);
        EXPECT_EQ(wrong->exit_status(), 1) << "a header that is not the trusted one ends it";
    }
    auto joined = start({"--sync-from", network_->urls()[0], "--sync-from", network_->urls()[1], "--trust-height", "5",
                         "--trust-hash", hash});
    ASSERT_TRUE(joined.has_value());
    ASSERT_TRUE(answers_at(30));
    EXPECT_FALSE(block_at("0x5").is_object()) << "it has not executed the blocks before the snapshot";
    const std::uint64_t now = height(0);
    ASSERT_TRUE(answers_at(now));
    EXPECT_EQ(block_at(hex(now)).at("stateRoot").as_string(), state_root(0, now));
    EXPECT_EQ(block_at(hex(now)).at("hash"), ask(0, "eth_getBlockByNumber", {hex(now), false}).at("hash"));

    // It goes on after it was killed, as any other node does.
    joined->kill();
    joined = start({});
    ASSERT_TRUE(joined.has_value());
    ASSERT_TRUE(answers_at(height(0) + 2));
    joined->stop();

    // A validator that has lost its chain, and not the record of what it has signed.
    network_->node(3).stop();
    const fs::path data = folder_ / "node3" / "data";
    forget_chain(3);
    edit(3, "private_network",
         "private_network = true\nsync_from = [\"" + network_->urls()[0] + "\", \"" + network_->urls()[1] +
             "\"]\ntrust_height = 5\ntrust_hash = \"" + hash + "\"");
    ASSERT_TRUE(network_->restart(3).has_value());
    ASSERT_TRUE(network_->await(3, 60s).has_value());
    EXPECT_FALSE(ask(3, "eth_getBlockByNumber", {"0x5", false}).is_object());
    EXPECT_FALSE(fs::exists(data / "comet" / "syncing"));
    EXPECT_FALSE(fs::exists(data / "comet" / "data" / "tmp"));
    // It signs again: without it, or without another one, there are blocks only with it.
    network_->node(2).kill();
    ASSERT_TRUE(reaches(3, height(0) + 5));
    network_->node(3).stop();
    ASSERT_TRUE(network_->restart(3).has_value());  // with the flags still there
    ASSERT_TRUE(network_->await(3, 60s).has_value());
    ASSERT_TRUE(reaches(3, height(0) + 3));
}

}  // namespace
}  // namespace retrace::node
