// SPDX-License-Identifier: MIT
// The rules of the market, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

Verdict check(const PostTask& call);
Verdict admit(const PostTask& call, const TxContext& context, const StateView& view);
void apply(const PostTask& call, const TxContext& context, Effects& fx);

Verdict check(const CancelTask& call);
Verdict admit(const CancelTask& call, const TxContext& context, const StateView& view);
void apply(const CancelTask& call, const TxContext& context, Effects& fx);

Verdict check(const CommitBid& call);
Verdict admit(const CommitBid& call, const TxContext& context, const StateView& view);
void apply(const CommitBid& call, const TxContext& context, Effects& fx);

Verdict check(const RevealBid& call);
Verdict admit(const RevealBid& call, const TxContext& context, const StateView& view);
void apply(const RevealBid& call, const TxContext& context, Effects& fx);

Verdict check(const AcceptData& call);
Verdict admit(const AcceptData& call, const TxContext& context, const StateView& view);
void apply(const AcceptData& call, const TxContext& context, Effects& fx);

Verdict check(const DeclineTask& call);
Verdict admit(const DeclineTask& call, const TxContext& context, const StateView& view);
void apply(const DeclineTask& call, const TxContext& context, Effects& fx);

Verdict check(const CommitCheckpoint& call);
Verdict admit(const CommitCheckpoint& call, const TxContext& context, const StateView& view);
void apply(const CommitCheckpoint& call, const TxContext& context, Effects& fx);

Verdict check(const OpenRoots& call);
Verdict admit(const OpenRoots& call, const TxContext& context, const StateView& view);
void apply(const OpenRoots& call, const TxContext& context, Effects& fx);

Verdict check(const AcceptModel& call);
Verdict admit(const AcceptModel& call, const TxContext& context, const StateView& view);
void apply(const AcceptModel& call, const TxContext& context, Effects& fx);

Verdict check(const RaiseReplicas& call);
Verdict admit(const RaiseReplicas& call, const TxContext& context, const StateView& view);
void apply(const RaiseReplicas& call, const TxContext& context, Effects& fx);

Verdict check(const DecideUnaudited& call);
Verdict admit(const DecideUnaudited& call, const TxContext& context, const StateView& view);
void apply(const DecideUnaudited& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
