// SPDX-License-Identifier: MIT
// Methods for tasks: their specification, progress and events; and for reservations.
#include <algorithm>

#include "contracts/records/group_views.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"
#include "node/server/methods/list_query.hpp"
#include "node/server/methods/log_filter.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/task_events.hpp"

namespace retrace::node::rpc {
namespace {

namespace views = contracts::views;
using ledger::StateView;

constexpr std::uint64_t kSegmentsMax = 1000;      // in one answer
constexpr std::uint64_t kEventRangeMax = 10'000;  // blocks in one query

std::vector<market::Run> runs_of(const StateView& view, const market::Task& task) {
    std::vector<market::Run> out;
    for (std::uint32_t i = 0; i < task.runs; ++i) {
        if (auto run = views::run(view, task.id, i)) out.push_back(std::move(*run));
    }
    return out;
}

/// Of a run.
std::uint64_t most_segments(const StateView& view, std::uint64_t id, const market::TaskSpec& spec) {
    const auto group = views::group_spec(view, id);
    return market::most_segments(spec, group ? &*group : nullptr);
}

bool takes_part(const StateView& view, const market::Task& task, const ledger::Address& party) {
    if (task.requester == party) return true;
    if (std::find(task.bidders.begin(), task.bidders.end(), party) != task.bidders.end()) return true;
    for (std::uint32_t i = 0; i < task.runs; ++i) {
        const auto run = views::run(view, task.id, i);
        if (run && run->solver == party) return true;
    }
    return false;
}

std::optional<TaskSummary> summary(const StateView& view, std::uint64_t id, const ListQuery& query) {
    const auto task = views::task(view, id);
    const auto spec = views::spec(view, id);
    if (!task || !spec) return std::nullopt;
    if (query.state && *query.state != slug(task->state)) return std::nullopt;
    if (query.party && !takes_part(view, *task, *query.party)) return std::nullopt;
    TaskSummary out{id,
                    spec->name,
                    task->state,
                    task->requester,
                    task->posted_height,
                    most_segments(view, id, *spec),
                    task->first_state,
                    spec->price_ceiling};
    if (task->runs > 0) {
        const auto newest = views::run(view, id, task->runs - 1);
        if (newest) out.paid = std::max(out.paid, newest->paid);
    }
    return out;
}

Answer list_tasks(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(query, parse_list_query(params, 0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    if (query.task) return invalid_argument(0, "a list of tasks is not asked for by task");
    return record_json(page_of<TaskSummary>(query, views::task_count(*state.view),
                                            [&](std::uint64_t id) { return summary(*state.view, id, query); }));
}

Answer get_task(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto task = views::task(*state.view, id);
    const auto spec = views::spec(*state.view, id);
    if (!task || !spec) return json::value(nullptr);
    TaskAnswer out{
        *task, *spec, most_segments(*state.view, id, *spec), 0, 0, task->first_state, runs_of(*state.view, *task)};
    if (!out.runs.empty()) {
        const market::Run& newest = out.runs.back();
        out.committed = newest.next_state == 0 ? 0 : newest.next_state - 1;
        out.finalised = newest.finalised;
        out.paid = newest.paid;
    }
    return record_json(out);
}

Answer list_reservations(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(query, parse_list_query(params, 0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto load = [&](std::uint64_t id) {
        auto one = views::reservation(*state.view, id);
        if (!one || (query.task && one->task != *query.task) || (query.state && *query.state != slug(one->state)) ||
            (query.party && one->requester != *query.party && one->solver != *query.party))
            one.reset();
        return one;
    };
    // Strangers make any number of newer ones, but nothing on a party's own list.
    const auto own = query.party ? views::reservations(*state.view, *query.party) : std::vector<std::uint64_t>();
    auto page = page_of<market::Reservation>(query, views::reservation_count(*state.view), [&](std::uint64_t id) {
        return std::find(own.begin(), own.end(), id) == own.end() ? load(id) : std::nullopt;
    });
    if (!query.before)
        for (const std::uint64_t id : own)
            if (auto one = load(id)) page.items.insert(page.items.begin(), std::move(*one));
    return record_json(page);
}

std::optional<SegmentAnswer> segment_of(const StateView& view, std::uint64_t task, std::uint32_t run,
                                        std::uint64_t index) {
    auto segment = views::segment(view, task, run, index);
    if (!segment) return std::nullopt;
    SegmentAnswer out{index, std::move(*segment), views::checkpoint(view, task, run, index),
                      views::checkpoint(view, task, run, index + 1), views::member_segment(view, task, run, index)};
    out.undone = out.member && views::is_void(view, task, run, index);
    return out;
}

/// Returns the existing segments among first .. first + count - 1 of a run.
Answer get_segments(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(run, params.u64(1));
    std::uint64_t first = 0, count = kSegmentsMax;
    if (params.has(2)) {
        RETRACE_TRY(given, params.u64(2));
        first = given;
    }
    if (params.has(3)) {
        RETRACE_TRY(given, params.u64(3));
        count = given;
    }
    if (run > ~std::uint32_t{0}) return invalid_argument(1, "a run is a number of 32 bits");
    if (count > kSegmentsMax) return invalid_argument(3, "at most 1000 segments");
    RETRACE_TRY(ref, params.block(4));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto index = static_cast<std::uint32_t>(run);
    const auto spec = views::spec(*state.view, id);
    if (!spec || !views::run(*state.view, id, index)) return json::value(nullptr);
    std::vector<SegmentAnswer> out;
    const std::uint64_t end = most_segments(*state.view, id, *spec);
    for (std::uint64_t i = first; i < end && i - first < count; ++i)
        if (auto found = segment_of(*state.view, id, index, i)) out.push_back(std::move(*found));
    return record_json(out);
}

Answer get_bids(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto task = views::task(*state.view, id);
    if (!task) return json::value(nullptr);
    std::vector<BidAnswer> out;
    for (const ledger::Address& bidder : task->bidders) {
        if (auto bid = views::bid(*state.view, id, bidder)) out.push_back({bidder, std::move(*bid)});
    }
    return record_json(out);
}

Answer get_task_events(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(latest, state_at(backend, caller, BlockRef{}));
    const auto task = views::task(*latest.view, id);
    if (!task) return json::value(nullptr);
    std::uint64_t first = task->posted_height, last = latest.height;
    if (params.has(1)) {
        RETRACE_TRY(ref, params.block(1));
        RETRACE_TRY(height, known_height(backend, ref));
        first = std::max(first, height);
    }
    if (params.has(2)) {
        RETRACE_TRY(ref, params.block(2));
        RETRACE_TRY(height, known_height(backend, ref));
        last = height;
    }
    if (last >= first && last - first >= kEventRangeMax)
        return server_error("block range is too wide: at most " + std::to_string(kEventRangeMax) + " blocks");
    RETRACE_TRY(logs, find_logs(backend, caller, task_event_filter(), first, last));
    return record_json(task_events(logs, *latest.view, id));
}

}  // namespace

void register_retrace_tasks(Router& router, const Backend& backend) {
    const ParamInfo task{"task", "Quantity"};
    const ParamInfo block{"block", "BlockTag", false};
    router.add({"retrace_tasks",
                "Tasks, the newest first.",
                {{"query", "ListQuery", false}, block},
                "TaskPage",
                [&backend](const Params& params, Caller& caller) { return list_tasks(backend, params, caller); }});
    router.add({"retrace_task",
                "One task: its terms, its state and its runs.",
                {task, block},
                "Task?",
                [&backend](const Params& params, Caller& caller) { return get_task(backend, params, caller); }});
    router.add(
        {"retrace_reservations",
         "Reservations of a solver's time, the newest first. For a party the first page begins with those that it has "
         "offered or accepted, beyond the limit.",
         {{"query", "ListQuery", false}, block},
         "ReservationPage",
         [&backend](const Params& params, Caller& caller) { return list_reservations(backend, params, caller); }});
    router.add({"retrace_segments",
                "Segments of a run, with the checkpoints at both ends.",
                {task, {"run", "Quantity"}, {"first", "Quantity", false}, {"count", "Quantity", false}, block},
                "Segment[]?",
                [&backend](const Params& params, Caller& caller) { return get_segments(backend, params, caller); }});
    router.add({"retrace_bids",
                "Bids of a task's auction while it is open; see retrace_explainBids for ended ones.",
                {task, block},
                "Bid[]?",
                [&backend](const Params& params, Caller& caller) { return get_bids(backend, params, caller); }});
    router.add({"retrace_taskEvents",
                "Events of a task, from its posting on or in a range of blocks.",
                {task, {"from", "BlockTag", false}, {"to", "BlockTag", false}},
                "TaskEvent[]?",
                [&backend](const Params& params, Caller& caller) { return get_task_events(backend, params, caller); }});
}

}  // namespace retrace::node::rpc
