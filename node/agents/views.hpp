// SPDX-License-Identifier: MIT
// Converts contract records to the views of the agents. A view describes one block; `may_…` means that the call is
// legal in the next block.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "contracts/records/views.hpp"
#include "market/groups.hpp"
#include "solver/agent/work.hpp"
#include "solver/chain_view.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::node {

/// Returns the task's terms as the solver and verifier types have them. `group`: of a group's task.
solver::TaskTerms terms_of(std::uint64_t task, const market::TaskSpec& spec,
                           const std::optional<market::GroupSpec>& group);

/// Cache of records that hardly ever change once they exist, so that each is read from the node once.
class Immutable {
public:
    std::optional<market::TaskSpec> spec(const ledger::StateView& view, std::uint64_t task);
    /// The terms of a group; nullopt for the other tasks.
    std::optional<market::GroupSpec> group(const ledger::StateView& view, std::uint64_t task);
    std::optional<solver::TaskTerms> terms(const ledger::StateView& view, std::uint64_t task);
    /// The record of a closed round with the roots of its messages.
    std::optional<solver::RecordView> record(const ledger::StateView& view, std::uint64_t task, std::uint32_t round);
    std::optional<market::Params> params(const ledger::StateView& view);
    /// Call once for each view. Drops the tasks that were not used since the last call nor in the period before it;
    /// otherwise a long-running party would keep every task that it ever saw.
    void forget_unused() {
        before_ = std::exchange(tasks_, {});
        records_before_ = std::exchange(records_, {});
    }
    std::size_t specs() const noexcept { return tasks_.size() + before_.size(); }

private:
    struct Terms {
        market::TaskSpec spec;
        std::optional<market::GroupSpec> group;
    };
    /// Null if there is no such task, or if its terms break the rules for posting. Those of a task that its requester
    /// has topped up are read anew, because its ceiling may have risen (contracts 12.10).
    const Terms* find(const ledger::StateView& view, std::uint64_t task);

    std::map<std::uint64_t, Terms> tasks_, before_;
    std::map<std::pair<std::uint64_t, std::uint32_t>, solver::RecordView> records_, records_before_;
    std::optional<market::Params> params_;
};

/// Price that a solver asks for a segment of a task; nullopt: no bid, with the reason.
struct Quote {
    std::optional<ledger::U256> price;
    std::string why_not;
};
using Pricing = std::function<Quote(std::uint64_t task, const market::TaskSpec&)>;

/// Most multiply-adds of a replay, and of the moves of a dispute, for a solver with its measured speed (RunView); 0, 0: it
/// is not measured.
std::pair<std::uint64_t, std::uint64_t> capacities(const ledger::StateView& view, const ledger::Address& solver,
                                                   const market::TaskSpec& spec, const market::Params& params);
/// Of these runs of the solver, those that are not over, or that the view does not know.
std::vector<solver::RunKey> runs_not_over(const ledger::StateView& view, const ledger::Address& self,
                                          const std::vector<solver::RunKey>& runs);

/// `height`: height of the block that `view` shows.
solver::SolverView solver_view(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self,
                               const Pricing& pricing, Immutable& immutable);

/// States that the solver's runs have opened and do not serve. Those beyond a segment for which no auditor can be drawn: the
/// requester may decide not to pay for them (contracts 14.12); if the run ends that way, they stay withheld until they are
/// deleted. In a group with masks those that no audit starts from (contracts 21.11.40), for as long.
class Withheld {
public:
    explicit Withheld(std::uint64_t retention_blocks) : retention_blocks_(retention_blocks) {}
    void update(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self);
    std::set<Hash32> roots() const;

private:
    struct Entry {
        std::uint64_t seen = 0;  ///< Height at which the run was last open.
        std::set<Hash32> roots;
        std::set<Hash32> passed;  ///< Those of them that are states below `from`, and stay withheld.
        std::uint64_t from = 0;
    };
    std::uint64_t retention_blocks_;
    std::map<contracts::views::RunId, Entry> runs_;
};

/// Whether the bid of `self` in this auction no longer has to be revealed: it is revealed, or the time for it or the
/// task is over. False for an auction that the view does not know: its bid may be in flight.
bool bid_is_over(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self, std::uint64_t task,
                 std::uint32_t round);

/// Audits in which this verifier had a seat. The contracts list only open audits, but a verdict is attested after the
/// audit has closed.
class Seats {
public:
    /// Adds the open audits and offers and, at the first call (after a restart), the newest kHistory of each on the
    /// chain.
    void update(const ledger::StateView& view, const ledger::Address& self);
    const std::set<std::uint64_t>& audits() const noexcept { return audits_; }
    void drop(std::uint64_t audit) { audits_.erase(audit); }
    /// Solvers' offers to keep a state: open ones of all tasks, and those that this verifier took.
    const std::set<std::uint64_t>& offers() const noexcept { return offers_; }
    void drop_offer(std::uint64_t retention) { offers_.erase(retention); }

private:
    static constexpr std::uint64_t kHistory = 200;
    bool scanned_ = false;
    std::set<std::uint64_t> audits_, offers_;
};
/// Selects the segments that the verifier replays without a seat; empty: all.
using WatchChoice = std::function<bool(std::uint64_t task, std::uint32_t run, std::uint64_t segment)>;
/// `watch`: adds segments and initial states for which this verifier was not drawn and which `choice` selects.
/// `stored`: contents of its checkpoint store; states that it attested to keep stay in the view however old they are.
verifier::VerifierView verifier_view(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self,
                                     Seats& seats, Immutable& immutable, bool watch = false,
                                     const std::vector<solver::CheckpointKey>& stored = {},
                                     const WatchChoice& choice = {});

/// Whether `self` has an unanswered report about the task; the next report waits for its answer.
bool reports_pending(const ledger::StateView& view, std::uint64_t task, const ledger::Address& self);
/// The same for one audit or dispute: a solver that is slow to answer for one segment must not keep its auditor from
/// reporting another. `first`: whether reports about a program or a data set count for this one.
bool reports_pending(const ledger::StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
                     bool first, const ledger::Address& self);

/// Returns the height at which an auditor stops waiting for its material and reports: at most half of `verdict_blocks`
/// is used for fetching, and the other half and the replay allowance are left. If the `deadline` is closer than that,
/// half of the remaining time is used.
std::uint64_t fetch_by_of(std::uint64_t height, std::uint64_t deadline, std::uint64_t verdict_blocks,
                          std::uint64_t replay_blocks);

/// Returns the height from which the deadline of the answer counts in its party's order of work (contracts 18).
std::uint64_t due_of(const market::Report& report, const market::Params& params);

/// Returns the open disputes in which `self` is a side.
std::vector<verifier::DisputeView> dispute_views(const ledger::StateView& view, const ledger::Address& self,
                                                 Immutable& immutable);

}  // namespace retrace::node
