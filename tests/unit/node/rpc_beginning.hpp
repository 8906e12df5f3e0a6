// SPDX-License-Identifier: MIT
// The toy contract on a chain whose even blocks begin with two logs, like those of deadlines and draws.
#pragma once

#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {

class BeginningExecutor final : public ledger::TxExecutor {
public:
    static constexpr const char* kTopic = "0x4400000000000000000000000000000000000000000000000000000000000000";

    bool is_contract(const ledger::Address& address) const override { return toy_.is_contract(address); }
    std::uint64_t gas_of(const ledger::Address&, View) const override { return 1000; }
    ledger::CallResult call(ledger::State& state, const ledger::BlockContext& block,
                            const ledger::Call& call) const override {
        return toy_.call(state, block, call);
    }
    ledger::CallResult view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                 const ledger::Call& call) const override {
        return toy_.view_call(view, block, call);
    }
    std::vector<ledger::Log> begin_block(ledger::State&, const ledger::BlockContext& block) const override {
        if (block.height % 2 != 0) return {};
        return {{ToyExecutor::contract(), {Hash32{{0x44}}}, {1}}, {ToyExecutor::contract(), {Hash32{{0x44}}}, {2}}};
    }
    void genesis(ledger::State&, View) const override {}

private:
    ToyExecutor toy_;
};

}  // namespace retrace::node::test
