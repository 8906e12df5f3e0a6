// SPDX-License-Identifier: MIT
// The rules of disputes, each with three phases: check, admit, apply.
#pragma once

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

CallStatus check(const ChallengeSegment& call);
CallStatus admit(const ChallengeSegment& call, const TxContext& context, const StateView& view);
void apply(const ChallengeSegment& call, const TxContext& context, Effects& fx);

CallStatus check(const ChallengeInitial& call);
CallStatus admit(const ChallengeInitial& call, const TxContext& context, const StateView& view);
void apply(const ChallengeInitial& call, const TxContext& context, Effects& fx);

CallStatus check(const PlayMove& call);
CallStatus admit(const PlayMove& call, const TxContext& context, const StateView& view);
void apply(const PlayMove& call, const TxContext& context, Effects& fx);

}  // namespace retrace::contracts
