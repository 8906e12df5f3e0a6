// SPDX-License-Identifier: MIT
#include "node/agents/receipt_check.hpp"

#include <algorithm>
#include <stdexcept>

#include "contracts/records/group_views.hpp"
#include "contracts/records/views.hpp"
#include "kernels/commit/commitment.hpp"
#include "node/agents/delivered_runs.hpp"
#include "node/artifacts/peer_source.hpp"
#include "node/platform/printable.hpp"
#include "solver/artifacts/artifact_source.hpp"
#include "solver/run/step_runner.hpp"
#include "solver/train/schedule.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

Unexpected<Error> differs(const std::string& field) { return error("the receipt's " + field + " is not the ledger's"); }

Status<> check_terms(const Receipt& receipt, const market::TaskSpec& spec, const market::Task& task) {
    if (receipt.program != spec.program_root) return differs("program");
    if (receipt.init != spec.init_root) return differs("initialiser");
    if (receipt.data != spec.data_roots) return differs("data");
    if (receipt.contract != spec.contract_hash) return differs("numeric contract");
    if (receipt.seed != spec.seed || receipt.steps != spec.steps || receipt.interval != spec.interval) {
        return differs("schedule");
    }
    if (receipt.requester != ledger::to_0x(task.requester)) return differs("requester");
    if (receipt.posted_height != task.posted_height) return differs("height of posting");
    const bool delivered = task.state == market::TaskState::settled || task.state == market::TaskState::delivering;
    if (!delivered)
        return error("task " + std::to_string(receipt.task) + " is " + std::string(market::slug(task.state)));
    return Unit{};
}

/// Outcome of a segment's audit.
enum class Audited : std::uint8_t { not_drawn, nobody, verified };
Audited audited(const market::Segment& segment) {
    if (segment.state == market::SegmentState::verified) return Audited::verified;
    const bool drawn = segment.audit != 0 || segment.state != market::SegmentState::unaudited;
    return drawn ? Audited::nobody : Audited::not_drawn;
}

/// Counts a segment by the outcome of its audit.
void count_segment(const market::Segment& segment, CheckedReceipt& out) {
    switch (audited(segment)) {
        case Audited::verified: return void(++out.verified);
        case Audited::not_drawn: return void(++out.not_drawn);
        case Audited::nobody: return void(++out.unaudited);
    }
}

/// Whether the delivered runs opened the receipt's state. Where one run goes on from another's state, both have opened
/// it, and the receipt may name either.
bool is_opened(const ledger::StateView& state, const std::vector<market::Run>& runs, const Receipt::State& entry) {
    const auto opened = [&](const market::Run* run) {
        if (run == nullptr) return false;
        const auto checkpoint = views::checkpoint(state, run->task, run->index, entry.index);
        return checkpoint && checkpoint->opened && checkpoint->root == entry.root &&
               checkpoint->open_height == entry.height;
    };
    return opened(run_of_segment(runs, entry.index)) ||
           (entry.index != 0 && opened(run_of_segment(runs, entry.index - 1)));
}

/// Returns the number of matching verdicts.
Result<std::size_t> check_audit(const ledger::StateView& state, const std::vector<market::Run>& runs,
                                const Receipt::Audit& entry) {
    const market::Run* const run = run_of_segment(runs, entry.segment);
    const auto segment = run != nullptr ? views::segment(state, run->task, run->index, entry.segment) : std::nullopt;
    const auto audit = segment && segment->audit != 0 ? views::audit(state, segment->audit) : std::nullopt;
    if (run != nullptr && views::is_private(state, run->task, run->index, entry.segment))
        return error(
            "segment " + std::to_string(entry.segment) +
            " trains on data of its member's own; accounts that it chose may have checked it, which is no audit");
    std::vector<std::string> matched;
    for (const market::Seat& seat : audit ? audit->seats : std::vector<market::Seat>{}) {
        if (seat.state == market::SeatState::matched) matched.push_back(ledger::to_0x(seat.auditor));
    }
    if (!audit || matched != entry.auditors) return differs("audit of segment " + std::to_string(entry.segment));
    return matched.size();
}

