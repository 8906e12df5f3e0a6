// SPDX-License-Identifier: MIT
// Executors with one fault each, which the games must find.
#pragma once

#include "contracts/calls/encode.hpp"
#include "contracts/calls/gas.hpp"
#include "contracts/executor.hpp"
#include "contracts/lifecycle/effects.hpp"
#include "contracts/records/store.hpp"
#include "tests/stateful/world.hpp"

namespace retrace::stateful {

/// Runs the contracts and then the fault after each call.
class FaultyExecutor : public ledger::TxExecutor {
public:
    bool is_contract(const ledger::Address& address) const override { return right_.is_contract(address); }
    std::uint64_t gas_of(const ledger::Address& contract, View data) const override {
        return right_.gas_of(contract, data);
    }
    ledger::CallResult call(ledger::State& state, const ledger::BlockContext& block,
                            const ledger::Call& call) const override {
        ledger::CallResult result = right_.call(state, block, call);
        for (const contracts::Contract contract : contracts::kContracts)
            if (address_of(contract) == call.to) after(state, block, call, method_name(contract, call.data), result.ok);
        return result;
    }
    ledger::CallResult view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                 const ledger::Call& call) const override {
        return right_.view_call(view, block, call);
    }
    std::vector<ledger::Log> begin_block(ledger::State& state, const ledger::BlockContext& block) const override {
        return right_.begin_block(state, block);
    }
    std::vector<ledger::Log> engine_report(ledger::State& state, const ledger::BlockContext& block,
                                           const ledger::EngineReport& report) const override {
        return right_.engine_report(state, block, report);
    }
    void genesis(ledger::State& state, View config) const override { right_.genesis(state, config); }
    void genesis_validators(ledger::State& state, std::span<const ledger::Validator> founders,
                            View rules) const override {
        right_.genesis_validators(state, founders, rules);
    }
    std::optional<std::string> broken_invariant(const ledger::StateView& before,
                                                const ledger::State& after) const override {
        return right_.broken_invariant(before, after);
    }

protected:
    virtual void after(ledger::State& state, const ledger::BlockContext& block, const ledger::Call& call,
                       const std::string& method, bool ok) const = 0;

private:
    contracts::Executor right_{
        [](const std::string& what) { throw Failure("nothing breaks an invariant: " + what, ""); }};
};

/// The escrow of the first task claims more coins than the contract holds.
class InventsACoin final : public FaultyExecutor {
    void after(ledger::State& state, const ledger::BlockContext&, const ledger::Call&, const std::string& method,
               bool ok) const override {
        if (!ok || method != "acceptData") return;
        auto task = contracts::must_load<market::Task>(state, contracts::keys::task(1));
        task.escrow += ledger::U256(1);
        contracts::store(state, contracts::keys::task(1), task);
    }
};

/// The deadline of an accepted task's first checkpoint is never scheduled.
class ForgetsADeadline final : public FaultyExecutor {
    void after(ledger::State& state, const ledger::BlockContext&, const ledger::Call& call, const std::string& method,
               bool ok) const override {
        if (!ok || method != "acceptData") return;
        for (const auto& id : contracts::views::open_runs(state, call.sender)) {
            const auto run = contracts::views::run(state, id.task, id.run);
            if (run->deadline == 0 || run->state != market::RunState::running) continue;
            const auto key = contracts::keys::due_page(run->deadline + 1, 0);
            auto page = contracts::load<contracts::ListOf<contracts::ScheduledItem>>(state, key);
            if (!page) continue;
            for (contracts::ScheduledItem& item : page->items)
                if (item.kind == contracts::ScheduledKind::checkpoint_deadline && item.id == id.task &&
                    item.run == id.run)
                    item = {contracts::ScheduledKind::challenge, 1'000'000, 0, 0};
            contracts::store(state, key, *page);
        }
    }
};

/// A refused call reads far too many records first.
class ReadsTooMuch final : public FaultyExecutor {
    void after(ledger::State& state, const ledger::BlockContext&, const ledger::Call&, const std::string& method,
               bool ok) const override {
        if (ok || method != "revealBid") return;
        for (std::uint64_t id = 1; id < 2'000; ++id) (void)contracts::views::dispute(state, id);
    }
};

/// `acceptModel` costs what a call costs that closes nothing, however much the settlement has to close.
class SettlesForACallsGas final : public FaultyExecutor {
public:
    std::uint64_t gas_of(const ledger::Address& contract, View data) const override {
        const std::uint64_t gas = FaultyExecutor::gas_of(contract, data);
        const bool settles = contract == address_of(contracts::Contract::market) &&
                             method_name(contracts::Contract::market, data) == "acceptModel";
        return settles ? gas - 2 * contracts::kGasScheduledItem : gas;
    }
    ledger::CallResult call(ledger::State& state, const ledger::BlockContext& block,
                            const ledger::Call& sent) const override {
        ledger::Call paid = sent;
        paid.gas = FaultyExecutor::gas_of(sent.to, sent.data);
        ledger::CallResult result = FaultyExecutor::call(state, block, paid);
        result.gas_used -= paid.gas - sent.gas;
        return result;
    }

private:
    void after(ledger::State&, const ledger::BlockContext&, const ledger::Call&, const std::string&,
               bool) const override {}
};

/// A call breaks an invariant.
class Aborts final : public FaultyExecutor {
    void after(ledger::State& state, const ledger::BlockContext&, const ledger::Call& call, const std::string& method,
               bool ok) const override {
        ensure(!ok || method != "acceptData" || contracts::views::open_runs(state, call.sender).size() < 2,
               "a solver has one task");
    }
};

/// State depends on something outside the records: here the number of calls since the process began.
class DependsOnTheProcess final : public FaultyExecutor {
    void after(ledger::State& state, const ledger::BlockContext&, const ledger::Call&, const std::string& method,
               bool ok) const override {
        ++calls_;
        const Bytes count{static_cast<std::uint8_t>(1 + calls_ % 251)};
        if (ok && method == "acceptData") state.set_slot(address_of(contracts::Contract::market), view("?"), count);
    }
    mutable std::uint64_t calls_ = 0;
};

}  // namespace retrace::stateful
