// SPDX-License-Identifier: MIT
// Methods for the groups of trainings in rounds: their members, and their rounds.
#include "contracts/records/group_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/views.hpp"
#include "node/server/methods/answers.hpp"
#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

namespace views = contracts::views;
using ledger::StateView;

std::vector<MemberAnswer> members_of(const StateView& view, const market::Task& task) {
    std::vector<MemberAnswer> out;
    for (std::uint32_t index = 0; index < task.runs; ++index) {
        const auto run = views::run(view, task.id, index);
        auto member = views::member(view, task.id, index);
        if (run && member) out.push_back({index, run->solver, run->state, run->earned, std::move(*member)});
    }
    return out;
}

Answer get_group(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto task = views::task(*state.view, id);
    const auto terms = views::group_spec(*state.view, id);
    const auto group = views::group(*state.view, id);
    if (!task || !terms || !group) return json::value(nullptr);
    return record_json(
        GroupAnswer{*terms, *group, members_of(*state.view, *task), views::rollbacks(*state.view, id).noted});
}

/// Adds what the run revealed to have: its bits stand for `order`.
void add_listing(const StateView& view, std::uint64_t task, std::uint32_t round, std::uint32_t run,
                 const std::vector<std::uint32_t>& order, std::vector<RoundMessageAnswer>& messages) {
    const auto holding = views::holding(view, task, round, run);
    if (!holding || holding->bitmap.size() != (order.size() + 7) / 8) return;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] == run) continue;  // What a member states of its own message does not count.
        const bool listed = (holding->bitmap[i / 8] >> (i % 8) & 1) != 0;
        (listed ? messages[i].listed_by : messages[i].not_listed_by).push_back(run);
    }
}

/// Adds the messages of the group's open round as it stands in `then`, with who had them. Messages themselves are those of
/// `now`, in which the round may be closed.
void add_messages(const StateView& then, const StateView& now, const market::Group& group, RoundAnswer& out) {
    for (const std::uint32_t run : group.committed) {
        auto message = views::round_message(now, group.task, group.round, run);
        out.messages.push_back({run, message ? std::move(*message) : market::RoundMessage{}, {}, {}});
    }
    for (const std::uint32_t run : group.revealed)
        add_listing(then, group.task, group.round, run, group.committed, out.messages);
}

Answer get_round(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(number, params.u64(1));
    RETRACE_TRY(ref, params.block(2));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto group = views::group(*state.view, id);
    if (!group || number > group->round || number > market::kRoundsMax) return json::value(nullptr);
    const auto round = static_cast<std::uint32_t>(number);
    RoundAnswer out;
    out.record = views::round(*state.view, id, round);
    if (!out.record && round != group->round) return json::value(nullptr);
    if (!out.record) {
        add_messages(*state.view, *state.view, *group, out);
        return record_json(out);
    }
    // The lists of a closed round are in the state of the block before (contracts 21.6.8), if it is still kept.
    const auto before = state_at(backend, caller, BlockRef{BlockRef::Kind::height, out.record->height - 1, {}});
    const auto open = before ? views::group(*before->view, id) : std::nullopt;
    if (open && open->round == round) add_messages(*before->view, *state.view, *open, out);
    return record_json(out);
}

}  // namespace

void register_retrace_groups(Router& router, const Backend& backend) {
    const ParamInfo task{"task", "Quantity"};
    const ParamInfo block{"block", "BlockTag", false};
    router.add({"retrace_group",
                "The group of a training in rounds: its terms, its open round and its members.",
                {task, block},
                "Group?",
                [&backend](const Params& params, Caller& caller) { return get_group(backend, params, caller); }});
    router.add({"retrace_round",
                "A round of a group: its record once it is closed, its messages, and who had them.",
                {task, {"round", "Quantity"}, block},
                "Round?",
                [&backend](const Params& params, Caller& caller) { return get_round(backend, params, caller); }});
}

}  // namespace retrace::node::rpc
