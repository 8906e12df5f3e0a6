// SPDX-License-Identifier: MIT
// A group without machines, for random calls and games: the tensors of its members' states are words. Tensor 0 is
// shared, 1 is a member's own, 2 and 3 are its message.
#pragma once

#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/views.hpp"
#include "solver/commitments.hpp"
#include "verifier/game/public_leaves.hpp"

namespace retrace::stateful {

inline Hash32 word(std::uint8_t kind, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
    Hash32 out;
    out.bytes[31] = kind;
    for (std::size_t i = 0; i < 8; ++i) {
        out.bytes[i] = static_cast<std::uint8_t>(a >> (8 * i));
        out.bytes[8 + i] = static_cast<std::uint8_t>(b >> (8 * i));
        out.bytes[16 + i] = static_cast<std::uint8_t>(c >> (8 * i));
    }
    return out;
}

/// Header of the phase `inner`.
inline kernels::ProgramHeader inner_program() {
    kernels::ProgramHeader out;
    out.states = 4;
    out.ops = 1;
    return out;
}

inline market::GroupSpec group_terms() {
    market::GroupSpec out;
    out.rounds = 2;
    out.steps_max = 4;
    out.shared = 1;
    out.public_tensors = {2, 3};
    for (std::uint8_t phase = 1; phase <= 8; ++phase) out.phases.push_back({phase, phase >= 6, word(1, phase)});
    out.phases[5].program_root = inner_program().root();
    out.least = 2;
    out.round_blocks = 8;
    out.grace_blocks = out.fetch_blocks = out.reveal_blocks = 3;
    out.absence_limit = 2;
    out.keep_rounds = 4;
    out.catch_up_max = 16;
    return out;
}

/// Makes the terms those of a group of at least four members with regions, in twice as many rounds.
inline void divide_in_regions(market::GroupSpec& terms) {
    terms.regions = 2;
    terms.merge_blocks = terms.fetch_blocks + 2;
    terms.round_blocks = std::max<std::uint64_t>(terms.round_blocks, 10);  // Two of the longest epochs (profile.cpp).
    terms.rounds *= 2;
    terms.max_age = 0;
    terms.keep_rounds = 2 * terms.absence_limit + 2;
    for (std::uint8_t phase = 11; phase <= 14; ++phase) terms.phases.push_back({phase, false, word(1, phase)});
}

/// A member's state whose header has this step, after so many records with messages. With `lie` its own tensor is another one, and with `fork` the shared one
/// too.
inline kernels::StateCommitment member_state(const market::TaskSpec& spec, std::uint32_t run, std::uint64_t index,
                                             std::uint64_t step, std::uint32_t taken_in, bool lie, bool fork) {
    kernels::StateCommitment out;
    out.tensor_roots = {word(2, taken_in, fork ? 1 : 0), word(3, run, index, lie || fork ? 1 : 0), word(4, run, index),
                        word(5, run, index)};
    out.header = {spec.contract_hash, spec.program_root, step, out.tree().root()};
    out.root = out.header.root();
    return out;
}

/// The root of the table of `masks` masks over the member's message of the open round, and what shows it later.
Hash32 mask_root(const ledger::StateView& view, const market::Run& run, std::uint32_t round, std::uint32_t masks);
Bytes mask_opening(const ledger::StateView& view, const market::Run& run, std::uint32_t round, std::uint32_t masks);

/// What one member could do next.
class MemberCalls {
public:
    MemberCalls(const ledger::StateView& view, const market::Run& run)
        : view_(view),
          run_(run),
          spec_(contracts::views::spec(view, run.task).value()),
          terms_(contracts::views::group_spec(view, run.task).value()),
          group_(contracts::views::group(view, run.task).value()),
          member_(contracts::views::member(view, run.task, run.index)) {}

