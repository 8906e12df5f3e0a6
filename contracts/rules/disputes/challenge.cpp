// SPDX-License-Identifier: MIT
// SPEC 15.1 and 15.2. Any bonded party may dispute an opened segment, or the seeded initial state, at its own cost.
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/rules/disputes/rules.hpp"
#include "market/escrow.hpp"

namespace retrace::contracts {
namespace {

/// Returns the audit of the segment in which the party has or had a seat; 0: none. Limits for strangers do not refuse its
/// challenge of the start (15.2.5), because its verdict cannot show that the start is forged.
std::uint64_t seated_audit(const StateView& view, const market::Segment& segment, const Address& party) {
    if (segment.audit == 0) return 0;
    const auto audit = must_load<market::Audit>(view, keys::audit(segment.audit));
    const bool seated = std::any_of(audit.seats.begin(), audit.seats.end(),
                                    [&](const market::Seat& seat) { return seat.auditor == party; });
    return seated ? audit.id : 0;
}

/// 18.6: whether the work of the party's challenges, those about its runs and its own, is within its limit.
bool takes_challenges(const TxContext& context, const Backlog& party) {
    return party.challenge_work <= challenges_ahead_max(context.params);
}

/// 15.2.5: whether a stranger may challenge. Places are counted per segment and per run, so challenges of a solver's
/// other runs do not use them up.
bool has_place(const StateView& view, const TxContext& context, const market::Run& run,
               const market::Segment& segment) {
    const Backlog sender = backlog(view, context.sender);
    return segment.challenges < kSegmentChallengesMax && !refuses_challenges(run) &&
           takes_challenges(context, backlog(view, run.solver)) &&
           (sender.own_challenges < kOwnChallenges || takes_challenges(context, sender));
}

CallStatus admit_challenge(const StateView& view, const TxContext& context, market::DisputeKind kind,
                           std::uint64_t task, std::uint32_t index, std::uint64_t segment_index) {
    if (!views::task(view, task)) return CallStatus::unknown_task;  // 15.1.5
    const auto run = views::run(view, task, index);
    if (!run) return CallStatus::unknown_run;                                         // 15.1.6
    if (run->state != market::RunState::running) return CallStatus::wrong_run_state;  // 15.1.7
    if (run->solver == context.sender) return CallStatus::own_run;                    // 15.1.8
    const auto spec = must_load<TaskSpec>(view, keys::spec(task));
    if (context.value != market::challenge_bond(context.params, spec)) return CallStatus::wrong_value;  // 15.1.9
    // 15.1.10: the stake gives an accuser more to lose than one bond.
    if (views::stake(view, context.sender).bonded < context.params.min_verifier_stake) return CallStatus::stake_too_low;
    const auto segment = views::segment(view, task, index, segment_index);
    if (!segment) return CallStatus::not_opened;                           // 15.1.11
    if (segment_index < run->finalised) return CallStatus::window_closed;  // 15.1.12
    const auto end = window_end(view, context.params, spec, *run, *segment);
    if (end && context.height >= *end) return CallStatus::window_closed;  // 15.1.12
    if (views::accusation(view, kind, task, index, segment_index, context.sender) != 0 ||
        views::open_disputes(view, context.sender).size() + views::open_audits(view, context.sender).size() >=
            market::kOpenItemsMax)
        return CallStatus::too_many_open;  // 15.2.5
    const bool seated = kind == market::DisputeKind::initial && seated_audit(view, *segment, context.sender) != 0;
    const bool room = seated ? run->open_disputes < kRunDisputesMax : has_place(view, context, *run, *segment);
    return room ? CallStatus::ok : CallStatus::too_many_open;  // 15.2.5
}

bool is_root(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index, const Hash32& root) {
    return must_load<market::Checkpoint>(view, keys::checkpoint(task, run, index)).root == root;
}

}  // namespace

CallStatus check(const ChallengeSegment& call) {
    if (call.segment >= market::kSegmentsMax) return CallStatus::not_opened;  // 15.1.1
    return CallStatus::ok;
}

CallStatus admit(const ChallengeSegment& call, const TxContext& context, const StateView& view) {
    const CallStatus status =
        admit_challenge(view, context, market::DisputeKind::challenge, call.task, call.run, call.segment);
    if (status != CallStatus::ok) return status;  // 15.1.2
    if (views::is_private(view, call.task, call.run, call.segment) &&
        !views::has_consent(view, call.task, call.run, call.segment, context.sender))
        return CallStatus::no_consent;                                                                     // 21.13.9
    if (!views::shows_masks(view, call.task, call.run, call.segment)) return CallStatus::masks_not_shown;  // 21.11.39
    if (views::segment(view, call.task, call.run, call.segment)->window_end == 0)
        return CallStatus::not_opened;                                                                  // 15.1.4
    if (is_root(view, call.task, call.run, call.segment + 1, call.root)) return CallStatus::same_root;  // 15.1.3
    return CallStatus::ok;
}

void apply(const ChallengeSegment& call, const TxContext& context, Effects& fx) {
    open_dispute(fx, {market::DisputeKind::challenge, call.task, call.run, call.segment, context.sender, context.value,
                      0, call.root});
}

CallStatus check(const ChallengeInitial&) { return CallStatus::ok; }

CallStatus admit(const ChallengeInitial& call, const TxContext& context, const StateView& view) {
    const std::uint64_t segment = views::segment_of_start(view, call.task, call.run);  // 21.13.31
    const CallStatus status =
        admit_challenge(view, context, market::DisputeKind::initial, call.task, call.run, segment);
    if (status != CallStatus::ok) return status;                                                              // 15.2.1
    if (must_load<TaskSpec>(view, keys::spec(call.task)).init_root.is_zero()) return CallStatus::not_seeded;  // 15.2.2
    // 15.2.4: the window opens with the state itself, because an audit of segment 0 cannot show that its start is
    // wrong.
    if (!views::checkpoint(view, call.task, call.run, 0)->opened) return CallStatus::not_opened;
    if (is_root(view, call.task, call.run, 0, call.root)) return CallStatus::same_root;  // 15.2.3
    return CallStatus::ok;
}

void apply(const ChallengeInitial& call, const TxContext& context, Effects& fx) {
    const std::uint64_t index = views::segment_of_start(fx.state, call.task, call.run);
    const auto segment = must_load<market::Segment>(fx.state, keys::segment(call.task, call.run, index));
    open_dispute(fx, {market::DisputeKind::initial, call.task, call.run, index, context.sender, context.value,
                      seated_audit(fx.state, segment, context.sender), call.root});
}

}  // namespace retrace::contracts
