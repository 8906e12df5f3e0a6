// SPDX-License-Identifier: MIT
// Input that the executable must refuse, in addition to the node's own refusals (rpc/node_process_test.cpp): each error
// message says what to do, and no data is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <fstream>
#include <sstream>
#include <thread>

#include "ledger/crypto/eip55.hpp"
#include "ledger/tx/transaction.hpp"
#include "node/platform/process.hpp"
#include "node/rpc_client/rpc_client.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/tasks/data/idx.hpp"
#include "node/wallet/keystore.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace json = boost::json;

class BadInput : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("retrace_bad_input_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        const auto port = free_port();
        ASSERT_TRUE(port.has_value());
        port_ = std::to_string(*port);
        url_ = "http://127.0.0.1:" + port_;
        write("pass", "secret\n");
        write("key.json", wallet::encrypt_keystore(key(), "secret", wallet::kLightScrypt));
    }
    void TearDown() override {
        node_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    ledger::SecretKey key() const { return std::move(wallet::account_key(kDevMnemonic, "", 0)).value(); }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    std::string text(const std::string& name) const {
        std::ifstream file(folder_ / name);
        std::ostringstream out;
        out << file.rdbuf();
        return out.str();
    }

    void start_node(const std::vector<std::string>& chain) {
        std::vector<std::string> arguments{"node", "--data-dir", path("node"), "--rpc-port",
                                           port_,  "--block-ms", "100"};
        arguments.insert(arguments.end(), chain.begin(), chain.end());
        auto started = Process::start(RETRACE_PROGRAM, arguments, folder_ / "node.log");
        ASSERT_TRUE(started.has_value());
        node_.emplace(std::move(started).value());
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (!client().height()) {
            ASSERT_TRUE(node_->running() && std::chrono::steady_clock::now() < end) << text("node.log");
            std::this_thread::sleep_for(20ms);
        }
    }
    RpcClient client() const { return std::move(RpcClient::connect(url_)).value(); }

    /// Runs `program ARGUMENTS` to its end and returns the exit code. Its output goes to run.log.
    int run(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
        std::filesystem::remove(folder_ / "run.log");
        auto child = Process::start(program, arguments, folder_ / "run.log");
        EXPECT_TRUE(child.has_value());
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (child->running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
        return child->exit_status().value_or(-1);
    }
    int run(const std::vector<std::string>& arguments) { return run(RETRACE_PROGRAM, arguments); }
    int run_party(const std::string& role, const std::string& key, const std::string& pass,
                  const std::vector<std::string>& more = {}) {
        std::vector<std::string> all{role,       "--node",     url_,         "--key", path(key), "--passphrase-file",
                                     path(pass), "--data-dir", path("party")};
        all.insert(all.end(), more.begin(), more.end());
        return run(all);
    }

    std::filesystem::path folder_;
    std::string port_, url_;
    std::optional<Process> node_;
};

TEST_F(BadInput, UnknownSubcommandsAndOptionsAreWrongUsage) {
    EXPECT_EQ(run({"mine"}), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("mine"));
    EXPECT_EQ(run({"solver", "--no-such-flag"}), 2);
    EXPECT_EQ(run({"demo", "--cheat", "arson"}), 2);
    EXPECT_EQ(run({"wallet"}), 2);
    EXPECT_EQ(run_party("solver", "key.json", "pass", {"--stake", "much"}), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("--stake must be coins"));
    EXPECT_EQ(run_party("verifier", "key.json", "pass", {"--cheat", "ulp"}), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("false_accuser"));
    EXPECT_EQ(run_party("solver", "key.json", "pass", {"--cheat", "arson"}), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("lie_tile"));
    EXPECT_EQ(run_party("solver", "key.json", "pass", {"--cheat-segment", "1"}), 2);
    for (const char* role : {"solver", "verifier"}) {
        EXPECT_EQ(run_party(role, "key.json", "pass", {"--timeout", "1", "--threads", "1025"}), 2);
        EXPECT_THAT(text("run.log"), HasSubstr("--threads: Value 1025 not in range"));
        EXPECT_THAT(text("run.log"), HasSubstr("1024"));
    }
    EXPECT_EQ(run({"verifier", "--help"}), 0);
    EXPECT_THAT(text("run.log"), HasSubstr("challenges every opened segment and plays no dispute"));
}

TEST_F(BadInput, PartiesRefuseKeystoresTheyCannotOpen) {
    write("wrong", "guess\n");
    EXPECT_EQ(run_party("solver", "key.json", "wrong"), 2) << "another start does not mend it";
    EXPECT_THAT(text("run.log"), HasSubstr("wrong passphrase"));
    const std::string whole = text("key.json");
    write("half.json", whole.substr(0, whole.size() / 2));
    EXPECT_EQ(run_party("verifier", "half.json", "pass"), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("half.json"));
    write("big.json", std::string(100'000, ' '));
    EXPECT_EQ(run_party("verifier", "big.json", "pass"), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("big.json"));
    EXPECT_EQ(run_party("verifier", "absent.json", "pass"), 2);
    EXPECT_THAT(text("run.log"), HasSubstr("absent.json"));
}

TEST_F(BadInput, PartiesWithoutANodeSayHowToStartOne) {
    EXPECT_EQ(run_party("solver", "key.json", "pass", {"--timeout", "1"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("event=waiting_for_node"));
    EXPECT_THAT(text("run.log"), HasSubstr("no answer from the node"));
}

TEST_F(BadInput, FraudIsRefusedOutsideDeveloperChains) {
    write("genesis.json", R"({"chainId": 99, "alloc": {")" + ledger::to_0x(key().address()) +
                              R"(": {"balance": "1000000000000000000000"}}, "contracts": {}})");
    start_node({"--genesis", path("genesis.json")});
    EXPECT_EQ(run_party("solver", "key.json", "pass", {"--cheat", "ulp", "--listen", "127.0.0.1"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("not a developer chain"));
    EXPECT_EQ(run_party("verifier", "key.json", "pass", {"--cheat", "false_accuser", "--listen", "127.0.0.1"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("not a developer chain"));
    auto rpc = client();
    const auto account = rpc.account(key().address());
    ASSERT_TRUE(account.has_value());
    EXPECT_EQ(account->nonce, 0U) << "a refused party must not have sent anything";
}

TEST_F(BadInput, TransactionsOfAnotherChainAndGarbageAreRefusedByName) {
    start_node({"--dev"});
    ledger::Transaction tx;
    tx.chain_id = kDevChainId + 1;
    tx.fee_cap = ledger::U256{10'000'000'000};
    tx.gas_limit = 21'000;
    tx.to = key().address();
    auto rpc = client();
    const auto sent = rpc.send_raw(ledger::sign_tx(tx, key())->raw);
    ASSERT_FALSE(sent.has_value());
    EXPECT_THAT(sent.error().message, HasSubstr("chain"));
    for (const Bytes& bytes : {Bytes{}, Bytes{0x02}, Bytes(300, 0xff), Bytes(200'000, 0x02)}) {
        const auto refused = rpc.send_raw(bytes);
        ASSERT_FALSE(refused.has_value());
        EXPECT_NE(refused.error().code, 0) << refused.error().message;
    }
    EXPECT_EQ(rpc.call("retrace_noSuchMethod", {}).error().code, -32601);
    EXPECT_TRUE(rpc.height().has_value());
    EXPECT_TRUE(node_->running());
}

TEST_F(BadInput, MissingAndDamagedDataIsNamed) {
    EXPECT_EQ(run({"data", "import", path("nothing"), "-o", path("out")}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr(path("nothing")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
    std::filesystem::create_directories(folder_ / "idx");
    write("idx/train-images-idx3-ubyte", std::string("\0\0\x08\x03\xff\xff\xff\xff\0\0\0\x1c\0\0\0\x1c", 16));
    write("idx/train-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x01\x01", 9));
    EXPECT_EQ(run({"data", "import", path("idx"), "-o", path("out")}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("train-images-idx3-ubyte"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

/// Where the data set is installed, an empty file system of our own hides the folder.
TEST_F(BadInput, AMissingDataSetNamesItsPackage) {
    const auto installed = fashion_mnist_folder();
    if (!installed) {
        EXPECT_EQ(run({"demo", "--quiet"}), 1);
    } else {
        const std::string hide = "mount -t tmpfs none " + installed->string();
        if (run("/usr/bin/unshare", {"-rm", "sh", "-c", hide}) != 0)
            GTEST_SKIP() << "SKIP: hiding " << *installed << " needs the right to mount (run as root, or uninstall it)";
        EXPECT_EQ(run("/usr/bin/unshare", {"-rm", "sh", "-c", hide + " && exec " + RETRACE_PROGRAM + " demo --quiet"}),
                  1);
    }
    EXPECT_THAT(text("run.log"), HasSubstr("install Debian's package dataset-fashion-mnist"));
}

}  // namespace
}  // namespace retrace::node
