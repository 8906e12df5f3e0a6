// SPDX-License-Identifier: MIT
// SPEC 16.2. The solver or a keeper posts the reported tile with its proof.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/rules/audits/rules.hpp"
#include "solver/artifacts/availability.hpp"

namespace retrace::contracts {
namespace {

using market::ReportKind;

bool proves_program(const AnswerUnavailable& call, const market::Report& report, const TaskSpec& spec) {
    const auto answer = solver::decode_program_answer(call.proof);
    return answer && solver::verify_program_record(*answer, spec.program_root, report.tensor, report.tile).has_value();
}

bool proves_tile(const StateView& view, const AnswerUnavailable& call, const market::Report& report,
                 const TaskSpec& spec) {
    const auto answer = solver::decode_tile_answer(call.proof);
    if (!answer) return false;
    if (report.kind == ReportKind::data)
        return solver::verify_tensor_tile(*answer, spec.data_roots[report.index], report.tile).has_value();
    const auto state = must_load<market::Checkpoint>(view, keys::checkpoint(report.task, report.run, report.index));
    return solver::verify_state_tile(*answer, spec.program_root, state.root, report.tensor, report.tile).has_value();
}

/// Returns ok if the report is addressed to the sender.
CallStatus admit_asked(const market::Report& report, const TxContext& context, const StateView& view) {
    if (report.kind != ReportKind::kept) {
        const auto run = must_load<market::Run>(view, keys::run(report.task, report.run));
        return run.solver == context.sender ? CallStatus::ok : CallStatus::not_solver;  // 16.2.4
    }
    const auto kept = must_load<market::Checkpoint>(view, keys::checkpoint(report.task, report.run, report.index));
    const bool keeps = std::find(kept.keepers.begin(), kept.keepers.end(), context.sender) != kept.keepers.end();
    return keeps ? CallStatus::ok : CallStatus::not_keeper;  // 16.2.4
}

}  // namespace

CallStatus check(const AnswerUnavailable& call) {
    if (call.proof.size() > solver::kTileAnswerBytesMax) return CallStatus::wrong_answer;  // 16.2.1
    return CallStatus::ok;
}

CallStatus admit(const AnswerUnavailable& call, const TxContext& context, const StateView& view) {
    const auto report = views::report(view, call.report);
    if (!report) return CallStatus::unknown_report;                                       // 16.2.2
    if (report->state != market::ReportState::open) return CallStatus::already_answered;  // 16.2.3
    const CallStatus asked = admit_asked(*report, context, view);
    if (asked != CallStatus::ok) return asked;                           // 16.2.4
    if (context.height > report->deadline) return CallStatus::too_late;  // 16.2.5
    const auto spec = must_load<TaskSpec>(view, keys::spec(report->task));
    const bool proved = report->kind == ReportKind::program ? proves_program(call, *report, spec)
                                                            : proves_tile(view, call, *report, spec);
    return proved ? CallStatus::ok : CallStatus::wrong_answer;  // 16.2.6
}

void apply(const AnswerUnavailable& call, const TxContext& context, Effects& fx) {
    close_report(fx, call.report, context.sender);
    resume_after_answer(fx, must_load<market::Report>(fx.state, keys::report(call.report)));
}

}  // namespace retrace::contracts
