// SPDX-License-Identifier: MIT
// Compares data sets of this party with the plan of a private group before it locks stake for it: before it joins, and before
// it accepts a member's consent (contracts 21.13). With data of another shape it could not train, and would have no verdict.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "solver/agent/task_cache.hpp"
#include "solver/agent/work.hpp"

namespace retrace::node {

/// Result of one comparison.
struct DataChecked {
    std::uint64_t task = 0;
    std::vector<Hash32> roots;
    std::string problem;     ///< Empty: they fit.
    bool transient = false;  ///< The plan could not be fetched.
};

class DataChecks {
public:
    /// Blocks until a plan that could not be fetched is tried again, and that a fetch may take.
    static constexpr std::uint64_t kRetryBlocks = 20;

    /// Why the data sets do not fit the task; empty: they do; nullopt: not known yet.
    std::optional<std::string> result(std::uint64_t task, const std::vector<Hash32>& roots) const;
    /// The order that finds out, unless it is known, under way or was tried a short time ago. `cache` is used by the thread
    /// that runs the order; the plan is asked of the peers of `of`.
    std::optional<solver::WorkOrder<DataChecked>> order(const solver::TaskTerms& terms,
                                                        const std::vector<Hash32>& roots, const solver::RunKey& of,
                                                        std::uint64_t height, solver::TaskCache& cache);
    void on_done(const DataChecked& done, std::uint64_t height);
    /// Forgets all tasks but these.
    template <class IsOpen>
    void forget_unless(const IsOpen& is_open) {
        std::erase_if(entries_, [&](const auto& item) { return !is_open(item.first.first); });
    }

private:
    struct Entry {
        std::optional<std::string> problem;
        bool under_way = false;
        std::uint64_t retry = 0;
    };
    std::map<std::pair<std::uint64_t, std::vector<Hash32>>, Entry> entries_;
};

}  // namespace retrace::node
