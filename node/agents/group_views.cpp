// SPDX-License-Identifier: MIT
#include "node/agents/group_views.hpp"

#include <algorithm>

#include "contracts/records/group_positions.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "solver/agent/work.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
static_assert(static_cast<int>(solver::RoundPhase::settling) == static_cast<int>(last_of(market::GroupPhase{})));
using market::GroupPhase;

/// Adds the records from `first` to `end` - 1; false if one is missing.
bool add_records(const ledger::StateView& view, std::uint64_t task, std::uint32_t first, std::uint32_t end,
                 Immutable& immutable, std::vector<solver::RecordView>& out) {
    bool complete = true;  // All are read, so that they are read ahead at once.
    for (std::uint32_t round = first; round < end; ++round) {
        auto record = immutable.record(view, task, round);
        complete = complete && record;
        if (record) out.push_back(std::move(*record));
    }
    return complete;
}

/// Takes out of the records what segments of this attempt do not read. Returns those that it changed, as they were.
std::vector<solver::RecordView> undo(const std::vector<market::Rollback>& noted, std::uint8_t attempt,
                                     std::vector<solver::RecordView>& records) {
    std::vector<solver::RecordView> out;
    for (solver::RecordView& record : records) {
        const solver::RecordView before = record;
        market::undo_entries(noted, attempt, record.round, record);
        if (record != before) out.push_back(before);
    }
    return out;
}

/// Takes out of the records what this segment of the run does not read (kernels/plan 2.7). Returns those that it changed,
/// as they were.
std::vector<solver::RecordView> keep_read(std::uint32_t regions, std::uint32_t run, const kernels::SegmentSpan& span,
                                          std::vector<solver::RecordView>& records) {
    std::vector<solver::RecordView> out;
    if (regions == 0) return out;
    for (solver::RecordView& record : records) {
        if (!kernels::is_merged_round(record.round, regions) || record.entries.empty()) continue;
        out.push_back(record);
        kernels::keep_read_entries(record, record.round, regions, run, span);
    }
    return out;
}

