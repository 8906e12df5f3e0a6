// SPDX-License-Identifier: MIT
// What the members of a group task and their auditors fetch: the plan, and the messages of members.
#pragma once

#include <functional>
#include <map>

#include "kernels/plan/group_plan.hpp"
#include "solver/artifacts/artifact_source.hpp"

namespace retrace::solver {

/// A plan that passed `check`, with the commitments of its programs.
class CommittedPlan {
public:
    explicit CommittedPlan(kernels::GroupPlan plan);

    const Hash32& root() const noexcept { return root_; }
    std::uint32_t steps_max() const noexcept { return steps_max_; }
    std::uint32_t shared() const noexcept { return shared_; }
    const std::vector<std::uint32_t>& public_tensors() const noexcept { return public_tensors_; }
    bool has(kernels::Phase phase) const noexcept { return phases_.contains(phase); }
    /// The plan has the phase.
    const kernels::CommittedProgram& program(kernels::Phase phase) const { return phases_.at(phase).program; }
    /// Calls `look` with the program of each phase.
    void for_each(const std::function<void(const kernels::Program&)>& look) const {
        for (const auto& [phase, committed] : phases_) look(committed.program.program());
    }
    bool has_member_seed(kernels::Phase phase) const { return phases_.at(phase).member_seed; }
    /// A program with the list of state tensors that all phases have.
    const kernels::Program& states() const { return program(kernels::Phase::inner).program(); }

private:
    struct CommittedPhase {
        kernels::CommittedProgram program;
        bool member_seed = false;
    };
    Hash32 root_;
    std::uint32_t steps_max_ = 0, shared_ = 0;
    std::vector<std::uint32_t> public_tensors_;
    std::map<kernels::Phase, CommittedPhase> phases_;
};

/// Fetches and decodes a plan; checks it against the limits and against `root`.
Result<std::unique_ptr<CommittedPlan>> fetch_plan(ArtifactSource& source, const Hash32& root, std::uint64_t limit);

using FetchedMessage = Result<std::vector<kernels::Tensor>, Unavailable>;

/// Fetches messages of members, several at a time where the source can. Checks the number of tensors of each, and each
/// tensor's dtype, dims and root. Calls `done` once for the place of each, as soon as it is there or cannot be had, until it
/// returns false. `Unavailable::tensor` is a tensor's place among the public tensors.
void fetch_messages(ArtifactSource& source, const CommittedPlan& plan, const std::vector<MessageRequest>& requests,
                    kernels::ThreadPool& pool, const std::function<bool(std::size_t place, FetchedMessage)>& done);
/// Fetches one message.
FetchedMessage fetch_message(ArtifactSource& source, const CommittedPlan& plan, const MessageRequest& request,
                             kernels::ThreadPool& pool);

}  // namespace retrace::solver
