// SPDX-License-Identifier: MIT
// What the ledger stores of the masks of a round. SPEC 15, contracts 21.11.
#pragma once

#include "market/masks/unmasking.hpp"
#include "market/record.hpp"

namespace retrace::market {

using Names = std::vector<std::string_view>;

/// Members of a masked group: the shares that one deals to so many fit into a record.
inline constexpr std::uint32_t kMaskedMembersMax = 32;

/// So many secrets of a round are put together in one block, which take at most as many products of a point and a scalar
/// as an item of the scheduler is charged for.
inline constexpr std::uint32_t kMaskSecretsAtOnce = 4;

enum class MaskStep : std::uint8_t {
    keys = 1,        ///< Members post keys.
    shares = 2,      ///< Those that did deal shares.
    messages = 3,    ///< Those that dealt may send messages, after `complaints`.
    unmasking = 4,   ///< The record is fixed; those that dealt reveal shares.
    open = 5,        ///< The masks of the sum are known.
    lost = 6,        ///< Too few took part: the round is void.
    complaints = 7,  ///< After `shares`: members show which shares do not fit, and their dealers are put out.
    secrets = 8,     ///< After `unmasking`: the secrets are put together, some in each block.
};
constexpr MaskStep last_of(MaskStep) { return MaskStep::secrets; }

/// Of the open round; removed when it closes.
struct RoundMasks {
    MaskStep step{};
    std::uint64_t deadline = 0;           ///< Of keys, shares and complaints.
    std::uint64_t keys_end = 0;           ///< Height at which the cohort was fixed, once it is.
    std::vector<std::uint32_t> cohort;    ///< Runs that posted keys, in their order,
    std::vector<std::uint32_t> dealt;     ///< and shares, without those that a complaint put out.
    std::vector<std::uint32_t> recorded;  ///< Ascending; once the record is fixed.
    std::vector<std::uint32_t> revealed;  ///< Runs that revealed shares.
    std::vector<MaskTerm> terms;          ///< Of the masks of the sum, as far as they are known,
    std::uint32_t opened = 0;             ///< which follow from so many secrets, in their order (unmask_order).
    bool operator==(const RoundMasks&) const = default;
    static auto tie(auto& m) {
        return std::tie(m.step, m.deadline, m.keys_end, m.cohort, m.dealt, m.recorded, m.revealed, m.terms, m.opened);
    }
    static Names names() {
        return {"step", "deadline", "keysEnd", "cohort", "dealt", "recorded", "revealed", "terms", "opened"};
    }
};

/// What a member posted, as encoded in masks.hpp and unmasking.hpp; empty until it did. Removed when the round closes.
struct MemberMasks {
    Bytes keys, shares, revealed;
    bool operator==(const MemberMasks&) const = default;
    static auto tie(auto& m) { return std::tie(m.keys, m.shares, m.revealed); }
    static Names names() { return {"keys", "shares", "revealed"}; }
};

}  // namespace retrace::market
