// SPDX-License-Identifier: MIT
// What an hour of this machine's work on a task is expected to bring, and which tasks it does together. Pure: no chain,
// no clock, and no result that is not finite, whatever the terms of a stranger's task are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/types/u256.hpp"
#include "market/types.hpp"

namespace retrace::node {

struct Machine {
    double multiply_adds_per_s = 0;  ///< Measured; 0: unknown.
    double block_s = 1;              ///< Measured time between two blocks of the chain.
    double loss_rate = 0;            ///< Share of tasks that cost it its lock, see loss_rate_of.
    double proved_per_block = 0;     ///< Multiply-adds in a block that the ledger has measured; 0: not measured.
    /// A device computes. Its own speed is not measured; it is taken to be at least that of the processors.
    bool on_device = false;
};

/// The terms of a task that decide what it brings. Amounts in coins.
struct WorkTerms {
    std::uint64_t segments = 0;  ///< To be computed.
    double segment_work = 0;     ///< Multiply-adds; 0: the task does not say.
    double segment_price = 0;    ///< The most that is paid for a segment.
    double segment_fees = 0;     ///< Of the calls for a segment.
    double lock = 0;             ///< Stake that a bid locks.
    double checkpoint_s = 0;     ///< Longest time from one checkpoint to the next, in seconds.
    double finish_s = 0;         ///< Longest time for all; unused if `fits_itself`.
    bool fits_itself = false;    ///< A segment has as many steps as its time has room for, as in a group.
};

/// Shares of the machine's time that add up to 1 may miss it by as little.
inline constexpr double kRounding = 1e-9;

struct Profit {
    double hours = 0;     ///< Of this machine, alone on the task.
    double cost = 0;      ///< Fees and expected loss of stake, in coins.
    double per_hour = 0;  ///< Coins an hour: what all segments pay at most, less the cost.
    double load = 0;      ///< Share of the machine's time that keeps the task's deadlines; above 1: none does.
};

/// With s = max(block, work / speed) seconds a segment (speed: the lower of the two that are measured; the longest time
/// between checkpoints where work or speed are unknown), n segments, price p, fees f, lock L and loss rate r: hours =
/// n·s / 3600, cost = n·f + r·L, per_hour = (n·p − cost) / hours, load = max(s / checkpoint_s, n·s / finish_s), or
/// min(1, s / checkpoint_s) for work that fits itself to its time. On a device it is at most 1: what is too much for the
/// processors takes all of the device.
Profit expected_profit(const WorkTerms& terms, const Machine& machine);

/// The height by which work that begins by height `begins` ends if the machine gives it no more time than its deadlines
/// need: (n + 1)·checkpoint_s later, because the first state is committed too, or finish_s for work that does not fit itself to its time, if that is earlier.
std::uint64_t end_of(const WorkTerms& terms, const Machine& machine, std::uint64_t begins);

/// The price of a segment at which an hour brings `per_hour`: (per_hour · hours + cost) / n.
double price_at(const WorkTerms& terms, const Machine& machine, double per_hour);

/// The share of its tasks in which a solver with this record lost its lock: lost / (1 + settled + lost), with lost =
/// faults + silences. A newcomer has none: an honest solver that is there loses no lock, and what went wrong on this machine before is what may do so again.
double loss_rate_of(const market::Reputation& reputation);

struct Candidate {
    std::uint64_t task = 0;
    WorkTerms terms;
    std::uint64_t begins = 0;  ///< Height by which the work begins if it is won.
};
struct Choice {
    std::uint64_t task = 0;
    bool taken = false;
    Profit profit;
    std::string why;         ///< One sentence.
    std::uint64_t ends = 0;  ///< See end_of.
};
/// Time that is kept for a reserved task, which may begin from height `from` on and below `until`.
struct ReservedTime {
    std::uint64_t reservation = 0, from = 0, until = 0;
    double load = 0;  ///< Share of the machine's time that the task needs.
    double left = 1;  ///< Share that is for other work at height `from`; below 0: too much is there.
};
/// The first of them for which work that takes this share of the machine's time until height `ends` leaves too little;
/// nullptr: none.
const ReservedTime* in_the_way_of(const std::vector<ReservedTime>& reserved, double load, std::uint64_t ends);
/// Counts work that takes this share of the machine's time until height `ends`; a negative share takes it back.
void take_time(std::vector<ReservedTime>& reserved, double load, std::uint64_t ends);
/// "it may run until block 90, and reservation 3 keeps time from block 50, when 0 % is left"
std::string keeps_words(const ReservedTime& reserved, std::uint64_t ends);

/// What is left for new work.
struct Room {
    double load = 1;                          ///< Share of the machine's time.
    double stake = 0;                         ///< Coins that may be locked.
    std::size_t most = SIZE_MAX;              ///< Number of tasks.
    std::vector<ReservedTime> reserved = {};  ///< What is left of the time at later heights.
};
/// Takes the candidates with the highest profit an hour for as long as they fit into the room: its number, its stake,
/// its time now and that at the heights of reserved tasks; with `min_per_hour` only those that bring as much. Returns one choice for each, the best first; equal
/// ones in the order of the candidates.
std::vector<Choice> choose_work(const std::vector<Candidate>& candidates, const Machine& machine, Room room,
                                std::optional<double> min_per_hour);

/// A choice about a task that takes no more bids of this solver, and the last height at which it held.
struct EarlierChoice {
    std::uint64_t height = 0;
    Choice choice;
};

/// Remembers the last choice about each of the newest tasks, since the solver has started: a task leaves the present
/// ones as soon as a bid for it is in a block, or its bidding ends.
class ChoiceHistory {
public:
    static constexpr std::size_t kKept = 64;

    /// `now`: the choices at this height.
    void update(std::uint64_t height, const std::vector<Choice>& now);
    /// The newest first, without the tasks that are chosen from now.
    const std::vector<EarlierChoice>& earlier() const noexcept { return earlier_; }

private:
    std::uint64_t height_ = 0;
    std::vector<Choice> last_;
    std::vector<EarlierChoice> earlier_;
};

/// The file of an agent's data folder that has its last choices: {"height", "choices", "earlier", "reserved"}.
inline constexpr const char* kChoicesFile = "choices.json";
/// [{"task", "taken", "per_hour", "hours", "load", "reason"}]; "per_hour" is wei as a decimal string, with a minus sign for a
/// loss. It and the numbers are null for a task that was refused at any price.
std::string choices_json(const std::vector<Choice>& choices);
/// As choices_json, each with its "height".
std::string earlier_json(const std::vector<EarlierChoice>& earlier);
/// [{"reservation", "from", "until", "load", "left"}]
std::string reserved_json(const std::vector<ReservedTime>& reserved);

/// In coins.
double coins_of(const ledger::U256& amount);
/// Rounded up to a millionth of a coin; zero for what is no positive number, at most 2^60 coins.
ledger::U256 amount_of(double coins);
/// With at most three digits after the point.
std::string short_coins(double coins);
/// A share as a whole number of hundredths.
std::string percent(double share);

}  // namespace retrace::node
