// SPDX-License-Identifier: MIT
#include "solver/rounds/local_group.hpp"

#include <algorithm>

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::solver {

using kernels::State;

namespace {

/// Whether the first positions take back messages, and do nothing else.
bool only_restore(const kernels::SegmentPositions& segment, std::uint64_t positions) {
    for (std::uint64_t place = 0; place < positions; ++place) {
        const kernels::Phase phase = segment.at(place).phase;
        if (phase != kernels::Phase::restore && phase != kernels::Phase::merge_restore) return false;
    }
    return true;
}

/// The state tensors that begin, add or end write.
std::vector<std::uint32_t> common_tensors(const kernels::GroupPlan& plan) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t t = 0; t < plan.phases.front().program.states; ++t)
        for (const kernels::Phase phase :
             {kernels::Phase::begin, kernels::Phase::add, kernels::Phase::unmask, kernels::Phase::end})
            if (plan.find(phase) != nullptr && (out.empty() || out.back() != t) &&
                plan.at(phase).program.tensors[t].writer != kernels::kNoWriter)
                out.push_back(t);
    return out;
}

}  // namespace

LocalGroup::LocalGroup(const kernels::GroupPlan& plan, std::uint64_t task_seed,
                       std::vector<const kernels::Tensor*> datasets, std::uint32_t members, kernels::ThreadPool& pool,
                       kernels::Backend backend)
    : plan_(plan),
      root_(kernels::plan_root(plan)),
      seed_(task_seed),
      datasets_(std::move(datasets)),
      pool_(pool),
      executor_(plan, pool, backend),
      common_(common_tensors(plan)) {
    for (std::uint32_t run = 0; run < members; ++run)
        members_.push_back({run, 0, {}, {}, false, run == 0 ? executor_.init(task_seed) : members_[0].state});
}

LocalGroup::LocalGroup(const kernels::GroupPlan& plan, std::uint64_t task_seed,
                       std::vector<const kernels::Tensor*> datasets, std::uint32_t members, kernels::ThreadPool& pool,
                       std::uint64_t base, const std::vector<const kernels::Tensor*>& shared)
    : LocalGroup(plan, task_seed, std::move(datasets), 0, pool) {
    first_ = base;
    for (std::uint32_t run = 0; run < members; ++run)
        members_.push_back(
            {run, base, {}, {}, false, run == 0 ? executor_.enter(base, shared, seed_) : members_[0].state});
}

kernels::MaskRow LocalGroup::pair_mask(std::uint32_t run, std::uint32_t other) const {
    Writer out;
    out.raw(view(std::string_view("retrace/local-mask/1"))).u64(seed_).u64(rounds());
    out.u32(std::min(run, other)).u32(std::max(run, other));
    return {merkle::sha256(out.data()), run <= other};  // With itself a member has a mask that it adds.
}

std::vector<kernels::MaskRow> LocalGroup::masks_of(std::uint32_t run, const std::vector<std::uint32_t>& dealt) const {
    std::vector<kernels::MaskRow> out{pair_mask(run, run)};
    for (const std::uint32_t other : dealt)
        if (other != run) out.push_back(pair_mask(run, other));
    return out;
}

std::vector<kernels::MaskRow> LocalGroup::masks_of_sum(const std::vector<std::uint32_t>& recorded,
                                                       const std::vector<std::uint32_t>& dealt) const {
    std::vector<kernels::MaskRow> out;
    for (const std::uint32_t run : recorded) out.push_back(pair_mask(run, run));
    for (const std::uint32_t other : dealt)
        for (const std::uint32_t run : recorded)
            if (!std::ranges::binary_search(recorded, other)) out.push_back(pair_mask(run, other));
    return out;
}

kernels::Message LocalGroup::message(const Member& member, const kernels::SegmentSpan& span,
                                     const kernels::Position& at) {
    if (at.phase == kernels::Phase::mask || at.phase == kernels::Phase::unmask) {
        table_ = kernels::mask_table(at.phase == kernels::Phase::mask ? member.masks : masks_[at.record - first_]);
        return {kernels::mask_facts(at.message), {&table_}};
    }
    const Read taken = read(member, at.record, span);
    const Entry& of = *taken.entries[at.message];
    kernels::Message out{{of.weight, taken.total, of.age, of.steps}, {}};
    for (const kernels::Tensor& tensor : of.tensors) out.tensors.push_back(&tensor);
    return out;
}

LocalGroup::Read LocalGroup::read(const Member& member, std::uint64_t record, const kernels::SegmentSpan& span) const {
    struct Numbered {
        std::uint32_t run = 0, weight = 0, region = 0;
        const Entry* entry = nullptr;
    };
    struct Record {
        std::vector<Numbered> entries;
        std::uint32_t total = 0;
    } all;
    for (const Entry& entry : records_[record - first_]) {
        all.entries.push_back({entry.run, entry.weight, entry.region, &entry});
        all.total += entry.weight;
    }
    kernels::keep_read_entries(all, record, regions_, member.run, span);
    Read out{{}, all.total};
    for (const Numbered& entry : all.entries) out.entries.push_back(entry.entry);
    return out;
}

