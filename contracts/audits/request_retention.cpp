// SPDX-License-Identifier: MIT
// SPEC 14.11. Between audits a solver may pay a verifier for keeping a state, so that its work up to there is paid.
#include "contracts/audits/retentions.hpp"
#include "contracts/audits/rules.hpp"
#include "contracts/market/own_run.hpp"

namespace retrace::contracts {
namespace {

constexpr std::size_t kRunRetentionsMax = 64;

std::size_t offers_of(const StateView& view, std::uint64_t task, std::uint32_t run) {
    std::size_t count = 0;
    for (const std::uint64_t id : views::open_retentions(view, task))
        count += must_load<market::Retention>(view, keys::retention(id)).run == run;
    return count;
}

}  // namespace

std::optional<market::Retention> open_retention(const StateView& view, std::uint64_t task, std::uint32_t run,
                                                std::uint64_t index) {
    for (const std::uint64_t id : views::open_retentions(view, task)) {
        auto offer = must_load<market::Retention>(view, keys::retention(id));
        if (offer.run == run && offer.index == index) return offer;
    }
    return std::nullopt;
}

void return_retentions(Effects& fx, std::uint64_t task, std::uint32_t run) {
    for (const std::uint64_t id : views::open_retentions(fx.state, task)) {
        auto offer = must_load<market::Retention>(fx.state, keys::retention(id));
        if (offer.run != run) continue;
        offer.state = market::RetentionState::withdrawn;
        store(fx.state, keys::retention(id), offer);
        remove_from_list(fx.state, keys::open_retentions(task), id);
        pay(fx, Contract::audits, offer.solver, offer.fee);
        fx.emit(RetentionClosed{id, task, {}});
    }
}

Verdict check(const RequestRetention& call) {
    if (call.index == 0) return Verdict::wrong_index;                                           // 14.11.1
    return Verdict::ok;
}

Verdict admit(const RequestRetention& call, const TxContext& context, const StateView& view) {
    const Verdict running = admit_running(view, call.task, call.run, context.sender);
    if (running != Verdict::ok) return running;                                                 // 14.11.2
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    const auto checkpoint = views::checkpoint(view, call.task, call.run, call.index);
    if (!checkpoint || !checkpoint->opened) return Verdict::not_opened;                         // 14.11.3
    if (call.index <= run.paid) return Verdict::wrong_index;                                    // 14.11.4
    if (!checkpoint->keepers.empty() || open_retention(view, call.task, call.run, call.index))
        return Verdict::already_requested;                                                      // 14.11.5
    if (context.value < context.params.audit_fee || context.value.is_zero())
        return Verdict::wrong_value;                                                            // 14.11.6
    if (offers_of(view, call.task, call.run) >= kRunRetentionsMax)
        return Verdict::too_many_open;                                                          // 14.11.7
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
    fx.emit(RetentionRequested{offer.id, call.task, call.run, call.index, offer.fee});
}

}  // namespace retrace::contracts