/// Finds the member that delivered, and counts the segments of all.
Status<> check_group(const Receipt& receipt, const ledger::StateView& state, CheckedReceipt& out) {
    const auto run = delivered_member(state, receipt.task, receipt.solver);
    if (!run) return differs("solver");
    out.runs = {*run};
    out.group = group_facts(state, receipt.task);
    if (!out.group) return error("the ledger's records of the rounds are incomplete");
    out.verified = out.group->verified();
    out.not_drawn = out.group->not_drawn();
    out.unaudited = out.group->unaudited();
    return Unit{};
}

/// Whether the receipt has a verdict about the segment.
bool has_verdict(const Receipt& receipt, std::uint64_t segment) {
    return std::ranges::any_of(receipt.audits, [&](const Receipt::Audit& audit) {
        return audit.segment == segment && !audit.auditors.empty();
    });
}

Status<> require_member_audits(const CheckedReceipt& checked, const Receipt& receipt, const ledger::StateView& state) {
    for (const MemberSegments& member : checked.group->members)
        if (member.missed)
            return error("nobody audited segment " + std::to_string(*member.missed) + " of run " +
                         std::to_string(member.run.index) + ", which the task's terms promise");
    const market::Run& run = checked.runs.front();
    for (std::uint64_t index = 0; index < run.finalised; ++index) {
        const auto segment = views::segment(state, run.task, run.index, index);
        const bool verified = segment && segment->state == market::SegmentState::verified &&
                              !views::is_private(state, run.task, run.index, index);
        if (verified && !has_verdict(receipt, index))
            return error("the receipt lacks the audit of segment " + std::to_string(index));
    }
    return Unit{};
}

}  // namespace

std::string not_audited(const CheckedReceipt& checked) {
    if (checked.verified == 0)
        return "NOT AUDITED: nobody has checked any segment; the model rests on its solver's word";
    if (checked.unaudited == 0) return {};
    return "NOT AUDITED in part: " + std::to_string(checked.unaudited) +
           (checked.unaudited == 1 ? " segment" : " segments") + " that " +
           (checked.unaudited == 1 ? "was drawn rests" : "were drawn rest") + " on the solver's word";
}

std::string private_part(const GroupFacts& group) {
    if (!group.private_data) return {};
    return "PRIVATE DATA: " + std::to_string(group.unverified()) +
           " segments that train on members' own data are unverified, and " + std::to_string(group.consented()) +
           " were checked only by accounts to which the member gave the data, which may be its own";
}

Result<CheckedReceipt> check_receipt(const Receipt& receipt, const ledger::StateView& state) {
    const auto spec = views::spec(state, receipt.task);
    const auto task = views::task(state, receipt.task);
    if (!spec || !task) return error("the ledger has no task " + std::to_string(receipt.task));
    RETRACE_CHECK(check_terms(receipt, *spec, *task));
    CheckedReceipt out;
    std::uint64_t last = spec->segments();
    if (views::is_group(state, receipt.task)) {
        RETRACE_CHECK(check_group(receipt, state, out));
        last = out.runs.front().finalised;
    } else {
        out.runs = delivered_runs(state, *task, last, receipt.solver);
    }
    if (receipt.states.empty() || receipt.states.back().index != last) return error("the receipt lacks the last state");
    if (out.runs.empty()) return differs("solver");
    if (out.runs.back().first_state != 0) return error("the ledger does not say from where the receipt's states come");
    for (const Receipt::State& entry : receipt.states) {
        if (!is_opened(state, out.runs, entry)) return differs("state " + std::to_string(entry.index));
        ++out.states;
        if (entry.index == 0 || out.group) continue;
        const market::Run* const run = run_of_segment(out.runs, entry.index - 1);
        const auto segment = views::segment(state, run->task, run->index, entry.index - 1);
        if (segment) count_segment(*segment, out);
    }
    for (const Receipt::Audit& entry : receipt.audits) {
        RETRACE_TRY(matched, check_audit(state, out.runs, entry));
        out.auditors += matched;
        ++out.audits;
    }
    return out;
}