    contracts::CommitCheckpoint first(bool lie) const {
        return {run_.task, run_.index, 0,
                blind(0, state(0, kernels::header_step(member_->entered, 0), member_->entered, lie, false))};
    }
    /// nullopt: no such segment is legal.
    std::optional<contracts::CommitRound> next(std::uint32_t base, std::uint32_t steps, bool lie, bool fork) const {
        if (base > group_.round || base < member_->base) return std::nullopt;
        const auto segment = contracts::next_segment(view_, run_.task, run_.index, base, steps);
        if (!segment) return std::nullopt;
        const auto made = state(run_.next_state, kernels::header_step(base, segment->positions), base, lie, fork);
        contracts::CommitRound call{run_.task, run_.index, run_.next_state, base, steps, blind(run_.next_state, made),
                                    {}};
        if (steps != 0) call.message = {made.tensor_roots[2], made.tensor_roots[3]};
        if (segment->masks != 0) call.masks = mask_root(view_, run_, group_.round, segment->masks);
        return call;
    }
    /// Opens the state that the member committed to, whichever lie it was.
    std::optional<contracts::OpenMember> open(std::uint64_t index) const {
        const auto checkpoint = contracts::views::checkpoint(view_, run_.task, run_.index, index);
        const auto step = contracts::header_step_of(view_, run_.task, run_.index, index);
        if (!checkpoint || !step) return std::nullopt;
        const auto before =
            index == 0 ? std::nullopt : contracts::views::member_segment(view_, run_.task, run_.index, index - 1);
        for (const bool lie : {false, true})
            for (const bool fork : {false, true}) {
                const auto made = state(index, *step, before ? before->base : member_->entered, lie, fork);
                if (blind(index, made) != checkpoint->commitment) continue;
                std::vector<std::uint32_t> shown = {0};
                if (before && before->steps != 0) shown.insert(shown.end(), {2, 3});
                const auto leaves = verifier::make_public_leaves(made, inner_program(), shown);
                return contracts::OpenMember{run_.task, run_.index, index, {}, made.root, verifier::encode(leaves)};
            }
        return std::nullopt;
    }
    /// Shows the masks over the message of a segment; nullopt: there are none, or they are shown.
    std::optional<contracts::ShowMasks> show(std::uint64_t segment) const {
        if (contracts::views::shows_masks(view_, run_.task, run_.index, segment)) return std::nullopt;
        const auto own = contracts::views::member_segment(view_, run_.task, run_.index, segment);
        return contracts::ShowMasks{run_.task, run_.index, segment, mask_opening(view_, run_, own->base, own->masks)};
    }
    /// What an honest auditor finds for a committed state.
    Hash32 right_root(std::uint64_t index) const {
        const auto step = contracts::header_step_of(view_, run_.task, run_.index, index);
        const auto before = contracts::views::member_segment(view_, run_.task, run_.index, index - 1);
        return step && before ? state(index, *step, before->base, false, false).root : Hash32();
    }
    Bytes bitmap(bool all) const {
        Bytes out((group_.committed.size() + 7) / 8);
        for (std::size_t place = 0; place < group_.committed.size(); ++place)
            if (all && group_.committed[place] != run_.index)
                out[place / 8] = static_cast<std::uint8_t>(out[place / 8] | 1u << (place % 8));
        return out;
    }
    contracts::CommitHoldings list(bool all) const {
        return {run_.task, run_.index, group_.round,
                market::holding_commitment(run_.task, run_.index, group_.round, {}, bitmap(all))};
    }
    contracts::RevealHoldings reveal(bool all) const { return {run_.task, run_.index, group_.round, bitmap(all), {}}; }
    std::uint32_t round() const { return group_.round; }
    std::uint32_t max_age() const { return terms_.max_age; }
    /// Whether the open round is one of merged messages.
    bool is_merging() const { return kernels::is_merging_round(group_.round, terms_.regions); }
    /// Whether the member lists the messages of the open round.
    bool lists() const {
        const auto holders = contracts::views::holders(view_, group_, terms_);
        return std::find(holders.begin(), holders.end(), run_.index) != holders.end();
    }
    /// In a private group: whether records are to be taken in before inner steps.
    bool is_behind() const {
        return terms_.private_sets != 0 &&
               contracts::views::taken_in_until(view_, run_.task, run_.index) < group_.round;
    }

private:
    kernels::StateCommitment state(std::uint64_t index, std::uint64_t step, std::uint32_t base, bool lie,
                                   bool fork) const {
        return member_state(spec_, run_.index, index, step, taken_in(base), lie, fork);
    }
    /// Records below the base that changed the shared tensors: an empty one does not.
    std::uint32_t taken_in(std::uint32_t base) const {
        std::uint32_t out = 0;
        for (std::uint32_t round = 0; round < base; ++round) {
            const auto record = contracts::views::round(view_, run_.task, round);
            if (kernels::is_merged_round(round, terms_.regions)) continue;
            out += record && !record->entries.empty() ? 1 : 0;
        }
        return out;
    }
    Hash32 blind(std::uint64_t index, const kernels::StateCommitment& made) const {
        return solver::checkpoint_commitment(run_.task, run_.index, index, {}, made.root);
    }

    const ledger::StateView& view_;
    market::Run run_;
    market::TaskSpec spec_;
    market::GroupSpec terms_;
    market::Group group_;
    std::optional<market::Member> member_;
};

}  // namespace retrace::stateful
