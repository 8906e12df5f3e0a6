// SPDX-License-Identifier: MIT
#include "node/service/submitter.hpp"

#include <algorithm>
#include <thread>

namespace retrace::node {
namespace {

constexpr std::uint64_t kTip = 1'000'000'000;
constexpr std::size_t kPendingMax = 256;

/// What a refused estimate means: the rule's slug when there is one.
std::string refusal_of(const RpcFailure& failure) {
    if (failure.data.empty()) return failure.message;
    const auto data = from_hex(failure.data);
    const auto refused = data ? contracts::decode_refusal(*data) : std::nullopt;
    if (!refused) return failure.message;
    return refused->slug + " (rule " + std::to_string(refused->code) + ")";
}

}  // namespace

Result<Hash32> Submitter::send(std::string what, const ledger::Address& to, const ledger::U256& value,
                               Bytes data) {
    const auto gas = client_.estimate_gas(address_, to, value, data);
    if (!gas) return error(what + ": " + refusal_of(gas.error()));
    return send_with(std::move(what), to, value, std::move(data),
                     *gas + std::min(*gas / 5, UINT64_MAX - *gas));
}

Result<Hash32> Submitter::send_with(std::string what, const ledger::Address& to, const ledger::U256& value,
                                    Bytes data, std::uint64_t gas) {
    const auto nonce = client_.next_nonce(address_);
    if (!nonce) return error(what + ": " + nonce.error().message);
    const auto base_fee = client_.base_fee();
    if (!base_fee) return error(what + ": " + base_fee.error().message);

    const auto fees = fees_of(*base_fee, kTip, gas);
    if (!fees) return error(what + ": " + fees.error().message);

    ledger::Transaction tx;
    tx.chain_id = chain_id_;
    tx.nonce = *nonce;
    tx.tip_cap = fees->tip_cap;
    tx.fee_cap = fees->fee_cap;
    tx.gas_limit = fees->gas;
    tx.to = to;
    tx.value = value;
    tx.data = std::move(data);
    const ledger::TxPtr signed_tx = ledger::sign_tx(std::move(tx), key_);
    const auto sent = client_.send_raw(signed_tx->raw);
    if (!sent) return error(what + ": " + sent.error().message);
    if (pending_.size() == kPendingMax) pending_.erase(pending_.begin());
    pending_.push_back({std::move(what), *sent, signed_tx->raw});
    return *sent;
}

Result<TxOutcome> Submitter::wait(const Hash32& tx, std::chrono::seconds patience) {
    const auto is_it = [&](const Pending& item) { return item.hash == tx; };
    const auto sent = std::find_if(pending_.begin(), pending_.end(), is_it);
    const std::optional<Pending> copy = sent != pending_.end() ? std::optional(*sent) : std::nullopt;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
        for (Finished& finished : poll()) {
            if (finished.outcome.hash != tx) continue;
            if (!finished.outcome.ok) return error(finished.what + ": " + finished.outcome.reason);
            return std::move(finished.outcome);
        }
        if (copy && std::none_of(pending_.begin(), pending_.end(), is_it)) {
            if (const auto again = client_.send_raw(copy->raw); !again)
                return error(copy->what + ": the node forgot it: " + again.error().message);
            pending_.push_back(*copy);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return error("the transaction " + to_0x(view(tx)) + " is in no block yet; does the node produce blocks?");
}

std::vector<Finished> Submitter::poll() {
    std::vector<Finished> out;
    std::erase_if(pending_, [&](Pending& item) {
        auto outcome = client_.outcome(item.hash);
        if (!outcome) return false;
        if (outcome->has_value()) {
            out.push_back({std::move(item.what), std::move(**outcome)});
            return true;
        }
        const auto known = client_.known(item.hash);
        return known && !*known;
    });
    return out;
}

}  // namespace retrace::node
