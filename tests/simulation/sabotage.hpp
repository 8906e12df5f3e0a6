// SPDX-License-Identifier: MIT
// The contracts as the simulation runs them: a broken invariant is recorded instead of aborting, and a rule can be
// broken on purpose to show that the checkers see it.
#pragma once

#include <optional>
#include <string_view>

#include "contracts/executor.hpp"

namespace retrace::sim {

enum class Sabotage : std::uint8_t {
    none = 0,
    slash_honest = 1,   ///< An honest party loses stake.
    mint = 2,           ///< Stake appears that nobody deposited.
    two_movers = 3,     ///< A dispute waits for a move of both sides.
    stall = 4,          ///< Scheduled items are not handled.
    acquit = 5,         ///< Every dispute is withdrawn instead of decided.
    spare_deposit = 6,  ///< The deposit of a reservation that is not used goes back to its requester.
    wrong_wei = 7,      ///< Both sides of a reservation that ends have a unit more than they should, of the victim's.
};
std::string_view slug(Sabotage sabotage) noexcept;
std::optional<Sabotage> parse_sabotage(std::string_view text) noexcept;

class WatchedExecutor final : public ledger::TxExecutor {
public:
    /// The rule is broken from block `height` on. Under slash_honest `victim` loses stake, under wrong_wei coins.
    WatchedExecutor(Sabotage sabotage, std::uint64_t height) : sabotage_(sabotage), height_(height) {}
    void set_victim(const ledger::Address& victim) { victim_ = victim; }
    /// Returns the first broken invariant, once.
    std::optional<std::string> take_broken() const { return std::exchange(broken_, std::nullopt); }

    bool is_contract(const ledger::Address& address) const override { return rules_.is_contract(address); }
    std::uint64_t gas_of(const ledger::Address& contract, View data) const override {
        return rules_.gas_of(contract, data);
    }
    ledger::CallResult call(ledger::State& state, const ledger::BlockContext& block,
                            const ledger::Call& call) const override;
    ledger::CallResult view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                 const ledger::Call& call) const override {
        return rules_.view_call(view, block, call);
    }
    std::vector<ledger::Log> begin_block(ledger::State& state, const ledger::BlockContext& block) const override;
    std::vector<ledger::Log> engine_report(ledger::State& state, const ledger::BlockContext& block,
                                           const ledger::EngineReport& report) const override;
    std::vector<ledger::Validator> validators(const ledger::StateView& view) const override {
        return rules_.validators(view);
    }
    std::optional<Bytes> share_input(std::uint64_t chain_id, std::uint64_t height) const override {
        return rules_.share_input(chain_id, height);
    }
    bool takes_shares(const ledger::StateView& view, std::uint64_t height) const override {
        return rules_.takes_shares(view, height);
    }
    void genesis(ledger::State& state, View config) const override { rules_.genesis(state, config); }
    void genesis_validators(ledger::State& state, std::span<const ledger::Validator> founders,
                            View rules) const override {
        rules_.genesis_validators(state, founders, rules);
    }
    std::optional<std::string> broken_invariant(const ledger::StateView& before,
                                                const ledger::State& after) const override;

private:
    std::vector<ledger::Log> begin_sabotaged(ledger::State& state, const ledger::BlockContext& block) const;
    void break_disputes(ledger::State& state) const;
    /// Moves the deposits of those reservations among `accepted` that were not used back to their requesters.
    void spare_deposits(ledger::State& state, const std::vector<std::uint64_t>& accepted) const;
    /// Gives the parties of the reservations that end by these events a unit each.
    void add_wei(ledger::State& state, const std::vector<ledger::Log>& logs) const;

    contracts::Executor rules_{[this](const std::string& what) {
        if (!broken_) broken_ = what;
    }};
    Sabotage sabotage_;
    std::uint64_t height_;
    ledger::Address victim_;
    mutable std::optional<std::string> broken_;  // No lock: only one thread executes.
};

}  // namespace retrace::sim
