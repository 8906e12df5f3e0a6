// SPDX-License-Identifier: MIT
// Methods for audits, disputes, and reports of tiles that were not served.
#include "contracts/calls/encode.hpp"
#include "kernels/ops/op.hpp"
#include "node/server/methods/list_query.hpp"
#include "node/server/methods/log_filter.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/task_events.hpp"

namespace retrace::node::rpc {
namespace {

namespace views = contracts::views;
using ledger::StateView;

bool wanted(const ListQuery& query, const market::Audit& audit) {
    const auto sits = [&](const market::Seat& seat) { return seat.auditor == *query.party; };
    return !query.party || std::any_of(audit.seats.begin(), audit.seats.end(), sits);
}
bool wanted(const ListQuery& query, const market::Dispute& dispute) {
    return !query.party || *query.party == dispute.solver || *query.party == dispute.challenger;
}
bool wanted(const ListQuery& query, const market::Report& report) {
    return !query.party || *query.party == report.reporter;
}
std::string_view state_of(const market::Audit& audit) { return slug(audit.phase); }
std::string_view state_of(const market::Dispute& dispute) { return slug(dispute.state); }
std::string_view state_of(const market::Report& report) { return slug(report.state); }
bool wanted(const ListQuery& query, const market::Retention& retention) {
    return !query.party || *query.party == retention.solver || *query.party == retention.keeper;
}
std::string_view state_of(const market::Retention& retention) { return slug(retention.state); }

template <class T>
Answer list(const Backend& backend, const Params& params, Caller& caller, std::uint64_t (*count)(const StateView&),
            std::optional<T> (*load)(const StateView&, std::uint64_t)) {
    RETRACE_TRY(query, parse_list_query(params, 0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    return record_json(page_of<T>(query, count(*state.view), [&](std::uint64_t id) {
        std::optional<T> record = load(*state.view, id);
        if (!record || (query.task && record->task != *query.task) || !wanted(query, *record) ||
            (query.state && *query.state != state_of(*record)))
            record.reset();
        return record;
    }));
}

template <class T>
Answer one(const Backend& backend, const Params& params, Caller& caller,
           std::optional<T> (*load)(const StateView&, std::uint64_t)) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    return record_json(load(*state.view, id));
}

/// The event that closed a dispute; nullopt if it is not found or pruned. Searches from the height at which the dispute
/// was opened.
Checked<std::optional<TaskEventAnswer>> decision_of(const Backend& backend, Caller& caller, const StateAt& state,
                                                    const market::Dispute& dispute) {
    const std::uint64_t last = std::min(state.height, dispute.opened_height + kLogRangeMax - 1);
    ledger::LogFilter filter;
    filter.addresses = {contracts::address_of(contracts::Contract::disputes)};
    const std::uint64_t first = std::max(dispute.opened_height, backend.chain.oldest_block());
    const auto range = log_range(backend, first, last);
    if (!range) return std::optional<TaskEventAnswer>();               // pruned
    RETRACE_TRY(found, search_kept(backend, caller, filter, *range));  // blocks pruned meanwhile are left out
    for (auto log = found.logs.rbegin(); log != found.logs.rend(); ++log) {
        const auto decided = contracts::decode_event<contracts::DisputeDecided>(log->log);
        if (decided && decided->dispute == dispute.id) return task_event(*log, *state.view);
    }
    return std::optional<TaskEventAnswer>();
}

std::string why(const market::Dispute& dispute) {
    const std::string ending(slug(static_cast<verifier::Ending>(dispute.ending)));
    switch (dispute.state) {
        case market::DisputeState::open: {
            const bool solver = static_cast<verifier::Side>(dispute.mover) == verifier::Side::solver;
            return std::string(solver ? "the solver" : "the challenger") + " is to move, up to block " +
                   std::to_string(dispute.deadline);
        }
        case market::DisputeState::solver_lost:
            return "the solver lost after " + std::to_string(dispute.rounds) + " rounds: " + ending;
        case market::DisputeState::challenger_lost:
            return "the challenger lost after " + std::to_string(dispute.rounds) + " rounds: " + ending;
        case market::DisputeState::withdrawn: return "the run was over before it was decided; the bond went back";
    }
    return {};
}

DisputePosition position_of(const verifier::Game& game) {
    using verifier::Phase;
    DisputePosition out;
    out.phase = std::string(slug(game.phase));
    out.first_step = game.claim.first_step;
    out.last_step = game.claim.last_step;
    if (game.phase == Phase::search_steps || game.phase == Phase::search_links) {
        out.low = game.search.low;
        out.high = game.search.high;
    }
    if (game.phase == Phase::descend_state || game.phase == Phase::descend_trace ||
        game.phase == Phase::descend_tiles) {
        const verifier::Descent& node = game.descent;
        out.low = node.index << node.level;
        out.high = std::min(node.leaves, (node.index + 1) << node.level);
    }
    out.step = game.found.step;
    out.state_tensor = game.found.state_tensor;
    out.op = game.found.op;
    if (game.phase >= Phase::descend_tiles && game.phase != Phase::decided) {
        if (const kernels::OpRule* rule = kernels::find_rule(game.op.op.code)) out.op_name = std::string(rule->name);
        out.output_dims = game.op.output.dims;
    }
    out.tile = game.found.tile;
    out.link = game.found.link;
    out.element = game.found.element;
    out.rounds = game.rounds;
    out.evidence_bytes = game.evidence_bytes;
    return out;
}

Answer get_dispute(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(id, params.u64(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto dispute = views::dispute(*state.view, id);
    if (!dispute) return json::value(nullptr);
    DisputeAnswer out{*dispute, std::nullopt, std::nullopt, std::nullopt, why(*dispute)};
    if (const auto game = views::game(*state.view, id)) {
        out.phase = std::string(slug(game->phase));
        out.position = position_of(*game);
    }
    if (dispute->state != market::DisputeState::open) {
        RETRACE_TRY(decision, decision_of(backend, caller, state, *dispute));
        out.decision = std::move(decision);
    }
    return record_json(out);
}

}  // namespace

void register_retrace_audits(Router& router, const Backend& backend) {
    const ParamInfo query{"query", "ListQuery", false};
    const ParamInfo block{"block", "BlockTag", false};
    router.add({"retrace_audits",
                "Audits, the newest first; `party` is an auditor.",
                {query, block},
                "AuditPage",
                [&backend](const Params& params, Caller& caller) {
                    return list<market::Audit>(backend, params, caller, views::audit_count, views::audit);
                }});
    router.add(
        {"retrace_audit",
         "One audit with its seats.",
         {{"audit", "Quantity"}, block},
         "Audit?",
         [&backend](const Params& params, Caller& caller) { return one(backend, params, caller, views::audit); }});
    router.add({"retrace_disputes",
                "Disputes, the newest first; `party` is either side.",
                {query, block},
                "DisputePage",
                [&backend](const Params& params, Caller& caller) {
                    return list<market::Dispute>(backend, params, caller, views::dispute_count, views::dispute);
                }});
    router.add({"retrace_dispute",
                "One dispute: where it stands, or how it ended and which number decided it.",
                {{"dispute", "Quantity"}, block},
                "Dispute?",
                [&backend](const Params& params, Caller& caller) { return get_dispute(backend, params, caller); }});
    router.add({"retrace_reports",
                "Reports of tiles that were not served, the newest first.",
                {query, block},
                "ReportPage",
                [&backend](const Params& params, Caller& caller) {
                    return list<market::Report>(backend, params, caller, views::report_count, views::report);
                }});
    router.add({"retrace_retentions",
                "States that are kept for a fee, the newest first.",
                {query, block},
                "RetentionPage",
                [&backend](const Params& params, Caller& caller) {
                    return list<market::Retention>(backend, params, caller, views::retention_count, views::retention);
                }});
    router.add(
        {"retrace_retention",
         "One request to keep a state.",
         {{"retention", "Quantity"}, block},
         "Retention?",
         [&backend](const Params& params, Caller& caller) { return one(backend, params, caller, views::retention); }});
    router.add(
        {"retrace_report",
         "One report.",
         {{"report", "Quantity"}, block},
         "Report?",
         [&backend](const Params& params, Caller& caller) { return one(backend, params, caller, views::report); }});
}

}  // namespace retrace::node::rpc