kernels::SegmentPositions LocalGroup::positions(const Member& member, std::uint64_t base, std::uint32_t steps) const {
    const kernels::SegmentSpan span = span_of(member, base, steps);
    std::vector<std::uint32_t> counts, masks;
    for (std::uint64_t r = member.base; r < base; ++r) {
        counts.push_back(static_cast<std::uint32_t>(read(member, r, span).entries.size()));
        masks.push_back(static_cast<std::uint32_t>(masks_[r - first_].size()));
    }
    auto segment = kernels::SegmentPositions::make(span, counts, plan_.steps_max, masks);
    ensure(segment.has_value(), "a segment from the member's base, which takes in the record of its last message");
    return *std::move(segment);
}

LocalGroup::Metrics LocalGroup::run(Member& member, const kernels::SegmentPositions& segment, std::uint64_t first,
                                    std::uint64_t last) {
    const kernels::MemberInputs inputs{seed_, kernels::member_seed(seed_, member.run),
                                       member.datasets.value_or(datasets_)};
    return executor_.run(member.state, segment, first, last, inputs,
                         [&](const kernels::Position& at) { return message(member, segment.span(), at); });
}

void LocalGroup::take_in(Member& member, const kernels::SegmentPositions& segment) {
    const std::uint64_t taken = segment.recorded(), base = segment.span().base;
    const bool restores = member.omitted.has_value() && *member.omitted + 1 == base;
    const bool reads_newest = member.base < base && base == rounds() && !kernels::merges(segment.span());
    const std::size_t newest = reads_newest ? read(member, base - 1, segment.span()).entries.size() : 0;
    const std::uint64_t of_newest = newest == 0 ? 0 : newest + masks_[base - 1 - first_].size() + 2;
    const std::uint64_t before = taken - of_newest - (restores ? 1 : 0);
    std::uint64_t first = 0;
    const auto source = std::ranges::find_if(members_, &Member::has_common);
    if (source != members_.end() && newest != 0 && only_restore(segment, before)) {
        run(member, segment, 0, before);
        for (const std::uint32_t t : common_) member.state.tensors[t] = source->state.tensors[t];
        first = before + of_newest;
        member.state.step = kernels::header_step(base, first);
    }
    run(member, segment, first, taken);
    if (newest != 0) member.has_common = !restores;
    member.base = base;
    member.omitted.reset();
}

void LocalGroup::keep(Member& member) {
    if (ahead_ == 0) return;
    member.kept.push_back({member.base, member.omitted, member.state});
    // The newest one at or below the oldest round that may be undone.
    while (member.kept.size() > 1 && member.kept[1].base + ahead_ <= rounds()) member.kept.erase(member.kept.begin());
}

void LocalGroup::roll_back(std::uint32_t member, std::uint64_t first) {
    ensure(regions_ == 0 && first >= first_ && first < rounds() && rounds() - first < ahead_ + std::uint64_t{1},
           "a round that is kept");
    std::erase_if(records_[first - first_], [&](const Entry& entry) { return entry.run == members_[member].run; });
    for (std::uint64_t round = first + 1; round < rounds(); ++round) records_[round - first_].clear();
    records_.emplace_back();
    masks_.emplace_back();
    for (Member& other : members_) {
        other.has_common = false;
        while (other.kept.size() > 1 && other.kept.back().base > first) other.kept.pop_back();
        if (other.kept.empty()) continue;  // It has never trained, and is at its first state.
        other.base = other.kept.back().base;
        other.omitted = other.kept.back().omitted;
        other.state = other.kept.back().state;
    }
}

std::vector<LocalGroup::Metrics> LocalGroup::play(const std::vector<MemberTurn>& turns) {
    ensure(turns.size() == members_.size(), "a turn for each member");
    ensure(plan_.has_regions() == (regions_ != 0), "regions, if the plan has their phases");
    for (std::size_t i = 0; i < turns.size(); ++i)
        if (turns[i].steps != 0 && members_[i].kept.empty()) keep(members_[i]);
    std::vector<std::uint32_t> dealt, recorded;  // Under masks: all that train take part in them.
    for (std::size_t i = 0; i < turns.size() && plan_.has_masks(); ++i) {
        if (turns[i].steps != 0) dealt.push_back(members_[i].run);
        if (turns[i].steps != 0 && turns[i].recorded) recorded.push_back(members_[i].run);
    }
    for (Member& member : members_) member.masks.clear();
    for (const std::uint32_t run : dealt) members_[run].masks = masks_of(run, dealt);
    std::vector<std::optional<kernels::SegmentPositions>> segments(turns.size());
    for (std::size_t i = 0; i < turns.size(); ++i) {
        if (turns[i].steps == 0) continue;
        ensure(turns[i].age <= max_age_ && turns[i].age <= rounds() - first_, "a message that is not too old");
        segments[i] = positions(members_[i], rounds() - turns[i].age, turns[i].steps);
        take_in(members_[i], *segments[i]);
    }
    std::vector<Metrics> metrics;
    std::vector<Entry> record;
    for (std::size_t i = 0; i < turns.size(); ++i) {
        metrics.emplace_back();
        if (!segments[i]) continue;
        Member& member = members_[i];
        metrics.back() = run(member, *segments[i], segments[i]->recorded(), segments[i]->count());
        if (!turns[i].recorded) member.omitted = rounds();
        keep(member);
        if (!turns[i].recorded) continue;
        const std::uint32_t weight = kernels::message_weight(turns[i].steps, turns[i].age, max_age_);
        record.push_back(entry_of(member, turns[i].steps, turns[i].age, weight));
    }
    masks_.push_back(masks_of_sum(recorded, dealt));
    records_.push_back(std::move(record));
    for (Member& member : members_) member.has_common = false;
    if (regions_ != 0) merge(turns);
    return metrics;
}