bool contains(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

solver::SentMessage sent_message(const ledger::StateView& view, const market::Group& group, std::uint32_t run) {
    const auto message = views::round_message(view, group.task, group.round, run);
    return message ? solver::SentMessage{run, message->steps, message->tensors, message->age}
                   : solver::SentMessage{run, 0, {}};
}

/// The messages of the open round, as this run sees them: with regions it lists those of some, and of merged ones of
/// a region rather the first.
std::vector<solver::SentMessage> sent_messages(const ledger::StateView& view, const market::Group& group,
                                               const market::GroupSpec& terms, std::uint32_t run) {
    std::vector<solver::SentMessage> out;
    const bool is_merged = kernels::is_merged_round(group.round, terms.regions);
    auto judges = is_merged ? views::judges(view, group) : std::map<std::uint32_t, std::vector<std::uint32_t>>{};
    const bool is_merging = group.round < terms.rounds && kernels::is_merging_round(group.round, terms.regions);
    std::vector<market::RoundEntry> merged;  // By the places of those that sent one.
    if (const auto record = is_merging ? views::round(view, group.task, group.round - 1) : std::nullopt)
        for (const market::RoundEntry& entry : record->entries)
            if (contains(group.committed, entry.run)) merged.push_back(entry);
    std::ranges::sort(merged, {}, &market::RoundEntry::place);
    const auto first_of = [&](std::uint32_t author) {
        const auto own = std::find_if(merged.begin(), merged.end(), [&](const auto& e) { return e.run == author; });
        if (own == merged.end()) return author;  // A view that is not complete.
        return std::find_if(merged.begin(), own, [&](const auto& e) { return e.region == own->region; })->run;
    };
    for (const std::uint32_t author : group.committed) {
        out.push_back(sent_message(view, group, author));
        if (is_merged) out.back().wanted = contains(judges[author], run);
        // Once more time is given, because a region lacks a message, all are fetched.
        if (is_merging && !group.extended && first_of(author) != author) out.back().before = first_of(author);
    }
    return out;
}

/// The closed round of the member's last message if the next segment takes that round in and its record has no such
/// message.
std::optional<std::uint64_t> omitted_round(const std::optional<std::uint32_t>& last_message,
                                           const solver::MemberView& view, std::uint32_t run) {
    if (!last_message || *last_message < view.base || *last_message >= view.round) return std::nullopt;
    for (const solver::RecordView& record : view.records) {
        if (record.round != *last_message) continue;
        const auto own = [&](const solver::RecordView::Entry& entry) { return entry.run == run; };
        if (std::none_of(record.entries.begin(), record.entries.end(), own)) return record.round;
    }
    return std::nullopt;
}

/// 21.11.4: whether the run may send a message as far as masks go.
bool takes_message(const ledger::StateView& view, const market::Group& group, std::uint32_t run) {
    const auto masks = views::round_masks(view, group.task, group.round);
    return !masks || (masks->step == market::MaskStep::messages && contains(masks->dealt, run));
}

/// Whether the run may train for a message that is taken once the masks of the round are agreed on (contracts 21.11.2).
bool may_train(const ledger::StateView& view, const market::Group& group, std::uint32_t run) {
    const auto masks = views::round_masks(view, group.task, group.round);
    if (!masks) return false;
    if (masks->step == market::MaskStep::keys) return true;
    if (masks->step == market::MaskStep::shares) return contains(masks->cohort, run);
    return masks->step == market::MaskStep::complaints && contains(masks->dealt, run);
}

void set_moves(const market::Group& group, const market::Member& member, const market::Run& run,
               const market::GroupSpec& terms, const ledger::StateView& view, solver::MemberView& out) {
    const bool may_compute = run.state == market::RunState::running && run.next_state != 0 && !member.leaving;
    const bool lists = views::is_holder(view, group, terms, run.index);
    const bool merging = group.phase != GroupPhase::over && kernels::is_merging_round(group.round, terms.regions);
    out.merges = merging && contains(views::mergers(view, group, terms), run.index);
    const bool sent = contains(group.committed, run.index);
    const bool is_open = group.phase != GroupPhase::starting && group.phase != GroupPhase::over;
    out.may_commit = may_compute && group.phase == GroupPhase::training && !sent && (!merging || out.merges) &&
                     takes_message(view, group, run.index);
    out.may_begin = may_compute && group.phase == GroupPhase::training && !sent && may_train(view, group, run.index);
    out.may_go_on = may_compute && is_open && !sent && terms.max_age != 0;
    out.may_finish = may_compute && group.phase == GroupPhase::over && member.base < terms.rounds;
    out.may_commit_data =
        run.state == market::RunState::running && terms.private_sets != 0 && member.data.empty() && run.next_state == 0;
    out.may_list = group.phase == GroupPhase::spreading && lists && !contains(group.listed, run.index);
    out.may_reveal = group.phase == GroupPhase::revealing && contains(group.listed, run.index) &&
                     !contains(group.revealed, run.index);
}

/// What regions change for the next segment: it reads other records, and takes back another message.
void set_regions(const ledger::StateView& view, const market::GroupSpec& terms, const market::Run& run,
                 const std::optional<std::uint32_t>& last_message, solver::MemberView& out) {
    if (last_message && *last_message >= out.base && *last_message < out.round) {
        const auto record = views::round(view, run.task, *last_message);
        if (record && views::is_omitted(view, run.task, last_message, *record, run.index)) out.omitted = *last_message;
    }
    const kernels::SegmentSpan next{out.base, out.round, out.merges ? 1u : 0u, {}, 0, true};
    out.undone = keep_read(terms.regions, run.index, next, out.records);
}

/// Where the member's next segment begins after rollbacks, and how it reads the records.
void set_start(const ledger::StateView& view, const market::Run& run, solver::MemberView& out) {
    const std::vector<market::Rollback> noted = views::rollbacks(view, run.task).noted;
    if (noted.empty()) return;
    out.attempt = static_cast<std::uint8_t>(noted.size());
    for (const market::Rollback& rollback : noted) out.intact = std::max(out.intact, rollback.last + 1);
    out.start = views::start_of_member(view, run.task, run.index).state;
    out.undone = undo(noted, out.attempt, out.records);
}

}  // namespace

