// SPDX-License-Identifier: MIT
// SPEC 14.11. Between audits a solver may pay a verifier to keep a state, so that its work up to there can be paid.
#include "contracts/lifecycle/audits/retentions.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/rules/audits/rules.hpp"

namespace retrace::contracts {
namespace {

constexpr std::size_t kRunRetentionsMax = 64;

std::vector<std::uint64_t> offers_of(const StateView& view, std::uint64_t task, std::uint32_t run) {
    return list<std::uint64_t>(view, keys::run_retentions(task, run));
}

}  // namespace

std::optional<market::Retention> open_retention(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                std::uint64_t index) {
    const std::uint64_t id = counter(view, keys::state_retention(task, run, index));
    if (id == 0) return std::nullopt;
    return must_load<market::Retention>(view, keys::retention(id));
}

void close_retention(Effects& fx, market::Retention& offer, market::RetentionState state) {
    offer.state = state;
    store(fx.state, keys::retention(offer.id), offer);
    remove_from_list(fx.state, keys::open_retentions(offer.task), offer.id);
    remove_from_list(fx.state, keys::run_retentions(offer.task, offer.run), offer.id);
    remove(fx.state, keys::state_retention(offer.task, offer.run, offer.index));
}

void return_retentions(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t last) {
    for (const std::uint64_t id : offers_of(fx.state, task, run)) {
        auto offer = must_load<market::Retention>(fx.state, keys::retention(id));
        if (offer.index > last) continue;
        close_retention(fx, offer, market::RetentionState::withdrawn);
        pay(fx, Contract::audits, offer.solver, offer.fee);
        fx.emit(RetentionClosed{id, task, {}});
    }
}

Verdict check(const RequestRetention& call) {
    if (call.index == 0) return Verdict::wrong_index;  // 14.11.1
    return Verdict::ok;
}

Verdict admit(const RequestRetention& call, const TxContext& context, const StateView& view) {
    const Verdict running = admit_running(view, call.task, call.run, context.sender);
    if (running != Verdict::ok) return running;  // 14.11.2
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    const auto checkpoint = views::checkpoint(view, call.task, call.run, call.index);
    if (!checkpoint || !checkpoint->opened) return Verdict::not_opened;  // 14.11.3
    if (call.index <= run.paid) return Verdict::wrong_index;             // 14.11.4
    if (!checkpoint->keepers.empty() || open_retention(view, call.task, call.run, call.index))
        return Verdict::already_requested;                                                                 // 14.11.5
    if (context.value < context.params.audit_fee || context.value.is_zero()) return Verdict::wrong_value;  // 14.11.6
    if (offers_of(view, call.task, call.run).size() >= kRunRetentionsMax) return Verdict::too_many_open;   // 14.11.7
    return Verdict::ok;
}

void apply(const RequestRetention& call, const TxContext& context, Effects& fx) {
    market::Retention offer;
    offer.id = next_id(fx.state, keys::retention_count());
    offer.state = market::RetentionState::open;
    offer.task = call.task;
    offer.run = call.run;
    offer.index = call.index;
    offer.solver = context.sender;
    offer.fee = context.value;
    store(fx.state, keys::retention(offer.id), offer);
    add_to_list(fx.state, keys::open_retentions(call.task), offer.id);
    add_to_list(fx.state, keys::run_retentions(call.task, call.run), offer.id);
    store(fx.state, keys::state_retention(call.task, call.run, call.index), Counter{offer.id});
    fx.emit(RetentionRequested{offer.id, call.task, call.run, call.index, offer.fee});
}

}  // namespace retrace::contracts
