// SPDX-License-Identifier: MIT
// The rules of staking, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

CallStatus check(const Deposit& call);
CallStatus admit(const Deposit& call, const TxContext& context, const StateView& view);
void apply(const Deposit& call, const TxContext& context, Effects& fx);

CallStatus check(const BeginUnbond& call);
CallStatus admit(const BeginUnbond& call, const TxContext& context, const StateView& view);
void apply(const BeginUnbond& call, const TxContext& context, Effects& fx);

CallStatus check(const Withdraw& call);
CallStatus admit(const Withdraw& call, const TxContext& context, const StateView& view);
void apply(const Withdraw& call, const TxContext& context, Effects& fx);

CallStatus check(const RegisterSolver& call);
CallStatus admit(const RegisterSolver& call, const TxContext& context, const StateView& view);
void apply(const RegisterSolver& call, const TxContext& context, Effects& fx);

CallStatus check(const RegisterVerifier& call);
CallStatus admit(const RegisterVerifier& call, const TxContext& context, const StateView& view);
void apply(const RegisterVerifier& call, const TxContext& context, Effects& fx);

CallStatus check(const RetireVerifier& call);
CallStatus admit(const RetireVerifier& call, const TxContext& context, const StateView& view);
void apply(const RetireVerifier& call, const TxContext& context, Effects& fx);

CallStatus check(const RevealBeacon& call);
CallStatus admit(const RevealBeacon& call, const TxContext& context, const StateView& view);
void apply(const RevealBeacon& call, const TxContext& context, Effects& fx);

CallStatus check(const AnswerCapability& call);
CallStatus admit(const AnswerCapability& call, const TxContext& context, const StateView& view);
void apply(const AnswerCapability& call, const TxContext& context, Effects& fx);

CallStatus check(const ProveCapability& call);
CallStatus admit(const ProveCapability& call, const TxContext& context, const StateView& view);
void apply(const ProveCapability& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
