// SPDX-License-Identifier: MIT
// SPEC 10.4. Registration as a solver permits bids. Registering again changes endpoint and class, never the reputation.
#include "contracts/lifecycle/staking/capability.hpp"
#include "contracts/rules/staking/rules.hpp"

namespace retrace::contracts {

CallStatus check(const RegisterSolver& call) {
    if (call.endpoint.empty() || call.endpoint.size() > market::kEndpointMax)
        return CallStatus::endpoint_too_long;  // 10.4.1
    return CallStatus::ok;
}

CallStatus admit(const RegisterSolver&, const TxContext& context, const StateView& view) {
    if (views::stake(view, context.sender).bonded < context.params.min_solver_stake)
        return CallStatus::stake_too_low;  // 10.4.2
    return CallStatus::ok;
}

void apply(const RegisterSolver& call, const TxContext& context, Effects& fx) {
    market::SolverInfo info = views::solver(fx.state, context.sender).value_or(market::SolverInfo{});
    info.endpoint = call.endpoint;
    info.hardware_class = call.hardware_class;
    info.height = fx.height;
    store(fx.state, keys::solver(context.sender), info);
    fx.emit(SolverRegistered{context.sender, call.endpoint, call.hardware_class});
    enlist_solver(fx, context.sender);  // 10.4.3
}

}  // namespace retrace::contracts
