// SPDX-License-Identifier: MIT
// The rules of audits, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

Verdict check(const OpenSegment& call);
Verdict admit(const OpenSegment& call, const TxContext& context, const StateView& view);
void apply(const OpenSegment& call, const TxContext& context, Effects& fx);

Verdict check(const CommitVerdict& call);
Verdict admit(const CommitVerdict& call, const TxContext& context, const StateView& view);
void apply(const CommitVerdict& call, const TxContext& context, Effects& fx);

Verdict check(const RevealSegment& call);
Verdict admit(const RevealSegment& call, const TxContext& context, const StateView& view);
void apply(const RevealSegment& call, const TxContext& context, Effects& fx);

Verdict check(const RevealVerdict& call);
Verdict admit(const RevealVerdict& call, const TxContext& context, const StateView& view);
void apply(const RevealVerdict& call, const TxContext& context, Effects& fx);

Verdict check(const AttestRetention& call);
Verdict admit(const AttestRetention& call, const TxContext& context, const StateView& view);
void apply(const AttestRetention& call, const TxContext& context, Effects& fx);

Verdict check(const RequestRetention& call);
Verdict admit(const RequestRetention& call, const TxContext& context, const StateView& view);
void apply(const RequestRetention& call, const TxContext& context, Effects& fx);

Verdict check(const ReportUnavailable& call);
Verdict admit(const ReportUnavailable& call, const TxContext& context, const StateView& view);
void apply(const ReportUnavailable& call, const TxContext& context, Effects& fx);

Verdict check(const AnswerUnavailable& call);
Verdict admit(const AnswerUnavailable& call, const TxContext& context, const StateView& view);
void apply(const AnswerUnavailable& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
