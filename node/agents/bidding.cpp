// SPDX-License-Identifier: MIT
#include "node/agents/bidding.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "contracts/calls/gas.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/auction.hpp"
#include "market/odds.hpp"
#include "node/agents/raise_pricing.hpp"
#include "node/agents/submitter.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

constexpr std::uint64_t kDeleteEvery = 50;  // Blocks. A deletion reads a folder.

/// Takes what the taken choices need out of the room.
void take_room(const std::vector<Choice>& choices, const std::vector<Candidate>& candidates, Room& room) {
    for (const Choice& choice : choices) {
        if (!choice.taken) continue;
        const auto of = std::find_if(candidates.begin(), candidates.end(),
                                     [&](const Candidate& one) { return one.task == choice.task; });
        room.load -= choice.profit.load;
        take_time(room.reserved, choice.profit.load, choice.ends);
        room.stake -= of->terms.lock;
        if (room.most != 0) --room.most;
    }
}

/// Returns why segments of the task could wait for auditors that cannot be drawn; empty: there are enough.
std::string lacks_auditors(const ledger::StateView& state, const market::Params& params, const market::TaskSpec& spec,
                           const market::Task& task, const ledger::Address& self) {
    if (spec.allow_unaudited) return {};
    std::vector<ledger::Address> barred{task.requester, self};
    for (const std::uint32_t index : task.active)
        if (const auto run = views::run(state, task.id, index)) barred.push_back(run->solver);
    const std::size_t there = views::possible_auditors(state, params, barred, spec.auditors);
    if (there >= spec.auditors) return {};
    return "it asks for " + std::to_string(spec.auditors) + " auditors and " + std::to_string(there) +
           " could be drawn: what is computed would not be paid";
}

market::MeanRound mean_round_of(const ledger::StateView& state, std::uint64_t id, const market::TaskSpec& spec) {
    const auto group = views::group_spec(state, id);
    return market::mean_round(spec, group ? &*group : nullptr);
}

}  // namespace

std::string lacks_room(const std::filesystem::path& folder, const DiskSpace& left_free) {
    const auto fits = check_disk(folder, left_free, 0, "new work");
    return fits ? std::string() : fits.error().message;
}

ledger::U256 segment_fees(const ledger::U256& base_fee) {
    using namespace contracts;
    constexpr std::uint64_t kCallBytes = 256, kCalls = 3;
    constexpr std::uint64_t kGas =
        kCheckpointItems * kGasScheduledItem + kCalls * (kGasCall + kCallBytes * kGasByte) + 2 * kGasOpening;
    const ledger::U256 most = ledger::U256(UINT64_MAX);  // Clamped: no realistic base fee exceeds this.
    return (ledger::min(base_fee, most) + ledger::U256(Submitter::kTip)) * ledger::U256(kGas);
}

bool Bidding::is_worth(const ledger::U256& base_fee, const market::Run& run, const market::TaskSpec& spec) const {
    return pays_for_all(run, spec.segments(), options_.price.value_or(segment_fees(base_fee)));
}

ledger::U256 Bidding::stake_in_flight_except(std::uint64_t task) const {
    ledger::U256 sum;
    for (const auto& [other, bid] : in_flight_)
        if (other != task) sum = sum + bid.stake;
    return sum;
}

std::string Bidding::unfit(const ledger::StateView& state, const market::Params& params, const market::Task* task,
                           std::uint64_t id, const market::TaskSpec& spec) const {
    if (!options_.only.empty() && !options_.only.contains(id)) return "not among --only";
    if (!lacking_room_.empty()) return lacking_room_;
    if (!options_.groups && views::is_group(state, id))
        return "it is a training in rounds; take part in them by --groups";
    const auto group = views::group_spec(state, id);
    if (group && group->private_sets != 0 && group->private_sets != options_.private_sets)
        return "its members train on " + std::to_string(group->private_sets) +
               " data sets of their own; name a folder with as many with --data";
    if (group && group->private_sets != 0) {
        const auto posted = views::task(state, id);
        if (!posted || !options_.data_use.permits(posted->requester, spec.program_root))
            return "its requester, or this plan of it, is not named with --data-for, so its programs may not read the "
                   "data of --data";
    }
    if (!views::may_take_part(state, id, self_)) return "its requester has not admitted this account";
    if (options_.min_per_hour && spec.step_cost == 0)
        return "its terms do not state what a step costs, so its price for an hour (--min-price) is not known";
    if (spec.contract_hash != params.contract_hash) return "it asks for another kernel contract";
    if (spec.hardware_class != 0 && spec.hardware_class != options_.hardware_class)
        return "it asks for hardware class " + std::to_string(spec.hardware_class);
    if (task == nullptr) return {};
    if (std::find(task->excluded.begin(), task->excluded.end(), self_) != task->excluded.end())
        return "this account has declined it or lost its seat in it, and may not bid for it again";
    return lacks_auditors(state, params, spec, *task, self_);
}

