// SPDX-License-Identifier: MIT
#include "node/agents/bidding.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "contracts/calls/gas.hpp"
#include "contracts/records/group_views.hpp"
#include "market/auction.hpp"
#include "market/odds.hpp"
#include "node/agents/raise_pricing.hpp"
#include "node/agents/submitter.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

constexpr std::uint64_t kDeleteEvery = 50;  // Blocks. A deletion reads a folder.

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

}  // namespace

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
    if (!options_.groups && views::is_group(state, id))
        return "it is a training in rounds; take part in them by --groups";
    if (spec.contract_hash != params.contract_hash) return "it asks for another kernel contract";
    if (spec.hardware_class != 0 && spec.hardware_class != options_.hardware_class)
        return "it asks for hardware class " + std::to_string(spec.hardware_class);
    return task != nullptr ? lacks_auditors(state, params, spec, *task, self_) : std::string();
}

std::string Bidding::lacks_stake(const ledger::StateView& state, const market::Params& params, std::uint64_t id,
                                 const market::TaskSpec& spec) const {
    const auto floor = market::stake_floor(params, spec);
    const ledger::U256 unlocked = views::free_stake(state, params, self_), in_flight = stake_in_flight_except(id);
    const ledger::U256 free = unlocked > in_flight ? unlocked - in_flight : ledger::U256();
    if (floor && free >= *floor) return {};
    return "it locks " + (floor ? format_coins(*floor) : std::string("too much")) + " of stake and " +
           format_coins(free) + " is free; raise --stake";
}

ledger::U256 Bidding::own_price(const ledger::U256& base_fee, const market::TaskSpec& spec) const {
    // Without a configured price the fees must be covered; the fees of one more segment are for the auction and the
    // start.
    const std::uint64_t segments = spec.segments();
    const ledger::U256 fees = ledger::mul_div(segment_fees(base_fee), segments + 1, segments);
    const ledger::U256 default_price = ledger::max(ledger::mul_div(spec.price_ceiling, 4, 5), fees);
    return options_.price.value_or(default_price);
}

Quote Bidding::quote(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                     std::uint64_t id, const market::TaskSpec& spec) const {
    const auto task = views::task(state, id);
    if (auto why = unfit(state, params, task ? &*task : nullptr, id, spec); !why.empty()) return {std::nullopt, why};
    ledger::U256 price = own_price(base_fee, spec);
    const bool raised = task && task->state == market::TaskState::running;
    if (raised) {
        const auto more = price_of_raise(state, *task, spec.segments(), price);
        if (!more) return {std::nullopt, "others will have committed to all that a replica could be paid for"};
        price = *more;
    }
    if (price > spec.price_ceiling) {
        const char* const what = raised ? "the price that makes up for segments that a replica may not be paid for"
                                 : options_.price ? "the value of --price"
                                                  : "the fees of the calls for a segment";
        return {std::nullopt, "its price ceiling is below " + format_coins(price) + ", " + what};
    }
    if (auto why = lacks_stake(state, params, id, spec); !why.empty()) return {std::nullopt, why};
    return {price, {}};
}

Quote Bidding::seat(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                    const FreeSeat& seat, const market::TaskSpec& spec) const {
    const auto task = views::task(state, seat.task);
    if (auto why = unfit(state, params, task ? &*task : nullptr, seat.task, spec); !why.empty())
        return {std::nullopt, why};
    const ledger::U256 price = own_price(base_fee, spec);
    if (price > seat.price)
        return {std::nullopt, "its members are paid " + format_coins(seat.price) + ", below " + format_coins(price)};
    // What the rounds that are left pay above the asked price has to cover the fees of the two audits of a new member.
    const ledger::U256 fee = market::join_fee(params, spec), left = ledger::U256(seat.rounds_left);
    if ((options_.price ? seat.price - price : seat.price) * left < fee)
        return {std::nullopt, "the rounds that are left do not pay for the " + format_coins(fee) +
                                  " of joining above the asked price"};
    if (auto why = lacks_stake(state, params, seat.task, spec); !why.empty()) return {std::nullopt, why};
    return {seat.price, {}};
}

