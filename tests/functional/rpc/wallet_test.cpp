// SPDX-License-Identifier: MIT
// `retrace wallet` as its users call it: import and export of keys, payments, balances, history.
#include <algorithm>

#include "contracts/calls/addresses.hpp"
#include "contracts/calls/encode.hpp"
#include "ledger/tx/transaction.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/functional/rpc/node_process.hpp"

namespace retrace::node {
namespace {

using testing::Not;

// The first account of the mnemonic of every developer chain.
const std::string kWords = "test test test test test test test test test test test junk";
const std::string kFirst = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const std::string kFirstSecret = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

class Wallet : public NodeProcess {
protected:
    void SetUp() override {
        NodeProcess::SetUp();
        keys_ = (folder_ / "keys").string();
        pass_ = file("pass", "open sesame\n");
    }
    std::string file(const std::string& name, const std::string& content) const {
        std::ofstream(folder_ / name) << content;
        // A file that others can read causes a warning.
        using std::filesystem::perms;
        std::filesystem::permissions(folder_ / name, perms::owner_read | perms::owner_write);
        return (folder_ / name).string();
    }
    std::vector<std::string> with_keys(std::vector<std::string> arguments) const {
        for (const std::string& more : {std::string("--keys"), keys_, std::string("--passphrase-file"), pass_}) {
            arguments.push_back(more);
        }
        return arguments;
    }
    /// Imports into a new folder and exports the private key again.
    std::string imported(const std::string& option, const std::string& path) {
        keys_ += "x";
        EXPECT_EQ(run(with_keys({"wallet", "import", option, path, "--light"})), 0) << text("run.log");
        EXPECT_EQ(run(with_keys({"wallet", "export", "--key", kFirst, "--private-key"})), 0) << text("run.log");
        std::string secret = text("run.log");
        while (secret.ends_with('\n')) secret.pop_back();
        return secret;
    }

    std::string keys_, pass_;
};

TEST_F(Wallet, TakesOverKeysFromElsewhereAndGivesThemBack) {
    EXPECT_EQ(imported("--mnemonic-file", file("words", kWords + "\n")), kFirstSecret);
    EXPECT_EQ(imported("--private-key-file", file("secret", kFirstSecret + "  \r\n")), kFirstSecret);
    ASSERT_EQ(run(with_keys({"wallet", "export", "--key", kFirst})), 0);
    const std::string keystore = file("keystore.json", text("run.log"));
    EXPECT_THAT(text("run.log"), AllOf(HasSubstr("scrypt"), Not(HasSubstr(kFirstSecret.substr(2)))));
    EXPECT_EQ(imported("--keystore", keystore), kFirstSecret);
}

TEST_F(Wallet, RefusesSecretsThatAreNone) {
    EXPECT_EQ(run(with_keys({"wallet", "import", "--private-key-file", file("short", "0x1234\n")})), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("not a private key"));
    EXPECT_EQ(run(with_keys({"wallet", "import", "--mnemonic-file", file("typo", "test test junk\n")})), 1);
    EXPECT_EQ(run(with_keys({"wallet", "import", "--keystore", file("none.json", "{}")})), 1);
    EXPECT_EQ(run(with_keys({"wallet", "import"})), 1);
    pass_ = file("long", std::string(2000, 'x'));
    EXPECT_EQ(run(with_keys({"wallet", "new", "--light"})), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("at most 1024 bytes"));
}

/// Known answers of ethers for Trezor's words, with another passphrase and another account.
TEST_F(Wallet, TakesOverWordsWithAPassphrase) {
    const std::string words =
        file("words", "legal winner thank year wave sausage worth useful legal winner thank yellow\n");
    const std::string passphrase = file("word-pass", "TREZOR\n");
    const auto import = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"wallet", "import", "--mnemonic-file", words, "--light"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(with_keys(arguments));
    };
    ASSERT_EQ(import({"--mnemonic-passphrase-file", passphrase}), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), HasSubstr("0x6006ef1944FB519A746d00cDAf715Cbd27a5a008"));
    ASSERT_EQ(import({"--mnemonic-passphrase-file", passphrase, "--index", "1"}), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), HasSubstr("0xA5Cd5A7a353DAD72643512f25F395eC1857Bc1CA"));
    ASSERT_EQ(import({}), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), Not(HasSubstr("0x6006ef1944FB519A746d00cDAf715Cbd27a5a008")));
    EXPECT_EQ(import({"--index", "2147483648"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("below 2^31"));
    EXPECT_EQ(run(with_keys({"wallet", "import", "--private-key-file", file("secret", kFirstSecret + "\n"),
                             "--mnemonic-passphrase-file", passphrase})),
              2)
        << "a passphrase without words";

    // New words with a passphrase give the same account only with that passphrase.
    ASSERT_EQ(
        run(with_keys({"wallet", "new", "--mnemonic", "--light", "--json", "--mnemonic-passphrase-file", passphrase})),
        0)
        << text("run.log");
    const std::string made = text("run.log"), marker = R"("mnemonic":")";
    const std::string address = made.substr(made.find("0x"), 42);
    const std::size_t from = made.find(marker) + marker.size();
    const std::string again = file("again", made.substr(from, made.find('"', from) - from) + "\n");
    keys_ += "x";
    ASSERT_EQ(run(with_keys({"wallet", "import", "--light", "--mnemonic-file", again})), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), Not(HasSubstr(address)));
    ASSERT_EQ(run(with_keys(
                  {"wallet", "import", "--light", "--mnemonic-file", again, "--mnemonic-passphrase-file", passphrase})),
              0);
    EXPECT_THAT(text("run.log"), HasSubstr(address));
}

