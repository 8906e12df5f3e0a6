// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/market/tasks.hpp"

#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/groups/clock.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/offers.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/task_end.hpp"
#include "market/escrow.hpp"

namespace retrace::contracts {
namespace {

using market::TaskEvent;

/// Stores a run that is assigned to its solver, and gives it its deadline. `work_counted`: the work that the solver had been
/// given when it promised the finishing height (18.4).
void add_run(Effects& fx, market::Task& task, market::Run run, const views::JoiningState& start,
             std::uint64_t work_counted) {
    run.task = task.id;
    run.index = task.runs++;
    run.state = market::RunState::assigned;
    run.assigned_height = fx.height;
    run.first_state = run.next_state = run.finalised = run.paid = start.index;
    run.first_root = start.root;
    // 12.7.9: the others open the states that they have committed without waiting for a run that joins, and it could
    // copy those.
    run.not_awaited_below = run.joined ? committed_by_others(fx.state, task, run) : 0;
    run.deadline = fx.height + fx.params.accept_blocks;
    const std::uint64_t given = backlog(fx.state, run.solver).total;
    run.work_counted = std::min(given, work_counted);
    store(fx.state, keys::deadline_work(task.id, run.index), Counter{given});
    store(fx.state, keys::run(task.id, run.index), run);
    const U256 ceiling = must_load<market::TaskSpec>(fx.state, keys::spec(task.id)).price_ceiling;
    store(fx.state, keys::run_ceiling(task.id, run.index), Amount{ceiling});
    note_run(fx, keys::started_from(task.id, run.index), start.run);
    add_to_list(fx.state, keys::open_runs(run.solver), views::RunId{task.id, run.index});
    task.active.push_back(run.index);
    schedule_single(fx, run.deadline + 1, ScheduledKind::accept_deadline, task.id, run.index);
    fx.emit(TaskAssigned{task.id, run.solver, run.index, run.price, run.first_state});
}

void assign(Effects& fx, market::Task& task, const views::JoiningState& start, bool joins, const market::Offer& offer,
            const U256& price) {
    auto bid = must_load<market::Bid>(fx.state, keys::bid(task.id, offer.bidder));
    market::Run run;
    run.solver = offer.bidder;
    run.price = price;
    run.finish_height = offer.finish_height;
    run.locked = bid.locked;
    run.joined = joins;
    bid.locked = U256();  // from now on it belongs to the run
    store(fx.state, keys::bid(task.id, offer.bidder), bid);
    // 18.4: the finishing height moves by work assigned since the bid, the deadline by work assigned from now on.
    add_run(fx, task, std::move(run), start, counter(fx.state, keys::bid_work(task.id, offer.bidder)));
}

}  // namespace

void note_run(Effects& fx, const keys::Key& key, std::optional<std::uint32_t> run) {
    if (!run) return remove(fx.state, key);
    store(fx.state, key, Counter{std::uint64_t{*run} + 1});
}

std::uint64_t committed_by_others(const StateView& view, const market::Task& task, const market::Run& run) {
    std::uint64_t state = run.first_state;
    for (const std::uint32_t index : task.active) {
        const auto other = must_load<market::Run>(view, keys::run(task.id, index));
        if (index != run.index && other.next_state > other.first_state) state = std::max(state, other.next_state - 1);
    }
    return state;
}

void move_task(Effects& fx, market::Task& task, TaskEvent event) {
    const auto to = market::next(task.state, event);
    ensure(to.has_value(), "a task changes only along its table");
    fx.emit(TaskStateChanged{task.id, static_cast<std::uint8_t>(task.state), static_cast<std::uint8_t>(*to)});
    task.state = *to;
    store(fx.state, keys::task(task.id), task);
}

void assign_reserved(Effects& fx, market::Task& task, const ReservedRun& reserved) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(task.id));
    market::Run run;
    run.solver = reserved.solver;
    run.price = reserved.price;
    run.finish_height = reserved.finish_height;
    run.locked = reserved.locked;
    fx.emit(TaskPosted{task.id, task.requester, spec.name, spec.segments(), spec.price_ceiling, 0, 0});
    add_run(fx, task, std::move(run), {}, backlog(fx.state, reserved.solver).total);
    move_task(fx, task, TaskEvent::win);
}

