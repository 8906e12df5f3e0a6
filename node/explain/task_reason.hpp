// SPDX-License-Identifier: MIT
// Says what a task waits for, or why it ended: one of a closed list of reasons, a remedy, and what happens next.
#pragma once

#include <optional>
#include <string>

#include "ledger/state/view.hpp"
#include "market/record.hpp"
#include "market/types.hpp"
#include "node/explain/auction_record.hpp"

namespace retrace::node {

/// Their names are in JSON-RPC, so that a number is never reused.
enum class TaskReason : std::uint8_t {
    no_bids_yet = 1,       ///< An auction is open and nobody has bid.
    bids_sealed = 2,       ///< Bids are committed and can be revealed later.
    bids_revealed = 3,     ///< Bids are being revealed.
    fetching_data = 4,     ///< The winners fetch the program and the data.
    training = 5,          ///< The solver trains.
    auditing = 6,          ///< All checkpoints are committed; audits and challenge windows run.
    no_auditors = 7,       ///< A segment waits for auditors.
    group_starting = 8,    ///< Members of a group commit to their first state.
    group_training = 9,    ///< Members train in a round,
    group_fetching = 10,   ///< fetch its messages,
    group_revealing = 11,  ///< and reveal which came.
    group_finishing = 12,  ///< All rounds are closed; the last segments are audited.
    model_ready = 13,
    settled = 14,
    cancelled = 15,
    no_bids = 16,           ///< Ended: nobody revealed a bid.
    too_few_bids = 17,      ///< Ended: fewer bids than replicas (members).
    no_winner = 18,         ///< Ended by one of the two; the node has no record of the auction.
    auctions_used_up = 19,  ///< Ended: solvers left or failed, and there were as many auctions as there may be.
    solvers_lost = 20,      ///< Ended: every solver left, was silent or was convicted.
    frozen = 21,
    released = 22,
    given_back = 23,      ///< The solver of a spot task gave its run back; what it committed is audited and paid.
    not_audited = 26,     ///< Ended: no auditors were found for a segment.
    place_over = 27,      ///< Ended: an auction was due, and the deposit for its place paid for no more blocks.
    paid_wrong = 28,      ///< Ended: a convicted solver had been paid for a segment that would have to be paid again.
    group_settling = 25,  ///< A round waits until messages of rounds before are final.
    fetching_reserved = 24,  ///< The solver whose time was reserved fetches the program and the data.
};
constexpr TaskReason last_of(TaskReason) { return TaskReason::paid_wrong; }
std::string_view slug(TaskReason reason) noexcept;

struct TaskExplanation {
    std::uint64_t task = 0;
    std::uint64_t height = 0;  ///< Of the state that was read.
    market::TaskState state{};
    TaskReason reason{};
    std::string why;                           ///< The reason with its facts, one sentence.
    std::string remedy;                        ///< What the requester can do; empty: nothing need be done.
    std::string next;                          ///< What happens next; empty: nothing.
    std::optional<std::uint64_t> next_height;  ///< By when; nullopt: no height is set.
    static auto tie(auto& t) {
        return std::tie(t.task, t.height, t.state, t.reason, t.why, t.remedy, t.next, t.next_height);
    }
    static market::Names names() {
        return {"task", "height", "state", "reason", "why", "remedy", "next", "nextHeight"};
    }
};

/// Returns nullopt for an unknown task. `height`: of `view`. `auction`: the task's newest auction as it was in its last
/// block, see `auction_height`; nullptr if it is not known.
std::optional<TaskExplanation> explain_task(const ledger::StateView& view, std::uint64_t task, std::uint64_t height,
                                            const AuctionRecord* auction);

/// Returns the height of the state that `explain_task` needs an examination of (`examine_auction`); 0: of none.
std::uint64_t auction_height(const market::Task& task);

}  // namespace retrace::node
