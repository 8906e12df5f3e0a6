// SPDX-License-Identifier: MIT
// What a member has to remember of the masks of a round. It is on disk before anything that follows from it is sent, so
// that a member that is started again gives the answers that it gave before, and no others.
#pragma once

#include <filesystem>

#include "market/groups.hpp"
#include "market/masks/masks.hpp"
#include "market/record.hpp"

namespace retrace::node {

struct MaskNotes {
    Bytes mask, self, deal, receive;  ///< The secrets.
    Bytes keys;                       ///< As posted: an encoded market::MaskKeys.
    Bytes shares;                     ///< As dealt: an encoded market::MaskShares; empty before.
    Hash32 cohort;                    ///< Of the cohort that the member has answered (cohort_digest); zero before.
    bool checked = false;             ///< The shares of the others were looked at,
    std::vector<std::uint32_t> complained;  ///< and these dealers' do not fit.
    Bytes opening;   ///< Of the masks over the message: an encoded market::MaskOpening; empty before.
    Bytes revealed;  ///< As revealed: encoded market::RevealedShares; empty before.
    bool operator==(const MaskNotes&) const = default;
    static auto tie(auto& n) {
        return std::tie(n.mask, n.self, n.deal, n.receive, n.keys, n.shares, n.cohort, n.checked, n.complained,
                        n.opening, n.revealed);
    }
    static market::Names names() {
        return {"mask",   "self",    "deal",       "receive", "keys",    "shares",
                "cohort", "checked", "complained", "opening", "revealed"};
    }

    market::MaskSecrets secrets() const;
};

/// The folder of the notes of one chain: another chain with the same number has other notes, and so other keys.
std::filesystem::path mask_notes_folder(const std::filesystem::path& data_dir, std::uint64_t chain_id,
                                        const Hash32& genesis);

/// A file for each round of each run, which only this user can read.
class MaskBook {
public:
    struct Key {
        std::uint64_t task = 0;
        std::uint32_t run = 0, round = 0;
        auto operator<=>(const Key&) const = default;
    };
    explicit MaskBook(std::filesystem::path directory) : directory_(std::move(directory)) {}

    /// Nullopt: there are none. Error: they are damaged or cannot be read, so that nothing may be answered.
    Result<std::optional<MaskNotes>> find(const Key& key) const;
    /// Creates the directory if needed. Durable when it returns.
    Status<> save(const Key& key, const MaskNotes& notes) const;
    /// Removes those of rounds of the run before `round`, and what a crash left unfinished.
    void forget(std::uint64_t task, std::uint32_t run, std::uint32_t round) const;

private:
    std::filesystem::path path_of(const Key& key) const;
    std::filesystem::path directory_;
};

}  // namespace retrace::node
