// SPDX-License-Identifier: MIT
// What a member of a group with masks posts in each step of a round, and the masks over its message. contracts 21.11.
#pragma once

#include <map>
#include <variant>

#include "contracts/calls/group_calls.hpp"
#include "kernels/plan/mask_table.hpp"
#include "ledger/state/view.hpp"
#include "market/masks/unmasking.hpp"
#include "node/agents/mask_notes.hpp"

namespace retrace::node {

using MaskCall = std::variant<contracts::MaskKeys, contracts::MaskShares, contracts::ComplainOfShare, contracts::Unmask,
                              contracts::ShowMasks>;

/// Not thread-safe. Every answer is in the book before it is returned, so that a view that shows something else later gets
/// the same one.
class MaskDuties {
public:
    /// `directory` is that of the chain (mask_notes_folder); `random` makes secrets and nonces.
    MaskDuties(std::filesystem::path directory, market::RandomSource random)
        : book_(std::move(directory)), random_(std::move(random)) {}

    /// The calls that the run owes at this view, none in a group without masks. Error: the book cannot be read or written,
    /// or the view contradicts what was answered.
    Result<std::vector<MaskCall>> due(const ledger::StateView& view, const market::Run& run);
    /// The masks over the run's message of the open round; empty: they are not known, or it sends none under them.
    Result<std::vector<kernels::MaskRow>> masks(const ledger::StateView& view, const market::Run& run);
    /// The calls that show the masks over messages whose segments were drawn for an audit, before auditors are drawn. Error:
    /// the notes are lost, or are not those of the keys that stand behind the message.
    Result<std::vector<MaskCall>> shown(const ledger::StateView& view, const market::Run& run) const;
    /// Removes the notes of the run's rounds whose segments are final, so that nothing can be asked about them.
    void forget(const ledger::StateView& view, const market::Run& run) const;

private:
    /// The notes, which are from now on those of this cohort. Error: there are none, the ledger has other keys of the member,
    /// or another cohort was answered.
    Result<MaskNotes> notes_in(const MaskBook::Key& key, const market::CohortKeys& cohort);
    Result<MaskCall> post_keys(const MaskBook::Key& key);
    Result<MaskCall> deal(const MaskBook::Key& key, const market::MaskedRound& round);
    Result<std::vector<MaskCall>> complain(const MaskBook::Key& key, const market::MaskedRound& round);
    Result<MaskCall> reveal(const MaskBook::Key& key, const market::MaskedRound& round);

    MaskBook book_;
    market::RandomSource random_;
};

}  // namespace retrace::node
