// SPDX-License-Identifier: MIT
// The rules of disputes, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

Verdict check(const ChallengeSegment& call);
Verdict admit(const ChallengeSegment& call, const TxContext& context, const StateView& view);
void apply(const ChallengeSegment& call, const TxContext& context, Effects& fx);

Verdict check(const ChallengeInitial& call);
Verdict admit(const ChallengeInitial& call, const TxContext& context, const StateView& view);
void apply(const ChallengeInitial& call, const TxContext& context, Effects& fx);

Verdict check(const PlayMove& call);
Verdict admit(const PlayMove& call, const TxContext& context, const StateView& view);
void apply(const PlayMove& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