Quote Bidding::consider(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                        std::uint64_t id, const market::TaskSpec& spec) {
    Quote out = quote(state, params, base_fee, id, spec);
    if (!out.price) explain(id, out);
    return out;
}

void Bidding::explain(std::uint64_t id, const Quote& refused) {
    if (logged_.insert(id).second && !logged_before_.contains(id))
        spdlog::info("event=no_bid task={} reason=\"{}\"", id, refused.why_not);
}

void Bidding::on_view(const ledger::StateView& state, const market::Params& params, Immutable& immutable,
                      solver::SolverView& view) {
    logged_before_ = std::exchange(logged_, {});
    std::erase_if(in_flight_, [&](const auto& item) {
        return view.height > item.second.height + params.bid_blocks || views::bid(state, item.first, self_);
    });
    const auto worth = [&](const solver::AuctionView& auction) {
        const auto spec = immutable.spec(state, auction.terms.id);
        return spec ? spec->price_ceiling * ledger::U256(spec->segments()) : ledger::U256();
    };
    std::vector<std::pair<ledger::U256, solver::AuctionView>> new_bids;
    std::vector<solver::AuctionView> kept;
    for (solver::AuctionView& auction : view.auctions) {
        if (auction.may_commit)
            new_bids.emplace_back(worth(auction), std::move(auction));
        else
            kept.push_back(std::move(auction));
    }
    std::stable_sort(new_bids.begin(), new_bids.end(), [](const auto& a, const auto& b) { return b.first < a.first; });
    if (new_bids.size() > kNewBidsMax) new_bids.resize(kNewBidsMax);
    for (auto& [coins, auction] : new_bids) kept.push_back(std::move(auction));
    view.auctions = std::move(kept);

    reveal_ends_.clear();
    for (const solver::AuctionView& auction : view.auctions)
        if (const auto task = views::task(state, auction.terms.id)) reveal_ends_[auction.terms.id] = task->reveal_end;
    if (deletion_height_ != 0 && view.height < deletion_height_ + kDeleteEvery) return;
    deletion_height_ = view.height;
    const std::size_t deleted = sealed_.forget([&](const SealedBids::Auction& auction) {
        return bid_is_over(state, view.height, self_, auction.task, auction.round);
    });
    if (deleted != 0) spdlog::debug("event=deleted sealed_bids={} height={}", deleted, view.height);
}

Result<std::optional<contracts::CommitBid>> Bidding::commit(const solver::CommitBid& move, const Quote& quote,
                                                            const market::Params& params, const market::TaskSpec& spec,
                                                            std::uint64_t height) {
    const auto end = reveal_ends_.find(move.task);
    if (!quote.price || end == reveal_ends_.end()) return std::optional<contracts::CommitBid>();
    SealedBid bid{*quote.price, end->second + spec.finish_blocks};
    if (const auto earlier = sealed_.recall(move.task, move.round)) {
        bid = *earlier;
    } else if (const auto kept = sealed_.remember(move.task, move.round, bid); !kept) {
        return error(kept.error().message);
    }
    in_flight_[move.task] = {*market::stake_floor(params, spec), height};
    const Hash32 commitment = market::bid_commitment(move.task, move.round, bid.price, bid.finish, move.salt, self_);
    spdlog::info("event=bid task={} round={} price={}", move.task, move.round, format_coins(bid.price));
    return std::optional(contracts::CommitBid{move.task, commitment});
}

Result<contracts::RevealBid> Bidding::reveal(const solver::RevealBid& move) const {
    const auto bid = sealed_.recall(move.task, move.round);
    if (!bid)
        return error("the bid for task " + std::to_string(move.task) + " cannot be revealed: its file is gone from " +
                     sealed_.folder().string());
    return contracts::RevealBid{move.task, bid->price, bid->finish, move.salt};
}

}  // namespace retrace::node
