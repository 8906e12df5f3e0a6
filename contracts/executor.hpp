// SPDX-License-Identifier: MIT
// The native contracts behind the ledger's TxExecutor interface.
#pragma once

#include "contracts/lifecycle/isolate.hpp"
#include "ledger/exec/executor.hpp"
#include "market/params.hpp"

namespace retrace::contracts {

class Executor final : public ledger::TxExecutor {
public:
    /// Newest version of the rules that this program has. SPEC 20.9
    static constexpr std::uint64_t kRulesVersion = 1;

    /// `on_broken` receives broken invariants (SPEC 8.3): a node logs and counts them. `version`: for tests.
    explicit Executor(BrokenInvariantHandler on_broken = {}, std::uint64_t version = kRulesVersion)
        : on_broken_(std::move(on_broken)), version_(version) {}

    bool is_contract(const ledger::Address& address) const override;
    std::uint64_t gas_of(const ledger::Address& contract, View data) const override;
    /// The reveal of a member that the epoch's beacon still waits for (SPEC 11.3).
    bool is_awaited(const ledger::StateView& view, std::uint64_t height, const ledger::Call& call) const override;
    ledger::CallResult call(ledger::State& state, const ledger::BlockContext& block,
                            const ledger::Call& call) const override;
    /// Answers view methods, and every other method with its effects discarded.
    ledger::CallResult view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                 const ledger::Call& call) const override;
    std::vector<ledger::Log> begin_block(ledger::State& state, const ledger::BlockContext& block) const override;
    std::vector<ledger::Log> engine_report(ledger::State& state, const ledger::BlockContext& block,
                                           const ledger::EngineReport& report) const override;
    std::vector<ledger::Validator> validators(const ledger::StateView& view) const override;
    std::optional<ledger::Validator> validator_of(const ledger::StateView& view,
                                                  const ledger::ConsensusAddress& address) const override;
    std::optional<std::string> missing_rules(const ledger::StateView& view, std::uint64_t height) const override;
    std::optional<Bytes> share_input(std::uint64_t chain_id, std::uint64_t height) const override;
    bool takes_shares(const ledger::StateView& view, std::uint64_t height) const override;
    /// `config` is market::encode(Params), already validated by market::decode_params (asserted).
    void genesis(ledger::State& state, View config) const override;
    /// `rules` is market::encode(ValidatorRules), already validated by market::decode_validator_rules (asserted).
    void genesis_validators(ledger::State& state, std::span<const ledger::Validator> founders,
                            View rules) const override;
    std::optional<std::string> broken_invariant(const ledger::StateView& before,
                                                const ledger::State& after) const override;
    ledger::CallResult refuse_broken(const ledger::Call& call, const std::string& what) const override;

private:
    BrokenInvariantHandler on_broken_;
    std::uint64_t version_;
};

}  // namespace retrace::contracts
