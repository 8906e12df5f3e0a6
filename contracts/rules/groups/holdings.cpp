// SPDX-License-Identifier: MIT
// SPEC 21.6. Members commit to which messages of the round they have whole, and reveal it when all have.
#include "contracts/lifecycle/groups/clock.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/rules/groups/rules.hpp"

namespace retrace::contracts {
namespace {

using market::Group;
using market::GroupPhase;

/// A bit for each run that a group may ever have (21.10.13): runs that replace others in a round may send too.
constexpr std::size_t kBitmapBytesMax = market::kGroupRunsMax / 8;

bool contains(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

/// Conditions of both calls; `phase` is the one in which the call is taken.
template <class Call>
CallStatus admit_in(const Call& call, const TxContext& context, const StateView& view, GroupPhase phase) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 21.6.11
    const auto group = views::group(view, call.task);
    if (!group) return CallStatus::not_group;                           // 21.6.12
    if (group->phase != phase) return CallStatus::wrong_group_phase;    // 21.6.13
    if (group->round != call.round) return CallStatus::wrong_round;     // 21.6.14
    if (context.height > group->deadline) return CallStatus::too_late;  // 21.6.15
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(call.task));
    if (!views::is_holder(view, *group, terms, call.run))
        return terms.regions == 0 ? CallStatus::no_message : CallStatus::not_lister;  // 21.6.16, 21.20.4
    return CallStatus::ok;
}

/// 21.6.20: whether there is a bit for each message, and none for the run's own or for no message.
bool is_bitmap(const Group& group, std::uint32_t run, const Bytes& bitmap) {
    const std::size_t count = group.committed.size();
    if (bitmap.size() != (count + 7) / 8) return false;
    for (std::size_t place = 0; place < 8 * bitmap.size(); ++place) {
        const bool set = (bitmap[place / 8] >> (place % 8) & 1) != 0;
        if (set && (place >= count || group.committed[place] == run)) return false;
    }
    return true;
}

}  // namespace

CallStatus check(const CommitHoldings& call) {
    if (call.commitment.is_zero()) return CallStatus::commitment_zero;  // 21.6.10
    return CallStatus::ok;
}

CallStatus admit(const CommitHoldings& call, const TxContext& context, const StateView& view) {
    const CallStatus status = admit_in(call, context, view, GroupPhase::spreading);
    if (status != CallStatus::ok) return status;
    if (contains(views::group(view, call.task)->listed, call.run)) return CallStatus::already_committed;  // 21.6.17
    return CallStatus::ok;
}

void apply(const CommitHoldings& call, const TxContext&, Effects& fx) {
    auto group = must_load<Group>(fx.state, keys::group(call.task));
    store(fx.state, keys::holding(call.task, call.round, call.run), market::Holding{call.commitment, {}});
    group.listed.push_back(call.run);
    note_progress(fx, group);
}

CallStatus check(const RevealHoldings& call) {
    if (call.bitmap.size() > kBitmapBytesMax) return CallStatus::wrong_bitmap;  // 21.6.20
    return CallStatus::ok;
}

CallStatus admit(const RevealHoldings& call, const TxContext& context, const StateView& view) {
    const CallStatus status = admit_in(call, context, view, GroupPhase::revealing);
    if (status != CallStatus::ok) return status;
    const auto group = must_load<Group>(view, keys::group(call.task));
    if (!contains(group.listed, call.run)) return CallStatus::not_committed;      // 21.6.18
    if (contains(group.revealed, call.run)) return CallStatus::already_revealed;  // 21.6.19
    if (!is_bitmap(group, call.run, call.bitmap)) return CallStatus::wrong_bitmap;
    const auto holding = must_load<market::Holding>(view, keys::holding(call.task, call.round, call.run));
    if (market::holding_commitment(call.task, call.run, call.round, call.salt, call.bitmap) != holding.commitment)
        return CallStatus::wrong_opening;  // 21.6.21
    return CallStatus::ok;
}

void apply(const RevealHoldings& call, const TxContext&, Effects& fx) {
    auto group = must_load<Group>(fx.state, keys::group(call.task));
    const keys::Key key = keys::holding(call.task, call.round, call.run);
    auto holding = must_load<market::Holding>(fx.state, key);
    holding.bitmap = call.bitmap;
    store(fx.state, key, holding);
    group.revealed.push_back(call.run);
    note_progress(fx, group);
}

}  // namespace retrace::contracts
