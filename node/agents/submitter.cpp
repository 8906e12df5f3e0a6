// SPDX-License-Identifier: MIT
#include "node/agents/submitter.hpp"

#include <algorithm>
#include <regex>
#include <thread>

#include "contracts/calls/call_status.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kPendingMax = 256;
constexpr std::size_t kRefusalMax = 1024;  ///< Characters; a longer text is no text of ours.

/// Raises a fee by a quarter and at least by 1: our pool asks for a tenth more, other nodes' pools for an eighth.
std::optional<ledger::U256> a_quarter_more(const ledger::U256& fee) {
    const auto five = ledger::checked_mul(fee, 5);
    return five ? ledger::checked_add(*five / 4, 1) : std::nullopt;
}

/// Returns the same call with raised fees; nullopt where it could cost more than kFeeMost.
std::optional<ledger::Transaction> with_bumped_fee(const ledger::Transaction& tx, const ledger::U256& base_fee) {
    const auto tip = a_quarter_more(tx.tip_cap);
    const auto more = a_quarter_more(tx.fee_cap);
    const auto twice = ledger::checked_mul(base_fee, 2);
    const auto asked = tip && twice ? ledger::checked_add(*twice, *tip) : std::nullopt;
    if (!more || !asked) return std::nullopt;
    ledger::Transaction out = tx;
    out.tip_cap = *tip;
    out.fee_cap = ledger::max(*more, *asked);
    const auto most = ledger::checked_mul(out.fee_cap, tx.gas_limit);
    if (!most || *most > kFeeMost) return std::nullopt;
    return out;
}

/// A node's "insufficient funds…: have N wei, need M wei" with its amounts in coins; any other text as it is.
std::string in_coins(const std::string& text) {
    static const std::regex kForm("(insufficient funds.*): have ([0-9]{1,78}) wei, need ([0-9]{1,78}) wei");
    std::smatch found;
    if (text.size() > kRefusalMax || !std::regex_match(text, found, kForm)) return text;
    const auto have = ledger::U256::from_decimal(found.str(2)), need = ledger::U256::from_decimal(found.str(3));
    if (!have || !need) return text;
    return found.str(1) + ": have " + describe_coins(*have) + ", need " + describe_coins_needed(*need);
}

/// Text of a refused estimate: the rule's "slug: sentence" if there is one.
std::string refusal_of(const RpcFailure& failure) {
    if (failure.data.empty()) return in_coins(failure.message);
    const auto data = from_hex(failure.data);
    const auto refused = data ? contracts::decode_refusal(*data) : std::nullopt;
    if (!refused) return failure.message;
    const auto status = static_cast<contracts::CallStatus>(refused->code);
    // A node with newer rules has codes that this program does not know.
    if (contracts::slug(status) == refused->slug) return contracts::reason(status);
    return refused->slug + " (rule " + std::to_string(refused->code) + ")";
}

}  // namespace

Result<Hash32> Submitter::send(std::string what, const ledger::Address& to, const ledger::U256& value, Bytes data) {
    return send_at(kTip, std::move(what), to, value, std::move(data));
}

Result<Hash32> Submitter::send_at(const ledger::U256& tip, std::string what, const ledger::Address& to,
                                  const ledger::U256& value, Bytes data) {
    // A pending call is not sent again with another nonce: the estimate does not see pending calls, so the second one
    // would be included, refused and paid for.
    const auto same = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& item) {
        const ledger::Transaction& tx = item.tx->tx;
        return tx.to == to && tx.value == value && tx.data == data;
    });
    if (same != pending_.end()) return same->hashes.front();
    const auto gas = client_.estimate_gas(address_, to, value, data);
    if (!gas) return error(what + ": " + refusal_of(gas.error()));
    const std::uint64_t limit = *gas + std::min(*gas / 5, UINT64_MAX - *gas);
    auto sent = send_with(tip, what, to, value, data, limit);
    if (sent || !tip.is_zero()) return sent;
    return send_with(kTip, std::move(what), to, value, std::move(data),
                     limit);  // A node may take no call without a tip.
}

