// SPDX-License-Identifier: MIT
// Decides which tasks a solver bids for and at which price, by the market's rules; part of `retrace solver`.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "contracts/calls/calls.hpp"
#include "node/agents/data_use.hpp"
#include "node/agents/group_views.hpp"
#include "node/agents/reserved_time.hpp"
#include "node/agents/sealed_bids.hpp"
#include "node/agents/stake_share.hpp"
#include "node/agents/work_choice.hpp"
#include "node/artifacts/tensor_files.hpp"
#include "solver/agent/work.hpp"

namespace retrace::node {

class Bidding {
public:
    struct Options {
        /// Price of a segment; none: four fifths of the ceiling, but at least the fees of its calls.
        std::optional<ledger::U256> price;
        std::uint8_t hardware_class = 0;
        std::set<std::uint64_t> only;  ///< Tasks to bid for; empty: all.
        bool groups = false;           ///< Whether to take part in trainings in rounds.
        /// Coins that an hour of this machine must bring: bids ask for as much, and only for tasks that fit its time.
        std::optional<ledger::U256> min_per_hour = {};
        /// Stake that is taken as free, for a dry run; none: what the ledger has.
        std::optional<ledger::U256> assumed_stake = {};
        bool on_device = false;  ///< See Machine::on_device.
        /// Data sets that this party has for private groups; 0: none.
        std::size_t private_sets = 0;
        DataUse data_use = {};                    ///< The tasks that may use them.
        std::uint64_t stake_share = kStakeShare;  ///< Per cent of the stake that one task may lock, see exceeds_share.
    };
    /// Limit on new bids per block. Each bid is written to disk and sent before the agent does anything else.
    static constexpr std::size_t kNewBidsMax = 32;

    Bidding(Options options, std::filesystem::path folder, const ledger::Address& self)
        : options_(std::move(options)), sealed_(std::move(folder)), self_(self) {
        machine_.on_device = options_.on_device;
    }

