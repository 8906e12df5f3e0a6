// SPDX-License-Identifier: MIT
#include "node/agents/explained_task.hpp"

#include "contracts/records/views.hpp"

namespace retrace::node {
namespace {

std::optional<TaskExplanation> explain_in(const RemoteState& state, std::uint64_t id, const RemoteState* auction) {
    std::optional<TaskExplanation> out;
    const auto read = [&] { out = explain_task(state, id, state.height(), auction); };
    state.read_ahead(read);
    state.read(read);
    return out;
}

}  // namespace

Result<TaskExplanation> explained_task(ChainReader& chain, std::uint64_t id) {
    RETRACE_TRY(state, chain.newest());
    std::optional<market::Task> task;
    state.read([&] { task = contracts::views::task(state, id); });
    if (state.failure()) return error(state.failure()->message);
    if (!task) return error("there is no task " + std::to_string(id));
    if (const std::uint64_t height = auction_height(*task); height != 0) {
        const RemoteState auction = chain.state(height);
        auto out = explain_in(state, id, &auction);
        if (out && !auction.failure() && !state.failure()) return std::move(*out);
    }
    auto out = explain_in(state, id, nullptr);
    if (state.failure()) return error(state.failure()->message);
    if (!out) return error("there is no task " + std::to_string(id));
    return std::move(*out);
}

}  // namespace retrace::node