std::string Bidding::lacks_stake(const ledger::StateView& state, const market::Params& params, std::uint64_t id,
                                 const market::TaskSpec& spec) const {
    auto floor = market::stake_floor(params, spec);
    if (floor) *floor += views::rollback_stake(state, id);
    const ledger::U256 unlocked = options_.assumed_stake.value_or(views::free_stake(state, params, self_)),
                       in_flight = stake_in_flight_except(id);
    const ledger::U256 free = unlocked > in_flight ? unlocked - in_flight : ledger::U256();
    if (floor && free >= *floor) {
        const ledger::U256 bonded = options_.assumed_stake.value_or(views::stake(state, self_).bonded);
        return exceeds_share(params, *floor, bonded, options_.stake_share);
    }
    return "it locks " + (floor ? describe_coins_needed(*floor) : std::string("too many coins")) + " of stake, and " +
           describe_coins(free) + " are free; raise --stake";
}

ledger::U256 Bidding::own_price(const ledger::StateView& state, const market::Params& params,
                                const ledger::U256& base_fee, std::uint64_t id, const market::TaskSpec& spec,
                                std::uint64_t segments) const {
    const market::MeanRound mean = mean_round_of(state, id, spec);
    // Without a configured price the fees must be covered; the fees of one more segment are for the auction and the
    // start.
    const std::uint64_t all = spec.segments();
    const ledger::U256 fees =
        ledger::mul_div(ledger::mul_div(segment_fees(base_fee), all + 1, all), mean.committed, mean.paid);
    if (options_.price) return *options_.price;
    if (options_.min_per_hour) {
        const WorkTerms work = terms(state, params, base_fee, id, spec, segments);
        return ledger::mul_div(amount_of(price_at(work, machine_, coins_of(*options_.min_per_hour))), mean.whole,
                               mean.paid);
    }
    return ledger::max(ledger::mul_div(spec.price_ceiling, 4, 5), fees);
}

WorkTerms Bidding::terms(const market::Params& params, const ledger::U256& base_fee, const market::TaskSpec& spec,
                         std::uint64_t segments) const {
    const std::uint64_t all = std::max<std::uint64_t>(1, spec.segments());
    WorkTerms out;
    out.segments = segments;
    out.segment_work = static_cast<double>(spec.step_cost) * static_cast<double>(spec.steps) / static_cast<double>(all);
    out.segment_price = coins_of(spec.price_ceiling);
    // The fees of one more segment are for the auction and the start.
    out.segment_fees = coins_of(segment_fees(base_fee)) * static_cast<double>(all + 1) / static_cast<double>(all);
    out.lock = coins_of(market::stake_floor(params, spec).value_or(ledger::U256::max()));
    out.checkpoint_s =
        static_cast<double>(std::max(spec.checkpoint_blocks, params.checkpoint_blocks)) * machine_.block_s;
    out.finish_s = static_cast<double>(spec.finish_blocks) * machine_.block_s;
    return out;
}

WorkTerms Bidding::terms(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                         std::uint64_t id, const market::TaskSpec& spec, std::uint64_t segments) const {
    WorkTerms out = terms(params, base_fee, spec, segments);
    if (const auto group = views::group_spec(state, id)) {
        out.lock += coins_of(views::rollback_stake(state, id));
        out.checkpoint_s = static_cast<double>(group->round_blocks) * machine_.block_s;
        out.fits_itself = true;
        if (group->regions == 0) return out;
        const market::MeanRound mean = market::mean_round(spec, &*group);
        const double whole = static_cast<double>(mean.whole);
        out.segment_price *= static_cast<double>(mean.paid) / whole;
        out.segment_fees *= static_cast<double>(mean.committed) / whole;
        out.segment_work *= static_cast<double>(mean.trained) / whole;  // To merge takes less than a step does.
        out.checkpoint_s = static_cast<double>(group->round_blocks + group->merge_blocks) / 2 * machine_.block_s;
    }
    return out;
}

