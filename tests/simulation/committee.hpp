// SPDX-License-Identifier: MIT
// The validators of a simulated chain: who proposes each block, who votes for it, and what the engine reports. The
// rotation is CometBFT's (weighted round robin, spec/consensus/proposer-selection). SPEC 4.1.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/crypto/vrf.hpp"
#include "ledger/exec/executor.hpp"
#include "market/validator.hpp"
#include "tests/simulation/random.hpp"

namespace retrace::sim {

/// What a malicious proposer does in its own blocks. It has no influence on the other blocks.
enum class ProposerFraud : std::uint8_t {
    none = 0,
    censor = 1,     ///< Leaves out the transactions of honest parties.
    delay = 2,      ///< Proposes nothing at all.
    reorder = 3,    ///< Puts the transactions of adversaries first and inverts the order of all accounts.
    front_run = 4,  ///< Puts a copy of each honest transaction that the rules accept before it.
};
std::string_view slug(ProposerFraud fraud) noexcept;

/// Validator i is the party "validator-i". A malicious one also leaves out the votes of others in its blocks, as many
/// as a block may lack, and now and then withholds its vote, and so its share, from the first block of an epoch.
struct ValidatorRole {
    std::uint64_t weight = 1;  ///< In 100 coins' worth of power that the genesis grants, and 10 coins of stake.
    ProposerFraud fraud = ProposerFraud::none;
    std::uint64_t silent_from = 0, silent_until = 0;  ///< Heights between which it neither votes nor proposes.
    std::uint64_t signs_twice_at = 0;                 ///< Height at which it signs two blocks; 0: never.
    bool honest() const noexcept {
        return fraud == ProposerFraud::none && silent_from == silent_until && signs_twice_at == 0;
    }
    std::string describe() const;
};

/// Stake that a validator of this weight bonds.
ledger::U256 stake_of(const ValidatorRole& role);
/// Short times, so that a run sees validators jailed and back in the set.
market::ValidatorRules simulated_validator_rules();

/// Chooses proposers as CometBFT does.
class Rotation {
public:
    using Powers = std::map<ledger::ConsensusAddress, std::uint64_t>;
    /// Takes over a changed set; who is new waits longest.
    void update(const Powers& powers);
    /// Proceeds by one round and returns its proposer. The set is not empty.
    const ledger::ConsensusAddress& next();

private:
    struct Entry {
        std::uint64_t power = 0;
        std::int64_t priority = 0;
    };
    std::int64_t total() const;
    void centre();
    std::map<ledger::ConsensusAddress, Entry> entries_;
};

class Committee {
public:
    /// With `shares`, votes carry real shares of the beacon.
    Committee(std::vector<ValidatorRole> roles, bool shares, Random random);

    /// For the genesis, in order of their keys.
    std::vector<ledger::Validator> founders() const;

    struct Turn {
        const ValidatorRole* proposer = nullptr;
        ledger::Address account;      ///< Of the proposer.
        ledger::EngineReport report;  ///< What the block of this turn says about the one before.
    };
    /// The next block. `view` is the state before it.
    Turn begin(std::uint64_t height, const ledger::StateView& view, const ledger::TxExecutor& executor);

private:
    struct Member {
        ValidatorRole role;
        ledger::Validator validator;
        ledger::VrfSecret vrf;
        bool is_silent(std::uint64_t height) const { return height >= role.silent_from && height < role.silent_until; }
    };
    void note_set(const ledger::StateView& view, const ledger::TxExecutor& executor);
    std::set<ledger::ConsensusAddress> missing_votes(std::uint64_t height, bool malicious, bool shared);
    void add_evidence(std::uint64_t height, const Member& proposer, ledger::EngineReport& report);

    std::map<ledger::ConsensusAddress, Member> members_;
    bool shares_;
    Random random_;
    std::deque<Rotation::Powers> sets_;  ///< Of the block before, of the next block and of the one after it.
    Rotation rotation_;
    std::vector<ledger::Misbehavior> evidence_;  ///< Known, and in no block yet.
};

}  // namespace retrace::sim