TEST_F(Wallet, ListsKeystoresWithoutAnAddressAndWarnsOfOpenOnes) {
    ASSERT_EQ(run(with_keys({"wallet", "import", "--light", "--private-key-file", file("secret", kFirstSecret)})), 0);
    const auto made = std::filesystem::directory_iterator(keys_)->path();
    std::string json = [&] {
        std::ifstream in(made);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }();
    const std::size_t at = json.find(R"("address":)");
    json.erase(at, json.find(',', at) + 1 - at);
    std::filesystem::remove(made);
    const auto silent = std::filesystem::path(keys_) / "silent.json";
    std::ofstream(silent) << json;
    std::filesystem::permissions(silent, static_cast<std::filesystem::perms>(0644));
    ASSERT_EQ(run({"wallet", "list", "--keys", keys_}), 0);
    EXPECT_THAT(text("run.log"), AllOf(HasSubstr("address unknown until it is opened  " + silent.string()),
                                       HasSubstr("; chmod o-rwx it")));
    EXPECT_EQ(run(with_keys({"wallet", "export", "--key", kFirst, "--private-key"})), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("1 keystores there that do not say their address"));
    ASSERT_EQ(run(with_keys({"wallet", "export", "--key", silent.string(), "--private-key"})), 0);
    EXPECT_THAT(text("run.log"), HasSubstr(kFirstSecret));
}

