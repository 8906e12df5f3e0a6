// SPDX-License-Identifier: MIT
// The rules of validators, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

CallStatus check(const RegisterValidator& call);
CallStatus admit(const RegisterValidator& call, const TxContext& context, const StateView& view);
void apply(const RegisterValidator& call, const TxContext& context, Effects& fx);

CallStatus check(const BondValidator& call);
CallStatus admit(const BondValidator& call, const TxContext& context, const StateView& view);
void apply(const BondValidator& call, const TxContext& context, Effects& fx);

CallStatus check(const UnbondValidator& call);
CallStatus admit(const UnbondValidator& call, const TxContext& context, const StateView& view);
void apply(const UnbondValidator& call, const TxContext& context, Effects& fx);

CallStatus check(const ReleaseValidator& call);
CallStatus admit(const ReleaseValidator& call, const TxContext& context, const StateView& view);
void apply(const ReleaseValidator& call, const TxContext& context, Effects& fx);

CallStatus check(const UnjailValidator& call);
CallStatus admit(const UnjailValidator& call, const TxContext& context, const StateView& view);
void apply(const UnjailValidator& call, const TxContext& context, Effects& fx);

CallStatus check(const VoteUpgrade& call);
CallStatus admit(const VoteUpgrade& call, const TxContext& context, const StateView& view);
void apply(const VoteUpgrade& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
