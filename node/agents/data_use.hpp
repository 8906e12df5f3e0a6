// SPDX-License-Identifier: MIT
// For which tasks the owner of data sets lets a solver use them (contracts 21.13). Whoever posts a task chooses the programs
// that read the data, and what a member sends is public.
#pragma once

#include <set>

#include "market/types.hpp"

namespace retrace::node {

struct DataUse {
    std::set<std::uint64_t> tasks;
    std::set<ledger::Address> requesters;  ///< Of whom every task may use them.

    bool permits(const market::Task& task) const {
        return tasks.contains(task.id) || requesters.contains(task.requester);
    }
};

}  // namespace retrace::node