bool takes_bids(const market::Task& task) {
    return task.wanted != 0 && (task.state == market::TaskState::bidding || task.state == market::TaskState::running);
}

void open_raise(Effects& fx, market::Task& task, std::uint8_t wanted) {
    ++task.round;
    task.wanted = wanted;
    task.bid_end = fx.height + fx.params.bid_blocks;
    task.reveal_end = task.bid_end + fx.params.reveal_blocks;
    store(fx.state, keys::task(task.id), task);
    schedule(fx, task.reveal_end, {ScheduledKind::auction_close, task.id, task.round, 0});
    fx.emit(ReplicasWanted{task.id, wanted, task.bid_end, task.reveal_end});
}

void stop_raising(Effects& fx, market::Task& task) {
    if (task.wanted == 0) return;
    return_bids(fx, task, true);
    task.wanted = 0;
    store(fx.state, keys::task(task.id), task);
}

namespace {

/// 12.8.3: burns the rent of a task that ends. Returns what is left of its deposit.
U256 settle_place(Effects& fx, const market::Task& task) {
    const auto place = views::place(fx.state, task.id);
    if (!place) return {};
    const U256 rent = market::rent_due(*place, std::max<std::uint64_t>(1, fx.height - task.posted_height));
    burn_held(fx, Contract::market, rent);
    remove(fx.state, keys::place(task.id));
    fx.emit(PlacePaid{task.id, task.requester, rent});
    return place->deposit - rent;
}

}  // namespace

namespace {

/// 12.10, 12.12: a ceiling changes with an auction that begins, in which nothing is sealed yet.
void set_ceiling(Effects& fx, std::uint64_t task) {
    const auto auctions = views::auctions(fx.state, task);
    if (!auctions) return;
    auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(task));
    spec.price_ceiling = market::ceiling_after(spec, *auctions, auctions->failed);
    store(fx.state, keys::spec(task), spec);
}

/// 12.12.5: whether another auction follows one without winners, which is noted.
bool takes_another_auction(Effects& fx, std::uint64_t task) {
    auto auctions = views::auctions(fx.state, task);
    if (!auctions || auctions->left == 0) return false;
    --auctions->left;
    ++auctions->failed;
    store(fx.state, keys::auctions(task), *auctions);
    return true;
}

}  // namespace

void open_auction(Effects& fx, market::Task& task, std::uint64_t pause) {
    const std::uint64_t begin = fx.height + pause;
    const bool used_up = task.round >= fx.params.rounds;
    if (used_up || views::is_rent_over(fx.state, task, begin)) {
        if (!used_up) note_task_end(fx.state, task.id, TaskEnd::place_over);
        move_task(fx, task, TaskEvent::no_bid);
        return end_task(fx, task);
    }
    set_ceiling(fx, task.id);
    ++task.round;
    task.wanted = must_load<market::TaskSpec>(fx.state, keys::spec(task.id)).replicas;
    task.bid_end = begin + fx.params.bid_blocks;
    task.reveal_end = task.bid_end + fx.params.reveal_blocks;
    move_task(fx, task, TaskEvent::open_auction);
    schedule(fx, task.reveal_end, {ScheduledKind::auction_close, task.id, task.round, 0});
}

void return_bids(Effects& fx, market::Task& task, bool cancelled) {
    for (const Address& bidder : task.bidders) {
        const auto bid = must_load<market::Bid>(fx.state, keys::bid(task.id, bidder));
        unlock(fx, bidder, bid.locked);
        const U256 fee = cancelled ? U256() : bid.deposit - fx.params.bid_deposit;  // 12.9
        if (!fee.is_zero()) {
            burn_held(fx, Contract::market, fee);
            fx.emit(PlacePaid{task.id, bidder, fee});
        }
        if (bid.revealed || cancelled) {
            pay(fx, Contract::market, bidder, bid.deposit - fee);
        } else {
            burn_held(fx, Contract::market, fx.params.bid_deposit);
            fx.emit(BidForfeited{task.id, bidder, fx.params.bid_deposit});
        }
        remove(fx.state, keys::bid(task.id, bidder));
        remove(fx.state, keys::bid_work(task.id, bidder));
        const std::uint64_t left = views::open_bids(fx.state, bidder) - 1;
        if (left == 0)
            remove(fx.state, keys::open_bids(bidder));
        else
            store(fx.state, keys::open_bids(bidder), Counter{left});
    }
    task.bidders.clear();
}

