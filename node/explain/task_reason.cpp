// SPDX-License-Identifier: MIT
#include "node/explain/task_reason.hpp"

#include <algorithm>

#include "contracts/records/auctions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/views.hpp"
#include "node/explain/auction_words.hpp"
#include "node/explain/ended_task.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using ledger::StateView;
using market::GroupPhase;
using market::TaskState;

/// The block from which the auction that follows the open one takes bids (contracts 12.12.7).
std::uint64_t next_begin(const StateView& view, const market::Task& task) {
    const auto spec = views::spec(view, task.id);
    return task.reveal_end + (spec ? spec->pause_blocks : 0);
}

/// Whether an auction follows the open one if that has no winners (contracts 12.12.5).
bool goes_on(const StateView& view, const market::Task& task, const std::optional<market::NextAuction>& next) {
    const auto params = views::params(view);
    return next && next->auctions != 0 && params && task.round < params->rounds &&
           !views::is_rent_over(view, task, next_begin(view, task));
}

/// Which of the task's auctions is open, and what it pays if that changes.
std::string auction_words(const StateView& view, const market::Task& task) {
    const auto spec = views::spec(view, task.id);
    std::string out =
        task.round > 1 ? "; this is auction " + std::to_string(task.round) + " of the task" : std::string();
    if (!spec || spec->last_ceiling <= spec->price_ceiling) return out;
    return out + "; a segment costs at most " + describe_coins(spec->price_ceiling) + " in this one, which rises to " +
           describe_coins(spec->last_ceiling);
}

constexpr const char* kTopUp =
    "without bids the task ends; `retrace task top-up` lets another auction follow, at a higher ceiling";

void explain_auction(const StateView& view, const market::Task& task, TaskExplanation& out) {
    const bool sealed = out.height + 1 < task.bid_end;
    std::uint64_t revealed = 0;
    for (const ledger::Address& bidder : task.bidders) {
        const auto bid = views::bid(view, task.id, bidder);
        revealed += bid && bid->revealed ? 1 : 0;
    }
    out.next = sealed ? "bids are revealed" : "the auction closes";
    out.next_height = sealed ? task.bid_end : task.reveal_end;
    const auto params = views::params(view);
    const std::uint64_t begin = params ? views::bids_begin(*params, task) : 0;
    if (out.height + 1 < begin) {
        out.reason = TaskReason::no_bids_yet;
        out.why = "the auction before had too few bids, and the next one has not begun" + auction_words(view, task);
        out.next = "bids are taken";
        out.next_height = begin;
        return;
    }
    const auto following = views::next_auction(view, task.id);
    const bool another = goes_on(view, task, following);
    if (another) {
        const std::string pays = ", in which a segment costs at most " + describe_coins(following->ceiling);
        if (!sealed && task.bidders.empty()) {
            out.next = "another auction begins" + pays;
            out.next_height = next_begin(view, task);
        } else {
            out.next +=
                "; without winners another auction begins at block " + std::to_string(next_begin(view, task)) + pays;
        }
    }
    std::string before = auction_words(view, task);
    const auto last = task.runs == 0 ? std::nullopt : views::run(view, task.id, task.runs - 1);
    if (last && views::is_given_back(view, task.id, last->index))
        before += "; run " + std::to_string(last->index) +
                  " was given back, and the next solver goes on from checkpoint " + std::to_string(task.first_state);
    if (!task.bidders.empty()) {
        out.reason = sealed ? TaskReason::bids_sealed : TaskReason::bids_revealed;
        const std::string bids = plural(task.bidders.size(), "bid");
        out.why = sealed ? bids + (task.bidders.size() == 1 ? " is" : " are") + " sealed so far"
                         : std::to_string(revealed) + " of " + bids + " are revealed";
        out.why += before;
        return;
    }
    const AuctionRecord auction = examine_auction(view, task.id, out.height, false).value_or(AuctionRecord{});
    const OtherSolvers& others = auction.others;
    out.reason = TaskReason::no_bids_yet;
    out.why = "nobody has bid yet; " + words_of(auction) + before;
    if (others.free == 0) out.remedy = remedy_for(others);
    if (!another && (others.free == 0 || task.first_state != 0))
        out.remedy += (out.remedy.empty() ? "" : "; ") + std::string(kTopUp);
}