/// A bid may burn one part in this many of what the work brings, as the fee of its place.
constexpr std::uint64_t kPlaceFeeParts = 20;

Quote Bidding::quote(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                     std::uint64_t id, const market::TaskSpec& spec) const {
    const auto task = views::task(state, id);
    if (auto why = unfit(state, params, task ? &*task : nullptr, id, spec); !why.empty()) return {std::nullopt, why};
    const std::uint64_t start = task ? views::joining_state(state, *task).index : 0;
    const std::uint64_t segments = spec.segments() - std::min(start, spec.segments());
    ledger::U256 price = own_price(state, params, base_fee, id, spec, segments);
    const market::MeanRound mean = mean_round_of(state, id, spec);
    const bool raised = task && task->state == market::TaskState::running;
    if (raised) {
        const auto more = price_of_raise(state, *task, spec.segments(), price);
        if (!more) return {std::nullopt, "others will have committed to all that a replica could be paid for"};
        price = *more;
    }
    const auto place = task ? views::bid_place_fee(state, params, *task) : std::nullopt;
    if (place &&
        *place * ledger::U256(kPlaceFeeParts) > ledger::mul_div(price * ledger::U256(segments), mean.paid, mean.whole))
        return {std::nullopt, "a place in its auction burns " + describe_coins_needed(*place) +
                                  " now, more than a twentieth of what it would be paid"};
    if (price > spec.price_ceiling && options_.min_per_hour && !raised) {
        const Profit profit = expected_profit(terms(state, params, base_fee, id, spec, segments), machine_);
        return {std::nullopt, "it brings at most " + short_coins(profit.per_hour) + " coins an hour, in " +
                                  short_coins(profit.hours) + " hours of this machine; --min-price asks for " +
                                  short_coins(coins_of(*options_.min_per_hour))};
    }
    if (price > spec.price_ceiling) {
        const char* const what = raised ? "the price that makes up for segments that a replica may not be paid for"
                                 : options_.price ? "the value of --price"
                                                  : "the fees of the calls for a segment";
        return {std::nullopt, "its price ceiling is below " + describe_coins_needed(price) + ", " + what};
    }
    if (auto why = lacks_stake(state, params, id, spec); !why.empty()) return {std::nullopt, why};
    return {price, {}};
}

Quote Bidding::seat(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                    const FreeSeat& seat, const market::TaskSpec& spec) const {
    const auto task = views::task(state, seat.task);
    if (auto why = unfit(state, params, task ? &*task : nullptr, seat.task, spec); !why.empty())
        return {std::nullopt, why};
    const ledger::U256 price = own_price(state, params, base_fee, seat.task, spec, seat.rounds_left);
    if (price > seat.price)
        return {std::nullopt,
                "its members are paid " + describe_coins(seat.price) + ", below " + describe_coins_needed(price)};
    // What the rounds that are left pay above the asked price has to cover the fees of the two audits of a new member.
    const ledger::U256 fee = market::join_fee(params, spec, seat.anchor.index), left = ledger::U256(seat.rounds_left);
    const market::MeanRound mean = mean_round_of(state, seat.task, spec);
    if (ledger::mul_div((options_.price ? seat.price - price : seat.price) * left, mean.paid, mean.whole) < fee)
        return {std::nullopt, "the rounds that are left do not pay for the " + describe_coins_needed(fee) +
                                  " of joining above the asked price"};
    if (auto why = lacks_stake(state, params, seat.task, spec); !why.empty()) return {std::nullopt, why};
    const Load load = load_of(state, params, base_fee, seat, spec, height_);
    if (load.load > free_load_ + kRounding)
        return {std::nullopt, "its rounds take " + percent(load.load) + " of this machine's time, and " +
                                  percent(std::max(0.0, free_load_)) + " is left"};
    if (const ReservedTime* kept = in_the_way_of(reserved_, load.load, load.ends))
        return {std::nullopt,
                "its rounds take " + percent(load.load) + " of this machine's time, " + keeps_words(*kept, load.ends)};
    return {seat.price, {}};
}

