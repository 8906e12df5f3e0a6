// SPDX-License-Identifier: MIT
// Explains why a bid was not made, not accepted or did not win, what a task waits for, and why a transaction was
// refused.
#include "contracts/calls/encode.hpp"
#include "market/odds.hpp"
#include "node/explain/task_reason.hpp"
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

SolverExplanation explain_solver(const StateView& view, std::uint64_t task, const ledger::Address& solver,
                                 const std::vector<views::ExplainedBid>& bids, bool closed) {
    SolverExplanation out;
    out.solver = solver;
    for (const CallStatus status : views::bid_obstacles(view, task, solver)) out.obstacles.push_back(obstacle(status));
    for (const views::ExplainedBid& bid : bids) {
        if (bid.bidder != solver) continue;
        out.bid = true;
        out.why = bid.why;
        return out;
    }
    if (!out.obstacles.empty()) {
        out.why = closed ? "no bid: a rule stood in the way" : "no bid: a rule stands in the way";
    } else {
        out.why =
            "no bid, and no rule forbids one: the solver's own limits decide (price, machine, program); "
            "its log names them";
    }
    return out;
}

/// The state to read bids from: they are deleted when the auction closes, so an ended auction is read at its last
/// block.
Checked<StateAt> auction_state(const Backend& backend, Caller& caller, const StateAt& asked, const market::Task& task,
                               bool closed) {
    if (!closed || task.reveal_end == 0 || task.reveal_end > asked.height) return asked;
    return state_at(backend, caller, BlockRef{BlockRef::Kind::height, task.reveal_end - 1, {}});
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
    const auto spec = views::spec(*asked.view, id);
    const auto market_params = views::params(*asked.view);
    if (!task || !spec || !market_params) return json::value(nullptr);
    const bool closed = task->wanted == 0;
    RETRACE_TRY(state, auction_state(backend, caller, asked, *task, closed));
    const auto bids = views::explain_bids(*state.view, id, closed);
    BidsExplanation out{id,
                        task->round,
                        task->state,
                        closed,
                        state.height,
                        task->bid_end,
                        task->reveal_end,
                        spec->price_ceiling,
                        market::stake_floor(*market_params, *spec),
                        bids.value_or(std::vector<views::ExplainedBid>{}),
                        std::nullopt};
    if (solver) out.solver = explain_solver(*state.view, id, *solver, out.bids, closed);
    return record_json(out);
}

Answer explain_a_task(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(asked, state_at(backend, caller, ref));
    const auto task = views::task(*asked.view, id);
    if (!task) return json::value(nullptr);
    const std::uint64_t height = auction_height(*task);
    const auto auction =
        height == 0 ? Checked<StateAt>(asked) : state_at(backend, caller, BlockRef{BlockRef::Kind::height, height, {}});
    return record_json(explain_task(*asked.view, id, asked.height, height != 0 && auction ? &*auction->view : nullptr));
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
    router.add({"retrace_explainTransaction",
                "Why a mined transaction was refused, or what it did.",
                {{"hash", "Hash"}},
                "TxExplanation?",
                [&backend](const Params& params, Caller&) { return explain_tx(backend, params); }});
}

}  // namespace retrace::node::rpc
