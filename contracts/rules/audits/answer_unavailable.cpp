// SPDX-License-Identifier: MIT
// SPEC 16.2. The solver or a keeper posts the reported tile with its proof.
#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/rules/audits/rules.hpp"
#include "solver/artifacts/availability.hpp"

namespace retrace::contracts {
namespace {

using market::ReportKind;

/// Returns the root of a program over the task's state tensors: in a group, that of the phase `inner`.
Hash32 program_of(const StateView& view, const market::Report& report, const TaskSpec& spec) {
    const auto group = views::group_spec(view, report.task);
    return group ? inner_root(*group) : spec.program_root;
}

bool proves_program(const StateView& view, const AnswerUnavailable& call, const market::Report& report,
                    const TaskSpec& spec) {
    const auto answer = solver::decode_program_answer(call.proof);
    const Hash32 root = program_of(view, report, spec);
    return answer && solver::verify_program_record(*answer, root, report.tensor, report.tile).has_value();
}

/// Returns the root of the reported tensor of a message.
Hash32 message_tensor(const StateView& view, const market::Report& report) {
    const market::ReportedMessage reported = market::reported_message(report.index);
    const auto round = static_cast<std::uint32_t>(reported.round);
    const keys::Key key = keys::round_message(report.task, round, reported.author);
    return must_load<market::RoundMessage>(view, key).tensors.at(report.tensor);
}

bool proves_tile(const StateView& view, const AnswerUnavailable& call, const market::Report& report,
                 const TaskSpec& spec) {
    const auto answer = solver::decode_tile_answer(call.proof);
    if (!answer) return false;
    if (report.kind == ReportKind::data)
        return solver::verify_tensor_tile(*answer, spec.data_roots[report.index], report.tile).has_value();
    if (report.kind == ReportKind::message)
        return solver::verify_tensor_tile(*answer, message_tensor(view, report), report.tile).has_value();
    const auto state = must_load<market::Checkpoint>(view, keys::checkpoint(report.task, report.run, report.index));
    const Hash32 program = program_of(view, report, spec);
    return solver::verify_state_tile(*answer, program, state.root, report.tensor, report.tile).has_value();
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
    const bool proved = report->kind == ReportKind::program ? proves_program(view, call, *report, spec)
                                                            : proves_tile(view, call, *report, spec);
    return proved ? CallStatus::ok : CallStatus::wrong_answer;  // 16.2.6
}

void apply(const AnswerUnavailable& call, const TxContext& context, Effects& fx) {
    close_report(fx, call.report, context.sender);
    resume_after_answer(fx, must_load<market::Report>(fx.state, keys::report(call.report)));
}

}  // namespace retrace::contracts