Bidding::Load Bidding::load_of(const ledger::StateView& state, const market::Params& params,
                               const ledger::U256& base_fee, const FreeSeat& seat, const market::TaskSpec& spec,
                               std::uint64_t height) const {
    const WorkTerms work = terms(state, params, base_fee, seat.task, spec, seat.rounds_left);
    return {expected_profit(work, machine_).load, end_of(work, machine_, height)};
}

void Bidding::count_join(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                         const FreeSeat& seat, const market::TaskSpec& spec, std::uint64_t height) {
    const Load load = load_of(state, params, base_fee, seat, spec, height);
    in_flight_[seat.task] = {*market::stake_floor(params, spec) + views::rollback_stake(state, seat.task), height};
    loads_[seat.task] = {load.load, height + params.bid_blocks, load.ends};
    free_load_ -= load.load;
    take_time(reserved_, load.load, load.ends);
}

Quote Bidding::consider(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                        std::uint64_t id, const market::TaskSpec& spec) {
    Quote out = quote(state, params, base_fee, id, spec);
    if (!out.price) explain(id, out);
    return out;
}

void Bidding::explain(std::uint64_t id, const Quote& refused) {
    const auto before = logged_before_.find(id);
    const bool known = before != logged_before_.end() || logged_.contains(id);
    if (!known) spdlog::info("event=no_bid task={} reason=\"{}\"", id, refused.why_not);
    logged_[id] = refused.why_not;
}

std::vector<Choice> Bidding::choices() const {
    std::vector<Choice> out = choices_;
    for (const auto* reasons : {&logged_, &logged_before_})
        for (const auto& [task, why] : *reasons)
            if (std::none_of(out.begin(), out.end(), [&](const Choice& choice) { return choice.task == task; }))
                out.push_back({task, false, {}, why});
    return out;
}

void Bidding::choose(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                     Immutable& immutable, solver::SolverView& view) {
    const auto info = views::solver(state, self_);
    height_ = view.height;
    machine_.loss_rate = info ? loss_rate_of(info->reputation) : 0;
    machine_.proved_per_block = info ? static_cast<double>(info->capability) : 0;
    std::map<std::uint64_t, solver::AuctionView> open;
    std::vector<Candidate> firm, spot;
    std::vector<solver::AuctionView> kept;
    for (solver::AuctionView& auction : view.auctions) {
        const std::uint64_t id = auction.terms.id;
        const auto spec = auction.may_commit ? immutable.spec(state, id) : std::nullopt;
        const auto task = views::task(state, id);
        if (!spec || !task) {
            if (!auction.may_commit) kept.push_back(std::move(auction));
            continue;
        }
        const std::uint64_t all = spec->segments(), start = views::joining_state(state, *task).index;
        std::vector<Candidate>& candidates = spec->spot ? spot : firm;
        candidates.push_back({id, terms(state, params, base_fee, id, *spec, all - std::min(all, start)),
                              task->reveal_end + params.accept_blocks});
        // What a bid in flight takes is no longer in the room, and the bid may have to be sent again.
        if (in_flight_.contains(id)) candidates.back().terms.lock = 0;
        open.emplace(id, std::move(auction));
    }
    const std::optional<double> least =
        options_.min_per_hour ? std::optional(coins_of(*options_.min_per_hour)) : std::nullopt;
    const auto return_own = [&](const std::vector<Candidate>& candidates, Room& room) {
        for (const Candidate& candidate : candidates) {
            const auto own = loads_.find(candidate.task);
            if (own == loads_.end()) continue;
            room.load += own->second.load;
            take_time(room.reserved, -own->second.load, own->second.ends);
        }
    };
    promised_ = promised_times(params, base_fee, reserved_tasks_);
    Room left = room(state, params, base_fee, immutable, view, false);
    return_own(firm, left);
    choices_ = choose_work(firm, machine_, left, least);
    Room rest = room(state, params, base_fee, immutable, view, true);
    free_load_ = rest.load;
    reserved_ = rest.reserved;
    return_own(firm, rest);
    return_own(spot, rest);
    take_room(choices_, firm, rest);
    const std::vector<Choice> spot_choices = choose_work(spot, machine_, rest, least);
    choices_.insert(choices_.end(), spot_choices.begin(), spot_choices.end());
    std::size_t taken = 0;
    for (const Choice& choice : choices_) {
        if (choice.taken) {
            kept.push_back(std::move(open.at(choice.task)));
            ++taken;
        } else if (taken < kNewBidsMax) {  // What a later block may take is not worth a line of the log.
            explain(choice.task, {std::nullopt, choice.why});
        }
    }
    view.auctions = std::move(kept);
}

