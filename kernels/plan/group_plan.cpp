// SPDX-License-Identifier: MIT
#include "kernels/plan/group_plan.hpp"

#include <algorithm>

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint8_t kMagic[4] = {'R', 'T', 'G', '1'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint8_t kRounds = 1;  // the mode; 2 will be stages
constexpr std::size_t kProgramBytesMax = std::size_t{1} << 30;

/// Writes what a GroupPlan and its PlanHeader have in common.
void write_head(Writer& out, const auto& plan) {
    out.u32(kVersion).u8(kRounds).u32(plan.steps_max).u32(plan.shared);
    out.u32(static_cast<std::uint32_t>(plan.public_tensors.size()));
    for (const std::uint32_t tensor : plan.public_tensors) out.u32(tensor);
    out.u32(static_cast<std::uint32_t>(plan.phases.size()));
}

}  // namespace

const Program* GroupPlan::find(Phase phase) const noexcept {
    const auto found = std::ranges::find(phases, phase, &PhaseProgram::phase);
    return found != phases.end() ? &found->program : nullptr;
}

const PhaseProgram& GroupPlan::at(Phase phase) const {
    const auto found = std::ranges::find(phases, phase, &PhaseProgram::phase);
    ensure(found != phases.end(), "a phase that the plan has");
    return *found;
}

Bytes encode(const GroupPlan& plan) {
    Writer out;
    out.raw(View(kMagic));
    write_head(out, plan);
    for (const PhaseProgram& phase : plan.phases)
        out.u8(static_cast<std::uint8_t>(phase.phase)).boolean(phase.member_seed).bytes(encode(phase.program));
    return std::move(out).take();
}

bool is_plan(View file) noexcept {
    return file.size() >= sizeof kMagic && equal(file.first(sizeof kMagic), View(kMagic));
}

Result<GroupPlan> decode_plan(View bytes, const Limits& limits) {
    Reader in(bytes);
    if (!equal(in.raw(sizeof kMagic), View(kMagic))) return error("plan: does not begin with RTG1");
    const std::uint32_t version = in.u32();
    if (in.ok() && version != kVersion) return error("plan: version " + std::to_string(version) + " unknown");
    const std::uint8_t mode = in.u8();
    if (in.ok() && mode != kRounds) return error("plan: mode " + std::to_string(mode) + " unknown");
    GroupPlan plan;
    plan.steps_max = in.u32();
    plan.shared = in.u32();
    plan.public_tensors.resize(in.count(limits.tensors, 4));
    for (std::uint32_t& tensor : plan.public_tensors) tensor = in.u32();
    const std::uint32_t phases = in.count(static_cast<std::size_t>(kLastPhase), 6);
    for (std::uint32_t i = 0; i < phases && in.ok(); ++i) {
        PhaseProgram phase;
        phase.phase = static_cast<Phase>(in.enumerated(1, static_cast<std::uint8_t>(kLastPhase)));
        phase.member_seed = in.boolean();
        const View program = in.bytes(kProgramBytesMax);
        if (!in.ok()) break;
        RETRACE_TRY(decoded, decode_program(program, limits));
        phase.program = std::move(decoded);
        plan.phases.push_back(std::move(phase));
    }
    if (const auto status = in.finish(); !status) return error("plan: " + std::string(slug(status.error())));
    RETRACE_CHECK(check(plan));
    return plan;
}

Hash32 PlanHeader::root() const {
    Writer out;
    out.u8(static_cast<std::uint8_t>(merkle::Tag::plan));
    write_head(out, *this);
    for (const PhaseRoot& phase : phases)
        out.u8(static_cast<std::uint8_t>(phase.phase)).boolean(phase.member_seed).hash(phase.program);
    return merkle::sha256(out.data());
}

PlanHeader header_of(const GroupPlan& plan) {
    PlanHeader header{plan.steps_max, plan.shared, plan.public_tensors, {}};
    for (const PhaseProgram& phase : plan.phases)
        header.phases.push_back({phase.phase, phase.member_seed, CommittedProgram(phase.program).root()});
    return header;
}

Hash32 plan_root(const GroupPlan& plan) { return header_of(plan).root(); }

}  // namespace retrace::kernels
