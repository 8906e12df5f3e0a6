// SPDX-License-Identifier: MIT
// SPEC 15.1 and 15.2. Anyone bonded may dispute an opened segment, or the seeded initial state, at own cost.
#include "contracts/disputes/cases.hpp"
#include "contracts/disputes/rules.hpp"

namespace retrace::contracts {
namespace {

/// Open disputes of one solver, when who challenges has a seat: what bounds the list.
constexpr std::size_t kSolverDisputesMax = 4 * market::kOpenItemsMax;

/// The party sits, or sat, in the segment's audit: it has done the work and is who must be heard.
bool has_seat(const StateView& view, const market::Segment& segment, const Address& party) {
    if (segment.audit == 0) return false;
    const auto audit = must_load<market::Audit>(view, keys::audit(segment.audit));
    return std::any_of(audit.seats.begin(), audit.seats.end(),
                       [&](const market::Seat& seat) { return seat.auditor == party; });
}

/// The party has a challenge of this kind open on the segment.
bool challenges(const StateView& view, const Address& party, market::DisputeKind kind, std::uint64_t task,
                std::uint32_t run, std::uint64_t segment) {
    for (const std::uint64_t id : views::open_disputes(view, party)) {
        const auto dispute = must_load<market::Dispute>(view, keys::dispute(id));
        if (dispute.kind == kind && dispute.challenger == party && dispute.task == task && dispute.run == run &&
            dispute.segment == segment)
            return true;
    }
    return false;
}

Verdict admit_challenge(const StateView& view, const TxContext& context, market::DisputeKind kind,
                        std::uint64_t task, std::uint32_t index, std::uint64_t segment_index) {
    if (!views::task(view, task)) return Verdict::unknown_task;                                     // 15.1.5
    const auto run = views::run(view, task, index);
    if (!run) return Verdict::unknown_run;                                                          // 15.1.6
    if (run->state != market::RunState::running) return Verdict::wrong_run_state;                   // 15.1.7
    if (run->solver == context.sender) return Verdict::own_run;                                     // 15.1.8
    if (context.value != context.params.challenge_bond) return Verdict::wrong_value;                // 15.1.9
    // 15.1.10: bonded, so that one accuser has something to lose beyond one case.
    if (views::stake(view, context.sender).bonded < context.params.min_verifier_stake) return Verdict::stake_too_low;
    const auto segment = views::segment(view, task, index, segment_index);
    if (!segment) return Verdict::not_opened;                                                       // 15.1.11
    if (segment->window_end != 0 && context.height >= segment->window_end) return Verdict::window_closed;  // 15.1.12
    // 15.2.5: whoever can fill what is open to all shuts out strangers only, one place an account.
    if (challenges(view, context.sender, kind, task, index, segment_index) ||
        views::open_disputes(view, context.sender).size() >= market::kOpenItemsMax)
        return Verdict::too_many_open;
    const bool seated = has_seat(view, *segment, context.sender);
    const std::size_t of_solver = views::open_disputes(view, run->solver).size();
    if (seated ? of_solver >= kSolverDisputesMax
               : of_solver >= market::kOpenItemsMax || segment->open_disputes >= kSegmentDisputesMax)
        return Verdict::too_many_open;                                                              // 15.2.5
    return Verdict::ok;
}

bool is_root(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index, const Hash32& root) {
    return must_load<market::Checkpoint>(view, keys::checkpoint(task, run, index)).root == root;
}

}  // namespace

Verdict check(const ChallengeSegment& call) {
    if (call.segment >= market::kSegmentsMax) return Verdict::not_opened;                           // 15.1.1
    return Verdict::ok;
}

Verdict admit(const ChallengeSegment& call, const TxContext& context, const StateView& view) {
    const Verdict verdict = admit_challenge(view, context, market::DisputeKind::challenge, call.task, call.run,
                                            call.segment);
    if (verdict != Verdict::ok) return verdict;                                                     // 15.1.2
    if (views::segment(view, call.task, call.run, call.segment)->window_end == 0)
        return Verdict::not_opened;                                                                 // 15.1.4
    if (is_root(view, call.task, call.run, call.segment + 1, call.root)) return Verdict::same_root; // 15.1.3
    return Verdict::ok;
}

void apply(const ChallengeSegment& call, const TxContext& context, Effects& fx) {
    open_dispute(fx, {market::DisputeKind::challenge, call.task, call.run, call.segment, context.sender,
                      context.value, 0, call.root});
}

Verdict check(const ChallengeInitial&) { return Verdict::ok; }

Verdict admit(const ChallengeInitial& call, const TxContext& context, const StateView& view) {
    const Verdict verdict = admit_challenge(view, context, market::DisputeKind::initial, call.task, call.run, 0);
    if (verdict != Verdict::ok) return verdict;                                                     // 15.2.1
    if (must_load<TaskSpec>(view, keys::spec(call.task)).init_root.is_zero())
        return Verdict::not_seeded;                                                                 // 15.2.2
    // 15.2.4: the window opens with the state itself: an audit of segment 0 cannot tell that its start is wrong.
    if (!views::checkpoint(view, call.task, call.run, 0)->opened) return Verdict::not_opened;
    if (is_root(view, call.task, call.run, 0, call.root)) return Verdict::same_root;                // 15.2.3
    return Verdict::ok;
}

void apply(const ChallengeInitial& call, const TxContext& context, Effects& fx) {
    open_dispute(fx, {market::DisputeKind::initial, call.task, call.run, 0, context.sender, context.value, 0,
                      call.root});
}

}  // namespace retrace::contracts
