// SPDX-License-Identifier: MIT
// The chain as the parties see it: the real ledger on a store in memory, the real mempool, and the committee's
// proposers, some of which may be malicious. Consensus itself is not modelled: a block is final at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ledger/chain/chain.hpp"
#include "ledger/mempool/mempool.hpp"
#include "ledger/storage/fault_store.hpp"
#include "tests/simulation/committee.hpp"

namespace retrace::sim {

/// The account in whose name malicious proposers send copies. Only they use it.
inline constexpr const char* kFrontRunner = "front-runner";

struct HostOptions {
    std::vector<ValidatorRole> validators;
    bool shares = false;                ///< Votes carry shares of the beacon.
    std::set<ledger::Address> victims;  ///< Parties that a censor leaves out, and others are put before.
    std::set<ledger::Address> copied;   ///< Parties whose transactions are copied.
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
    std::vector<Bytes> choose(ProposerFraud fraud) const;
    std::optional<ledger::Transaction> enrolment(const ledger::StateView& view) const;
    std::vector<Bytes> with_copies(const std::vector<ledger::TxPtr>& ready) const;

    ledger::Genesis genesis_;
    const ledger::TxExecutor& executor_;
    HostOptions options_;
    Random random_;
    Committee committee_;
    ledger::SecretKey front_runner_;
    ledger::MemoryStore disk_;
    std::unique_ptr<ledger::FaultStore> store_;
    std::unique_ptr<ledger::Chain> chain_;
    std::unique_ptr<ledger::Mempool> pool_;
};

}  // namespace retrace::sim