    /// Returns the price to ask for a segment, or the reason for no bid. `base_fee`: the current price of one unit of
    /// gas.
    Quote quote(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                std::uint64_t id, const market::TaskSpec& spec) const;
    /// The price that a free seat of a group is paid, or the reason not to take it.
    Quote seat(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
               const FreeSeat& seat, const market::TaskSpec& spec) const;
    /// Counts what a seat takes, for which a joinTask was sent at `height`, as that of a bid in flight.
    void count_join(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                    const FreeSeat& seat, const market::TaskSpec& spec, std::uint64_t height);
    /// Whether a won run pays for its work even if the segments that other runs have committed are not paid.
    bool is_worth(const ledger::U256& base_fee, const market::Run& run, const market::TaskSpec& spec) const;
    /// Same as `quote`, and logs the reason for no bid once.
    Quote consider(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                   std::uint64_t id, const market::TaskSpec& spec);
    /// Logs the reason for no bid, or for not taking a seat, once.
    void explain(std::uint64_t id, const Quote& refused);
    /// Processes a view that was read completely. Of the auctions that may be bid in it keeps those that choose_work
    /// takes, the most profitable first, so that many cheap ones take neither stake nor time from them. Entries of
    /// auctions that are over are dropped.
    void on_view(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                 Immutable& immutable, solver::SolverView& view);
    /// Runs of spot tasks to be given back at their next checkpoint, because they leave too little of this machine's time
    /// for the other runs of a view, or may still run when a reserved task begins, leave too little for it, and could not be
    /// given back for it later: the ones that bring least an hour first.
    std::set<solver::RunKey> to_give_back(const ledger::StateView& state, const market::Params& params,
                                          const ledger::U256& base_fee, Immutable& immutable,
                                          const solver::SolverView& view) const;
    /// The part of on_view that only chooses: it writes and deletes nothing. Tasks that are not spot take the room of
    /// spot runs, which can be given back, and spot tasks take what is left.
    void choose(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                Immutable& immutable, solver::SolverView& view);
    /// What this machine computes and how long a block takes.
    void set_machine(double multiply_adds_per_s, double block_s) {
        machine_.multiply_adds_per_s = multiply_adds_per_s;
        machine_.block_s = block_s;
    }
    /// The reserved tasks for which it keeps this machine's time.
    void set_reserved(std::vector<ReservedTask> reserved) { reserved_tasks_ = std::move(reserved); }
    /// A reason why a promise would be broken, and what can be done.
    struct Unkept {
        std::string why, remedy;
    };
    /// Whether this machine would keep its word if it promised its time to `wanted` too, beside the tasks that were set
    /// reserved and the runs of a view, of which spot runs can be given back; nullopt: it would. A device's speed is not
    /// measured, so what is too much for the processors is named there too.
    std::optional<Unkept> unkept(const ledger::StateView& state, const market::Params& params,
                                 const ledger::U256& base_fee, Immutable& immutable, const solver::SolverView& view,
                                 const ReservedTask& wanted) const;
    /// Why this machine can take in no new work, as lacks_room says; empty: it can.
    void set_lacking_room(std::string why) { lacking_room_ = std::move(why); }
    /// Number of bids that are in a block, or may come into one, and have to be revealed while the auction lasts.
    std::size_t to_reveal(const ledger::StateView& state, std::uint64_t height) const;
    /// The last choices, the best first, then the tasks for which it does not bid at any price.
    std::vector<Choice> choices() const;
    /// What the last view left of the time that is reserved.
    const std::vector<ReservedTime>& reserved() const noexcept { return reserved_; }
    /// The same if nothing but the reserved tasks themselves took it; below 0: they overlap.
    const std::vector<ReservedTime>& promised() const noexcept { return promised_; }
    /// Stores the price on disk, then returns the call; returns nothing if the quote has no price or the auction is not
    /// in the last view. A repeated bid in an auction uses the stored price: the first bid may be in flight, and the
    /// stored price must open it.
    Result<std::optional<contracts::CommitBid>> commit(const solver::CommitBid& move, const Quote& quote,
                                                       const market::TaskSpec& spec, std::uint64_t height);
    Result<contracts::RevealBid> reveal(const solver::RevealBid& move) const;

