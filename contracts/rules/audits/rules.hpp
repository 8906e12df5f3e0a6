// SPDX-License-Identifier: MIT
// The rules of audits, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

CallStatus check(const OpenSegment& call);
CallStatus admit(const OpenSegment& call, const TxContext& context, const StateView& view);
void apply(const OpenSegment& call, const TxContext& context, Effects& fx);

CallStatus check(const CommitVerdict& call);
CallStatus admit(const CommitVerdict& call, const TxContext& context, const StateView& view);
void apply(const CommitVerdict& call, const TxContext& context, Effects& fx);

CallStatus check(const RevealSegment& call);
CallStatus admit(const RevealSegment& call, const TxContext& context, const StateView& view);
void apply(const RevealSegment& call, const TxContext& context, Effects& fx);

CallStatus check(const RevealVerdict& call);
CallStatus admit(const RevealVerdict& call, const TxContext& context, const StateView& view);
void apply(const RevealVerdict& call, const TxContext& context, Effects& fx);

CallStatus check(const AttestRetention& call);
CallStatus admit(const AttestRetention& call, const TxContext& context, const StateView& view);
void apply(const AttestRetention& call, const TxContext& context, Effects& fx);

CallStatus check(const RequestRetention& call);
CallStatus admit(const RequestRetention& call, const TxContext& context, const StateView& view);
void apply(const RequestRetention& call, const TxContext& context, Effects& fx);

CallStatus check(const ReportUnavailable& call);
CallStatus admit(const ReportUnavailable& call, const TxContext& context, const StateView& view);
void apply(const ReportUnavailable& call, const TxContext& context, Effects& fx);

CallStatus check(const AnswerUnavailable& call);
CallStatus admit(const AnswerUnavailable& call, const TxContext& context, const StateView& view);
void apply(const AnswerUnavailable& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