solver::GroupTerms group_terms_of(const market::TaskSpec& spec, const market::GroupSpec& group) {
    return {group.rounds,    group.steps_max,    group.shared,       group.public_tensors,
            spec.replicas,   group.keep_rounds,  group.catch_up_max, group.max_age,
            group.mask_bits, group.private_sets, group.regions};
}

void set_member_data(const ledger::StateView& view, std::uint32_t run, solver::TaskTerms& terms) {
    if (!terms.group || terms.group->private_sets == 0) return;
    const auto member = views::member(view, terms.id, run);
    terms.data_roots = member ? member->data : std::vector<Hash32>{};
}

std::optional<solver::SegmentView> segment_view(const ledger::StateView& view, std::uint64_t task, std::uint32_t run,
                                                std::uint64_t index, Immutable& immutable) {
    const auto terms = immutable.group(view, task);
    if (!terms) return std::nullopt;
    const auto segment = views::member_segment(view, task, run, index);
    const market::MemberAttempts attempts = views::member_attempts(view, task, run);
    const std::uint64_t from = market::start_of(attempts, index);
    const auto start = contracts::header_step_of(view, task, run, from);
    if (!segment || !start) return std::nullopt;
    solver::SegmentView out;
    out.span = contracts::span_of(*segment, terms->regions != 0);
    out.start_step = *start;
    if (from != index) out.start_state = from;
    if (!add_records(view, task, segment->from, segment->base, immutable, out.records)) return std::nullopt;
    undo(views::rollbacks(view, task).noted, market::attempt_of(attempts, index), out.records);
    keep_read(terms->regions, run, out.span, out.records);
    if (segment->masks == 0) return out;
    const auto message = views::round_message(view, task, segment->base + segment->age, run);
    if (message) out.masks = mask_rows(message->masks);
    return out;
}

std::vector<kernels::MaskRow> mask_rows(const std::vector<market::MaskTerm>& terms) {
    std::vector<kernels::MaskRow> out;
    for (const market::MaskTerm& term : terms) out.push_back({term.seed, term.added});
    return out;
}

std::optional<solver::EntryView> entry_view(const ledger::StateView& view, std::uint64_t task, std::uint32_t run) {
    const auto member = views::member(view, task, run);
    if (!member) return std::nullopt;
    return solver::EntryView{member->entered, member->anchor};
}

std::optional<solver::MemberView> member_view(const ledger::StateView& view, const market::Run& run,
                                              Immutable& immutable) {
    const auto terms = immutable.group(view, run.task);
    if (!terms) return std::nullopt;
    const auto group = views::group(view, run.task);
    const auto member = views::member(view, run.task, run.index);
    if (!group || !member) return std::nullopt;
    solver::MemberView out;
    out.phase = static_cast<solver::RoundPhase>(group->phase);
    out.round = group->round;
    out.deadline = group->deadline;
    out.extended = group->extended;
    out.base = views::taken_in_until(view, run.task, run.index);
    out.entered = member->entered;
    out.anchor = member->anchor;
    set_moves(*group, *member, run, *terms, view, out);
    std::uint32_t first = out.merges ? std::min(out.base, group->round - 1) : out.base;
    const market::MemberAttempts attempts = views::member_attempts(view, run.task, run.index);
    // The newest one also if it is final: the member may have to make its newest state again.
    const std::uint64_t newest = run.next_state < 2 ? 0 : run.next_state - 2;
    for (std::uint64_t i = std::min(run.finalised, newest); i + 1 < run.next_state; ++i) {
        const auto segment = views::member_segment(view, run.task, run.index, i);
        if (!segment) return std::nullopt;
        out.segments.push_back({i, contracts::span_of(*segment, terms->regions != 0), market::attempt_of(attempts, i),
                                market::start_of(attempts, i)});
        first = std::min(first, segment->from);
    }
    if (!add_records(view, run.task, first, group->round, immutable, out.records)) return std::nullopt;
    if (run.next_state != 0) set_start(view, run, out);
    const auto last_message = member->messages != 0 ? std::optional(member->last_round) : std::nullopt;
    if (terms->regions == 0)
        out.omitted = omitted_round(
            out.start ? views::start_of_member(view, run.task, run.index).last_message : last_message, out, run.index);
    else
        set_regions(view, *terms, run, last_message, out);
    out.committed = sent_messages(view, *group, *terms, run.index);
    return out;
}

