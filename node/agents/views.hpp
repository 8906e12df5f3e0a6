// SPDX-License-Identifier: MIT
// From contract records to what agents see. A view is of one block; `may_…` means that the call is legal in
// the next.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "contracts/records/views.hpp"
#include "solver/chain_view.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::node {

/// What a task fixes, in the words of solver and verifier.
solver::TaskTerms terms_of(std::uint64_t task, const market::TaskSpec& spec);

/// Records that never change once they exist, so that they are read from the node once.
class Immutable {
public:
    std::optional<market::TaskSpec> spec(const ledger::StateView& view, std::uint64_t task);
    std::optional<market::Params> params(const ledger::StateView& view);
    /// Once for each view: forgets the tasks that were asked for neither since the last call nor before it, or a party
    /// of years would remember every task that it ever saw.
    void forget_unused() { before_ = std::exchange(specs_, {}); }
    std::size_t specs() const noexcept { return specs_.size() + before_.size(); }

private:
    std::map<std::uint64_t, market::TaskSpec> specs_, before_;
    std::optional<market::Params> params_;
};

/// What a solver would ask for a segment of this task; nullopt: no bid, with the reason.
struct Quote {
    std::optional<ledger::U256> price;
    std::string why_not;
};
using Pricing = std::function<Quote(std::uint64_t task, const market::TaskSpec&)>;

/// `height`: of the block that `view` stands for.
solver::SolverView solver_view(const ledger::StateView& view, std::uint64_t height,
                               const ledger::Address& self, const Pricing& pricing, Immutable& immutable);

/// States of the solver's runs that it opened beyond a segment for which nobody can be drawn: its requester
/// may decide not to pay for them (contracts 14.12). They stay withheld when the run ends so, until they are
/// deleted.
class Withheld {
public:
    explicit Withheld(std::uint64_t retention_blocks) : retention_blocks_(retention_blocks) {}
    void update(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self);
    std::set<Hash32> roots() const;

private:
    struct Entry {
        std::uint64_t seen = 0;  ///< Height at which the run was last open.
        std::set<Hash32> roots;
    };
    std::uint64_t retention_blocks_;
    std::map<contracts::views::RunId, Entry> runs_;
};

/// Whether the bid of `self` in this auction has nothing left to be revealed for: it is revealed, or the time for it is
/// over, or the task. An auction that the view knows nothing of is not: its bid may be on its way.
bool bid_is_over(const ledger::StateView& view, std::uint64_t height, const ledger::Address& self, std::uint64_t task,
                 std::uint32_t round);

/// Audits that this verifier had a seat in: the contracts list only those that are open, and a verdict is to
/// be attested afterwards.
class Seats {
public:
    /// Adds what is open now and, at the first call, the newest `history` audits of the chain (after a
    /// restart).
    void update(const ledger::StateView& view, const ledger::Address& self);
    const std::set<std::uint64_t>& audits() const noexcept { return audits_; }
    void drop(std::uint64_t audit) { audits_.erase(audit); }
    /// Offers of solvers to whoever keeps a state: open ones of all tasks, and those that this verifier took.
    const std::set<std::uint64_t>& offers() const noexcept { return offers_; }
    void drop_offer(std::uint64_t retention) { offers_.erase(retention); }

private:
    static constexpr std::uint64_t kHistory = 200;
    bool scanned_ = false;
    std::set<std::uint64_t> audits_, offers_;
};
/// Which segments the verifier would replay of its own accord; empty: all.
using WatchChoice = std::function<bool(std::uint64_t task, std::uint32_t run, std::uint64_t segment)>;
/// `watch`: also segments and initial states that this verifier was not drawn for, and of its `choice`. `stored`: what
/// its store holds; states that it attested to keep stay in the view however long ago that was.
verifier::VerifierView verifier_view(const ledger::StateView& view, std::uint64_t height,
                                     const ledger::Address& self, Seats& seats, Immutable& immutable,
                                     bool watch = false, const std::vector<solver::CheckpointKey>& stored = {},
                                     const WatchChoice& choice = {});

/// Whether `self` has a report about the task that nobody answered: the next one waits for that.
bool reports_pending(const ledger::StateView& view, std::uint64_t task, const ledger::Address& self);
/// The same of one audit or dispute: a solver that is slow to answer for one segment must not keep its auditor from
/// reporting another. `first`: it is what reports of a program or a data set are counted for.
bool reports_pending(const ledger::StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
                     bool first, const ledger::Address& self);

/// When an auditor stops waiting for its material at the latest and reports: half of `verdict_blocks` goes to fetching,
/// the other half and the replay allowance stay. What is left of a `deadline` that is nearer than that is halved.
std::uint64_t fetch_by_of(std::uint64_t height, std::uint64_t deadline, std::uint64_t verdict_blocks,
                          std::uint64_t replay_blocks);

/// Where an answer stands in its party's order of work: its deadline counts from there (contracts 18).
std::uint64_t due_of(const market::Report& report, const market::Params& params);

/// Open disputes with `self` on either side.
std::vector<verifier::DisputeView> dispute_views(const ledger::StateView& view, const ledger::Address& self,
                                                 Immutable& immutable);

/// Where the artifacts of a run are served: its solver, then verifiers that keep its states. Endpoints as
/// registered, except for those that are no address for a stranger to give (parse_public_url).
std::vector<std::string> endpoints_of(const ledger::StateView& view, std::uint64_t task);

}  // namespace retrace::node
