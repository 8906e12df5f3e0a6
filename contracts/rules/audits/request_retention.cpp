// SPDX-License-Identifier: MIT
// SPEC 14.11. Between audits a solver may pay a verifier to keep a state, so that its work up to there can be paid.
#include "contracts/lifecycle/audits/retentions.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/rules/audits/rules.hpp"

namespace retrace::contracts {
namespace {

constexpr std::size_t kRunRetentionsMax = 64;

}  // namespace

CallStatus check(const RequestRetention& call) {
    if (call.index == 0) return CallStatus::wrong_index;  // 14.11.1
    return CallStatus::ok;
}

CallStatus admit(const RequestRetention& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 14.11.2
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    const auto checkpoint = views::checkpoint(view, call.task, call.run, call.index);
    if (!checkpoint || !checkpoint->opened) return CallStatus::not_opened;  // 14.11.3
    if (call.index <= run.paid) return CallStatus::wrong_index;             // 14.11.4
    if (!checkpoint->keepers.empty() || open_retention(view, call.task, call.run, call.index))
        return CallStatus::already_requested;                                                                 // 14.11.5
    if (context.value < context.params.audit_fee || context.value.is_zero()) return CallStatus::wrong_value;  // 14.11.6
    const auto open = list<std::uint64_t>(view, keys::run_retentions(call.task, call.run));
    if (open.size() >= kRunRetentionsMax) return CallStatus::too_many_open;  // 14.11.7
    return CallStatus::ok;
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
