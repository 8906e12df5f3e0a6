// SPDX-License-Identifier: MIT
#include "node/agents/consent_change.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

/// Whether an auditor whose consent was taken back may still have a segment to audit (contracts 21.13.29).
auto still_audits(std::uint64_t finalised) {
    return [finalised](const market::FormerAuditor& former) { return former.segments > finalised; };
}

}  // namespace

ConsentChange consent_change(const std::vector<ledger::Address>& wanted, const market::Consent& known,
                             std::uint64_t finalised, const ledger::Address& self, const ledger::Address& requester) {
    ConsentChange out;
    std::set_difference(known.named.begin(), known.named.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(out.taken_back));
    std::set_difference(wanted.begin(), wanted.end(), known.named.begin(), known.named.end(),
                        std::back_inserter(out.given));
    std::erase_if(out.given, [&](const ledger::Address& account) { return account == self || account == requester; });
    const auto former = static_cast<std::size_t>(std::ranges::count_if(known.former, still_audits(finalised)));
    const std::size_t taken = known.named.size() + former;
    const std::size_t room = market::kConsentedMax - std::min(taken, market::kConsentedMax);
    if (out.given.size() > room) out.given.resize(room);
    return out;
}

ConsentAnswer consent_answer(const market::Consent& known, std::uint64_t finalised, const ledger::Address& self,
                             bool has_data) {
    const auto contains = [&](const std::vector<ledger::Address>& accounts) {
        return std::binary_search(accounts.begin(), accounts.end(), self);
    };
    const bool former = std::ranges::any_of(known.former, [&](const market::FormerAuditor& auditor) {
        return auditor.account == self && still_audits(finalised)(auditor);
    });
    if (has_data)
        return contains(known.named) && !contains(known.accepted) ? ConsentAnswer::accept : ConsentAnswer::none;
    // It would be drawn, have no verdict, and lose bonds.
    return contains(known.accepted) || former ? ConsentAnswer::withdraw : ConsentAnswer::none;
}

}  // namespace retrace::node