LocalGroup::Entry LocalGroup::entry_of(const Member& member, std::uint32_t steps, std::uint32_t age,
                                       std::uint32_t weight) const {
    Entry out{member.run, steps, age, weight, {}};
    for (const std::uint32_t t : plan_.public_tensors) out.tensors.push_back(member.state.tensors[t]);
    return out;
}

void LocalGroup::set_regions(std::uint32_t regions) {
    ensure(plan_.has_regions() && regions != 0 && regions <= kernels::kRegionsMax && max_age_ == 0 && ahead_ == 0 &&
               first_ % 2 == 0,
           "regions of a plan with their phases, before a round of training");
    regions_ = regions;
}

void LocalGroup::divide() {
    const std::uint64_t round = rounds() - 1, epoch = round / kernels::kRegionRounds;
    std::vector<std::uint32_t> runs;
    for (const Member& member : members_) runs.push_back(member.run);
    if (divided_ == 0 || round % kernels::kRegionRounds == 0) {
        Writer seed;
        seed.raw(view(std::string_view("retrace/local-regions/1"))).u64(seed_).u64(epoch);
        order_ = kernels::drawn_order(runs, merkle::sha256(seed.data()));
        divided_ = kernels::regions_for(runs.size(), regions_);
    }
    for (const std::uint32_t run : runs)
        if (std::ranges::find(order_, run) == order_.end()) order_.push_back(run);
    std::vector<std::uint32_t> next(divided_);
    for (const auto& [run, region] : kernels::in_regions(order_, divided_)) {
        const auto entry = std::ranges::find(records_.back(), run, &Entry::run);
        if (entry == records_.back().end()) continue;
        entry->region = region;
        entry->place = next[region]++;
    }
}

void LocalGroup::merge(const std::vector<MemberTurn>& turns) {
    divide();
    const std::uint64_t merged = rounds() - 1;
    std::vector<Entry> out;
    for (std::uint32_t region = 0; region < regions_; ++region) {
        std::vector<std::uint32_t> mergers;
        for (std::uint32_t place = 0; place < kernels::kRegionMergers; ++place)
            for (const Entry& entry : records_.back())
                if (entry.region == region && entry.place == place) mergers.push_back(entry.run);
        bool recorded = false;
        for (const std::uint32_t index : mergers) {
            Member& member = members_[index];
            const kernels::SegmentPositions segment = positions(member, merged + 1, 1);
            const std::uint32_t weight = read(member, merged, segment.span()).total;
            take_in(member, segment);
            run(member, segment, segment.recorded(), segment.count());
            if (recorded || !turns[index].merges) continue;
            out.push_back(entry_of(member, 1, 0, weight));
            out.back().region = region;
            recorded = true;
        }
        // What nobody has is sent with a later message of the first merger.
        if (!recorded && !mergers.empty()) members_[mergers[0]].omitted = merged + 1;
    }
    std::ranges::sort(out, {}, &Entry::run);
    masks_.emplace_back();
    records_.push_back(std::move(out));
}

void LocalGroup::set_data(std::uint32_t member, std::vector<const kernels::Tensor*> datasets) {
    members_[member].datasets = std::move(datasets);
}

const State& LocalGroup::catch_up(std::uint32_t member) {
    take_in(members_[member], positions(members_[member], rounds(), 0));
    return members_[member].state;
}

void LocalGroup::join(std::uint32_t from) {
    ensure(members_[from].base == rounds(), "a member that has caught up");
    std::vector<const kernels::Tensor*> shared;
    for (std::uint32_t t = 0; t < plan_.shared; ++t) shared.push_back(&members_[from].state.tensors[t]);
    members_.push_back({members(), rounds(), {}, {}, false, executor_.enter(rounds(), shared, seed_)});
}

kernels::StateCommitment LocalGroup::commit(std::uint32_t member) const {
    return kernels::commit_state(root_, members_[member].state, pool_);
}

std::uint64_t LocalGroup::message_bytes() const noexcept {
    std::uint64_t out = 0;
    for (const std::uint32_t t : plan_.public_tensors) out += members_[0].state.tensors[t].data.size();
    return out;
}

}  // namespace retrace::solver
