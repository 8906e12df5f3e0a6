// SPDX-License-Identifier: MIT
// The rules of the market, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

CallStatus check(const PostTask& call);
CallStatus admit(const PostTask& call, const TxContext& context, const StateView& view);
void apply(const PostTask& call, const TxContext& context, Effects& fx);

CallStatus check(const CancelTask& call);
CallStatus admit(const CancelTask& call, const TxContext& context, const StateView& view);
void apply(const CancelTask& call, const TxContext& context, Effects& fx);

CallStatus check(const CommitBid& call);
CallStatus admit(const CommitBid& call, const TxContext& context, const StateView& view);
void apply(const CommitBid& call, const TxContext& context, Effects& fx);

CallStatus check(const RevealBid& call);
CallStatus admit(const RevealBid& call, const TxContext& context, const StateView& view);
void apply(const RevealBid& call, const TxContext& context, Effects& fx);

CallStatus check(const AcceptData& call);
CallStatus admit(const AcceptData& call, const TxContext& context, const StateView& view);
void apply(const AcceptData& call, const TxContext& context, Effects& fx);

CallStatus check(const DeclineTask& call);
CallStatus admit(const DeclineTask& call, const TxContext& context, const StateView& view);
void apply(const DeclineTask& call, const TxContext& context, Effects& fx);

CallStatus check(const CommitCheckpoint& call);
CallStatus admit(const CommitCheckpoint& call, const TxContext& context, const StateView& view);
void apply(const CommitCheckpoint& call, const TxContext& context, Effects& fx);

CallStatus check(const Reserve& call);
CallStatus admit(const Reserve& call, const TxContext& context, const StateView& view);
void apply(const Reserve& call, const TxContext& context, Effects& fx);

CallStatus check(const AcceptReservation& call);
CallStatus admit(const AcceptReservation& call, const TxContext& context, const StateView& view);
void apply(const AcceptReservation& call, const TxContext& context, Effects& fx);

CallStatus check(const BeginReserved& call);
CallStatus admit(const BeginReserved& call, const TxContext& context, const StateView& view);
void apply(const BeginReserved& call, const TxContext& context, Effects& fx);

CallStatus check(const WithdrawReservation& call);
CallStatus admit(const WithdrawReservation& call, const TxContext& context, const StateView& view);
void apply(const WithdrawReservation& call, const TxContext& context, Effects& fx);

CallStatus check(const GiveBack& call);
CallStatus admit(const GiveBack& call, const TxContext& context, const StateView& view);
void apply(const GiveBack& call, const TxContext& context, Effects& fx);

CallStatus check(const OpenRoots& call);
CallStatus admit(const OpenRoots& call, const TxContext& context, const StateView& view);
void apply(const OpenRoots& call, const TxContext& context, Effects& fx);

CallStatus check(const AcceptModel& call);
CallStatus admit(const AcceptModel& call, const TxContext& context, const StateView& view);
void apply(const AcceptModel& call, const TxContext& context, Effects& fx);

CallStatus check(const RaiseReplicas& call);
CallStatus admit(const RaiseReplicas& call, const TxContext& context, const StateView& view);
void apply(const RaiseReplicas& call, const TxContext& context, Effects& fx);

CallStatus check(const TopUpTask& call);
CallStatus admit(const TopUpTask& call, const TxContext& context, const StateView& view);
void apply(const TopUpTask& call, const TxContext& context, Effects& fx);

CallStatus check(const DecideUnaudited& call);
CallStatus admit(const DecideUnaudited& call, const TxContext& context, const StateView& view);
void apply(const DecideUnaudited& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