std::uint64_t keep_for_rollbacks(const ledger::StateView& view, const market::Run& run) {
    const auto terms = views::group_spec(view, run.task);
    if (!terms || terms->rollbacks == 0 || run.next_state == 0) return run.finalised;
    const market::Rollbacks known = views::rollbacks(view, run.task);
    std::uint64_t out = run.finalised;
    for (const market::MemberAttempt& entry : views::member_attempts(view, run.task, run.index).items)
        if (entry.segment >= run.finalised) out = std::min(out, entry.start);
    // A rollback goes to the round of a message that is not final, so to the newest state of a round up to it.
    std::uint64_t firm = views::start_of_member(view, run.task, run.index).state;
    while (firm > 0) {
        const auto segment = views::member_segment(view, run.task, run.index, firm - 1);
        const bool is_firm = segment && segment->base <= known.final_rounds;
        if (!segment || (is_firm && !views::is_void(view, run.task, run.index, firm - 1))) break;
        --firm;
    }
    return std::min(out, firm);
}

std::uint64_t keep_for_joiners(const ledger::StateView& view, const market::Task& task, const market::Run& run) {
    std::uint64_t out = run.finalised;
    for (const std::uint32_t index : task.active) {
        const auto other = views::run(view, task.id, index);
        const auto member = other && other->next_state == 0 ? views::member(view, task.id, index) : std::nullopt;
        if (!member || member->anchor.empty()) continue;
        for (std::uint64_t state = out; state > 0; --state) {
            const auto segment = views::member_segment(view, task.id, run.index, state - 1);
            if (!segment || segment->base < member->entered) break;
            if (segment->base == member->entered && segment->shared == member->anchor) out = state;
        }
    }
    return out;
}

namespace {

/// What the ledger says of a state as an anchor; nullopt: nobody may begin there.
std::optional<FreeSeat::Anchor> anchor_at(const ledger::StateView& view, const market::Task& task,
                                          const market::GroupSpec& terms, std::uint32_t run, std::uint64_t index) {
    const auto of = views::run(view, task.id, run);
    if (!of || index == 0 || index > of->finalised) return std::nullopt;
    const auto segment = views::member_segment(view, task.id, run, index - 1);
    if (!segment || segment->shared.empty()) return std::nullopt;
    if (terms.rollbacks != 0 && views::is_void(view, task.id, run, index - 1)) return std::nullopt;
    return FreeSeat::Anchor{run, index, segment->base, segment->shared};
}

/// The anchor for which a seat of the task was prepared, if it may still be used and is not too old.
std::optional<FreeSeat::Anchor> prepared_anchor(const ledger::StateView& view, const market::Task& task,
                                                const market::Group& group, const market::GroupSpec& terms,
                                                const std::vector<solver::SeatView>& ready) {
    const auto seat =
        std::find_if(ready.begin(), ready.end(), [&](const solver::SeatView& one) { return one.terms.id == task.id; });
    if (seat == ready.end() || group.phase == GroupPhase::starting) return std::nullopt;
    auto out = anchor_at(view, task, terms, seat->run, seat->index);
    const bool is_same = out && out->base == seat->entry.base && out->shared == seat->entry.anchor;
    if (!is_same || group.round - out->base > terms.keep_rounds / 2) return std::nullopt;
    return out;
}

std::optional<FreeSeat::Anchor> newest_anchor(const ledger::StateView& view, const market::Task& task,
                                              const market::Group& group, const market::GroupSpec& terms) {
    std::optional<FreeSeat::Anchor> out;
    if (group.phase == GroupPhase::starting) return FreeSeat::Anchor{};
    const bool undoes = terms.rollbacks != 0;
    const market::Rollbacks known = undoes ? views::rollbacks(view, task.id) : market::Rollbacks{};
    const bool may_undo = undoes && known.noted.size() < terms.rollbacks;
    const std::uint32_t firm = may_undo ? views::final_rounds(view, task.id, known) : UINT32_MAX;
    for (const std::uint32_t index : task.active) {
        const auto run = views::run(view, task.id, index);
        if (!run || run->state != market::RunState::running || run->finalised == 0) continue;
        const auto segment = views::member_segment(view, task.id, index, run->finalised - 1);
        const auto state = views::checkpoint(view, task.id, index, run->finalised);
        if (undoes && (!segment || segment->base > firm || views::is_void(view, task.id, index, run->finalised - 1)))
            continue;
        if (!segment || segment->shared.empty() || !state || !state->opened) continue;
        if (terms.private_sets != 0 && segment->steps != 0) continue;  // contracts 21.13.32
        if (!out || segment->base > out->base)
            out = FreeSeat::Anchor{index, run->finalised, segment->base, segment->shared};
    }
    return out;
}

/// Whether `self` is a party of the task, or was, and so takes no seat in it.
bool takes_part(const ledger::StateView& view, const market::Task& task, const ledger::Address& self) {
    if (task.requester == self) return true;
    if (std::find(task.excluded.begin(), task.excluded.end(), self) != task.excluded.end()) return true;
    bool found = false;  // All are read, so that they are read ahead at once.
    for (const std::uint32_t index : task.active) {
        const auto run = views::run(view, task.id, index);
        found = found || (run && run->solver == self);
    }
    return found;
}

}  // namespace