/// An empty text is signed as given, and no input is silently ignored.
TEST_F(Wallet, SignsExactlyOneThing) {
    EXPECT_EQ(run({"wallet", "sign", "--dev-account", "0"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("name what is signed"));
    EXPECT_EQ(run({"wallet", "sign", "--dev-account", "0", "a text", "--typed", file("typed.json", "{}")}), 2);
    EXPECT_EQ(run({"wallet", "verify", "--address", kFirst, "--signature", "0x00"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("name what is signed"));
    ASSERT_EQ(run({"wallet", "sign", "--dev-account", "0", ""}), 0) << text("run.log");
    std::string signature = text("run.log");
    signature.pop_back();
    EXPECT_EQ(run({"wallet", "verify", "--address", kFirst, "--signature", signature, ""}), 0);
}

TEST_F(Wallet, ReplacesAPaymentThatWaits) {
    block_ms_ = "60000";  // no block while the test runs
    start_node();
    const auto send = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"wallet", "send", "--dev-account", "0",       "--no-wait", "--node",
                                           url_,     "--to", kReceiver,       "--value", "1"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    };
    const auto sender = *ledger::parse_address(kFirst);
    ASSERT_EQ(send({}), 0) << text("run.log");
    ASSERT_EQ(send({"--nonce", "0", "--max-fee", "20000000000 wei", "--tip", "1000000000 wei"}), 0) << text("run.log");
    EXPECT_EQ(client().next_nonce(sender).value(), 1U) << "in the place of the first";
    EXPECT_EQ(send({"--nonce", "0", "--max-fee", "20000000001 wei", "--tip", "1000000001 wei"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("replacement transaction underpriced"));
    EXPECT_EQ(send({"--max-fee", "1 wei", "--tip", "2 wei"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("the tip is a part of the fee"));
    EXPECT_EQ(send({"--max-fee", "1"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("more than ten coins: not signed"));
    EXPECT_EQ(send({"--max-fee", "dear"}), 1);
    EXPECT_THAT(text("run.log"), HasSubstr("--max-fee: not an amount"));
}

TEST_F(Wallet, SignsTypedData) {
    const std::string typed = file("typed.json", R"({"types":{"EIP712Domain":[{"name":"chainId","type":"uint256"}],
        "Mail":[{"name":"text","type":"string"}]},"primaryType":"Mail","domain":{"chainId":7298},
        "message":{"text":"hello"}})");
    ASSERT_EQ(run({"wallet", "sign", "--dev-account", "0", "--typed", typed}), 0) << text("run.log");
    std::string signature = text("run.log");
    signature.pop_back();
    EXPECT_EQ(run({"wallet", "verify", "--address", kFirst, "--signature", signature, "--typed", typed}), 0);
    EXPECT_EQ(run({"wallet", "verify", "--address", kReceiver, "--signature", signature, "--typed", typed}), 1);
}

TEST_F(Wallet, PaysAndTellsBalanceAndHistory) {
    start_node();
    ASSERT_EQ(run({"wallet", "new", "--mnemonic", "--keys", keys_, "--passphrase-file", pass_, "--light"}), 0);
    const std::string made = text("run.log");
    ASSERT_THAT(made, HasSubstr("mnemonic"));
    const std::string address = made.substr(made.find("0x"), 42);
    ASSERT_EQ(run({"wallet", "send", "--dev-account", "0", "--to", address, "--value", "2.5", "--node", url_}), 0);
    ASSERT_EQ(run({"wallet", "balance", address, "--node", url_}), 0);
    EXPECT_THAT(text("run.log"), HasSubstr("2.5"));
    ASSERT_EQ(run(with_keys({"wallet", "send", "--key", address, "--to", kReceiver, "--value", "1", "--node", url_})),
              0)
        << text("run.log");
    EXPECT_EQ(balance(), kCoin);
    ASSERT_EQ(run({"wallet", "history", address, "--node", url_, "--json"}), 0);
    std::string lower = address;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string history = text("run.log");
    EXPECT_THAT(history, HasSubstr(kReceiver));
    EXPECT_TRUE(history.find(lower) != std::string::npos || history.find(address) != std::string::npos) << history;
}

/// A transaction that was refused in its block moved no coins, and the history says so.
TEST_F(Wallet, TellsWhatWasRefusedInItsBlock) {
    start_node();
    const auto key = wallet::account_key(kDevMnemonic, "", 0);
    ledger::Transaction tx;
    tx.chain_id = kDevChainId;
    tx.fee_cap = ledger::U256{10'000'000'000};
    tx.gas_limit = 1'000'000;
    tx.to = contracts::address_of(contracts::Contract::staking);
    tx.value = kCoin;
    tx.data = contracts::calldata(contracts::Withdraw{});
    auto rpc = client();
    const auto sent = rpc.send_raw(ledger::sign_tx(tx, *key)->raw);
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
    for (int i = 0; i < 500 && !rpc.outcome(*sent).value(); ++i) std::this_thread::sleep_for(10ms);
    ASSERT_EQ(run({"wallet", "history", kFirst, "--node", url_}), 0) << text("run.log");
    EXPECT_THAT(text("run.log"), HasSubstr("  1 coin  reverted: not_payable"));
}

TEST_F(Wallet, WhatWaitsInThePoolSurvivesAKill) {
    block_ms_ = "60000";  // no block while the test runs
    start_node();
    ASSERT_EQ(
        run({"wallet", "send", "--dev-account", "0", "--to", kReceiver, "--value", "1", "--no-wait", "--node", url_}),
        0)
        << text("run.log");
    const auto sender = *ledger::parse_address(kFirst);
    ASSERT_EQ(client().next_nonce(sender).value(), 1U);
    node_->kill();
    start_node();
    EXPECT_EQ(client().next_nonce(sender).value(), 1U);
}

}  // namespace
}  // namespace retrace::node
