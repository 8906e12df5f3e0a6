// SPDX-License-Identifier: MIT
// `--quickstart` of a solver and a verifier: from nothing to a key, tested machine and coins. Every step may be
// interrupted; the next start goes on behind the last that was done.
#pragma once

#include <string>
#include <vector>

#include "contracts/records/views.hpp"
#include "node/agents/agent_process.hpp"
#include "node/cmd/options.hpp"

namespace CLI {
class App;
}

namespace retrace::node::cli {

struct QuickstartFlags {
    bool on = false;
    std::string words_file;  ///< Where a new key's words go instead of the terminal.
    bool skip_checks = false;
    bool finds_endpoint = false;  ///< Neither --listen nor --endpoint was given.

    void add_to(CLI::App& command);
};

enum class AgentRole : std::uint8_t { solver = 1, verifier = 2 };
std::string_view name_of(AgentRole role) noexcept;

/// The folder of an agent's data where none is named: beside that of the keys.
std::string default_data_dir(AgentRole role);

/// Stake that an agent bonds where its operator names none. A verifier: the chain's minimum and ten audit bonds. A
/// solver: the least lock of a bid in an open auction, but at most that of a default task with a price ceiling of one
/// coin a segment, rounded up to thousandths of a coin; at least the chain's minimum.
ledger::U256 stake_to_start(const ledger::StateView& state, const market::Params& params, AgentRole role);
/// The stake that a dry run of a solver assumes: that to start with for an account that has bonded nothing, otherwise
/// the one that is given.
Result<ledger::U256> stake_of_newcomer(const AgentOptions& options, const ledger::Address& self);
/// What the calls of the first tasks cost: twenty segments' fees, and for a solver twenty deposits of bids.
ledger::U256 fees_to_start(const market::Params& params, const ledger::U256& base_fee, AgentRole role);
/// What an account lacks to bond `stake` and pay `fees`. One that has bonded before lacks nothing while a tenth of the
/// fees is left: it earns by then.
ledger::U256 coins_missing(const ledger::U256& stake, const ledger::U256& fees, const ledger::U256& bonded,
                           const ledger::U256& balance);
/// The word at `index`, from 0; empty beyond the last.
std::string_view word_of(std::string_view words, std::size_t index);

/// Prepares an agent: finds or makes its key, tests the machine, waits for coins, and says each step on standard
/// output. Sets the stake in `options` unless it is given. An account that has bonded stake starts with it, without a
/// test and without waiting. `wants_gpu`: a failure of the GPU's check counts.
Result<ledger::SecretKey> prepare_agent(AgentRole role, const QuickstartFlags& flags, const KeyOptions& key,
                                        AgentOptions& options, bool wants_gpu);

}  // namespace retrace::node::cli
