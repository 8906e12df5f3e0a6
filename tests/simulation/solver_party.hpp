// SPDX-License-Identifier: MIT
// A solver: the product's agents on a simulated machine, and what an adversary changes about them.
#pragma once

#include <random>

#include "node/agents/mask_duties.hpp"
#include "solver/agent/agent.hpp"
#include "solver/attacks/compute_attacks.hpp"
#include "solver/attacks/inflated_benchmark.hpp"
#include "solver/attacks/protocol_attacks.hpp"
#include "solver/attacks/unresponsive.hpp"
#include "tests/simulation/party.hpp"
#include "tests/simulation/provider.hpp"
#include "verifier/agent/dispute_agent.hpp"
#include "verifier/attacks/dispute_attacks.hpp"

namespace retrace::sim {

struct SolverRole {
    std::optional<solver::ComputeAttack> fraud;
    std::optional<std::uint64_t> segment;  ///< Segment of the fraud; by default the last one.
    std::optional<std::uint64_t> task;     ///< The only task of the fraud; by default all tasks.
    std::optional<solver::ProtocolAttack> protocol_attack;
    std::optional<verifier::DisputeAttack> dispute_attack;
    ledger::U256 stake;
    std::uint64_t price_bp = 8000;  ///< In basis points of a task's ceiling.
    bool pays_for_retention = false;
    std::uint64_t gives_back_after =
        0;                            ///< Segments of a run of a spot task after which it gives the run back; 0: never.
    ledger::U256 waits_for;           ///< Bids only where a segment costs at least so much.
    bool bids_always = false;         ///< Bids even for more than its machine can compute.
    bool inflates_benchmark = false;  ///< Claims benchmark rounds that it did not compute.
    bool mute = false;                ///< Answers no challenge.
    bool owned = false;               ///< Honest itself, but works for an owner of dishonest parties.
    std::uint64_t holds_until = 0;    ///< Commits to no trained state before this height; 0: no delay.
    bool floods_in_bursts = false;    ///< SPEC 6.5.
    bool blind = false;               ///< Commits to made-up states at once, then opens none and stays silent.
    std::uint64_t speed_bp = kFast;   ///< In basis points of the slowest allowed machine.
    std::uint64_t comes_at = 0;       ///< Height from which it bonds and registers.
    // In groups:
    std::set<std::uint32_t> away;                 ///< Rounds in which it sends nothing.
    std::uint32_t member_steps = 0;               ///< Inner steps in each round; 0: as many as fit.
    bool joins = false;                           ///< Takes free seats, and bids for none.
    std::optional<std::uint32_t> leaves_in = {};  ///< Round in which it gives its seat up.
    bool opens_late = false;                      ///< Opens its states as late as it may.
    bool gives_up = false;                        ///< Wins a seat and declines it.
    bool sends_late = false;                      ///< Sends each message when it is as old as it may be.
    std::string serves_only = {};                 ///< The only party that gets messages from it; empty: all do.
    bool never_finishes = false;                  ///< Does not take in the last records.
    // In private groups:
    std::set<std::string> consents = {};  ///< Verifiers that have its data from it and may audit it.
    bool switches_data = false;           ///< Trains on other data than those that it has committed to.
    bool false_start = false;  ///< Its first state is not the one that `init` makes, nor are its shared tensors.
    // In groups with masks:
    std::set<std::string> omits = {};  ///< Names of calls that it never sends, of those of masks.
    bool deals_garbage = false;        ///< Seals shares for others that are none.
    // Of reservations, which it accepts as they come:
    bool stays_away = false;  ///< Neither takes nor declines the task for which its time was reserved.
    bool declines_reserved = false;
    bool ignores_offers = false;  ///< Accepts none, which costs nobody anything.

    bool honest() const {
        return !fraud && !protocol_attack && !dispute_attack && !inflates_benchmark && !mute && !blind && !owned &&
               !opens_late && !gives_up && serves_only.empty() && !never_finishes && !stays_away &&
               !declines_reserved && !switches_data && !false_start && !deals_garbage && omits.empty() &&
               holds_until == 0;
    }
    std::string describe() const;
};

class SolverParty final : public Party {
public:
    SolverParty(World& world, NodeId id, std::string name, SolverRole role);

