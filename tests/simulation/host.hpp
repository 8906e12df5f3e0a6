// SPDX-License-Identifier: MIT
// The chain as the parties see it: the real ledger on a store in memory, the real mempool, and proposers that take
// turns, one of which may be malicious. Consensus itself is not modelled: a block is final at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ledger/chain/chain.hpp"
#include "ledger/mempool/mempool.hpp"
#include "ledger/storage/fault_store.hpp"
#include "tests/simulation/random.hpp"

namespace retrace::sim {

/// What a malicious proposer does in its own blocks, a third of all. It has no influence on the other blocks.
enum class ProposerFraud : std::uint8_t {
    none = 0,
    censor = 1,  ///< Leaves out the transactions of honest parties.
    delay = 2,   ///< Proposes nothing at all.
};
std::string_view slug(ProposerFraud fraud) noexcept;

struct HostOptions {
    ProposerFraud proposer = ProposerFraud::none;
    std::set<ledger::Address> victims;  ///< Parties that the censor leaves out.
    unsigned crash_permille = 0;        ///< Share of blocks whose write fails or tears, so that the node restarts.
};

class Host {
public:
    /// `executor` outlives the host.
    Host(const ledger::Genesis& genesis, const ledger::TxExecutor& executor, HostOptions options, Random random);

    const ledger::Chain& chain() const noexcept { return *chain_; }
    /// Receives a transaction from its sender. Returns an empty string if it was accepted, else the reason for the
    /// refusal. Its sender is not recovered from the signature, which would take a fifth of a seed's time; only a node
    /// that lost its pool in a crash does so, when it executes the block again.
    std::string take(const ledger::TxPtr& tx);
    /// Makes the next block and commits it, restarting after each crash. `violation` is a sentence if the node came
    /// back with another history than it had.
    struct Made {
        std::shared_ptr<const ledger::Block> block;
        unsigned crashes = 0;
        std::string violation;
    };
    Made produce();

private:
    bool open_with_fault();
    std::vector<Bytes> choose();

    ledger::Genesis genesis_;
    const ledger::TxExecutor& executor_;
    HostOptions options_;
    Random random_;
    ledger::MemoryStore disk_;
    std::unique_ptr<ledger::FaultStore> store_;
    std::unique_ptr<ledger::Chain> chain_;
    std::unique_ptr<ledger::Mempool> pool_;
};

}  // namespace retrace::sim
