// SPDX-License-Identifier: MIT
// Explains why a bid was not made, not accepted or did not win, what a task or a reservation waits for, and why a
// transaction was refused.
#include "contracts/calls/encode.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/odds.hpp"
#include "node/explain/reservation_reason.hpp"
#include "node/explain/task_reason.hpp"
#include "node/server/methods/auction_index.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/task_events.hpp"

namespace retrace::node::rpc {
namespace {

namespace views = contracts::views;
using contracts::CallStatus;
using ledger::StateView;

Obstacle obstacle(CallStatus status) {
    std::string sentence = contracts::reason(status);
    const std::string slug(contracts::slug(status));
    if (sentence.rfind(slug + ": ", 0) == 0) sentence.erase(0, slug.size() + 2);
    return {static_cast<std::uint32_t>(status), slug, sentence};
}

/// `view`: the state in which the auction was examined; nullptr if it is not kept any more.
SolverExplanation explain_solver(const StateView* view, const AuctionRecord& auction, const ledger::Address& solver,
                                 bool closed) {
    SolverExplanation out;
    out.solver = solver;
    if (view != nullptr)
        for (const CallStatus rule : views::bid_obstacles(*view, auction.task, solver))
            out.obstacles.push_back(obstacle(rule));
    for (const views::ExplainedBid& bid : auction.bids) {
        if (bid.bidder != solver) continue;
        out.bid = true;
        out.why = bid.why;
        return out;
    }
    if (view == nullptr) {
        out.why = "no bid; whether a rule stood in the way is not known: the state of block " +
                  std::to_string(auction.height) + " is not kept";
    } else if (!out.obstacles.empty()) {
        out.why = closed ? "no bid: a rule stood in the way" : "no bid: a rule stands in the way";
    } else {
        out.why =
            "no bid, and no rule forbids one: the solver's own limits decide (price, machine, program); "
            "its log names them";
    }
    return out;
}

struct AuctionAt {
    AuctionRecord record;
    std::shared_ptr<const StateView> view;  ///< The state that was examined; nullptr: it is not kept any more.
};

/// The auction as it was at `height`: the state of that block is examined, with at most `solvers` that have no bid, or,
/// if it is not kept any more, the record that the node made then is taken.
Checked<AuctionAt> auction_at(const Backend& backend, Caller& caller, std::uint64_t task, std::uint64_t height,
                              bool closed, std::size_t solvers) {
    const auto state = state_at(backend, caller, BlockRef{BlockRef::Kind::height, height, {}});
    if (state) {
        auto record = examine_auction(*state->view, task, height, closed, solvers);
        if (!record) return server_error("there is no task " + std::to_string(task) + " at that height");
        return AuctionAt{std::move(*record), state->view};
    }
    auto record = backend.auctions.find(task);
    if (record && record->height == height) return AuctionAt{std::move(*record), nullptr};
    return server_error("the bids on task " + std::to_string(task) + " are not known: " + state.error().message +
                        ", and this node has no record of the auction that ended with it");
}

Answer explain_bids(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    std::optional<ledger::Address> solver;
    if (params.has(1)) {
        RETRACE_TRY(given, params.address(1));
        solver = given;
    }
    RETRACE_TRY(ref, params.block(2));
    RETRACE_TRY(asked, state_at(backend, caller, ref));
    const auto task = views::task(*asked.view, id);
    if (!task) return json::value(nullptr);
    const bool closed = task->wanted == 0;
    // Bids are deleted when the auction closes, so an ended one is read at its last block.
    const bool ended = closed && task->reveal_end != 0 && task->reveal_end <= asked.height;
    RETRACE_TRY(auction, auction_at(backend, caller, id, ended ? task->reveal_end - 1 : asked.height, closed, 0));
    BidsExplanation out{id,
                        task->round,
                        task->state,
                        closed,
                        auction.record.height,
                        0,
                        task->bid_end,
                        task->reveal_end,
                        auction.record.price_ceiling,
                        auction.record.floor(),
                        0,
                        std::nullopt,
                        std::nullopt,
                        auction.record.bids,
                        std::nullopt};
    if (const auto next = views::next_auction(*asked.view, id); next && task->state == market::TaskState::bidding) {
        out.auctions_left = next->auctions;
        if (next->auctions != 0) out.next_ceiling = next->ceiling;
        const auto spec = views::spec(*asked.view, id);
        if (next->auctions != 0 && spec) out.next_begin = task->reveal_end + spec->pause_blocks;
    }
    if (const auto terms = views::params(*asked.view)) out.bid_begin = views::bids_begin(*terms, *task);
    if (solver) out.solver = explain_solver(auction.view.get(), auction.record, *solver, closed);
    return record_json(out);
}

Answer explain_a_task(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(asked, state_at(backend, caller, ref));
    const auto task = views::task(*asked.view, id);
    if (!task) return json::value(nullptr);
    const std::uint64_t height = auction_height(*task);
    std::optional<AuctionRecord> auction;
    if (height != 0)
        if (auto found = auction_at(backend, caller, id, height, true, kSolversExamined))
            auction = std::move(found->record);
    return record_json(explain_task(*asked.view, id, asked.height, auction ? &*auction : nullptr));
}

Answer explain_a_reservation(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(asked, state_at(backend, caller, ref));
    const auto reservation = views::reservation(*asked.view, id);
    if (!reservation) return json::value(nullptr);
    const ReservationExplanation told = explain_reservation(*asked.view, *reservation, asked.height);
    return record_json(ReservationAnswer{*reservation, views::reserved_spec(*asked.view, id), asked.height, told.why,
                                         told.remedy, told.next, told.next_height});
}

Answer explain_tx(const Backend& backend, const Params& params) {
    RETRACE_TRY(hash, params.hash(0));
    const auto record = backend.chain.tx(hash);
    if (!record) return json::value(nullptr);
    TxExplanation out{hash, record->height, record->receipt.success, std::nullopt, "done", {}};
    const auto header = backend.chain.header(record->height);
    const auto view = backend.chain.view();
    for (std::size_t i = 0; header && i < record->receipt.logs.size(); ++i) {
        auto event = task_event({record->receipt.logs[i], record->height, ledger::block_hash(*header), header->time_s(),
                                 hash, record->index, record->first_log_index + i},
                                *view);
        if (event) out.events.push_back(std::move(*event));
    }
    if (!out.success) {
        out.why = record->receipt.revert_reason;
        const auto refused = contracts::decode_refusal(record->receipt.output);
        if (refused) out.refusal = obstacle(static_cast<CallStatus>(refused->code));
    }
    return record_json(out);
}

}  // namespace

void register_retrace_explain(Router& router, const Backend& backend) {
    router.add({"retrace_explainBids",
                "How the bids on a task stand or stood and why; with a solver, also why it has none.",
                {{"task", "Quantity"}, {"solver", "Address", false}, {"block", "BlockTag", false}},
                "BidsExplanation?",
                [&backend](const Params& params, Caller& caller) { return explain_bids(backend, params, caller); }});
    router.add({"retrace_explainTask",
                "What a task waits for or why it ended, with a remedy and what happens next.",
                {{"task", "Quantity"}, {"block", "BlockTag", false}},
                "TaskExplanation?",
                [&backend](const Params& params, Caller& caller) { return explain_a_task(backend, params, caller); }});
    router.add(
        {"retrace_explainReservation",
         "A reservation with its terms, what it waits for or what became of it, and what happens next.",
         {{"reservation", "Quantity"}, {"block", "BlockTag", false}},
         "Reservation?",
         [&backend](const Params& params, Caller& caller) { return explain_a_reservation(backend, params, caller); }});
    router.add({"retrace_explainTransaction",
                "Why a mined transaction was refused, or what it did.",
                {{"hash", "Hash"}},
                "TxExplanation?",
                [&backend](const Params& params, Caller&) { return explain_tx(backend, params); }});
}

}  // namespace retrace::node::rpc
