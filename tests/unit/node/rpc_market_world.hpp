// SPDX-License-Identifier: MIT
// A chain with the native contracts and short durations, an auction that is played by transactions, and records of an
// audit, a dispute and a report that are written at genesis.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "contracts/calls/call_status.hpp"
#include "contracts/calls/encode.hpp"
#include "contracts/executor.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"
#include "market/auction.hpp"
#include "market/escrow.hpp"
#include "node/server/config/params_json.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {

/// The rules, with prepared records whose creation would otherwise take days.
class PreparedExecutor final : public ledger::TxExecutor {
public:
    bool is_contract(const ledger::Address& address) const override { return rules_.is_contract(address); }
    std::uint64_t gas_of(const ledger::Address& contract, View data) const override {
        return rules_.gas_of(contract, data);
    }
    ledger::CallResult call(ledger::State& state, const ledger::BlockContext& block,
                            const ledger::Call& call) const override {
        return rules_.call(state, block, call);
    }
    ledger::CallResult view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                 const ledger::Call& call) const override {
        return rules_.view_call(view, block, call);
    }
    std::vector<ledger::Log> begin_block(ledger::State& state, const ledger::BlockContext& block) const override {
        auto logs = rules_.begin_block(state, block);
        if (beside_the_rules) beside_the_rules(state);
        return logs;
    }
    /// Additional work of each block, to create records that would take days.
    std::function<void(ledger::State&)> beside_the_rules;

    void genesis(ledger::State& state, View config) const override {
        rules_.genesis(state, config);
        namespace keys = contracts::keys;
        market::Audit audit{.id = 1,
                            .task = 1,
                            .run = 0,
                            .segment = 2,
                            .phase = market::AuditPhase::closed,
                            .deadline = 0,
                            .redraws = 0,
                            .seats = {},
                            .waiting = {}};
        audit.seats.push_back({.auditor = dev_key(5).address(),
                               .state = market::SeatState::mismatched,
                               .bond = {},
                               .commitment = {},
                               .root = {},
                               .paid = false,
                               .reports = 0});
        contracts::store(state, keys::audit(contracts::next_id(state, keys::audit_count())), audit);
        market::Dispute dispute;
        dispute.id = contracts::next_id(state, keys::dispute_count());
        dispute.kind = market::DisputeKind::audit;
        dispute.state = market::DisputeState::solver_lost;
        dispute.task = dispute.audit = 1;
        dispute.solver = dev_key(1).address();
        dispute.challenger = dev_key(5).address();
        dispute.ending = static_cast<std::uint8_t>(verifier::Ending::referee_solver_wrong);
        dispute.rounds = 8;
        contracts::store(state, keys::dispute(1), dispute);
        market::Report report;
        report.id = contracts::next_id(state, keys::report_count());
        report.kind = market::ReportKind::data;
        report.state = market::ReportState::answered;
        report.reporter = dev_key(5).address();
        report.task = 1;
        contracts::store(state, keys::report(1), report);
    }
    std::optional<std::string> broken_invariant(const ledger::StateView& before,
                                                const ledger::State& after) const override {
        if (beside_the_rules) return std::nullopt;
        return rules_.broken_invariant(before, after);
    }

private:
    contracts::Executor rules_;
};

class MarketWorld : public testing::Test {
protected:
    explicit MarketWorld(ledger::ChainOptions kept = {}) : world(&executor, market::encode(params()), kept) {}

    static market::Params params() {
        market::Params out = default_params();
        out.bid_blocks = 3;
        out.reveal_blocks = 3;
        return out;
    }
    static market::TaskSpec spec() {
        market::TaskSpec out;
        out.name = "digits";
        out.program_root = Hash32{{1}};
        out.program_bytes = 1000;
        out.initial_state_root = Hash32{{2}};
        out.data_roots = {Hash32{{3}}};
        out.steps = 40;
        out.interval = 10;
        out.contract_hash = default_params().contract_hash;
        out.price_ceiling = market::kMilli;
        out.finish_blocks = 1000;
        return out;
    }
    static std::string address(std::uint32_t index) { return ledger::to_0x(dev_key(index).address()); }

    template <class Call>
    std::string send(std::uint32_t from, const Call& call, const ledger::U256& value = {}) {
        return world.send(
            world.make_tx(from, contracts::address_of(Call::kContract), value, calldata(call), {}, 10'000'000));
    }
    void add_solver(std::uint32_t index) {
        send(index, contracts::Deposit{}, ledger::U256(100'000) * ledger::U256(market::kMilli));
        send(index, contracts::RegisterSolver{"http://solver", 1});
    }
    void post() {
        const auto escrow = market::escrow_of(spec(), params());
        send(0, contracts::PostTask{spec()}, escrow->total());
        world.mine();
    }
    /// The requester asks the solver for its time.
    void reserve(std::uint32_t solver) {
        const std::uint64_t from = world.chain->height() + 100;
        send(0, contracts::Reserve{spec(), dev_key(solver).address(), ledger::U256(5), from, from + 100},
             ledger::U256(1));
    }
    market::Task task() { return contracts::views::task(*world.chain->view(), 1).value(); }
    std::string commit(std::uint32_t bidder, std::uint64_t price) {
        const Hash32 commitment = market::bid_commitment(1, task().round, ledger::U256(price), task().reveal_end + 900,
                                                         Hash32{{9}}, dev_key(bidder).address());
        return send(bidder, contracts::CommitBid{1, commitment}, params().bid_deposit);
    }
    std::string reveal(std::uint32_t bidder, std::uint64_t price) {
        return send(bidder, contracts::RevealBid{1, ledger::U256(price), task().reveal_end + 900, Hash32{{9}}});
    }
    void mine_to(std::uint64_t height) {
        while (world.chain->height() < height) {
            world.send(world.make_tx(9, dev_key(9).address(), {}));
            world.mine();
        }
    }
    /// Solvers 1, 2 and 3 bid; 1 is the cheapest, and 3 does not reveal. Runs up to the close of the auction.
    void play_auction() {
        for (const std::uint32_t i : {1, 2, 3}) add_solver(i);
        world.mine();
        post();
        commit(1, 100'000);
        commit(2, 200'000);
        commit(3, 50'000);
        world.mine();
        mine_to(task().bid_end - 1);
        reveal(1, 100'000);
        reveal(2, 200'000);
        world.mine();
        mine_to(task().reveal_end);
    }

    PreparedExecutor executor;
    RpcWorld world;
};

}  // namespace retrace::node::test
