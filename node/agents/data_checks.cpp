// SPDX-License-Identifier: MIT
#include "node/agents/data_checks.hpp"

namespace retrace::node {

std::optional<std::string> DataChecks::result(std::uint64_t task, const std::vector<Hash32>& roots) const {
    const auto found = entries_.find({task, roots});
    return found == entries_.end() ? std::nullopt : found->second.problem;
}

std::optional<solver::WorkOrder<DataChecked>> DataChecks::order(const solver::TaskTerms& terms,
                                                                const std::vector<Hash32>& roots,
                                                                const solver::RunKey& of, std::uint64_t height,
                                                                solver::TaskCache& cache) {
    Entry& entry = entries_[{terms.id, roots}];
    if (entry.problem || entry.under_way || height < entry.retry) return std::nullopt;
    entry.under_way = true;
    const auto check = [terms, roots, &cache] {
        DataChecked out{terms.id, roots, {}, false};
        try {
            const auto fits = cache.check_private(terms, roots);
            if (fits) return out;
            out.problem = fits.error().message;
            out.transient = fits.error().kind.has_value();
        } catch (const std::exception& failed) {  // A plan may ask for more memory than there is.
            out.problem = failed.what();
            out.transient = true;
        }
        return out;
    };
    return solver::WorkOrder<DataChecked>{
        "compare the data with the plan of task " + std::to_string(terms.id), check, height + kRetryBlocks, {}, of};
}

void DataChecks::on_done(const DataChecked& done, std::uint64_t height) {
    const auto found = entries_.find({done.task, done.roots});
    if (found == entries_.end()) return;  // The task has ended.
    found->second.under_way = false;
    if (done.transient)
        found->second.retry = height + kRetryBlocks;
    else
        found->second.problem = done.problem;
}

}  // namespace retrace::node
