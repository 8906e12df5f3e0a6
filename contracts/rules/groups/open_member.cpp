// SPDX-License-Identifier: MIT
// SPEC 21.8. A member opens a state and shows its shared tensors, and its message if it sent one.
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/rules/groups/rules.hpp"
#include "verifier/game/public_leaves.hpp"

namespace retrace::contracts {
namespace {

/// Returns the numbers of the tensors that an opening of state `index` shows: the shared ones, and those of the message
/// if the segment that ends there has one.
std::vector<std::uint32_t> shown_tensors(const market::GroupSpec& terms,
                                         const std::optional<market::MemberSegment>& segment) {
    std::vector<std::uint32_t> out(terms.shared);
    for (std::uint32_t i = 0; i < terms.shared; ++i) out[i] = i;
    if (segment && segment->steps != 0) out.insert(out.end(), terms.public_tensors.begin(), terms.public_tensors.end());
    return out;
}

std::optional<market::MemberSegment> segment_before(const StateView& view, const OpenMember& call) {
    return call.index == 0 ? std::nullopt : views::member_segment(view, call.task, call.run, call.index - 1);
}

/// 21.13.33: whether the state may only be shown once the first one is, which is disputed together with what follows it.
bool waits_for_first(const StateView& view, const OpenMember& call, const market::GroupSpec& terms) {
    if (terms.private_sets == 0 || call.index == 0) return false;
    return !must_load<market::Checkpoint>(view, keys::checkpoint(call.task, call.run, 0)).opened;
}

std::vector<Hash32> shared_of(const verifier::PublicLeaves& shown, const market::GroupSpec& terms) {
    return {shown.leaves.begin(), shown.leaves.begin() + terms.shared};
}

/// 21.8.6: whether the roots are those of the state, whose header is as the plan and the records say.
bool shows_state(const StateView& view, const OpenMember& call, const verifier::PublicLeaves& shown,
                 const market::GroupSpec& terms, const std::vector<std::uint32_t>& tensors) {
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    const kernels::StateHeader& header = shown.header;
    if (header.contract != spec.contract_hash || header.program != spec.program_root) return false;
    if (header.step != header_step_of(view, call.task, call.run, call.index)) return false;
    return verifier::shows(shown, call.root, tensors, inner_root(terms));
}

/// 21.8.7: whether the public tensors are those of the message that the member has sent.
bool shows_message(const StateView& view, const OpenMember& call, const verifier::PublicLeaves& shown,
                   const market::GroupSpec& terms, const std::optional<market::MemberSegment>& segment) {
    if (!segment || segment->steps == 0) return true;
    const std::uint32_t sent = segment->base + segment->age;
    const auto message = must_load<market::RoundMessage>(view, keys::round_message(call.task, sent, call.run));
    return std::equal(message.tensors.begin(), message.tensors.end(), shown.leaves.begin() + terms.shared,
                      shown.leaves.end());
}

/// 21.13.5: the shared tensors of a member's state `index`, as far as an opening has shown them.
std::vector<Hash32> shown_before(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    if (index == 0) return views::member(view, task, run)->start;
    const auto segment = views::member_segment(view, task, run, index - 1);
    return segment ? segment->shared : std::vector<Hash32>{};
}

/// 21.13.5: whether inner steps on private data have left the shared tensors as they were, so that these follow from what
/// everybody can replay. Of two states the one that is opened later is compared with the other.
bool keeps_shared(const StateView& view, const OpenMember& call, const std::vector<Hash32>& shared) {
    const auto differs = [&](std::uint64_t other) {
        const auto seen = shown_before(view, call.task, call.run, other);
        return !seen.empty() && seen != shared;
    };
    if (call.index > 0 && views::is_private(view, call.task, call.run, call.index - 1) && differs(call.index - 1))
        return false;
    return !views::is_private(view, call.task, call.run, call.index) || !differs(call.index + 1);
}

}  // namespace

CallStatus check(const OpenMember& call) {
    if (call.index > market::kSegmentsMax) return CallStatus::not_committed;  // 21.8.1
    if (call.leaves.size() > verifier::kPublicLeavesBytesMax || !verifier::decode_public_leaves(call.leaves))
        return CallStatus::bad_leaves;  // 21.8.2
    return CallStatus::ok;
}

CallStatus admit(const OpenMember& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 21.8.3
    const auto terms = views::group_spec(view, call.task);
    if (!terms) return CallStatus::not_group;  // 21.8.4
    const CallStatus opening = admit_opening(view, call.task, call.run, call.index, call.salt, call.root);
    if (opening != CallStatus::ok) return opening;                           // 21.8.5
    if (waits_for_first(view, call, *terms)) return CallStatus::not_opened;  // 21.13.33
    const auto shown = verifier::decode_public_leaves(call.leaves).value();
    const auto segment = segment_before(view, call);
    if (!shows_state(view, call, shown, *terms, shown_tensors(*terms, segment)))
        return CallStatus::wrong_leaves;                                                       // 21.8.6
    if (!shows_message(view, call, shown, *terms, segment)) return CallStatus::wrong_leaves;   // 21.8.7
    if (!keeps_shared(view, call, shared_of(shown, *terms))) return CallStatus::wrong_leaves;  // 21.13.5
    return CallStatus::ok;
}

void apply(const OpenMember& call, const TxContext&, Effects& fx) {
    const auto terms = must_load<market::GroupSpec>(fx.state, keys::group_spec(call.task));
    const auto shared = shared_of(verifier::decode_public_leaves(call.leaves).value(), terms);
    count_late_opening(fx, call.task, call.run, call.index);
    if (auto segment = segment_before(fx.state, call)) {
        segment->shared = shared;
        store(fx.state, keys::member_segment(call.task, call.run, call.index - 1), *segment);
        if (!views::is_private(fx.state, call.task, call.run, call.index - 1))
            note_shared(fx, call.task, {call.run, call.index - 1, market::shared_digest(shared)}, segment->base);
    } else if (terms.private_sets != 0) {
        auto member = must_load<market::Member>(fx.state, keys::member(call.task, call.run));
        member.start = shared;
        store(fx.state, keys::member(call.task, call.run), member);
    }
    if (open_state(fx, call.task, call.run, call.index, call.salt, call.root))
        wake_openings(fx, call.task, call.run, call.index);
}

}  // namespace retrace::contracts
