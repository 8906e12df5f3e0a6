// SPDX-License-Identifier: MIT
#include "node/agents/group_receipt.hpp"

#include <algorithm>
#include <numeric>

#include "contracts/records/rollback_views.hpp"
#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using market::SegmentState;

/// Adds the final segment to what is counted of its member.
void count_segment(const ledger::StateView& view, const market::GroupSpec& terms, std::uint64_t index,
                   MemberSegments& out) {
    const auto segment = views::segment(view, out.run.task, out.run.index, index);
    const auto span = views::member_segment(view, out.run.task, out.run.index, index);
    if (terms.private_sets != 0 && span && span->steps != 0) {
        const bool matched = segment && segment->state == SegmentState::verified;
        return void(++(matched ? out.consented : out.unverified));
    }
    if (segment && segment->state == SegmentState::verified) return void(++out.verified);
    const bool drawn = !segment || segment->audit != 0 || segment->state != SegmentState::unaudited;
    ++(drawn ? out.unaudited : out.not_drawn);
    const bool first = index == views::segment_of_start(view, out.run.task, out.run.index);
    const bool promised = drawn || first || !span || span->base == terms.rounds;
    if (promised && !out.missed) out.missed = index;
}

bool is_convicted(const std::vector<contracts::ConvictedSegment>& convictions, std::uint32_t run,
                  std::uint64_t segment) {
    return std::ranges::any_of(convictions, [&](const contracts::ConvictedSegment& proved) {
        return proved.run == run && proved.segment <= segment;
    });
}

std::uint64_t sum(const std::vector<MemberSegments>& members, std::uint64_t MemberSegments::*count) {
    return std::accumulate(members.begin(), members.end(), std::uint64_t{0},
                           [&](std::uint64_t out, const MemberSegments& member) { return out + member.*count; });
}

}  // namespace

std::uint64_t GroupFacts::recorded() const { return sum(members, &MemberSegments::recorded); }
std::uint64_t GroupFacts::verified() const { return sum(members, &MemberSegments::verified); }
std::uint64_t GroupFacts::not_drawn() const { return sum(members, &MemberSegments::not_drawn); }
std::uint64_t GroupFacts::unaudited() const { return sum(members, &MemberSegments::unaudited); }
std::uint64_t GroupFacts::consented() const { return sum(members, &MemberSegments::consented); }
std::uint64_t GroupFacts::unverified() const { return sum(members, &MemberSegments::unverified); }

std::optional<GroupFacts> group_facts(const ledger::StateView& view, std::uint64_t id) {
    const auto task = views::task(view, id);
    const auto group = views::group(view, id);
    const auto terms = views::group_spec(view, id);
    if (!task || !group || !terms) return std::nullopt;
    GroupFacts out;
    out.private_data = terms->private_sets != 0;
    out.masked = terms->mask_bits != 0;
    out.rounds = std::min(group->round, terms->rounds);
    out.rollbacks = views::rollbacks(view, id).noted;
    const std::uint32_t runs = std::min(task->runs, market::kGroupRunsMax);
    for (std::uint32_t index = 0; index < runs; ++index) {
        auto run = views::run(view, id, index);
        if (!run) return std::nullopt;
        MemberSegments member;
        member.run = std::move(*run);
        out.members.push_back(std::move(member));
        const std::uint64_t rounds = terms->rounds,
                            most = out.private_data ? 2 * (rounds + 1) : rounds + 1 + out.rollbacks.size();
        const std::uint64_t last = std::min(out.members.back().run.finalised, most);
        for (std::uint64_t segment = 0; segment < last; ++segment)
            if (!views::is_void(view, id, index, segment)) count_segment(view, *terms, segment, out.members.back());
    }
    const auto convictions = contracts::list<contracts::ConvictedSegment>(view, contracts::keys::convictions(id));
    for (std::uint32_t round = 0; round < out.rounds; ++round) {
        const auto record = views::round_at(view, id, round, static_cast<std::uint8_t>(out.rollbacks.size()));
        if (!record) return std::nullopt;
        out.empty_rounds += record->entries.empty() ? 1 : 0;
        for (const market::RoundEntry& entry : record->entries) {
            const auto message = views::round_message(view, id, round, entry.run);
            if (!message || entry.run >= out.members.size()) return std::nullopt;
            MemberSegments& member = out.members[entry.run];
            ++member.recorded;
            out.shown += message->masks.empty() ? 0 : 1;
            if (message->segment < member.run.finalised || !market::is_over(member.run.state)) continue;
            out.unanswered.push_back({entry.run, round, message->segment, entry.steps, entry.weight, record->total,
                                      is_convicted(convictions, entry.run, message->segment)});
        }
    }
    std::ranges::stable_sort(out.unanswered, {}, &UnansweredMessage::run);
    return out;
}

std::optional<market::Run> delivered_member(const ledger::StateView& view, std::uint64_t id,
                                            const std::string& solver) {
    const auto task = views::task(view, id);
    const auto terms = views::group_spec(view, id);
    if (!task || !terms) return std::nullopt;
    for (std::uint32_t index = 0; index < std::min(task->runs, market::kGroupRunsMax); ++index) {
        const auto run = views::run(view, id, index);
        if (!run) return std::nullopt;
        if (run->state == market::RunState::forfeited || run->state == market::RunState::left) continue;
        if (!solver.empty() && ledger::to_0x(run->solver) != solver) continue;
        const auto member = views::member(view, id, index);
        if (!member || member->base != terms->rounds || run->finalised + 1 != run->next_state) continue;
        const auto end = views::checkpoint(view, id, index, run->finalised);
        if (end && end->opened) return run;
    }
    return std::nullopt;
}

}  // namespace retrace::node
