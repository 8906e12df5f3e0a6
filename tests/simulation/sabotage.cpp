// SPDX-License-Identifier: MIT
#include "tests/simulation/sabotage.hpp"

#include <algorithm>
#include <array>

#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/effects.hpp"
#include "contracts/lifecycle/invariants.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/views.hpp"
#include "ledger/state/supply.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

constexpr std::array kSabotages = {Sabotage::none,          Sabotage::slash_honest, Sabotage::mint,
                                   Sabotage::two_movers,    Sabotage::stall,        Sabotage::acquit,
                                   Sabotage::spare_deposit, Sabotage::wrong_wei};

template <class Act>
void for_open_disputes(const ledger::State& state, Act act) {
    for (std::uint64_t id = 1; id <= views::dispute_count(state); ++id) {
        const auto dispute = views::dispute(state, id);
        if (dispute && dispute->state == market::DisputeState::open) act(*dispute);
    }
}

std::vector<std::uint64_t> accepted_reservations(const ledger::State& state) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t id = 1; id <= views::reservation_count(state); ++id)
        if (views::reservation(state, id)->state == market::ReservationState::accepted) out.push_back(id);
    return out;
}

/// Creates stake that nobody deposited.
void grow_stake(ledger::State& state, const ledger::Address& party) {
    market::Stake stake = views::stake(state, party);
    stake.bonded += ledger::U256(1);
    contracts::store(state, contracts::keys::stake(party), stake);
}

}  // namespace

std::string_view slug(Sabotage sabotage) noexcept {
    switch (sabotage) {
        case Sabotage::none: return "none";
        case Sabotage::slash_honest: return "slash_honest";
        case Sabotage::mint: return "mint";
        case Sabotage::two_movers: return "two_movers";
        case Sabotage::stall: return "stall";
        case Sabotage::acquit: return "acquit";
        case Sabotage::spare_deposit: return "spare_deposit";
        case Sabotage::wrong_wei: return "wrong_wei";
    }
    return "unknown";
}

std::optional<Sabotage> parse_sabotage(std::string_view text) noexcept {
    const auto found =
        std::find_if(kSabotages.begin(), kSabotages.end(), [&](Sabotage sabotage) { return slug(sabotage) == text; });
    if (found == kSabotages.end()) return std::nullopt;
    return *found;
}

ledger::CallResult WatchedExecutor::call(ledger::State& state, const ledger::BlockContext& block,
                                         const ledger::Call& call) const {
    ledger::CallResult out = rules_.call(state, block, call);
    if (out.ok && sabotage_ == Sabotage::wrong_wei && block.height >= height_) add_wei(state, out.logs);
    return out;
}

void WatchedExecutor::break_disputes(ledger::State& state) const {
    for_open_disputes(state, [&](market::Dispute dispute) {
        dispute.mover = 3;
        contracts::store(state, contracts::keys::dispute(dispute.id), dispute);
    });
}

void WatchedExecutor::spare_deposits(ledger::State& state, const std::vector<std::uint64_t>& accepted) const {
    for (const std::uint64_t id : accepted) {
        const auto now = views::reservation(state, id);
        if (now->state == market::ReservationState::unused)
            (void)state.transfer(now->solver, now->requester, now->deposit);
    }
}

void WatchedExecutor::add_wei(ledger::State& state, const std::vector<ledger::Log>& logs) const {
    for (const ledger::Log& log : logs) {
        const auto event = contracts::decode_event<contracts::ReservationChanged>(log);
        const auto now = event ? views::reservation(state, event->reservation) : std::nullopt;
        if (!now || market::holds_deposit(now->state)) continue;
        for (const ledger::Address& party : {now->requester, now->solver})
            (void)state.transfer(victim_, party, ledger::U256(1));
    }
}

std::vector<ledger::Log> WatchedExecutor::begin_block(ledger::State& state, const ledger::BlockContext& block) const {
    ledger::State overlay = ledger::State::over(state);
    std::vector<ledger::Log> logs = begin_sabotaged(overlay, block);
    (void)broken_invariant(state, overlay);
    state.apply(overlay.diff());
    return logs;
}

std::vector<ledger::Log> WatchedExecutor::engine_report(ledger::State& state, const ledger::BlockContext& block,
                                                        const ledger::EngineReport& report) const {
    ledger::State overlay = ledger::State::over(state);
    std::vector<ledger::Log> logs = rules_.engine_report(overlay, block, report);
    (void)broken_invariant(state, overlay);
    state.apply(overlay.diff());
    return logs;
}

std::vector<ledger::Log> WatchedExecutor::begin_sabotaged(ledger::State& state,
                                                          const ledger::BlockContext& block) const {
    const bool broken = block.height >= height_;
    if (broken && sabotage_ == Sabotage::stall) return {};
    const std::vector<std::uint64_t> accepted = accepted_reservations(state);
    std::vector<ledger::Log> logs = rules_.begin_block(state, block);
    if (!broken) return logs;
    const auto params = views::params(state);
    contracts::Effects fx{state, *params, block.height, {}};
    switch (sabotage_) {
        case Sabotage::slash_honest:
            if (block.height % 50 == 0)
                contracts::slash_available(fx, victim_, 0, ledger::U256(market::kMilli),
                                           contracts::SlashReason::beacon_missed);
            break;
        case Sabotage::mint:
            if (block.height % 50 == 0) grow_stake(state, victim_);
            break;
        case Sabotage::two_movers: break_disputes(state); break;
        case Sabotage::spare_deposit: spare_deposits(state, accepted); break;
        case Sabotage::wrong_wei: add_wei(state, logs); break;
        case Sabotage::acquit:
            for_open_disputes(state,
                              [&](const market::Dispute& dispute) { contracts::withdraw_dispute(fx, dispute.id); });
            break;
        default: break;
    }
    logs.insert(logs.end(), fx.logs.begin(), fx.logs.end());
    return logs;
}

std::optional<std::string> WatchedExecutor::broken_invariant(const ledger::StateView& before,
                                                             const ledger::State& after) const {
    if (!broken_) broken_ = contracts::broken_invariant(before, after);
    return std::nullopt;  // The run continues, so that the other checkers see the consequences.
}

}  // namespace retrace::sim
