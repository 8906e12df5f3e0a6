// SPDX-License-Identifier: MIT
// The rules of staking, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

Verdict check(const Deposit& call);
Verdict admit(const Deposit& call, const TxContext& context, const StateView& view);
void apply(const Deposit& call, const TxContext& context, Effects& fx);

Verdict check(const BeginUnbond& call);
Verdict admit(const BeginUnbond& call, const TxContext& context, const StateView& view);
void apply(const BeginUnbond& call, const TxContext& context, Effects& fx);

Verdict check(const Withdraw& call);
Verdict admit(const Withdraw& call, const TxContext& context, const StateView& view);
void apply(const Withdraw& call, const TxContext& context, Effects& fx);

Verdict check(const RegisterSolver& call);
Verdict admit(const RegisterSolver& call, const TxContext& context, const StateView& view);
void apply(const RegisterSolver& call, const TxContext& context, Effects& fx);

Verdict check(const RegisterVerifier& call);
Verdict admit(const RegisterVerifier& call, const TxContext& context, const StateView& view);
void apply(const RegisterVerifier& call, const TxContext& context, Effects& fx);

Verdict check(const RetireVerifier& call);
Verdict admit(const RetireVerifier& call, const TxContext& context, const StateView& view);
void apply(const RetireVerifier& call, const TxContext& context, Effects& fx);

Verdict check(const RevealBeacon& call);
Verdict admit(const RevealBeacon& call, const TxContext& context, const StateView& view);
void apply(const RevealBeacon& call, const TxContext& context, Effects& fx);

Verdict check(const AnswerCapability& call);
Verdict admit(const AnswerCapability& call, const TxContext& context, const StateView& view);
void apply(const AnswerCapability& call, const TxContext& context, Effects& fx);

Verdict check(const ProveCapability& call);
Verdict admit(const ProveCapability& call, const TxContext& context, const StateView& view);
void apply(const ProveCapability& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