/// Before messages, members agree on the masks over them (contracts 21.11.2).
void explain_masks(const StateView& view, const market::Group& group, const std::string& round, TaskExplanation& out) {
    const auto masks = views::round_masks(view, group.task, group.round);
    if (!masks) return;
    const std::string cohort = std::to_string(masks->cohort.size());
    if (masks->deadline != 0) out.next_height = masks->deadline;
    switch (masks->step) {
        case market::MaskStep::keys:
            out.why = round + ": members post keys for its masks; " + cohort + " of " + std::to_string(group.senders) +
                      " have";
            out.next = "those that have deal shares of their secrets";
            return;
        case market::MaskStep::shares:
            out.why = round + ": " + std::to_string(masks->dealt.size()) + " of " + cohort +
                      " members have dealt shares of their secrets";
            out.next = "members look whether the shares fit";
            return;
        case market::MaskStep::complaints:
            out.why = round + ": members look whether the shares of " + std::to_string(masks->dealt.size()) +
                      " others fit, and train";
            out.next = "messages are sent under masks";
            return;
        case market::MaskStep::lost:
            out.why = round + ": too few members took part in its masks, so it closes without messages";
            out.next = "the next round begins with new keys";
            return;
        case market::MaskStep::messages:
        case market::MaskStep::unmasking:
        case market::MaskStep::secrets:
        case market::MaskStep::open: return;
    }
}

/// Phases of a round end at their deadline, or earlier when all have done their part.
void explain_group(const StateView& view, const market::Task& task, TaskExplanation& out) {
    const auto terms = views::group_spec(view, task.id);
    const auto group = views::group(view, task.id);
    if (!terms || !group) return;
    const std::string round = "round " + std::to_string(group->round) + " of " + std::to_string(terms->rounds);
    const std::string sent = std::to_string(group->committed.size());
    out.next_height = group->deadline == 0 ? std::nullopt : std::optional(group->deadline);
    switch (group->phase) {
        case GroupPhase::starting:
            out.reason = TaskReason::group_starting;
            out.why = "members fetch the plan and the data, and commit to their first state";
            out.next = "the first round begins when all have, or at the deadline when " + std::to_string(terms->least) +
                       " have";
            return;
        case GroupPhase::training:
            out.reason = TaskReason::group_training;
            out.why =
                round + ": members train; " + sent + " of " + std::to_string(group->senders) + " have sent a message";
            out.next = "the messages are fetched";
            explain_masks(view, *group, round, out);
            return;
        case GroupPhase::spreading:
            out.reason = TaskReason::group_fetching;
            out.why = round + ": members fetch " + sent + " messages; " + std::to_string(group->listed.size()) +
                      " have stated what they have" + (group->extended ? " (extended once)" : "");
            out.next = "what they have is revealed";
            return;
        case GroupPhase::revealing:
            out.reason = TaskReason::group_revealing;
            out.why = round + ": members reveal what they have; " + std::to_string(group->revealed.size()) + " of " +
                      std::to_string(group->listed.size()) + " have";
            out.next = "the round is closed";
            return;
        case GroupPhase::unmasking:
            out.reason = TaskReason::group_revealing;
            out.why = round + ": members reveal shares of what masked the sum of " + sent + " messages";
            out.next = "the round is closed";
            return;
        case GroupPhase::settling:
            out.reason = TaskReason::group_settling;
            out.why = round + " waits: a lie in a message is to undo few rounds, and messages of " +
                      std::to_string(terms->ahead) + " rounds before are not final";
            out.next = "their segments are opened, audited or pass their challenge window";
            return;
        case GroupPhase::over: break;
    }
    out.reason = TaskReason::group_finishing;
    out.why = "all rounds are closed; members take in the last messages, and their segments are finalised";
    out.next = "the model is delivered when the segments of all members are final";
}

/// What a segment that is to be paid next waits for.
void add_window(const StateView& view, const market::Run& run, TaskExplanation& out) {
    const auto segment = views::segment(view, run.task, run.index, run.paid);
    if (!segment || segment->window_end <= out.height) return;
    out.next =
        "the challenge window of segment " + std::to_string(run.paid) + ", the next to be paid, ends; " + out.next;
    out.next_height = segment->window_end;
}

