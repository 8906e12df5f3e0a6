// SPDX-License-Identifier: MIT
#include "node/explain/ended_task.hpp"

#include <algorithm>
#include <set>

#include "contracts/records/group_views.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/task_end.hpp"
#include "contracts/records/views.hpp"
#include "node/explain/auction_words.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using ledger::StateView;

/// Each run of a task that ended, and the auctions that had winners.
struct EndedRuns {
    std::string text;
    std::uint64_t auctions = 0;
};
EndedRuns ended_runs(const StateView& view, const market::Task& task) {
    EndedRuns out;
    std::set<std::uint64_t> assigned;
    const bool reserved = views::reservation_of_task(view, task.id).has_value();  // Its first run had no auction.
    for (std::uint32_t i = 0; i < task.runs; ++i) {
        const auto run = views::run(view, task.id, i);
        if (!run) continue;
        if (i != 0 || !reserved) assigned.insert(run->assigned_height);
        const bool given_back = views::is_given_back(view, task.id, i);
        out.text += "; run " + std::to_string(i) + " by " + ledger::to_0x(run->solver) + ": " +
                    (given_back ? "given back" : std::string(market::slug(run->state))) + " with " +
                    plural(run->paid, "segment") + " paid";
    }
    out.auctions = assigned.size();
    return out;
}

constexpr const char* kAfterLostRuns =
    "`retrace task follow` shows why each run ended; post the task again, from its last state if one is served "
    "(`retrace task compile --start`)";

/// The newest auction, if it ended without winners.
void explain_no_winners(const AuctionRecord* auction, const market::Task& task, std::uint64_t without_winners,
                        TaskExplanation& out) {
    const std::string auctions = plural(without_winners, "auction");
    if (auction == nullptr) {
        out.reason = TaskReason::no_winner;
        out.why = "too few solvers bid in " + auctions +
                  "; this node has no record of the auction that closed at block " + std::to_string(task.reveal_end) +
                  ", so that it cannot say why; the escrow was returned";
        out.remedy = "ask a node that has run since before that block; a solver's log says why it did not bid";
        return;
    }
    const auto revealed = std::count_if(auction->bids.begin(), auction->bids.end(),
                                        [](const views::ExplainedBid& bid) { return bid.revealed; });
    out.reason = revealed == 0 ? TaskReason::no_bids : TaskReason::too_few_bids;
    out.why = revealed == 0 ? "nobody bid in " + auctions : "there were too few bids in " + auctions;
    for (const views::ExplainedBid& bid : auction->bids) out.why += "; " + ledger::to_0x(bid.bidder) + ": " + bid.why;
    out.why += "; " + words_of(*auction) + "; the escrow was returned";
    out.remedy = "post it again when this is mended: " + remedy_for(auction->others);
}

/// Whether the newest auction had winners: they are assigned in the block that closes it.
bool had_winners(const StateView& view, const market::Task& task) {
    const auto newest = task.runs == 0 ? std::nullopt : views::run(view, task.id, task.runs - 1);
    return newest && newest->assigned_height >= task.reveal_end;
}

/// An end that the ledger has noted, because neither auctions nor solvers are its cause.
void explain_noted(contracts::TaskEnd end, const EndedRuns& runs, TaskExplanation& out) {
    constexpr const char* kFromState = ", from its last state if one is served (`retrace task compile --start`)";
    switch (end) {
        case contracts::TaskEnd::not_audited:
            out.reason = TaskReason::not_audited;
            out.why =
                "no auditors were found for a segment, which ended the task and is no fault of its solver: "
                "another one would have found none either";
            out.remedy = std::string(
                             "`retrace task odds` shows how many auditors can be drawn: post the rest again when "
                             "they are enough, with fewer auditors, or with --allow-unaudited") +
                         kFromState;
            break;
        case contracts::TaskEnd::place_over:
            out.reason = TaskReason::place_over;
            out.why =
                "another auction was due, and the deposit for its place among the open tasks pays for no more blocks";
            out.remedy = std::string("post the rest again") + kFromState +
                         "; while a task is open, `retrace task top-up` pays for a longer time";
            break;
        case contracts::TaskEnd::paid_wrong:
            out.reason = TaskReason::paid_wrong;
            out.why =
                "a solver was convicted of a segment that it had been paid for, and the escrow pays for none twice";
            out.remedy =
                "`retrace task follow` shows the conviction; post the task again, from a state before that segment "
                "if one is served (`retrace task compile --start`)";
            break;
    }
    out.why += runs.text + "; the rest of the escrow was returned";
}

}  // namespace

void explain_expired(const StateView& view, const market::Task& task, const AuctionRecord* auction,
                     TaskExplanation& out) {
    const EndedRuns runs = ended_runs(view, task);
    const auto end = views::task_end(view, task.id);
    // Without winners the bids that lacked are the cause, also where another auction would have followed.
    const bool no_winners = !had_winners(view, task) && (!end || end == contracts::TaskEnd::place_over);
    if (end && !no_winners) return explain_noted(*end, runs, out);
    if (no_winners) {
        explain_no_winners(auction, task, task.round - std::min<std::uint64_t>(runs.auctions, task.round), out);
        if (end)
            out.why += "; the deposit for its place paid for no other auction, which `retrace task top-up` would have";
        if (task.runs == 0) return;
        out.why = "every solver of an earlier auction left or failed" + runs.text + "; then " + out.why;
        out.remedy = kAfterLostRuns + ("; for more bids: " + out.remedy);
        return;
    }
    const auto params = views::params(view);
    const bool used_up = params && task.round >= params->rounds && !views::is_group(view, task.id);
    out.reason = used_up ? TaskReason::auctions_used_up : TaskReason::solvers_lost;
    out.why = used_up ? "solvers left or failed in all " + plural(task.round, "auction") + " that a task may have"
                      : std::string("every solver left or failed");
    out.why += runs.text + "; the rest of the escrow was returned";
    out.remedy = kAfterLostRuns;
}

}  // namespace retrace::node
