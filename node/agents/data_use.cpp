// SPDX-License-Identifier: MIT
#include "node/agents/data_use.hpp"

#include <algorithm>

namespace retrace::node {

DataGrant data_grant(bool named, const std::vector<Hash32>& own, const std::vector<Hash32>& committed) {
    if (own.empty() || (!committed.empty() && committed != own)) return DataGrant::none;
    if (named) return DataGrant::train;
    return committed.empty() ? DataGrant::none : DataGrant::finish;
}

void stop_training(solver::RunView& run) {
    run.terms.data_roots.clear();
    if (!run.member) return;
    run.member->may_commit = run.member->may_go_on = run.member->may_commit_data = false;
}

bool has_data_of(const std::vector<AuditedData>& audited, std::uint64_t task, const ledger::Address& member,
                 const std::vector<Hash32>& roots) {
    return std::ranges::any_of(audited, [&](const AuditedData& data) {
        return data.task == task && data.member == member && data.roots == roots;
    });
}

}  // namespace retrace::node
