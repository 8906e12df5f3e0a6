// SPDX-License-Identifier: MIT
#include "tests/simulation/reservation_money.hpp"

#include <algorithm>
#include <functional>

#include "contracts/calls/encode.hpp"
#include "contracts/calls/events.hpp"
#include "ledger/tx/transaction.hpp"

namespace retrace::sim {
namespace {

using ledger::U256;

void for_logs(const ledger::Block& block, const std::function<void(const ledger::Log&)>& see) {
    for (const ledger::Log& log : block.system_logs) see(log);
    for (const ledger::Receipt& receipt : block.receipts)
        for (const ledger::Log& log : receipt.logs) see(log);
}

bool names(const ledger::Log& log, const ledger::Address& party) {
    constexpr std::size_t kWord = 32, kPadding = 12;
    const auto is_party = [&](View word) { return std::ranges::equal(word.subspan(kPadding), party.bytes); };
    if (std::ranges::any_of(log.topics, [&](const Hash32& topic) { return is_party(View(topic.bytes)); })) return true;
    for (std::size_t at = 0; at + kWord <= log.data.size(); at += kWord)
        if (is_party(View(log.data).subspan(at, kWord))) return true;
    return false;
}

template <class... Event>
bool is_one_of(const contracts::AnyEvent& event) {
    return (std::holds_alternative<Event>(event) || ...);
}

/// Whether the event may come with a payment to the party that is not one of a reservation.
bool may_pay(const ledger::Log& log, const ledger::Address& party) {
    using namespace contracts;
    const auto event = decode_any_event(log);
    if (!event) return true;
    // What is paid then has an event of its own.
    if (is_one_of<TimeReserved, ReservationChanged, ReservationPaid, StakeChanged, TaskPosted, TaskAssigned,
                  DataAccepted, RunEnded>(*event))
        return false;
    // These pay parties that they do not name.
    if (is_one_of<ReportClosed, DisputeDecided, RetentionClosed>(*event)) return true;
    if (const auto* slashed = std::get_if<Slashed>(&*event)) return !slashed->to_others.is_zero();
    return names(log, party);
}

template <class Call>
bool is(const ledger::SignedTx& tx) {
    static const Bytes data = contracts::calldata(Call{});
    constexpr std::size_t kSelector = 4;
    return tx.tx.data.size() >= kSelector && std::equal(data.begin(), data.begin() + kSelector, tx.tx.data.begin());
}

/// Whether a call returns or pays coins to its sender without an event that names it: a stake that is withdrawn, and the
/// rest of what a call brings.
bool pays_sender(const ledger::SignedTx& tx) {
    if (tx.tx.to == contracts::address_of(contracts::Contract::staking)) return true;
    return !tx.tx.value.is_zero() && !is<contracts::Reserve>(tx) && !is<contracts::BeginReserved>(tx);
}

}  // namespace

U256 spent_by(const ledger::Block& block, const ledger::Address& party) {
    U256 sum;
    for (std::size_t i = 0; i < block.txs.size(); ++i) {
        const ledger::TxPtr& tx = block.txs[i].tx;
        if (!tx || tx->sender != party) continue;
        const ledger::Receipt& receipt = block.receipts[i];
        sum += receipt.effective_gas_price * U256(receipt.gas_used);
        if (receipt.success) sum += tx->tx.value;
    }
    return sum;
}

U256 burned_by(const ledger::Block& block) {
    U256 sum;
    for (std::size_t i = 0; i < block.txs.size(); ++i) {
        const ledger::TxPtr& tx = block.txs[i].tx;
        if (!tx) continue;
        const ledger::Receipt& receipt = block.receipts[i];
        sum += (receipt.effective_gas_price - ledger::effective_tip(tx->tx, block.header.base_fee)) *
               U256(receipt.gas_used);
    }
    for_logs(block, [&](const ledger::Log& log) {
        if (const auto slashed = contracts::decode_event<contracts::Slashed>(log)) sum += slashed->burned;
        if (const auto paid = contracts::decode_event<contracts::PlacePaid>(log)) sum += paid->amount;
        if (const auto lost = contracts::decode_event<contracts::BidForfeited>(log)) sum += lost->deposit;
    });
    return sum;
}

bool only_reservations_move(const ledger::Block& block, const ledger::Address& party) {
    if (block.header.proposer == party) return false;
    for (std::size_t i = 0; i < block.txs.size(); ++i) {
        const ledger::TxPtr& tx = block.txs[i].tx;
        if (!tx || !block.receipts[i].success) continue;
        if (tx->tx.to == party || (tx->sender == party && pays_sender(*tx))) return false;
    }
    bool out = true;
    for_logs(block, [&](const ledger::Log& log) { out = out && !may_pay(log, party); });
    return out;
}

}  // namespace retrace::sim
