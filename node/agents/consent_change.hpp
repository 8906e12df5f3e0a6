// SPDX-License-Identifier: MIT
// What a member of a private group has to call so that its auditors are those that its operator names (contracts 21.13).
#pragma once

#include "market/groups.hpp"

namespace retrace::node {

struct ConsentChange {
    std::vector<ledger::Address> given, taken_back;  ///< Ascending.
};
/// `wanted`: accounts, ascending; `finalised`: of the member's run. The member itself and the requester are left out
/// (21.13.20), as is what the limit of a member (21.13.21) leaves no room for: the call would be refused whole, block after
/// block. Room that this change makes counts once it is on the ledger.
ConsentChange consent_change(const std::vector<ledger::Address>& wanted, const market::Consent& known,
                             std::uint64_t finalised, const ledger::Address& self, const ledger::Address& requester);

enum class ConsentAnswer : std::uint8_t { none, accept, withdraw };
/// What the auditor `self` calls about the consent of a member whose run has so many segments finalised. `has_data`: its
/// operator named this member in this task, and the data that the member trains on are here and fit its plan.
ConsentAnswer consent_answer(const market::Consent& known, std::uint64_t finalised, const ledger::Address& self,
                             bool has_data);

}  // namespace retrace::node