Status<> require_audits(const CheckedReceipt& checked, const Receipt& receipt, const ledger::StateView& state) {
    if (checked.group) return require_member_audits(checked, receipt, state);
    const std::uint64_t segments = receipt.states.back().index;
    auto entry = receipt.audits.begin();
    for (std::uint64_t index = 0; index < segments; ++index) {
        const market::Run& run = *run_of_segment(checked.runs, index);
        const auto segment = views::segment(state, run.task, run.index, index);
        const bool always = index == run.first_state || index + 1 == segments;
        while (entry != receipt.audits.end() && entry->segment < index) ++entry;
        const bool has_verdict = entry != receipt.audits.end() && entry->segment == index && !entry->auditors.empty();
        const Audited found = segment ? audited(*segment) : Audited::nobody;
        if (found == Audited::verified && has_verdict) continue;
        if (found == Audited::not_drawn && !always) continue;
        const std::string name = "segment " + std::to_string(index);
        return found == Audited::verified ? error("the receipt lacks the audit of " + name)
                                          : error("nobody audited " + name + ", which the task's terms promise");
    }
    return Unit{};
}

Result<Replayed> replay_segment(const Receipt& receipt, std::size_t segment, const std::vector<std::string>& peers,
                                Store& store, ArtifactClient& fetcher, const solver::RunnerFactory& runners) {
    const Receipt::State &from = receipt.states.at(segment), &to = receipt.states.at(segment + 1);
    PeerSource source(store, fetcher, [&peers] { return peers; });
    kernels::ThreadPool pool;
    RETRACE_TRY(program, solver::fetch_program(source, receipt.program, store.options().program_bytes));
    auto data = solver::fetch_data(source, program->program(), receipt.data, pool);
    if (!data) return error(data.error().message);
    const solver::Schedule schedule{receipt.steps, receipt.interval};
    auto state = solver::fetch_state(source, *program, from.root, schedule.step_of(from.index), pool);
    if (!state) return error("state " + std::to_string(from.index) + " cannot be fetched: " + state.error().message);
    kernels::Inputs inputs;
    inputs.seed = receipt.seed;
    for (const kernels::Tensor& tensor : *data) inputs.datasets.push_back(&tensor);
    Replayed out;
    try {
        solver::TaskTerms terms;
        terms.id = receipt.task;
        const auto runner = runners(terms, program->program(), inputs, pool);
        if (runner == nullptr) return error("nothing here can run the program");
        while (state->step < schedule.step_of(to.index)) {
            const std::uint64_t step = state->step;
            for (const kernels::Metric& metric : runner->step(*state)) {
                if (metric.name == "loss") out.losses.push_back({step, metric.value});
            }
        }
    } catch (const std::runtime_error& failure) {
        return error(printable(failure.what()));
    }
    out.root = kernels::commit_state(program->root(), *state, pool).root;
    out.matches = out.root == to.root;
    return out;
}

std::string contradiction(const Receipt& receipt, std::size_t segment, const Replayed& replayed) {
    const std::string index = std::to_string(receipt.states.at(segment).index);
    const std::string task = std::to_string(receipt.task);
    return "CONTRADICTION: segment " + index + " of task " + task + " was replayed here and ends in the state " +
           to_0x(view(replayed.root)) + ", not in " + to_0x(view(receipt.states.at(segment + 1).root)) +
           " as the solver says, so the model is not what was asked for. Do not accept it; `retrace task challenge " +
           task + " --key K` disputes it while its challenge window is open";
}

}  // namespace retrace::node
