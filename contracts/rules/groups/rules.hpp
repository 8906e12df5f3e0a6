// SPDX-License-Identifier: MIT
// The rules of group tasks, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

CallStatus check(const PostGroup& call);
CallStatus admit(const PostGroup& call, const TxContext& context, const StateView& view);
void apply(const PostGroup& call, const TxContext& context, Effects& fx);

CallStatus check(const CommitRound& call);
CallStatus admit(const CommitRound& call, const TxContext& context, const StateView& view);
void apply(const CommitRound& call, const TxContext& context, Effects& fx);

CallStatus check(const CommitHoldings& call);
CallStatus admit(const CommitHoldings& call, const TxContext& context, const StateView& view);
void apply(const CommitHoldings& call, const TxContext& context, Effects& fx);

CallStatus check(const RevealHoldings& call);
CallStatus admit(const RevealHoldings& call, const TxContext& context, const StateView& view);
void apply(const RevealHoldings& call, const TxContext& context, Effects& fx);

CallStatus check(const MaskKeys& call);
CallStatus admit(const MaskKeys& call, const TxContext& context, const StateView& view);
void apply(const MaskKeys& call, const TxContext& context, Effects& fx);

CallStatus check(const MaskShares& call);
CallStatus admit(const MaskShares& call, const TxContext& context, const StateView& view);
void apply(const MaskShares& call, const TxContext& context, Effects& fx);

CallStatus check(const ComplainOfShare& call);
CallStatus admit(const ComplainOfShare& call, const TxContext& context, const StateView& view);
void apply(const ComplainOfShare& call, const TxContext& context, Effects& fx);

CallStatus check(const Unmask& call);
CallStatus admit(const Unmask& call, const TxContext& context, const StateView& view);
void apply(const Unmask& call, const TxContext& context, Effects& fx);

CallStatus check(const OpenMember& call);
CallStatus admit(const OpenMember& call, const TxContext& context, const StateView& view);
void apply(const OpenMember& call, const TxContext& context, Effects& fx);

CallStatus check(const ShowMasks& call);
CallStatus admit(const ShowMasks& call, const TxContext& context, const StateView& view);
void apply(const ShowMasks& call, const TxContext& context, Effects& fx);

CallStatus check(const JoinTask& call);
CallStatus admit(const JoinTask& call, const TxContext& context, const StateView& view);
void apply(const JoinTask& call, const TxContext& context, Effects& fx);

CallStatus check(const LeaveTask& call);
CallStatus admit(const LeaveTask& call, const TxContext& context, const StateView& view);
void apply(const LeaveTask& call, const TxContext& context, Effects& fx);

CallStatus check(const AdmitMembers& call);
CallStatus admit(const AdmitMembers& call, const TxContext& context, const StateView& view);
void apply(const AdmitMembers& call, const TxContext& context, Effects& fx);

CallStatus check(const CommitData& call);
CallStatus admit(const CommitData& call, const TxContext& context, const StateView& view);
void apply(const CommitData& call, const TxContext& context, Effects& fx);

CallStatus check(const GiveConsent& call);
CallStatus admit(const GiveConsent& call, const TxContext& context, const StateView& view);
void apply(const GiveConsent& call, const TxContext& context, Effects& fx);

CallStatus check(const AcceptConsent& call);
CallStatus admit(const AcceptConsent& call, const TxContext& context, const StateView& view);
void apply(const AcceptConsent& call, const TxContext& context, Effects& fx);

CallStatus check(const WithdrawConsent& call);
CallStatus admit(const WithdrawConsent& call, const TxContext& context, const StateView& view);
void apply(const WithdrawConsent& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