    /// Number of entries in memory: auctions, logged reasons and bids in flight.
    std::size_t remembered() const noexcept {
        return logged_.size() + logged_before_.size() + auctions_.size() + in_flight_.size() + loads_.size() +
               choices_.size();
    }
    const SealedBids& sealed() const noexcept { return sealed_; }

private:
    /// A bid that was sent and may not be in a block yet.
    struct InFlightBid {
        ledger::U256 stake;        ///< Stake that it locks once it is in a block.
        std::uint64_t height = 0;  ///< Height at which it was sent.
    };
    /// Why the task is not for this solver at any price; empty: it is.
    std::string unfit(const ledger::StateView& state, const market::Params& params, const market::Task* task,
                      std::uint64_t id, const market::TaskSpec& spec) const;
    /// Why the stake does not suffice; empty: it does.
    std::string lacks_stake(const ledger::StateView& state, const market::Params& params, std::uint64_t id,
                            const market::TaskSpec& spec) const;
    /// What it asks for a segment of task `id` unless the task has special terms.
    ledger::U256 own_price(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                           std::uint64_t id, const market::TaskSpec& spec, std::uint64_t segments) const;
    /// The terms of a task of which this many segments are to be computed.
    WorkTerms terms(const market::Params& params, const ledger::U256& base_fee, const market::TaskSpec& spec,
                    std::uint64_t segments) const;
    /// The same with the times of task `id`, which in a group are those of a round.
    WorkTerms terms(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                    std::uint64_t id, const market::TaskSpec& spec, std::uint64_t segments) const;
    /// What a run that still computes takes and brings; nullopt: it does not.
    std::optional<Profit> profit_of(const ledger::StateView& state, const market::Params& params,
                                    const ledger::U256& base_fee, Immutable& immutable,
                                    const solver::RunView& run) const;
    /// What the runs of a view and the bids that may still win leave of this machine's time and stake; runs of spot tasks
    /// count if `spot`.
    Room room(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
              Immutable& immutable, const solver::SolverView& view, bool spot) const;
    /// What a run takes, and until when.
    struct RunLoad {
        solver::RunKey key;
        Profit profit;
        std::uint64_t ends = 0;   ///< Height until which its work takes the time.
        std::uint64_t later = 0;  ///< Height by which a spot run can be given back if it is not at the next checkpoint.
        bool spot = false;
    };
    /// Of the runs of a view that still compute.
    std::vector<RunLoad> run_loads(const ledger::StateView& state, const market::Params& params,
                                   const ledger::U256& base_fee, Immutable& immutable,
                                   const solver::SolverView& view) const;
    /// Height by which a run that still computes has committed its last state: at the pace of its checkpoints, and at most
    /// its finishing height.
    std::uint64_t end_of_run(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                             const market::TaskSpec& spec, const solver::RunView& run, std::uint64_t height) const;
    /// What the tasks leave of this machine's time at the heights from which it is reserved for them.
    std::vector<ReservedTime> promised_times(const market::Params& params, const ledger::U256& base_fee,
                                             const std::vector<ReservedTask>& tasks) const;
    /// What the tasks that were set reserved, the runs of a view and the bids that may still win leave of this machine's
    /// time at the heights from which it is reserved; runs of spot tasks count if `spot`.
    std::vector<ReservedTime> reserved_times(const ledger::StateView& state, const market::Params& params,
                                             const ledger::U256& base_fee, Immutable& immutable,
                                             const solver::SolverView& view, bool spot) const;
    /// A share of this machine's time, and the height until which it is taken.
    struct Load {
        double load = 0;
        std::uint64_t ends = 0;
    };
    /// What a seat takes that is joined after `height`.
    Load load_of(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                 const FreeSeat& seat, const market::TaskSpec& spec, std::uint64_t height) const;
    /// Returns the sum of the stakes that the bids in flight for other tasks will lock.
    ledger::U256 stake_in_flight_except(std::uint64_t task) const;

    Options options_;
    std::string lacking_room_;
    SealedBids sealed_;
    ledger::Address self_;
    Machine machine_;
    std::map<std::uint64_t, std::string> logged_, logged_before_;  ///< Reasons by task: of this view, of the last.
    /// A bid that may still win, by its task.
    struct BidLoad {
        double load = 0;          ///< Share of this machine's time.
        std::uint64_t until = 0;  ///< End of the auction.
        std::uint64_t ends = 0;   ///< Height until which its work takes the time if it wins.
    };
    std::map<std::uint64_t, BidLoad> loads_;
    double free_load_ = 0;                ///< Share of this machine's time that runs and bids leave,
    std::vector<ReservedTime> reserved_;  ///< and the same at the heights from which it is reserved.
    std::vector<ReservedTask> reserved_tasks_;
    std::vector<ReservedTime> promised_;  ///< What reserved tasks alone leave of each other's time.
    std::uint64_t height_ = 0;            ///< Of the last view.
    std::vector<Choice> choices_;
    struct OpenAuction {
        std::uint64_t reveal_end = 0;
        ledger::U256 lock;  ///< Of a bid.
    };
    std::map<std::uint64_t, OpenAuction> auctions_;   ///< By task, those of the last view.
    std::map<std::uint64_t, InFlightBid> in_flight_;  ///< By task.
    std::uint64_t deletion_height_ = 0;
};

/// Why the artifacts of new work find no room on the disk of the folder, with the remedy; empty: they do.
std::string lacks_room(const std::filesystem::path& folder,
                       const DiskSpace& left_free = TensorFiles::Limits{}.left_free);

/// Fees of a solver's calls for one segment at this base fee: its commitment with kCheckpointItems scheduled items, and
/// its openings.
ledger::U256 segment_fees(const ledger::U256& base_fee);

}  // namespace retrace::node
