// SPDX-License-Identifier: MIT
#include "tests/functional/comet/transfer_load.hpp"

#include <array>

#include "node/rpc_client/rpc_client.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node {

using namespace std::chrono_literals;

ledger::TxPtr signed_transfer(std::uint32_t account, std::uint64_t nonce) {
    static const auto keys = [] {
        std::vector<ledger::SecretKey> out;
        for (std::uint32_t i = 0; i < kDevAccounts; ++i) out.push_back(*wallet::account_key(kDevMnemonic, "", i));
        return out;
    }();
    ledger::Transaction tx;
    tx.chain_id = kTestChainId;
    tx.nonce = nonce;
    tx.tip_cap = ledger::U256(1'000'000'000u);
    tx.fee_cap = ledger::U256(100'000'000'000u);
    tx.gas_limit = ledger::kTransferGas;
    ledger::Address to;
    to.bytes.back() = 0xbb;
    tx.to = to;
    tx.value = ledger::U256(1u);
    return ledger::sign_tx(std::move(tx), keys.at(account));
}

TransferLoad::TransferLoad(std::vector<std::string> urls, std::uint32_t seed)
    : urls_(std::move(urls)), random_(seed), thread_([this] { run(); }) {}

TransferLoad::~TransferLoad() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

std::vector<TransferLoad::Accepted> TransferLoad::stop() {
    stopping_ = true;
    thread_.join();
    return std::move(accepted_);
}

void TransferLoad::run() {
    RpcClient::Options options;
    options.deadline = 2s;  // A node may stand still.
    std::vector<RpcClient> clients;
    for (const std::string& url : urls_) clients.push_back(RpcClient::connect(url, options).value());
    std::uniform_int_distribution<std::size_t> any(0, clients.size() - 1);
    std::array<std::uint64_t, kDevAccounts> nonces{};
    for (std::uint32_t account = 0; !stopping_; account = (account + 1) % kDevAccounts) {
        const ledger::TxPtr tx = signed_transfer(account, nonces[account]);
        while (!stopping_) {
            const std::size_t node = any(random_);
            if (clients[node].send_raw(tx->raw)) {
                accepted_.push_back({tx->hash, node});
                ++nonces[account];
                break;
            }
            std::this_thread::sleep_for(10ms);
        }
        std::this_thread::sleep_for(10ms);
    }
}

}  // namespace retrace::node