/// What becomes of segments that are not paid yet.
const char* to_be_audited(const StateView& view, std::uint64_t task) {
    const auto spec = views::spec(view, task);
    return spec && spec->allow_unaudited
               ? " audited where auditors can be drawn (the terms allow unaudited pay), or can still be challenged"
               : " audited or can still be challenged";
}

/// A run that is given back commits nothing more and ends when all of it is final (contracts 13.12).
void explain_given_back(const StateView& view, const market::Task& task, const market::Run& run,
                        const std::optional<market::Params>& params, TaskExplanation& out) {
    out.reason = TaskReason::given_back;
    out.why = "the solver gave run " + std::to_string(run.index) + " back at checkpoint " +
              std::to_string(run.next_state - 1) + "; it is paid up to checkpoint " + std::to_string(run.paid) +
              ", and the rest of what it computed is" + to_be_audited(view, task.id);
    out.next = !params || task.round >= params->rounds ? "the task ends: it has had all auctions that a task may have"
               : views::is_rent_over(view, task, out.height)
                   ? "the task ends: its deposit pays for its place no longer"  // Contracts 12.8.4.
                   : "an auction begins, in which another solver takes the task from there";
    add_window(view, run, out);
}

void explain_assigned(const StateView& view, const market::Task& task, TaskExplanation& out) {
    out.reason = TaskReason::fetching_data;
    out.why = "the winners fetch the program and the data";
    out.next = "a winner that has not accepted by then loses the task";
    const auto run = task.runs == 0 ? std::nullopt : views::run(view, task.id, task.runs - 1);
    if (run && run->deadline != 0) out.next_height = run->deadline;
    const auto reserved = run ? views::reservation_of_run(view, task.id, run->index) : std::nullopt;
    if (!reserved) return;
    out.reason = TaskReason::fetching_reserved;
    out.why = "the solver " + ledger::to_0x(reserved->solver) + ", whose time was reserved (reservation " +
              std::to_string(reserved->id) + "), fetches the program and the data";
    out.remedy = "see that the node has all files: `retrace task upload " + std::to_string(task.id) +
                 " FILE`, with the task's file, sends what is missing";
    out.next = "if it has not accepted by then, the deposit of " + describe_coins(reserved->deposit) +
               " and as much of its stake are burned, and an auction begins; else the deposit returns";
}

/// What became of the reservation by which the task began.
std::string reservation_words(const StateView& view, const market::Task& task) {
    using market::ReservationState;
    const auto reserved = views::reservation_of_task(view, task.id);
    if (!reserved) return {};
    const std::string deposit = "the deposit of " + describe_coins(reserved->deposit);
    std::string what = deposit + " returned";
    if (reserved->state == ReservationState::begun) {
        if (task.state != TaskState::frozen) return {};
        what = "its solver had not accepted its data; " + deposit + " is held until the task is released, and returns";
    } else if (reserved->state == ReservationState::broken) {
        what = "its solver did not take it, and " + deposit + " and as much of its stake are burned";
    } else if (reserved->state == ReservationState::released) {
        what = "its solver had not accepted its data; " + deposit + " returned and its stake is free";
    }
    return "; it began by reservation " + std::to_string(reserved->id) + " (" +
           std::string(market::slug(reserved->state)) + "): " + what;
}

void explain_run(const StateView& view, const market::Task& task, TaskExplanation& out) {
    const auto params = views::params(view);
    const auto spec = views::spec(view, task.id);
    std::optional<market::Run> newest;
    for (const std::uint32_t index : task.active) {
        auto run = views::run(view, task.id, index);
        if (!run) continue;
        if (params && run->unaudited_since != 0) {
            out.reason = TaskReason::no_auditors;
            out.why = "segment " + std::to_string(run->unaudited_from) + " of run " + std::to_string(index) +
                      " waits for auditors, and none can be drawn";
            out.remedy = "wait for verifiers, or decide with `retrace task decide` once that is allowed";
            out.next = "you may decide";
            out.next_height = run->unaudited_since + params->unaudited_blocks;
            return;
        }
        newest = std::move(*run);
    }
    if (views::is_group(view, task.id)) return explain_group(view, task, out);
    if (!newest || !spec) return;
    if (views::is_given_back(view, task.id, newest->index)) return explain_given_back(view, task, *newest, params, out);
    if (newest->next_state > spec->segments()) {
        out.reason = TaskReason::auditing;
        out.why = "all checkpoints are committed, and " + std::to_string(newest->paid) + " of " +
                  plural(spec->segments(), "segment") + " are paid; the others are" + to_be_audited(view, task.id);
        out.next = "the model is delivered when all segments are paid";
        return add_window(view, *newest, out);
    }
    out.reason = TaskReason::training;
    out.why = "the solver trains; checkpoint " + std::to_string(newest->next_state) + " of " +
              std::to_string(spec->segments()) + " is next";
    out.next = "the run ends and the solver loses a part of its lock if the checkpoint is late";
    if (newest->deadline != 0) out.next_height = newest->deadline;
}

