// SPDX-License-Identifier: MIT
// `kill -9` while eight clients send as fast as they can: every acknowledged transaction is included in a block.
#include <iostream>
#include <random>

#include "ledger/tx/transaction.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/mnemonic.hpp"
#include "tests/functional/rpc/node_process.hpp"

namespace retrace::node {
namespace {

constexpr std::uint32_t kSenders = 8;
constexpr int kKills = 4;

ledger::Address recipient(std::uint32_t sender) {
    ledger::Address out{};
    out.bytes[0] = 0xbb;
    out.bytes[19] = static_cast<std::uint8_t>(sender + 1);
    return out;
}

/// An account that pays one wei at a time to its own recipient.
struct Sender {
    std::uint32_t number = 0;
    std::vector<Hash32> acknowledged;
    std::uint64_t unknown = 0;  ///< Not answered: the node died between accepting the transaction and answering.
    std::string refusal;        ///< Must stay empty.

    void send_until_silence(const std::string& url) {
        const auto key = wallet::account_key(kDevMnemonic, "", number);
        auto rpc = std::move(RpcClient::connect(url)).value();
        auto nonce = rpc.next_nonce(key->address());
        while (nonce) {
            ledger::Transaction tx;
            tx.chain_id = kDevChainId;
            tx.nonce = (*nonce)++;
            tx.tip_cap = ledger::U256{1};
            tx.fee_cap = ledger::U256{1'000'000'000'000};  // enough for any base fee that the load causes
            tx.gas_limit = 21'000;
            tx.to = recipient(number);
            tx.value = ledger::U256{1};
            const auto signed_tx = ledger::sign_tx(std::move(tx), *key);
            const auto sent = rpc.send_raw(signed_tx->raw);
            if (sent) {
                acknowledged.push_back(*sent);
                continue;
            }
            ++unknown;
            if (!sent.error().no_answer) refusal = sent.error().message;
            return;
        }
    }
};

class KillUnderLoad : public NodeProcess {
protected:
    void load_and_kill(std::vector<Sender>& senders, std::chrono::milliseconds after) {
        start_node();
        if (HasFatalFailure()) return;
        std::vector<std::thread> threads;
        for (Sender& sender : senders) threads.emplace_back([&] { sender.send_until_silence(url_); });
        std::this_thread::sleep_for(after);
        node_->kill();
        for (std::thread& thread : threads) thread.join();
    }

    /// Waits until every acknowledged transaction is in a block.
    void expect_included(const Sender& sender) {
        auto rpc = client();
        const auto end = std::chrono::steady_clock::now() + 30s;
        for (const Hash32& hash : sender.acknowledged) {
            for (;;) {
                const auto outcome = rpc.outcome(hash);
                ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
                if (*outcome) {
                    ASSERT_TRUE((*outcome)->ok);
                    break;
                }
                ASSERT_LT(std::chrono::steady_clock::now(), end) << "lost: " << to_hex(view(hash));
                std::this_thread::sleep_for(20ms);
            }
        }
    }
};

TEST_F(KillUnderLoad, NothingThatWasAcknowledgedIsLost) {
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<Sender> senders(kSenders);
    for (std::uint32_t i = 0; i < kSenders; ++i) senders[i].number = i;
    for (int i = 0; i < kKills; ++i) {
        load_and_kill(senders, std::chrono::milliseconds(200 + random() % 800));
        if (HasFatalFailure()) return;
    }
    start_node();
    std::size_t acknowledged = 0;
    for (const Sender& sender : senders) {
        EXPECT_EQ(sender.refusal, "");
        EXPECT_FALSE(sender.acknowledged.empty());
        expect_included(sender);
        const auto paid = client().account(recipient(sender.number));
        ASSERT_TRUE(paid.has_value());
        EXPECT_GE(paid->balance, ledger::U256{sender.acknowledged.size()});
        EXPECT_LE(paid->balance, ledger::U256{sender.acknowledged.size() + sender.unknown});
        acknowledged += sender.acknowledged.size();
    }
    std::cout << acknowledged << " acknowledged by " << kSenders << " senders through " << kKills << " kills\n";
    node_->stop();
    EXPECT_EQ(run({"node", "--dev", "--data-dir", (folder_ / "data").string(), "--verify-db"}), 0) << text("run.log");
}

}  // namespace
}  // namespace retrace::node
