// SPDX-License-Identifier: MIT
// A group on an easy task, played by solver::LocalGroup, with all that the ledger would have of it: the segments, the
// records of rounds and the roots of messages.
#pragma once

#include <map>
#include <memory>

#include "kernels/builder/rounds.hpp"
#include "solver/chain_view.hpp"
#include "solver/rounds/local_group.hpp"
#include "solver/rounds/plan_runner.hpp"
#include "verifier/game/game.hpp"
#include "verifier/replay/replayer.hpp"
#include "verifier/replay/segment_steps.hpp"

namespace retrace::test {

/// A segment that a member played.
struct PlayedSegment {
    std::uint32_t run = 0;
    std::uint64_t index = 0;  ///< From state `index` of the run.
    solver::SegmentView view;
    kernels::State start, end;
    Hash32 start_root, end_root;
};

/// Changes an op's output in the step that ops see as `step`.
struct Lie {
    kernels::Phase phase{};
    kernels::Executor::Tamper tamper;
};

class LyingRunner final : public solver::ProgramRunner {
public:
    LyingRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
                kernels::Executor::Tamper tamper)
        : ProgramRunner(program, std::move(inputs), pool) {
        executor().set_tamper(std::move(tamper));
    }
};

class GroupWorld {
public:
    static constexpr std::uint64_t kSeed = 3;
    static constexpr std::uint32_t kMaxAge = 2;
    GroupWorld(kernels::UpdateKind update, std::uint32_t members);

    /// As LocalGroup::play, catch_up and join. No member makes more steps than the plan allows.
    void play(std::vector<solver::MemberTurn> turns);
    void catch_up(std::uint32_t member);
    void join(std::uint32_t from);

    /// A runner of the plan, of which one phase may lie.
    std::unique_ptr<solver::PlanRunner> runner(const Lie& lie = {}) const;
    std::unique_ptr<solver::PlanRunner> runner(const solver::PlanRunner::MakeRunner& make) const;
    verifier::MemberSetup setup(solver::PlanRunner& runner, std::uint32_t run) const;
    verifier::LoadMessage messages(const PlayedSegment& segment) const;
    kernels::SegmentPositions positions(const PlayedSegment& segment) const;
    /// A replay of a segment from its start; `runner` outlives it.
    verifier::Replayer replay(const PlayedSegment& segment, solver::PlanRunner& runner) const;
    /// What the ledger says of a position, as verifier/SPEC.md 9.2.1 has it.
    verifier::StepFacts facts_at(const PlayedSegment& segment, std::uint64_t place) const;
    verifier::Facts facts() const;
    solver::TaskTerms terms() const;
    /// Roots of the shared tensors that a joined member began with, and the tensors.
    solver::EntryView entry(std::uint32_t run) const;
    std::vector<kernels::Tensor> anchor(std::uint32_t run) const;

    mutable kernels::ThreadPool pool{1};
    kernels::Tensor x, y;
    kernels::GroupPlan plan;
    std::unique_ptr<solver::CommittedPlan> committed;
    std::unique_ptr<solver::LocalGroup> group;
    std::vector<PlayedSegment> segments;
    std::vector<solver::RecordView> records;
    std::map<Hash32, kernels::Tensor> tensors;  ///< Of all messages, by root.
    std::vector<kernels::State> firsts;         ///< State 0 of each member.

private:
    struct Member {
        std::uint64_t index = 0, base = 0, step = 0, entered = 0;
        std::optional<std::uint64_t> omitted;
        std::vector<kernels::Tensor> anchor;
    };
    PlayedSegment begin(std::uint32_t member, std::uint64_t base, std::uint32_t steps);
    void end(std::uint32_t member, PlayedSegment segment);

    std::vector<Member> members_;
};

/// Rounds with absence, lost messages, an old one, an empty record and a joiner; three members to begin with.
void play_eventful(GroupWorld& world);
/// Two rounds as in a private group, whose members take in records and train in segments apart (contracts 21.13.4). All have
/// taken in all records before.
void play_apart(GroupWorld& world);
/// The newest segment with inner steps that begins in a state of its own base, behind places of the same numbers.
const PlayedSegment& trained_apart(const GroupWorld& world);

}  // namespace retrace::test
