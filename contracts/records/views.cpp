// SPDX-License-Identifier: MIT
#include "contracts/records/views.hpp"

#include "contracts/records/forged_states.hpp"
#include "contracts/records/store.hpp"

namespace retrace::contracts::views {

std::optional<market::Params> params(const StateView& view) { return load<market::Params>(view, keys::params()); }

std::uint64_t task_count(const StateView& view) { return counter(view, keys::task_count()); }
std::optional<market::TaskSpec> spec(const StateView& view, std::uint64_t task) {
    return load<market::TaskSpec>(view, keys::spec(task));
}
std::optional<market::Task> task(const StateView& view, std::uint64_t task) {
    return load<market::Task>(view, keys::task(task));
}
std::optional<market::Bid> bid(const StateView& view, std::uint64_t task, const Address& bidder) {
    return load<market::Bid>(view, keys::bid(task, bidder));
}
std::optional<market::Run> run(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return load<market::Run>(view, keys::run(task, run));
}
std::optional<market::Checkpoint> checkpoint(const StateView& view, std::uint64_t task, std::uint32_t run,
                                             std::uint64_t index) {
    return load<market::Checkpoint>(view, keys::checkpoint(task, run, index));
}
std::optional<market::Segment> segment(const StateView& view, std::uint64_t task, std::uint32_t run,
                                       std::uint64_t index) {
    return load<market::Segment>(view, keys::segment(task, run, index));
}
std::optional<market::Audit> audit(const StateView& view, std::uint64_t audit) {
    return load<market::Audit>(view, keys::audit(audit));
}
std::optional<market::Dispute> dispute(const StateView& view, std::uint64_t dispute) {
    return load<market::Dispute>(view, keys::dispute(dispute));
}
std::optional<verifier::Game> game(const StateView& view, std::uint64_t dispute) {
    const keys::Key key = keys::game(dispute);
    const Bytes bytes = view.slot(address_of(key.contract), key.bytes);
    if (bytes.empty()) return std::nullopt;
    auto game = verifier::decode_game(bytes);
    if (!game) return std::nullopt;
    return std::move(*game);
}
std::optional<market::Report> report(const StateView& view, std::uint64_t report) {
    return load<market::Report>(view, keys::report(report));
}

market::Stake stake(const StateView& view, const Address& party) {
    return load<market::Stake>(view, keys::stake(party)).value_or(market::Stake{});
}
U256 free_stake(const StateView& view, const market::Params& params, const Address& party) {
    const U256 available = stake(view, party).available();
    const auto info = verifier(view, party);
    U256 kept = info && info->member ? params.beacon_penalty : U256();
    if (!kept_tasks(view, party).empty()) kept += params.audit_bond;
    return available - ledger::min(available, kept);
}
std::vector<std::uint64_t> kept_tasks(const StateView& view, const Address& party) {
    auto tasks = list<std::uint64_t>(view, keys::kept_tasks(party));
    std::erase_if(tasks, [&](std::uint64_t id) {
        const auto known = task(view, id);
        return !known || market::is_final(known->state);
    });
    return tasks;
}
std::optional<market::SolverInfo> solver(const StateView& view, const Address& party) {
    return load<market::SolverInfo>(view, keys::solver(party));
}
std::vector<Address> solvers(const StateView& view) { return list<Address>(view, keys::solvers()); }
std::optional<market::Challenge> challenge(const StateView& view, std::uint64_t challenge) {
    return load<market::Challenge>(view, keys::challenge(challenge));
}
std::optional<market::VerifierInfo> verifier(const StateView& view, const Address& party) {
    return load<market::VerifierInfo>(view, keys::verifier(party));
}
std::vector<Address> verifiers(const StateView& view) { return list<Address>(view, keys::verifiers()); }
std::vector<Address> candidates(const StateView& view) { return list<Address>(view, keys::candidates()); }
bool is_candidate(const StateView& view, const Address& party) {
    const auto waiting = candidates(view);
    return std::binary_search(waiting.begin(), waiting.end(), party);
}
std::size_t possible_auditors(const StateView& view, const market::Params& params, const std::vector<Address>& barred,
                              std::size_t enough) {
    std::size_t count = 0;
    for (const Address& party : verifiers(view)) {
        if (count == enough) break;
        if (std::find(barred.begin(), barred.end(), party) != barred.end()) continue;
        const auto info = verifier(view, party);
        if (!info || info->retiring) continue;
        const bool free = stake(view, party).available() >= params.audit_bond + params.beacon_penalty;
        if (free || !open_audits(view, party).empty() || !open_disputes(view, party).empty()) ++count;
    }
    return count;
}

std::optional<Beacon> beacon(const StateView& view) { return load<Beacon>(view, keys::beacon()); }
std::uint64_t epoch_of(const market::Params& params, std::uint64_t height) { return height / params.epoch_blocks; }

std::vector<std::uint64_t> open_audits(const StateView& view, const Address& party) {
    return list<std::uint64_t>(view, keys::open_audits(party));
}
std::vector<std::uint64_t> open_disputes(const StateView& view, const Address& party) {
    return list<std::uint64_t>(view, keys::open_disputes(party));
}
std::vector<std::uint64_t> run_disputes(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return list<std::uint64_t>(view, keys::run_disputes(task, run));
}
std::vector<std::uint64_t> disputes_of(const StateView& view, const Address& party) {
    auto out = open_disputes(view, party);
    for (const RunId& id : open_runs(view, party)) {
        const auto about = run_disputes(view, id.task, id.run);
        out.insert(out.end(), about.begin(), about.end());
    }
    std::sort(out.begin(), out.end());
    return out;
}
std::uint64_t accusation(const StateView& view, market::DisputeKind kind, std::uint64_t task, std::uint32_t run,
                         std::uint64_t segment, const Address& party) {
    return counter(view, keys::accusation(static_cast<std::uint8_t>(kind), task, run, segment, party));
}
std::uint64_t open_bids(const StateView& view, const Address& party) { return counter(view, keys::open_bids(party)); }
std::vector<RunId> open_runs(const StateView& view, const Address& party) {
    return list<RunId>(view, keys::open_runs(party));
}
std::uint64_t seated_audits(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return counter(view, keys::seated_audits(task, run));
}
std::uint64_t due_audits(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return counter(view, keys::due_audits(task, run));
}
bool is_stopped(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return load<Stop>(view, keys::stopped(task, run)).has_value();
}
bool is_given_back(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return load<Counter>(view, keys::given_back(task, run)).has_value();
}
std::uint64_t pending_draws(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return counter(view, keys::pending_draws(task, run));
}
std::uint64_t due_openings(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return counter(view, keys::due_openings(task, run));
}

std::vector<std::uint64_t> open_reports(const StateView& view, std::uint64_t task) {
    return list<std::uint64_t>(view, keys::open_reports(task));
}
std::vector<std::uint64_t> open_retentions(const StateView& view, std::uint64_t task) {
    return list<std::uint64_t>(view, keys::open_retentions(task));
}
std::optional<market::Retention> retention(const StateView& view, std::uint64_t retention) {
    return load<market::Retention>(view, keys::retention(retention));
}

namespace {

std::optional<std::uint32_t> run_at(const StateView& view, const keys::Key& key) {
    const std::uint64_t plus_one = counter(view, key);
    if (plus_one == 0) return std::nullopt;
    return static_cast<std::uint32_t>(plus_one - 1);
}

}  // namespace

std::optional<std::uint32_t> started_from(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return run_at(view, keys::started_from(task, run));
}
std::optional<std::uint32_t> resumes_from(const StateView& view, std::uint64_t task) {
    return run_at(view, keys::resumes_from(task));
}

JoiningState joining_state(const StateView& view, const market::Task& task) {
    const bool raising = task.wanted != 0 && task.state == market::TaskState::running;
    if (raising) return {task.joining_state, task.joining_root, run_at(view, keys::raise_from(task.id))};
    return newest_finalised_state(view, task);
}

JoiningState newest_finalised_state(const StateView& view, const market::Task& task) {
    JoiningState out{task.first_state, task.resume_root, run_at(view, keys::resumes_from(task.id))};
    for (const std::uint32_t index : task.active) {
        const auto other = run(view, task.id, index);
        if (!other || other->finalised <= out.index || is_stopped(view, task.id, index)) continue;
        const auto reached = checkpoint(view, task.id, index, other->finalised);
        if (!reached || !reached->opened || follows_from_forged(view, task.id, index, other->finalised)) continue;
        out = {other->finalised, reached->root, index};
    }
    return out;
}

std::uint64_t audit_count(const StateView& view) { return counter(view, keys::audit_count()); }
std::uint64_t dispute_count(const StateView& view) { return counter(view, keys::dispute_count()); }
std::uint64_t report_count(const StateView& view) { return counter(view, keys::report_count()); }
std::uint64_t retention_count(const StateView& view) { return counter(view, keys::retention_count()); }

}  // namespace retrace::contracts::views
