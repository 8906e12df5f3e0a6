// SPDX-License-Identifier: MIT
#include "node/explain/member_story.hpp"

#include <algorithm>

#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/views.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using market::GroupPhase;

MemberRound with_message(const ledger::StateView& view, const market::GroupSpec& terms, const market::Run& run,
                         const market::RoundMessage& message, std::uint32_t round) {
    MemberRound out;
    out.round = round;
    out.steps = message.steps;
    out.age = message.age;
    out.merged = kernels::is_merging_round(round, terms.regions);
    const auto record = views::round(view, run.task, round);
    out.outcome = message.recorded          ? RoundOutcome::recorded
                  : !record                 ? RoundOutcome::sent
                  : record->entries.empty() ? RoundOutcome::too_few_listed
                                            : RoundOutcome::not_listed;
    const std::vector<market::Rollback> noted = views::rollbacks(view, run.task).noted;
    if (record && market::is_undone(noted, static_cast<std::uint8_t>(noted.size()), round, run.index))
        out.outcome = RoundOutcome::undone;
    const auto segment = views::segment(view, run.task, run.index, message.segment);
    out.drawn = segment && segment->audit != 0;
    out.final = message.segment < run.finalised;
    if (message.segment < run.paid)
        out.paid = market::ended_by_rollback(noted, round)
                       ? market::segment_pay(run.price, message.steps, terms.steps_max)
                       : views::pay_of(terms, round, message, run.price);
    return out;
}

/// A message says what became of the rounds between the base of its inner steps and its own.
void note_training(const MemberRound& sent, std::vector<MemberRound>& before) {
    for (MemberRound& missed : before)
        if (missed.outcome == RoundOutcome::absent && missed.round + sent.age >= sent.round)
            missed.outcome = RoundOutcome::trained_on;
}

RoundOutcome without_message(const market::Group& group, std::uint32_t round) {
    if (round < group.round) return RoundOutcome::absent;
    const bool waited_for = group.phase == GroupPhase::training && !views::grace_begins(group);
    return waited_for ? RoundOutcome::training : RoundOutcome::late;
}

}  // namespace

std::string_view slug(RoundOutcome outcome) noexcept {
    switch (outcome) {
        case RoundOutcome::training: return "training";
        case RoundOutcome::late: return "late";
        case RoundOutcome::sent: return "sent";
        case RoundOutcome::recorded: return "recorded";
        case RoundOutcome::not_listed: return "not_listed";
        case RoundOutcome::too_few_listed: return "too_few_listed";
        case RoundOutcome::absent: return "absent";
        case RoundOutcome::trained_on: return "trained_on";
        case RoundOutcome::undone: return "rolled_back";
    }
    return "invalid";
}

std::vector<MemberStory> member_stories(const ledger::StateView& view, std::uint64_t id) {
    std::vector<MemberStory> out;
    const auto task = views::task(view, id);
    const auto group = views::group(view, id);
    const auto terms = views::group_spec(view, id);
    if (!task || !group || !terms) return out;
    const std::uint32_t runs = std::min(task->runs, market::kGroupRunsMax);
    const std::vector<market::Rollback> noted = views::rollbacks(view, id).noted;
    for (std::uint32_t index = 0; index < runs; ++index) {
        const auto run = views::run(view, id, index);
        auto member = views::member(view, id, index);
        if (!run || !member) continue;
        const bool sends_no_more = market::is_over(run->state) || member->leaving;
        MemberStory story{*run, std::move(*member), views::consent(view, id, index), {}};
        const bool has_open = group->phase != GroupPhase::starting && group->round < terms->rounds;
        const std::uint32_t end = std::min(group->round, terms->rounds) + (has_open ? 1 : 0);
        for (std::uint32_t round = story.member.entered; round < end; ++round) {
            if (const auto message = views::round_message(view, id, round, index)) {
                MemberRound sent = with_message(view, *terms, *run, *message, round);
                note_training(sent, story.rounds);
                story.rounds.push_back(std::move(sent));
                continue;
            }
            const auto record = views::round(view, id, round);
            // One that joined late begins with rounds that were closed before.
            if (record && record->height <= run->assigned_height) continue;
            if (sends_no_more && (story.member.messages == 0 || round > story.member.last_round)) continue;
            // Before its first state nobody waits for it.
            if (!record && run->next_state == 0) continue;
            // In a round of merged messages most members have nothing to send.
            if (kernels::is_merging_round(round, terms->regions)) continue;
            MemberRound missed;
            missed.round = round;
            missed.outcome =
                market::ended_by_rollback(noted, round) ? RoundOutcome::undone : without_message(*group, round);
            story.rounds.push_back(std::move(missed));
        }
        out.push_back(std::move(story));
    }
    return out;
}

}  // namespace retrace::node
