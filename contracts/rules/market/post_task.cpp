// SPDX-License-Identifier: MIT
// SPEC 12.1. Locks the price of a task in escrow and opens it for bids.
#include "contracts/lifecycle/market/posting.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {

CallStatus check(const PostTask& call) { return check_terms(call.spec, market::kReplicasMax); }

CallStatus admit(const PostTask& call, const TxContext& context, const StateView& view) {
    return admit_terms(call.spec, nullptr, context, view);
}

void apply(const PostTask& call, const TxContext& context, Effects& fx) {
    post_task(fx, context.sender, call.spec, context.value);
}

}  // namespace retrace::contracts
