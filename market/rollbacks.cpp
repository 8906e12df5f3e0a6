// SPDX-License-Identifier: MIT
#include "market/rollbacks.hpp"

#include "market/odds.hpp"

namespace retrace::market {
namespace {

/// The newest entry of the list that is at or before the segment; null: none.
const MemberAttempt* find(const MemberAttempts& attempts, std::uint64_t segment) {
    const MemberAttempt* out = nullptr;
    for (const MemberAttempt& entry : attempts.items)
        if (entry.segment <= segment) out = &entry;
    return out;
}

/// The rollbacks that segments of the attempt know of.
std::size_t known(const std::vector<Rollback>& noted, std::uint8_t attempt) {
    return std::min<std::size_t>(attempt, noted.size());
}

}  // namespace

std::uint8_t attempt_of(const MemberAttempts& attempts, std::uint64_t segment) {
    const MemberAttempt* const found = find(attempts, segment);
    return found != nullptr ? found->attempt : std::uint8_t{0};
}

std::uint64_t start_of(const MemberAttempts& attempts, std::uint64_t segment) {
    const MemberAttempt* const found = find(attempts, segment);
    return found != nullptr && found->segment == segment ? found->start : segment;
}

bool is_void(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t base) {
    return std::any_of(noted.begin() + static_cast<std::ptrdiff_t>(known(noted, attempt)), noted.end(),
                       [&](const Rollback& rollback) { return base > rollback.first; });
}

std::uint32_t changed_by(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t base) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < known(noted, attempt); ++i)
        if (base > noted[i].first) out |= 1u << i;
    return out;
}

bool is_emptied(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t round) {
    return std::any_of(noted.begin(), noted.begin() + static_cast<std::ptrdiff_t>(known(noted, attempt)),
                       [&](const Rollback& rollback) { return rollback.first < round && round <= rollback.last; });
}

bool is_undone(const std::vector<Rollback>& noted, std::uint8_t attempt, std::uint32_t round, std::uint32_t run) {
    if (is_emptied(noted, attempt, round)) return true;
    return std::any_of(noted.begin(), noted.begin() + static_cast<std::ptrdiff_t>(known(noted, attempt)),
                       [&](const Rollback& rollback) { return rollback.first == round && rollback.run == run; });
}

bool ended_by_rollback(const std::vector<Rollback>& noted, std::uint32_t round) {
    return std::any_of(noted.begin(), noted.end(),
                       [&](const Rollback& rollback) { return rollback.ended && rollback.last == round; });
}

U256 rollback_stake(const TaskSpec& spec, const GroupSpec& terms) {
    if (terms.rollbacks == 0) return {};
    const std::uint64_t segments = std::uint64_t{terms.ahead} * (spec.replicas - 1u);
    return (spec.price_ceiling * U256(5 * segments) + U256(3)) / U256(4);
}

std::optional<U256> stake_floor(const Params& params, const TaskSpec& spec, const GroupSpec& terms) {
    const auto floor = stake_floor(params, spec);
    if (!floor) return std::nullopt;
    return *floor + rollback_stake(spec, terms);
}

}  // namespace retrace::market
