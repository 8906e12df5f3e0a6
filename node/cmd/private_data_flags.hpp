// SPDX-License-Identifier: MIT
// The flags of `retrace solver` and `retrace verifier` about data sets of private groups (contracts 21.13).
#pragma once

#include <string>
#include <vector>

#include "node/agents/solver_service.hpp"

namespace retrace::node::cli {

struct OwnDataFlags {
    std::vector<std::string> folders;   ///< --data: at most one.
    std::vector<std::string> data_for;  ///< REQUESTER, or REQUESTER:ROOT for tasks of that plan alone.
    std::vector<std::string> consent;   ///< Accounts of auditors.
};
/// Sets the solver's own data, who may audit them, and whose tasks may read them. Errors: data that no requester is named for, flags about data that are not there, more auditors than a member has.
Status<> set_own_data(const OwnDataFlags& flags, SolverOptions& out);

/// Parses TASK:ACCOUNT=FOLDER: the training and the member whose data are in the folder.
Result<PrivateFolder> parse_audited_data(const std::string& text);

}  // namespace retrace::node::cli
