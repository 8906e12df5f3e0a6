// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/groups/clock.hpp"

#include <algorithm>

#include "contracts/lifecycle/groups/masks.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/groups/recording.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"

namespace retrace::contracts {
namespace {

using market::Group;
using market::GroupPhase;
using market::GroupSpec;

GroupSpec terms_of(const Effects& fx, const Group& group) {
    return must_load<GroupSpec>(fx.state, keys::group_spec(group.task));
}

market::Task task_of(const Effects& fx, const Group& group) {
    return must_load<market::Task>(fx.state, keys::task(group.task));
}

void look_at(Effects& fx, const Group& group, std::uint64_t height) {
    schedule_single(fx, std::max(height, fx.height + 1), ScheduledKind::group_clock, group.task, 0);
}

void enter(Effects& fx, Group& group, GroupPhase phase, std::uint64_t blocks) {
    group.phase = phase;
    group.deadline = fx.height + blocks;
    store(fx.state, keys::group(group.task), group);
    fx.emit(RoundPhaseChanged{group.task, group.round, static_cast<std::uint8_t>(phase), group.deadline});
    look_at(fx, group, group.deadline + 1);
}

/// 21.20.9: the first round of an epoch, as far as rounds come to it, waits for a beacon that nobody knows yet.
void await_division(Effects& fx, const Group& group) {
    market::Division division = views::division(fx.state, group.task);
    if (division.regions != 0 && division.epoch == group.round / kernels::kRegionRounds) return;
    division.due = next_draw_height(fx.params, fx.height);
    store(fx.state, keys::division(group.task), division);
    look_at(fx, group, division.due);
}

/// The height at which places in regions are drawn; 0: they are.
std::uint64_t draw_due(const StateView& view, const Group& group) {
    return group.phase == GroupPhase::training ? views::division(view, group.task).due : 0;
}

void enter_training(Effects& fx, Group& group, const GroupSpec& terms, std::uint64_t blocks) {
    enter(fx, group, GroupPhase::training, blocks);
    if (terms.mask_bits != 0) begin_masks(fx, group, terms);
    if (kernels::is_merged_round(group.round, terms.regions)) await_division(fx, group);
}

/// The height at which the phase is over, or before it a step of the masks.
std::uint64_t next_deadline(const StateView& view, const Group& group) {
    const auto masks = views::round_masks(view, group.task, group.round);
    return masks && masks->deadline != 0 ? std::min(masks->deadline, group.deadline) : group.deadline;
}

/// 21.20.3: whether all members that merge in the open round have sent what they merged.
bool all_merged(const StateView& view, const Group& group, const GroupSpec& terms) {
    const auto mergers = views::mergers(view, group, terms);
    return std::all_of(mergers.begin(), mergers.end(), [&](std::uint32_t run) {
        return std::find(group.committed.begin(), group.committed.end(), run) != group.committed.end();
    });
}

/// Whether all members that may send a message have sent one.
bool all_sent(const StateView& view, const Group& group, const GroupSpec& terms) {
    if (kernels::is_merging_round(group.round, terms.regions)) return all_merged(view, group, terms);
    if (const auto masks = views::round_masks(view, group.task, group.round))
        return !group.committed.empty() && !awaits_messages(view, group, *masks);
    if (group.committed.empty() || group.committed.size() < group.senders) return false;
    const auto sent = std::count_if(group.committed.begin(), group.committed.end(), [&](std::uint32_t run) {
        return is_sender(view, must_load<market::Run>(view, keys::run(group.task, run)));
    });
    return static_cast<std::size_t>(sent) >= group.senders;
}

bool is_over(const StateView& view, const Group& group, std::uint64_t height) {
    if (draw_due(view, group) != 0) return false;
    if (height > group.deadline) return true;
    const auto terms = must_load<GroupSpec>(view, keys::group_spec(group.task));
    switch (group.phase) {
        case GroupPhase::training: return all_sent(view, group, terms);
        case GroupPhase::spreading: return !views::awaits_lists(view, group, terms);
        case GroupPhase::revealing: return group.revealed.size() == group.listed.size();
        case GroupPhase::unmasking: {
            const auto masks = must_load<market::RoundMasks>(view, keys::round_masks(group.task, group.round));
            return masks.step == market::MaskStep::secrets || !awaits_revealed(view, group.task, masks);
        }
        default: return false;
    }
}

/// 21.10: the absences that a round without a message of this run counts as: one for each time of a round that it took
/// since the run has its first state, so that `absence_limit` of them are never longer than openings wait (21.10.21).
std::uint32_t absences_of_round(const Effects& fx, const Group& group, const GroupSpec& terms, std::uint32_t run) {
    if (group.round == 0) return 1;  // No round before it made it longer.
    // 21.14.3: the time in which a group with rollbacks waited before the round is nobody's absence.
    const std::uint64_t opened =
        terms.rollbacks != 0 ? views::rollbacks(fx.state, group.task).opened
                             : must_load<market::Round>(fx.state, keys::round(group.task, group.round - 1)).height;
    const std::uint64_t began =
        std::max(opened, must_load<market::Checkpoint>(fx.state, keys::checkpoint(group.task, run, 0)).height);
    const std::uint64_t longest = market::longest_round(terms);
    return static_cast<std::uint32_t>((fx.height - began + longest - 1) / longest);
}

/// 21.10: counts the absences. A member that was away for too long commits nothing more.
void count_absences(Effects& fx, const Group& group) {
    const GroupSpec terms = terms_of(fx, group);
    if (kernels::is_merging_round(group.round, terms.regions)) return;  // 21.20.6
    for (const std::uint32_t index : task_of(fx, group).active) {
        const auto run = must_load<market::Run>(fx.state, keys::run(group.task, index));
        if (run.state != market::RunState::running || run.next_state == 0) continue;
        auto member = must_load<market::Member>(fx.state, keys::member(group.task, index));
        if (member.leaving) continue;
        const bool sent = std::find(group.committed.begin(), group.committed.end(), index) != group.committed.end();
        if (sent ? member.absent == 0 : is_excused(fx.state, group, terms, index)) continue;
        if (sent)
            member.absent -= std::min(member.absent, 1 + entry_of(fx, group, terms, index).age);
        else
            member.absent += absences_of_round(fx, group, terms, index);
        store(fx.state, keys::member(group.task, index), member);
        if (member.absent >= terms.absence_limit) begin_leaving(fx, group.task, index, true);
    }
}

void clear_holdings(Effects& fx, Group& group) {
    for (const std::uint32_t run : group.listed) remove(fx.state, keys::holding(group.task, group.round, run));
    group.listed.clear();
    group.revealed.clear();
}

/// 21.6.8: removes what only the open round needs. Its messages, and its record once it is closed, stay.
void forget_round(Effects& fx, Group& group) {
    clear_holdings(fx, group);
    forget_masks(fx, group);
}

/// 21.6.7: the time of a round, which doubles with each of the last ten rounds in a row to which nobody sent a message:
/// rounds that nobody plays must not fill the scheduler of the chain.
std::uint64_t time_of_round(const StateView& view, const Group& group, const GroupSpec& terms) {
    constexpr std::uint32_t kDoublingsMax = 10;
    if (kernels::is_merging_round(group.round, terms.regions)) return terms.merge_blocks;
    const std::uint32_t apart =
        terms.regions == 0 ? 1 : 2;  // Rounds of merged messages are empty with those before them.
    std::uint32_t empty = 0;
    while (empty < std::min(kDoublingsMax, group.round / apart) &&
           must_load<market::Round>(view, keys::round(group.task, group.round - apart * (empty + 1))).committed == 0)
        ++empty;
    return terms.round_blocks << empty;
}

/// 21.14.2: whether the next round may open. Notes up to which round all messages are final.
bool may_open_round(Effects& fx, const Group& group, const GroupSpec& terms) {
    auto rollbacks = views::rollbacks(fx.state, group.task);
    rollbacks.final_rounds = views::final_rounds(fx.state, group.task, rollbacks);
    rollbacks.opened = fx.height;
    store(fx.state, keys::rollbacks(group.task), rollbacks);
    if (rollbacks.noted.size() >= terms.rollbacks) return true;  // From now on records stand.
    if (group.round == terms.rounds) return rollbacks.final_rounds == terms.rounds;
    return rollbacks.final_rounds + terms.ahead > group.round;
}

/// Opens the round that is next, or, after the last one, the phase in which members finish.
void open_round(Effects& fx, Group& group) {
    const GroupSpec terms = terms_of(fx, group);
    if (terms.rollbacks != 0 && !may_open_round(fx, group, terms)) {
        if (group.phase != GroupPhase::settling) return enter(fx, group, GroupPhase::settling, terms.round_blocks);
        // Members that are final make it look sooner. Else each look comes after as long as was waited before it: a
        // group that settles for long must not fill the scheduler of the chain.
        const std::uint64_t closed =
            must_load<market::Round>(fx.state, keys::round(group.task, group.round - 1)).height;
        return look_at(fx, group, fx.height + std::max(terms.round_blocks, fx.height - closed));
    }
    if (group.round == terms.rounds)
        for (const std::uint32_t run : task_of(fx, group).active) note_rounds_over(fx, group.task, run);
    if (group.round < terms.rounds)
        enter_training(fx, group, terms, time_of_round(fx.state, group, terms));
    else
        enter(fx, group, GroupPhase::over, terms.round_blocks);
}

void close_round(Effects& fx, Group group, std::vector<market::RoundEntry> entries);

void begin_next_round(Effects& fx, Group& group, std::uint32_t committed_before) {
    ++group.round;
    group.committed_before = committed_before;
    group.committed.clear();
    group.extended = false;
    const GroupSpec terms = terms_of(fx, group);
    const bool merging = kernels::is_merging_round(group.round, terms.regions);
    if (merging && views::mergers(fx.state, group, terms).empty()) return close_round(fx, group, {});  // 21.20.2
    open_round(fx, group);
}

/// The number of messages of the last round in which members trained.
std::uint32_t sent_in_training(const Effects& fx, const Group& group, const market::Round& record) {
    if (!kernels::is_merging_round(record.index, terms_of(fx, group).regions)) return record.committed;
    return must_load<market::Round>(fx.state, keys::round(group.task, record.index - 1)).committed;
}

/// Stores the record of the open round.
market::Round record_entries(Effects& fx, const Group& group, std::vector<market::RoundEntry> entries) {
    market::Round record;
    record.index = group.round;
    record.height = fx.height;
    record.committed = static_cast<std::uint32_t>(group.committed.size());
    record.entries = std::move(entries);
    for (const market::RoundEntry& entry : record.entries) {
        record.total += entry.weight;
        const keys::Key key = keys::round_message(group.task, group.round, entry.run);
        auto message = must_load<market::RoundMessage>(fx.state, key);
        message.recorded = true;
        message.unpaid = !has_unmasked(fx.state, group, entry.run);
        store(fx.state, key, message);
    }
    record.holds = group.revealed;
    std::sort(record.holds.begin(), record.holds.end());
    record.masks = mask_terms_of(fx.state, group);
    if (!record.masks.empty()) record.terms = mask_root_of(record.masks);
    store(fx.state, keys::round(group.task, group.round), record);
    fx.emit(RoundClosed{group.task, record.index, record.committed, static_cast<std::uint32_t>(record.entries.size()),
                        static_cast<std::uint32_t>(record.holds.size()), record.total});
    return record;
}

void close_round(Effects& fx, Group group, std::vector<market::RoundEntry> entries) {
    const market::Round record = record_entries(fx, group, std::move(entries));
    if (kernels::is_merging_round(group.round, terms_of(fx, group).regions)) note_merging(fx, group, record);
    count_absences(fx, group);
    if (terms_of(fx, group).mask_bits != 0) close_masks(fx, group);
    forget_round(fx, group);
    group.senders = must_load<Group>(fx.state, keys::group(group.task)).senders;  // Some may leave now.
    begin_next_round(fx, group, sent_in_training(fx, group, record));
    if (record.committed != 0)  // 21.8: pay may have waited for it.
        schedule_single(fx, fx.height + 1, ScheduledKind::payment, group.task, 0);
}

/// Closes the round with the messages that are listed, those of a group with masks once their sum is unmasked.
void record_round(Effects& fx, Group& group) {
    const GroupSpec terms = terms_of(fx, group);
    std::vector<market::RoundEntry> entries;
    // 21.20.4: in a round whose messages are merged each region has a quorum of its own.
    if (has_quorum(fx.state, group, terms) || kernels::is_merged_round(group.round, terms.regions))
        entries = listed_messages(fx, group, terms);
    if (terms.mask_bits == 0) return close_round(fx, group, std::move(entries));
    std::vector<std::uint32_t> runs;
    for (const market::RoundEntry& entry : entries) runs.push_back(entry.run);
    if (!begin_unmasking(fx, group, terms, std::move(runs))) return close_round(fx, group, {});
    enter(fx, group, GroupPhase::unmasking, terms.mask_blocks);
}

/// 21.11.7: the record is the one that members unmasked, whatever became of a run since.
void end_round_of_masks(Effects& fx, const Group& group) {
    std::vector<market::RoundEntry> entries;
    const GroupSpec terms = terms_of(fx, group);
    const market::MaskStep step = open_secrets(fx, group);
    if (step == market::MaskStep::secrets) return look_at(fx, group, fx.height + 1);
    if (step == market::MaskStep::open) {
        const auto masks = must_load<market::RoundMasks>(fx.state, keys::round_masks(group.task, group.round));
        for (const std::uint32_t run : masks.recorded) entries.push_back(entry_of(fx, group, terms, run));
    }
    close_round(fx, group, std::move(entries));
}

/// 21.6.4: the time to fetch is given once more when too few have revealed; what they had committed to does not count.
void end_revealing(Effects& fx, Group& group) {
    const GroupSpec terms = terms_of(fx, group);
    const bool complete = has_quorum(fx.state, group, terms) && !lacks_region(fx.state, group, terms);
    if (complete || group.extended) return record_round(fx, group);
    clear_holdings(fx, group);
    group.extended = true;
    enter(fx, group, GroupPhase::spreading, terms.fetch_blocks);
}

void end_training(Effects& fx, Group& group) {
    const GroupSpec terms = terms_of(fx, group);
    // Nobody else could have the only message, but for a merged one.
    const std::size_t least = kernels::is_merging_round(group.round, terms.regions) ? 1 : 2;
    if (group.committed.size() < least) return close_round(fx, group, {});
    if (kernels::is_merged_round(group.round, terms.regions))
        store(fx.state, keys::division(group.task),
              views::with_newcomers(views::division(fx.state, group.task), group));
    enter(fx, group, GroupPhase::spreading, terms.fetch_blocks);
}

/// 21.4: the group begins when all of its members have their first state, or its time is over and enough have.
void end_start(Effects& fx, Group& group) {
    const GroupSpec terms = terms_of(fx, group);
    const bool late = fx.height > group.deadline;
    // Nobody's first state is waited for any longer, however much time its solver has for it: the others are locked.
    if (late && group.senders < terms.least) return disband_group(fx, group.task);
    const bool ready = group.senders == task_of(fx, group).active.size() || late;
    // A seat that is free may be taken until then.
    if (!ready || group.senders < terms.least) return look_at(fx, group, group.deadline + 1);
    enter_training(fx, group, terms, terms.round_blocks);
}

/// 21.9: a member that has not taken in the last records leaves.
void end_last_phase(Effects& fx, const Group& group) {
    const std::uint32_t rounds = terms_of(fx, group).rounds;
    for (const std::uint32_t index : task_of(fx, group).active) {
        const auto run = must_load<market::Run>(fx.state, keys::run(group.task, index));
        if (run.state != market::RunState::running || run.next_state == 0) continue;
        if (must_load<market::Member>(fx.state, keys::member(group.task, index)).base != rounds)
            begin_leaving(fx, group.task, index, true);
    }
}

}  // namespace

void start_group(Effects& fx, std::uint64_t task, const U256& price) {
    auto group = must_load<Group>(fx.state, keys::group(task));
    group.price = price;
    enter(fx, group, GroupPhase::starting, fx.params.accept_blocks + longest_interval(fx.state, fx.params, task));
}

void group_clock(Effects& fx, std::uint64_t task) {
    auto group = must_load<Group>(fx.state, keys::group(task));
    if (market::is_final(task_of(fx, group).state)) return end_round_of_ended_group(fx, task);
    if (group.phase == GroupPhase::starting) return end_start(fx, group);
    if (group.phase == GroupPhase::settling) return open_round(fx, group);
    const GroupSpec terms = terms_of(fx, group);
    if (terms.mask_bits != 0 && group.phase == GroupPhase::training) advance_masks(fx, group, terms);
    if (const std::uint64_t due = draw_due(fx.state, group)) {
        if (fx.height < due) return look_at(fx, group, due);
        store(fx.state, keys::division(task), views::draw_division(fx.state, group, terms, fx.params));
    }
    if (!is_over(fx.state, group, fx.height)) return look_at(fx, group, next_deadline(fx.state, group) + 1);
    switch (group.phase) {
        case GroupPhase::training: return end_training(fx, group);
        case GroupPhase::spreading:
            if (group.listed.empty()) return end_revealing(fx, group);
            return enter(fx, group, GroupPhase::revealing, terms.reveal_blocks);
        case GroupPhase::revealing: return end_revealing(fx, group);
        case GroupPhase::unmasking: return end_round_of_masks(fx, group);
        default: return end_last_phase(fx, group);
    }
}

void end_round_of_ended_group(Effects& fx, std::uint64_t task) {
    auto group = views::group(fx.state, task);
    if (!group) return;
    forget_round(fx, *group);
    store(fx.state, keys::group(task), *group);
}

void end_round_empty(Effects& fx, std::uint64_t task) {
    auto group = must_load<Group>(fx.state, keys::group(task));
    const market::Round record = record_entries(fx, group, {});
    forget_round(fx, group);
    // Who had not sent yet when it ended was not absent, and the few that had do not decide on the quorum of the next.
    begin_next_round(fx, group, std::max(group.committed_before, record.committed));
    if (record.committed != 0) schedule_single(fx, fx.height + 1, ScheduledKind::payment, task, 0);
}

void note_progress(Effects& fx, Group& group) {
    if (group.phase == GroupPhase::training) {
        const GroupSpec terms = terms_of(fx, group);
        const std::uint64_t left = kernels::is_merging_round(group.round, terms.regions) ? terms.merge_blocks
                                   : views::grace_begins(group)                          ? terms.grace_blocks
                                                                : terms.round_blocks;  // 21.6.2, 21.6.7, 21.20.3
        if (fx.height + left < group.deadline) {
            group.deadline = fx.height + left;
            look_at(fx, group, group.deadline + 1);
        }
    }
    store(fx.state, keys::group(group.task), group);
    if (is_over(fx.state, group, fx.height)) look_at(fx, group, fx.height + 1);
}

}  // namespace retrace::contracts