void Bidding::on_view(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                      Immutable& immutable, solver::SolverView& view) {
    std::erase_if(in_flight_, [&](const auto& item) {
        return view.height > item.second.height + params.bid_blocks || views::bid(state, item.first, self_);
    });
    std::erase_if(loads_, [&](const auto& item) {
        return view.height >= item.second.until ||
               std::any_of(view.runs.begin(), view.runs.end(),
                           [&](const solver::RunView& run) { return run.terms.id == item.first; });
    });
    choose(state, params, base_fee, immutable, view);
    logged_before_ = std::exchange(logged_, {});

    auctions_.clear();
    for (const solver::AuctionView& auction : view.auctions) {
        const auto task = views::task(state, auction.terms.id);
        const auto lock = task ? views::stake_floor(state, params, task->id) : std::nullopt;
        if (lock) auctions_[task->id] = {task->reveal_end, *lock};
    }
    if (deletion_height_ != 0 && view.height < deletion_height_ + kDeleteEvery) return;
    deletion_height_ = view.height;
    const std::size_t deleted = sealed_.forget([&](const SealedBids::Auction& auction) {
        return bid_is_over(state, view.height, self_, auction.task, auction.round);
    });
    if (deleted != 0) spdlog::debug("event=deleted sealed_bids={} height={}", deleted, view.height);
}

Result<std::optional<contracts::CommitBid>> Bidding::commit(const solver::CommitBid& move, const Quote& quote,
                                                            const market::TaskSpec& spec, std::uint64_t height) {
    const auto open = auctions_.find(move.task);
    if (!quote.price || open == auctions_.end()) return std::optional<contracts::CommitBid>();
    SealedBid bid{*quote.price, open->second.reveal_end + spec.finish_blocks};
    if (const auto earlier = sealed_.recall(move.task, move.round)) {
        bid = *earlier;
    } else if (const auto kept = sealed_.remember(move.task, move.round, bid); !kept) {
        return error(kept.error().message);
    }
    in_flight_[move.task] = {open->second.lock, height};
    const auto choice =
        std::find_if(choices_.begin(), choices_.end(), [&](const Choice& one) { return one.task == move.task; });
    if (choice != choices_.end()) {
        if (!loads_.contains(move.task)) {  // A seat may be joined for in the same block.
            free_load_ -= choice->profit.load;
            take_time(reserved_, choice->profit.load, choice->ends);
        }
        loads_[move.task] = {choice->profit.load, open->second.reveal_end, choice->ends};
    }
    const Hash32 commitment = market::bid_commitment(move.task, move.round, bid.price, bid.finish, move.salt, self_);
    spdlog::info("event=bid task={} round={} price={} reason=\"{}\"", move.task, move.round, format_coins(bid.price),
                 choice != choices_.end() ? choice->why : std::string());
    return std::optional(contracts::CommitBid{move.task, commitment});
}

std::size_t Bidding::to_reveal(const ledger::StateView& state, std::uint64_t height) const {
    const auto stored = sealed_.auctions();
    return static_cast<std::size_t>(
        std::count_if(stored.begin(), stored.end(), [&](const SealedBids::Auction& auction) {
            if (bid_is_over(state, height, self_, auction.task, auction.round)) return false;
            return in_flight_.contains(auction.task) || views::bid(state, auction.task, self_).has_value();
        }));
}

Result<contracts::RevealBid> Bidding::reveal(const solver::RevealBid& move) const {
    const auto bid = sealed_.recall(move.task, move.round);
    if (!bid)
        return error("the bid for task " + std::to_string(move.task) + " cannot be revealed: its file is gone from " +
                     sealed_.folder().string());
    return contracts::RevealBid{move.task, bid->price, bid->finish, move.salt};
}

}  // namespace retrace::node
