// SPDX-License-Identifier: MIT
#include "node/agents/explained_task.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "contracts/records/views.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/printable.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

std::optional<TaskExplanation> explain_in(const RemoteState& state, std::uint64_t id, const AuctionRecord* auction) {
    std::optional<TaskExplanation> out;
    const auto read = [&] { out = explain_task(state, id, state.height(), auction); };
    state.read_ahead(read);
    state.read(read);
    return out;
}

std::optional<AuctionRecord> examined(const RemoteState& auction, std::uint64_t id) {
    std::optional<AuctionRecord> out;
    const auto read = [&] { out = examine_auction(auction, id, auction.height(), true); };
    auction.read_ahead(read);
    auction.read(read);
    return auction.failure() ? std::nullopt : out;
}

/// Takes the node's word for why the task got no bids: it may have a record of an auction whose state it keeps no more.
void ask_node(RpcClient& client, TaskExplanation& out) {
    const auto answer = client.call("retrace_explainTask", json::array{rpc::quantity(out.task)});
    const json::object* const told = answer ? answer->if_object() : nullptr;
    if (told == nullptr) return;
    const auto text = [&](const char* name) -> std::optional<std::string> {
        const json::value* const value = told->if_contains(name);
        if (value == nullptr || !value->is_string()) return std::nullopt;
        return printable(std::string(value->as_string()));
    };
    const auto reason = text("reason"), why = text("why"), remedy = text("remedy");
    if (!reason || !why || !remedy) return;
    for (const TaskReason known : {TaskReason::no_bids, TaskReason::too_few_bids}) {
        if (*reason != slug(known)) continue;
        out.reason = known;
        out.why = *why;
        out.remedy = *remedy;
    }
}

}  // namespace

Result<TaskExplanation> explained_task(ChainReader& chain, std::uint64_t id) {
    RETRACE_TRY(state, chain.newest());
    std::optional<market::Task> task;
    state.read([&] { task = contracts::views::task(state, id); });
    if (state.failure()) return error(state.failure()->message);
    if (!task) return error("there is no task " + std::to_string(id));
    const std::uint64_t height = auction_height(*task);
    const auto auction = height != 0 ? examined(chain.state(height), id) : std::nullopt;
    auto out = explain_in(state, id, auction ? &*auction : nullptr);
    if (state.failure()) return error(state.failure()->message);
    if (!out) return error("there is no task " + std::to_string(id));
    if (out->reason == TaskReason::no_winner && !chain.proves()) ask_node(chain.client(), *out);
    return std::move(*out);
}

}  // namespace retrace::node
