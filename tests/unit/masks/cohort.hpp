// SPDX-License-Identifier: MIT
// A cohort of members in one process, for tests: random numbers from a seed, and a round with members that drop.
#pragma once

#include <algorithm>
#include <random>
#include <set>

#include "node/masks/mask_member.hpp"

namespace retrace::test {

using market::CohortKeys;
using market::MaskError;
using market::MaskRound;
using market::RevealedShares;
using market::Runs;
using market::Scalar;
using market::ShareKind;
using node::MaskMember;

inline market::RandomSource random_of(std::mt19937_64& random) {
    return [&random](std::span<std::uint8_t> out) {
        for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random());
    };
}

/// Runs that drop, by the step at which they do.
struct Drops {
    std::set<std::uint32_t> before_shares, before_message, before_unmasking;
};

struct Cohort {
    Cohort(std::size_t members, std::uint64_t seed, MaskRound round = {7, 3, 0}, std::uint32_t least = 3)
        : random(seed) {
        masked.round = round;
        masked.least = least;
        for (std::uint32_t i = 0; i < members; ++i) {
            const std::uint32_t run = 5 * i + 2;  // Runs have gaps.
            this->members.emplace(run, MaskMember(round, run, least, random_of(random)));
            masked.cohort.emplace(run, this->members.at(run).keys());
        }
    }

    /// Members deal; those in `without` do not.
    void deal(const std::set<std::uint32_t>& without = {}) {
        for (auto& [run, member] : members) {
            if (without.contains(run)) continue;
            masked.dealt.emplace(run, member.deal(masked.cohort).value());
        }
    }
    /// Members that dealt send values of ten bits.
    void send(std::size_t count, const std::set<std::uint32_t>& without = {}) {
        for (auto& [run, shares] : masked.dealt) {
            if (without.contains(run)) continue;
            std::vector<std::int32_t>& own = values[run];
            for (std::size_t i = 0; i < count; ++i) own.push_back(static_cast<std::int32_t>(random() % 1024) - 512);
            messages.emplace(run, members.at(run).mask(masked.dealt, own, 10).value());
            masked.recorded.push_back(run);
        }
    }

    std::vector<std::uint32_t> sum_of_messages() const {
        std::vector<std::uint32_t> out(messages.begin()->second.size());
        for (const auto& [run, words] : messages)
            for (std::size_t i = 0; i < out.size(); ++i) out[i] += words[i];
        return out;
    }
    std::vector<std::int32_t> sum_of_values() const {
        std::vector<std::int32_t> out(values.begin()->second.size());
        for (const auto& [run, own] : values)
            for (std::size_t i = 0; i < out.size(); ++i) out[i] += own[i];
        return out;
    }

    /// Plays a whole round. The sum of values, or why there is none.
    Result<std::vector<std::int32_t>, MaskError> play(std::size_t count, const Drops& drops) {
        deal(drops.before_shares);
        std::set<std::uint32_t> gone = drops.before_shares;
        gone.insert(drops.before_message.begin(), drops.before_message.end());
        if (!market::are_enough(masked.dealt.size(), masked.cohort.size(), masked.least))
            return Unexpected{MaskError::too_few};
        send(count, gone);
        RETRACE_CHECK(market::check_record(masked));
        gone.insert(drops.before_unmasking.begin(), drops.before_unmasking.end());
        for (auto& [run, member] : members) {
            if (gone.contains(run)) continue;
            RETRACE_TRY(shares, member.unmask(masked.recorded));
            RETRACE_CHECK(market::check_revealed(masked, run, shares));
            revealed.emplace(run, shares);
        }
        RETRACE_TRY(terms, market::mask_terms(masked, revealed));
        return node::unmasked(sum_of_messages(), terms, node::masked_bits(10, masked.cohort.size()));
    }

    std::mt19937_64 random;
    std::map<std::uint32_t, MaskMember> members;
    market::MaskedRound masked;
    std::map<std::uint32_t, std::vector<std::int32_t>> values;
    std::map<std::uint32_t, std::vector<std::uint32_t>> messages;
    std::map<std::uint32_t, RevealedShares> revealed;
};

}  // namespace retrace::test