namespace {

/// 21.3: assigns the seats of a group.
void close_group_auction(Effects& fx, market::Task& task, const market::GroupSpec& terms) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(task.id));
    const auto offers = views::offers(fx.state, task);
    const market::Seats seats = market::clear_seats(offers, task.wanted, terms.least, spec.price_ceiling);
    for (const std::size_t winner : seats.offers) {
        begin_member(fx, task.id, task.runs, 0, {});
        assign(fx, task, {}, false, offers[winner], seats.price);
    }
    return_bids(fx, task, false);
    task.wanted = 0;
    if (seats.offers.empty() && takes_another_auction(fx, task.id)) return open_auction(fx, task, spec.pause_blocks);
    move_task(fx, task, seats.offers.empty() ? TaskEvent::no_bid : TaskEvent::win);
    if (seats.offers.empty()) return end_task(fx, task);
    start_group(fx, task.id, seats.price);
}

}  // namespace

void close_auction(Effects& fx, std::uint64_t id, std::uint32_t round) {
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    if (!takes_bids(task) || task.round != round) return;
    if (const auto terms = views::group_spec(fx.state, id)) return close_group_auction(fx, task, *terms);
    const bool raising = task.state == market::TaskState::running;
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(id));
    const auto offers = views::offers(fx.state, task);
    const auto start = views::joining_state(fx.state, task);
    // 12.7.10: a run without segments could not be paid and would have no deadline to end it.
    const bool nothing_left = views::newest_finalised_state(fx.state, task).index >= spec.segments();
    const auto winners =
        nothing_left ? std::vector<market::Winner>{} : market::clear_auction(offers, task.wanted, spec.price_ceiling);
    for (const market::Winner& winner : winners) assign(fx, task, start, raising, offers[winner.offer], winner.price);
    return_bids(fx, task, false);
    task.wanted = 0;
    // 12.7: without enough bids a running task goes on as it is; the added escrow is returned at the end.
    if (raising) return store(fx.state, keys::task(id), task);
    if (winners.empty() && takes_another_auction(fx, id)) return open_auction(fx, task, spec.pause_blocks);
    move_task(fx, task, winners.empty() ? TaskEvent::no_bid : TaskEvent::win);
    if (winners.empty()) end_task(fx, task);
}

void end_task(Effects& fx, market::Task& task) {
    ensure(market::is_final(task.state) && task.active.empty(), "a task ends once and without runs");
    store(fx.state, keys::task(task.id), task);
    close_all_reports(fx, task.id);  // 16.3.4
    forget_matched(fx, task.id);
    pay_matched(fx, task.id);  // 13.6
    task = must_load<market::Task>(fx.state, keys::task(task.id));
    const U256 rest = task.escrow + task.audit_budget + settle_place(fx, task);
    task.escrow = task.audit_budget = U256();
    store(fx.state, keys::task(task.id), task);
    pay(fx, Contract::market, task.requester, rest);
    remove_open_task(fx.state, task.id);
    remove(fx.state, keys::auctions(task.id));
    if (!rest.is_zero()) fx.emit(EscrowReturned{task.id, task.requester, rest});
}

void settle_task(Effects& fx, std::uint64_t id) {
    const auto runs = must_load<market::Task>(fx.state, keys::task(id)).active;
    for (const std::uint32_t run : runs) settle_run(fx, id, run);
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    move_task(fx, task, TaskEvent::settle);
    end_task(fx, task);
}

U256 pay_audit_fee(Effects& fx, std::uint64_t id, std::uint32_t run, const Address& auditor) {
    auto task = must_load<market::Task>(fx.state, keys::task(id));
    auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(id));
    spec.price_ceiling = views::run_ceiling(fx.state, id, run);  // A later auction may have a higher one.
    const U256 fee = ledger::min(market::audit_fee(fx.params, spec), task.audit_budget);
    task.audit_budget -= fee;
    store(fx.state, keys::task(id), task);
    pay(fx, Contract::market, auditor, fee);
    return fee;
}

}  // namespace retrace::contracts
