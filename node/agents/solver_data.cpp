// SPDX-License-Identifier: MIT
// What the solver's service does about data of its own, in private groups (contracts 21.13).
#include <spdlog/spdlog.h>

#include "contracts/records/group_views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "node/agents/consent_change.hpp"
#include "node/agents/leave_group.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/solver_service.hpp"
#include "node/agents/wide_orders.hpp"

namespace retrace::node {
namespace {

namespace calls = contracts;

bool is_private(const solver::TaskTerms& terms) { return terms.group && terms.group->private_sets != 0; }

}  // namespace

bool SolverService::may_train(const ledger::StateView& state, solver::TaskTerms& terms) {
    if (!is_private(terms)) return true;
    const std::vector<Hash32>& own = process_->own_data();
    const auto task = contracts::views::task(state, terms.id);
    const bool named = task && options_.data_use.permits(task->requester, terms.program_root);
    // Those that are committed are this account's: only it commits to the data of its run.
    const DataGrant grant = data_grant(named, own, terms.data_roots);
    if (grant != DataGrant::none) process_->private_data().allow(terms.id, own);
    if (grant == DataGrant::train) terms.data_roots = own;  // Until they are fixed, those that it would train on.
    return grant == DataGrant::train;
}

void SolverService::allow_data(const ledger::StateView& state, solver::RunView& run) {
    if (may_train(state, run.terms)) return;
    stop_training(run);
    if (!run.may_accept) stopped_.insert({run.terms.id, run.run});
}

void SolverService::leave_stopped(const ledger::StateView& state, std::uint64_t height) {
    std::erase_if(left_, [&](const auto& item) { return !stopped_.contains(item.first); });
    for (const solver::RunKey& run : stopped_) {
        const auto before = left_.find(run);
        if (before != left_.end() && height <= before->second + kResendBlocks) continue;
        const auto leaving = leaving_of(state, run.first, process_->address());
        if (leaving && leaving->point == LeavePoint::leaves) continue;
        if (before == left_.end())
            spdlog::warn("event=data_withheld task={} run={} reason=\"{}\" action=\"trains no more, {}\"", run.first,
                         run.second,
                         "its requester, or this plan of it, is not named with --data-for, or --data is another folder",
                         leaving ? "and leaves" : leaving.error().message);
        left_[run] = height;
        if (!leaving) continue;
        const auto sent = process_->submitter().send("leave task " + std::to_string(run.first),
                                                     calls::LeaveTask{run.first, run.second});
        if (!sent) spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
    }
}

bool SolverService::fits_data(const RemoteState& state, std::uint64_t height, const FreeSeat& seat) {
    std::optional<solver::TaskTerms> terms;
    state.read([&] { terms = process_->immutable().terms(state, seat.task); });
    if (state.failure() || !terms) return false;
    if (!is_private(*terms)) return true;
    const std::vector<Hash32>& own = process_->own_data();
    if (const auto known = data_checks_.result(seat.task, own)) {
        if (!known->empty()) bidding_.explain(seat.task, {std::nullopt, *known});
        return known->empty();
    }
    if (auto order = data_checks_.order(*terms, own, {seat.task, seat.anchor.run}, height, task_cache_))
        order_thread_.add(process_->in_time(widen<AnyResult>(std::move(*order))));
    return false;
}

void SolverService::update_consent(const ledger::StateView& state, std::uint64_t height,
                                   const solver::SolverView& view) {
    std::erase_if(consented_, [&](const auto& item) { return height > item.second + kResendBlocks; });
    for (const solver::RunView& run : view.runs) {
        const solver::RunKey key{run.terms.id, run.run};
        if (!is_private(run.terms) || run.may_accept || consented_.contains(key)) continue;
        const auto task = contracts::views::task(state, run.terms.id);
        const auto record = contracts::views::run(state, run.terms.id, run.run);
        const market::Consent known = contracts::views::consent(state, run.terms.id, run.run);
        if (!task || !record) continue;
        const ConsentChange change =
            consent_change(options_.consent, known, record->finalised, process_->address(), task->requester);
        const std::string of = " in task " + std::to_string(run.terms.id);
        const auto note = [&](const auto& sent) {
            consented_[key] = height;
            if (!sent) spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
        };
        for (const ledger::Address& account : change.taken_back)
            note(process_->submitter().send("withdraw consent" + of,
                                            calls::WithdrawConsent{run.terms.id, run.run, account}));
        if (!change.given.empty())
            note(process_->submitter().send("consent" + of, calls::GiveConsent{run.terms.id, run.run, change.given}));
    }
}

}  // namespace retrace::node