Result<Hash32> Submitter::send_with(const ledger::U256& tip, std::string what, const ledger::Address& to,
                                    const ledger::U256& value, Bytes data, std::uint64_t gas) {
    const auto nonce = chain_ != nullptr ? chain_->next_nonce(address_) : client_.next_nonce(address_);
    if (!nonce) return error(what + ": " + nonce.error().message);
    const auto base_fee = client_.base_fee();
    if (!base_fee) return error(what + ": " + base_fee.error().message);

    const auto fees = fees_of(*base_fee, tip, gas);
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
    pending_.push_back({std::move(what), {*sent}, signed_tx, std::nullopt});
    return *sent;
}

Result<TxOutcome> Submitter::wait(const Hash32& tx, std::chrono::seconds timeout) {
    const auto find = [&] {
        return std::find_if(pending_.begin(), pending_.end(),
                            [&](const Pending& item) { return item.hashes.front() == tx; });
    };
    std::optional<Pending> last;
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < end) {
        if (const auto item = find(); item != pending_.end()) last = *item;
        for (Finished& finished : poll()) {
            if (finished.sent != tx) continue;
            auto outcome = chain_ != nullptr ? chain_->outcome(std::move(finished.outcome))
                                             : Result<TxOutcome>(std::move(finished.outcome));
            if (!outcome) return error(finished.what + ": " + outcome.error().message);
            if (!outcome->ok) return error(finished.what + ": " + outcome->reason);
            return outcome;
        }
        if (last && find() == pending_.end()) {
            if (const auto again = client_.send_raw(last->tx->raw); !again)
                return error(last->what + ": the node forgot it: " + again.error().message);
            pending_.push_back(*last);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return error("the transaction " + to_0x(view(tx)) + " is in no block yet; does the node produce blocks?");
}

std::vector<Finished> Submitter::poll() {
    std::vector<Finished> out;
    if (pending_.empty()) return out;
    const auto height = client_.height();
    std::erase_if(pending_, [&](Pending& item) {
        if (auto outcome = outcome_of(item)) {
            out.push_back({std::move(item.what), item.hashes.front(), std::move(*outcome)});
            return true;
        }
        if (forgotten(item)) return true;
        if (!height) return false;
        if (!item.since) item.since = *height;
        if (*height >= *item.since + kFeeBumpBlocks) bump_fee(item, *height);
        return false;
    });
    return out;
}

std::optional<TxOutcome> Submitter::outcome_of(const Pending& item) {
    auto newest = client_.outcome(item.hashes.back());
    if (newest && *newest) return std::move(**newest);
    // Only if the newest replacement is no longer pending can an earlier price have been included.
    const auto waits = item.hashes.size() == 1 ? Result<bool, RpcFailure>(true) : client_.known(item.hashes.back());
    if (!waits || *waits) return std::nullopt;
    for (const Hash32& hash : item.hashes) {
        auto outcome = client_.outcome(hash);
        if (outcome && *outcome) return std::move(**outcome);
    }
    return std::nullopt;
}

bool Submitter::forgotten(const Pending& item) {
    return std::all_of(item.hashes.rbegin(), item.hashes.rend(), [&](const Hash32& hash) {
        const auto known = client_.known(hash);
        return known && !*known;
    });
}

void Submitter::bump_fee(Pending& item, std::uint64_t height) {
    item.since = height;  // the next attempt waits as long, even if this one fails
    if (item.hashes.size() > kFeeBumpsMax) return;
    const auto base_fee = client_.base_fee();
    auto more = base_fee ? with_bumped_fee(item.tx->tx, *base_fee) : std::nullopt;
    if (!more) return;
    const ledger::TxPtr tx = ledger::sign_tx(std::move(*more), key_);
    if (!client_.send_raw(tx->raw)) return;
    item.hashes.push_back(tx->hash);
    item.tx = tx;
}

}  // namespace retrace::node
