// SPDX-License-Identifier: MIT
// `retrace node` as a process: it serves, it refuses invalid input, and `kill -9` loses nothing that was confirmed.
#include "tests/functional/rpc/node_process.hpp"

#include <sys/stat.h>

#include <ctime>
#include <random>

namespace retrace::node {
namespace {

using testing::AllOf;

TEST_F(NodeProcess, KeepsAConfirmedTransferThroughKill) {
    start_node();
    ASSERT_EQ(send_one_coin(), 0) << text("run.log");
    EXPECT_EQ(balance(), kCoin);
    node_->kill();
    start_node();
    EXPECT_EQ(balance(), kCoin);
    EXPECT_EQ(send_one_coin(), 0) << text("run.log");
    EXPECT_EQ(balance(), kCoin * ledger::U256{2});
}

TEST_F(NodeProcess, ServesTlsAndObeysTheHolderOfTheToken) {
    more_arguments_ = {"--tls"};
    const std::string plain_url = "https://127.0.0.1:" + port_;
    url_ = plain_url + "#ca=" + (folder_ / "data/tls-cert.pem").string();
    start_node();
    EXPECT_EQ(send_one_coin(), 0) << text("run.log");
    EXPECT_EQ(balance(), kCoin);
    EXPECT_EQ(run({"wallet", "balance", kReceiver, "--node", plain_url}), 1);
    EXPECT_EQ(run({"wallet", "balance", kReceiver, "--node", plain_url, "--tls-fingerprint", std::string(64, '0')}), 1);
    EXPECT_EQ(run({"wallet", "balance", kReceiver, "--node", plain_url, "--tls-ca",
                   (folder_ / "data/tls-cert.pem").string()}),
              0);

    // The certificate is the one that the node printed at its first start; only the owner can read its key.
    const std::string words = "certificate SHA-256 ", said = text("node.log");
    const std::size_t at = said.find(words);
    ASSERT_NE(at, std::string::npos) << said;
    const std::string printed = said.substr(at + words.size(), 64);
    for (const std::string& node : {plain_url, "wss" + plain_url.substr(5)}) {
        EXPECT_EQ(run({"wallet", "balance", kReceiver, "--node", node, "--tls-fingerprint", printed}), 0)
            << text("run.log");
    }
    struct stat info {};
    ASSERT_EQ(::stat((folder_ / "data/tls-key.pem").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);

    HttpConnection connection(*parse_url(url_));
    const std::string_view stop = R"({"jsonrpc":"2.0","id":1,"method":"retrace_stop"})";
    HttpRequest request{"POST", "/", to_bytes(view(stop)), "application/json", {}};
    const auto refused = connection.exchange(request, 4096, kernels::StopToken::after(5s));
    ASSERT_TRUE(refused.has_value());
    EXPECT_THAT(std::string(refused->body.begin(), refused->body.end()), HasSubstr("4100"));
    EXPECT_TRUE(node_->running());
    const std::string token = text("data/rpc-token");
    request.authorization = "Bearer " + token.substr(0, 64);
    ASSERT_TRUE(connection.exchange(request, 4096, kernels::StopToken::after(5s)).has_value());
    for (int i = 0; i < 1000 && node_->running(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(node_->exit_status(), 0);
}

TEST_F(NodeProcess, LosesNothingThatWasConfirmedWhenItIsKilledAtRandomMoments) {
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::uint64_t confirmed = 0;
    std::uint64_t unknown = 0;  // in progress when the node died
    for (int round = 0; round < 5; ++round) {
        start_node();
        std::thread killer([this, pause = random() % 1500] {
            std::this_thread::sleep_for(std::chrono::milliseconds(200 + pause));
            node_->kill();
        });
        while (send_one_coin() == 0) ++confirmed;
        ++unknown;
        killer.join();
    }
    start_node();
    std::this_thread::sleep_for(500ms);  // transactions that waited in the pool may still be included
    EXPECT_GE(balance(), kCoin * ledger::U256{confirmed});
    EXPECT_LE(balance(), kCoin * ledger::U256{confirmed + unknown});
    node_->stop();
    EXPECT_EQ(run({"node", "--dev", "--data-dir", (folder_ / "data").string(), "--verify-db"}), 0) << text("run.log");
}

TEST_F(NodeProcess, EndsCleanlyOnSigterm) {
    start_node();
    node_->send(SIGTERM);
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (node_->running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(node_->exit_status(), 0);
}

TEST_F(NodeProcess, RefusesADirectoryInUseAndAPortInUse) {
    start_node();
    EXPECT_EQ(run(node_arguments()), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("in use by another process"));
    EXPECT_EQ(run({"node", "--dev", "--data-dir", (folder_ / "other").string(), "--rpc-port", port_}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("port in use"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "other" / "genesis")) << "a failed start leaves no chain behind";
    EXPECT_FALSE(std::filesystem::exists(folder_ / "other" / "db"));
}

TEST_F(NodeProcess, VerifyDbFindsDamageOfTheBlockLogAndOfTheDatabase) {
    start_node();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(send_one_coin(), 0) << text("run.log");
    node_->stop();
    const std::vector<std::string> verify{"node", "--dev", "--data-dir", (folder_ / "data").string(), "--verify-db"};
    ASSERT_EQ(run(verify), 0) << text("run.log");
    const std::filesystem::path log = folder_ / "data" / "blocks.log";
    const auto flip = [](const std::filesystem::path& file, std::uint64_t at) {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        for (const std::uint64_t place : {at, at + 1}) {
            bytes.seekg(static_cast<std::streamoff>(place));
            const auto byte = static_cast<char>(bytes.get() ^ 0x55);
            bytes.seekp(static_cast<std::streamoff>(place));
            bytes.put(byte);
        }
    };
    const std::uint64_t size = std::filesystem::file_size(log);
    for (const std::uint64_t at : {std::uint64_t{3}, std::uint64_t{42}, std::uint64_t{49}, size / 2, size - 3}) {
        flip(log, at);
        EXPECT_EQ(run(verify), 1) << "two bytes at " << at;
        EXPECT_THAT(text("run.log"), HasSubstr("blocks.log")) << at;
        flip(log, at);
    }
    EXPECT_EQ(run(verify), 0) << text("run.log");
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "data" / "db")) {
        if (file.path().extension() != ".sst") continue;
        flip(file.path(), file.file_size() / 3);
        EXPECT_EQ(run(verify), 1) << file.path();
        EXPECT_THAT(text("run.log"), HasSubstr("is damaged"));
        return;
    }
}

TEST_F(NodeProcess, WarnsOfAClockThatWasFarAhead) {
    const std::uint64_t tomorrow = static_cast<std::uint64_t>(std::time(nullptr)) + 86'400;
    std::ofstream(folder_ / "genesis.json") << R"({"chainId": 5, "alloc": {}, "timestamp": )" << tomorrow << "}";
    auto node = Process::start(RETRACE_PROGRAM,
                               {"node", "--genesis", (folder_ / "genesis.json").string(), "--data-dir",
                                (folder_ / "data").string(), "--rpc-port", port_},
                               folder_ / "ahead.log");
    ASSERT_TRUE(node.has_value());
    for (int i = 0; i < 200 && text("ahead.log").find("event=started") == std::string::npos; ++i)
        std::this_thread::sleep_for(50ms);
    EXPECT_THAT(text("ahead.log"), AllOf(HasSubstr("event=clock"), HasSubstr("after the time of this machine's clock"),
                                         HasSubstr("set the clock (NTP)")));
}

TEST_F(NodeProcess, RefusesAnotherChainsDirectory) {
    start_node();
    node_->stop();
    std::ofstream(folder_ / "genesis.json") << R"({"chainId": 5, "alloc": {}})";
    EXPECT_EQ(run({"node", "--genesis", (folder_ / "genesis.json").string(), "--data-dir", (folder_ / "data").string(),
                   "--rpc-port", port_}),
              1);
    EXPECT_THAT(text("run.log"), HasSubstr("belongs to another chain"));
}

TEST_F(NodeProcess, RefusesWrongUsageWithTwo) {
    EXPECT_EQ(run({"node", "--dev", "--data-dir", (folder_ / "data").string(), "--rpc-host", "0.0.0.0"}), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("loopback only"));
    EXPECT_EQ(run({"node", "--dev"}), 2);
    EXPECT_EQ(run({"node", "--no-such-flag"}), 2);
    EXPECT_EQ(run({}), 2);
    EXPECT_EQ(run({"version"}), 0);
}

TEST_F(NodeProcess, TheWalletReportsWhatWentWrong) {
    EXPECT_EQ(send_one_coin(), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("no answer from the node"));
    start_node();
    EXPECT_EQ(run({"wallet", "send", "--dev-account", "0", "--to", kReceiver, "--value", "99000000", "--node", url_}),
              1);
    EXPECT_THAT(text("run.log"), HasSubstr("insufficient funds"));
    EXPECT_EQ(run({"wallet", "send", "--dev-account", "0", "--to", "0x1", "--value", "1", "--node", url_}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("not an address"));
}

TEST_F(NodeProcess, KeysAreMadeListedAndUsed) {
    std::ofstream(folder_ / "pass") << "secret\n";
    std::filesystem::permissions(folder_ / "pass", std::filesystem::perms{0600});  // Avoids warnings.
    const std::string keys = (folder_ / "keys").string();
    const std::string pass = (folder_ / "pass").string();
    ASSERT_EQ(run({"wallet", "new", "--keys", keys, "--passphrase-file", pass, "--light", "--json"}), 0);
    const std::string made = text("run.log");
    const std::size_t at = made.find("0x");
    ASSERT_NE(at, std::string::npos) << made;
    const std::string address = made.substr(at, 42);
    ASSERT_EQ(run({"wallet", "list", "--keys", keys}), 0);
    EXPECT_THAT(text("run.log"), HasSubstr(address));
    ASSERT_EQ(run({"wallet", "sign", "--keys", keys, "--key", address, "--passphrase-file", pass, "hello"}), 0);
    std::string signature = text("run.log");
    signature.pop_back();
    EXPECT_EQ(run({"wallet", "verify", "--address", address, "--signature", signature, "hello"}), 0);
    EXPECT_EQ(run({"wallet", "verify", "--address", address, "--signature", signature, "hullo"}), 1);
    std::ofstream(folder_ / "wrong") << "guess\n";
    EXPECT_EQ(run({"wallet", "sign", "--keys", keys, "--key", address, "--passphrase-file",
                   (folder_ / "wrong").string(), "hello"}),
              1);
    EXPECT_THAT(text("run.log"), HasSubstr("wrong passphrase"));
}

}  // namespace
}  // namespace retrace::node