void explain_state(const StateView& view, const market::Task& task, const AuctionRecord* auction,
                   TaskExplanation& out) {
    switch (task.state) {
        case TaskState::posted:
        case TaskState::bidding: return explain_auction(view, task, out);
        case TaskState::assigned: return explain_assigned(view, task, out);
        case TaskState::running: return explain_run(view, task, out);
        case TaskState::delivering:
            out.reason = TaskReason::model_ready;
            out.why = "the model is ready";
            out.remedy = "fetch it with `retrace task fetch`, check it, then `retrace task accept`";
            out.next = "the model counts as accepted";
            out.next_height = task.deliver_end;
            return;
        case TaskState::settled:
            out.reason = TaskReason::settled;
            out.why = "the model was accepted, or its time to be refused is over, and all is paid";
            return;
        case TaskState::cancelled:
            out.reason = TaskReason::cancelled;
            out.why =
                "the requester cancelled it; the escrow was returned, less a thousandth of the stake that bids locked";
            return;
        case TaskState::expired:
        case TaskState::forfeited: return explain_expired(view, task, auction, out);
        case TaskState::frozen:
            out.reason = TaskReason::frozen;
            out.why = "a rule about it broke an invariant; nothing in it changes";
            out.next = "its coins are returned";
            return;
        case TaskState::released:
            out.reason = TaskReason::released;
            out.why = "it was frozen, and its coins were returned";
            return;
    }
}

}  // namespace

std::string_view slug(TaskReason reason) noexcept {
    switch (reason) {
        case TaskReason::no_bids_yet: return "no_bids_yet";
        case TaskReason::bids_sealed: return "bids_sealed";
        case TaskReason::bids_revealed: return "bids_revealed";
        case TaskReason::fetching_data: return "fetching_data";
        case TaskReason::training: return "training";
        case TaskReason::auditing: return "auditing";
        case TaskReason::no_auditors: return "no_auditors";
        case TaskReason::group_starting: return "group_starting";
        case TaskReason::group_training: return "group_training";
        case TaskReason::group_fetching: return "group_fetching";
        case TaskReason::group_revealing: return "group_revealing";
        case TaskReason::group_finishing: return "group_finishing";
        case TaskReason::group_settling: return "group_settling";
        case TaskReason::model_ready: return "model_ready";
        case TaskReason::settled: return "settled";
        case TaskReason::cancelled: return "cancelled";
        case TaskReason::no_bids: return "no_bids";
        case TaskReason::too_few_bids: return "too_few_bids";
        case TaskReason::no_winner: return "no_winner";
        case TaskReason::auctions_used_up: return "auctions_used_up";
        case TaskReason::solvers_lost: return "solvers_lost";
        case TaskReason::frozen: return "frozen";
        case TaskReason::released: return "released";
        case TaskReason::given_back: return "given_back";
        case TaskReason::fetching_reserved: return "fetching_reserved";
        case TaskReason::not_audited: return "not_audited";
        case TaskReason::place_over: return "place_over";
        case TaskReason::paid_wrong: return "paid_wrong";
    }
    return "unknown";
}

std::uint64_t auction_height(const market::Task& task) {
    const bool ended = task.state == TaskState::expired || task.state == TaskState::forfeited;
    return ended && task.reveal_end != 0 ? task.reveal_end - 1 : 0;
}

std::optional<TaskExplanation> explain_task(const StateView& view, std::uint64_t id, std::uint64_t height,
                                            const AuctionRecord* auction) {
    const auto task = views::task(view, id);
    if (!task || !views::spec(view, id)) return std::nullopt;
    TaskExplanation out;
    out.task = id;
    out.height = height;
    out.state = task->state;
    explain_state(view, *task, auction, out);
    out.why += reservation_words(view, *task);
    return out;
}

}  // namespace retrace::node