std::vector<FreeSeat> free_seats(const ledger::StateView& view, const ledger::Address& self, Immutable& immutable,
                                 const std::vector<solver::SeatView>& ready) {
    std::vector<FreeSeat> out;
    for (const std::uint64_t id : views::active_tasks(view)) {
        const auto terms = immutable.group(view, id);
        const auto spec = immutable.spec(view, id);
        const auto task = terms ? views::task(view, id) : std::nullopt;
        const auto group = terms ? views::group(view, id) : std::nullopt;
        if (!task || !spec || !group || task->state != market::TaskState::running) continue;
        if (group->phase == GroupPhase::over) continue;
        if (task->active.size() >= spec->replicas || group->round + 1 >= terms->rounds) continue;
        if (takes_part(view, *task, self)) continue;
        auto anchor = newest_anchor(view, *task, *group, *terms);
        if (auto prepared = prepared_anchor(view, *task, *group, *terms, ready)) anchor = std::move(prepared);
        if (!anchor || group->round - anchor->base > terms->keep_rounds) continue;
        out.push_back({id, terms->rounds - group->round - 1, group->price, *anchor});
    }
    return out;
}

solver::SeatView seat_view(const ledger::StateView& view, const FreeSeat& seat, const market::TaskSpec& spec,
                           const market::Params& params, const ledger::Address& self, Immutable& immutable) {
    solver::SeatView out;
    out.terms = terms_of(seat.task, spec, immutable.group(view, seat.task));
    out.run = seat.anchor.run;
    out.index = seat.anchor.index;
    out.entry = {seat.anchor.base, seat.anchor.shared};
    const auto [replay, dispute] = capacities(view, self, spec, params);
    out.replay_cost_max = replay;
    out.dispute_cost_max = dispute;
    return out;
}

std::set<solver::RunKey> authors_of(std::uint64_t task, const std::vector<solver::RecordView>& records) {
    std::set<solver::RunKey> out;
    for (const solver::RecordView& record : records)
        for (const solver::RecordView::Entry& entry : record.entries) out.insert({task, entry.run});
    return out;
}

std::set<solver::RunKey> authors_of(std::uint64_t task, const solver::MemberView& member) {
    std::set<solver::RunKey> out = authors_of(task, member.records);
    out.merge(authors_of(task, member.undone));
    for (const solver::SentMessage& sent : member.committed) out.insert({task, sent.run});
    return out;
}

}  // namespace retrace::node