    solver::ArtifactSource* provider() override;
    bool serves_messages_to(NodeId node) const override;
    const SolverRole& role() const noexcept { return role_; }
    /// The root that it has for a state, which it passes to an accomplice.
    std::optional<Hash32> root_of(std::uint64_t task, std::uint32_t run, std::uint64_t index) const;

private:
    void boot() override;
    void halt() override;
    void act(const ledger::StateView& view, std::uint64_t height) override;
    void enroll(const ledger::StateView& view, std::uint64_t height);
    void accept_reservations(const ledger::StateView& view, std::uint64_t height);
    void break_word(const ledger::StateView& view, std::vector<solver::SolverMove>& moves) const;
    /// Price that it asks for each segment that it computes.
    ledger::U256 wish(const market::TaskSpec& spec) const;
    /// Whether its machine can train two segments of each run, with one more, before the first checkpoint is due.
    bool has_time(const ledger::StateView& view, const market::TaskSpec& spec) const;
    node::Quote quote(const ledger::StateView& view, std::uint64_t task, const market::TaskSpec& spec) const;
    std::size_t open_bids(const ledger::StateView& view) const;
    void play(const ledger::StateView& view, std::uint64_t height);
    bool is_between_floods(const solver::SolverView& view);
    void fall_silent(const solver::SolverView& seen, std::vector<solver::SolverMove>& moves);
    void hold_back(const solver::SolverView& seen, std::vector<solver::SolverMove>& moves) const;
    void commit_blindly(const solver::SolverView& seen, std::vector<solver::SolverMove>& moves);
    void make_moves(const ledger::StateView& view, const solver::SolverView& seen,
                    std::vector<solver::SolverMove> moves);
    bool gives_back(const ledger::StateView& view, const solver::CommitCheckpoint& move) const;
    void send_bid(const ledger::StateView& view, const solver::CommitBid& bid);
    // In groups (group_member.cpp):
    void offer_seats(const ledger::StateView& view, solver::SolverView& seen);
    void leave_groups(const ledger::StateView& view);
    void hold_openings_back(const ledger::StateView& view, std::uint64_t height,
                            std::vector<solver::SolverMove>& moves) const;
    void hold_messages_back(const ledger::StateView& view, std::vector<solver::SolverMove>& moves) const;
    void stay_out_at_the_end(const ledger::StateView& view, std::vector<solver::SolverMove>& moves) const;
    /// Sends the calls of a member; false: the move is none of a member's.
    bool make_member_move(const ledger::StateView& view, const solver::SolverMove& move);
    void note_sent(const solver::CommitRound& move);
    // In groups with masks (masked_members.cpp):
    void play_masks(const ledger::StateView& view, std::uint64_t height, solver::SolverView& seen);
    void send_masks(const node::MaskCall& due, std::uint64_t height);
    void note_masks(const solver::CommitRound& move, const solver::SolverView& seen);
    // In private groups (private_parties.cpp):
    void load_own_data();
    void use_own_data(solver::SolverView& seen);
    void update_consent(const ledger::StateView& view, std::uint64_t height, const solver::SolverView& seen);
    solver::RunnerFactory with_false_start(solver::RunnerFactory runners) const;

    /// State that is lost in a crash.
    struct Memory {
        std::unique_ptr<solver::CheckpointStore> store;
        std::unique_ptr<solver::MessageStore> messages;
        std::unique_ptr<StoreProvider> provider;
        std::unique_ptr<solver::ArtifactSource> attacking_provider;
        std::unique_ptr<NetworkSource> source;
        solver::PrivateData data;
        std::unique_ptr<solver::TaskCache> task_cache;
        std::unique_ptr<solver::Benchmarker> bench;
        std::unique_ptr<solver::SolverAgent> agent;
        std::unique_ptr<node::MaskDuties> masks;
        std::unique_ptr<verifier::DisputeReplays> dispute_replays;
        std::unique_ptr<verifier::DisputeAgent> disputes;
    };
    struct SealedBid {
        ledger::U256 price;
        std::uint64_t finish = 0;
    };
    SolverRole role_;
    std::unique_ptr<Memory> memory_;
    std::map<std::pair<std::uint64_t, std::uint32_t>, SealedBid> bids_;  ///< In a small file that survives a crash.
    std::uint64_t enrolled_height_ = 0;
    std::map<std::uint64_t, std::uint64_t> accepted_;            ///< Height of the newest call, by reservation.
    std::set<std::pair<std::uint64_t, std::uint32_t>> blinded_;  ///< Run ids.
    std::map<solver::RunKey, std::uint64_t> consented_;          ///< Height of the newest call, by run.
    std::map<Bytes, std::uint64_t> mask_calls_;                  ///< The same by what the call is about.
    std::mt19937_64 mask_random_;                                ///< Secrets; a machine draws others after a crash.
    std::optional<solver::Unresponsive> unresponsive_;
    std::optional<solver::AttackingMoves> protocol_attacks_;
    std::uint64_t flood_views_ = 0;  ///< Views with runs so far.
};

}  // namespace retrace::sim
