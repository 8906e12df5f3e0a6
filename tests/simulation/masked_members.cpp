// SPDX-License-Identifier: MIT
// What solvers do in the rounds of a group with masks: the product's duties, and members that do some of them not, or wrongly.
#include "contracts/records/group_views.hpp"
#include "tests/simulation/solver_party.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

template <class Call>
Bytes name_of(const Call& call) {
    Writer out;
    out.text(Call::kName).u64(call.task).u32(call.run);
    if constexpr (requires { call.round; }) out.u32(call.round);
    if constexpr (requires { call.segment; }) out.u64(call.segment);
    if constexpr (requires { call.dealer; }) out.u32(call.dealer);
    return std::move(out).take();
}

/// Flips a bit of each share but the last one's, which are behind the commitments.
void spoil(contracts::MaskShares& call, std::size_t members) {
    constexpr std::size_t kSealedBytes = 64;
    const std::size_t sealed = members * kSealedBytes;
    for (std::size_t i = call.shares.size() - sealed; i + kSealedBytes < call.shares.size(); i += 32)
        call.shares[i + 31] ^= 1;
}

}  // namespace

void SolverParty::play_masks(const ledger::StateView& view, std::uint64_t height, solver::SolverView& seen) {
    std::erase_if(mask_calls_, [&](const auto& item) { return height > item.second + kResendBlocks; });
    for (solver::RunView& run : seen.runs) {
        if (!run.member || !run.terms.group || run.terms.group->mask_bits == 0) continue;
        const auto record = views::run(view, run.terms.id, run.run);
        if (!record) continue;
        auto masks = memory_->masks->masks(view, *record);
        const auto due = memory_->masks->due(view, *record), shown = memory_->masks->shown(view, *record);
        memory_->masks->forget(view, *record);
        if (masks)
            run.member->masks = std::move(*masks);
        else
            say(masks.error().message);
        for (const auto* const calls : {&due, &shown}) {
            if (!*calls) say(calls->error().message);
            for (const node::MaskCall& call : *calls ? **calls : std::vector<node::MaskCall>{})
                send_masks(call, height);
        }
    }
}

void SolverParty::send_masks(const node::MaskCall& due, std::uint64_t height) {
    std::visit(
        [&](auto content) {
            if (role_.omits.contains(std::string(content.kName))) return;
            if (!mask_calls_.emplace(name_of(content), height).second) return;
            if constexpr (std::is_same_v<decltype(content), contracts::MaskShares>) {
                if (role_.deals_garbage) spoil(content, 4);
            }
            call("sends " + std::string(content.kName), content);
        },
        due);
}

void SolverParty::note_masks(const solver::CommitRound& move, const solver::SolverView& seen) {
    if (move.masks.is_zero()) return;
    for (const solver::RunView& run : seen.runs)
        if (run.terms.id == move.task && run.member) world().masks[move.masks] = run.member->masks;
}

}  // namespace retrace::sim
