// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/audits/retentions.hpp"

namespace retrace::contracts {

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
    for (const std::uint64_t id : list<std::uint64_t>(fx.state, keys::run_retentions(task, run))) {
        auto offer = must_load<market::Retention>(fx.state, keys::retention(id));
        if (offer.index > last) continue;
        close_retention(fx, offer, market::RetentionState::withdrawn);
        pay(fx, Contract::audits, offer.solver, offer.fee);
        fx.emit(RetentionClosed{id, task, {}});
    }
}

}  // namespace retrace::contracts
