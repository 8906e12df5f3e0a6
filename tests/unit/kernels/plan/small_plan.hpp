// SPDX-License-Identifier: MIT
// A plan of a few numbers, whose results can be worked out by hand: `anchor` is shared, `message` is public, `local` is
// a member's own.
#pragma once

#include <functional>

#include "kernels/builder/compose.hpp"
#include "kernels/plan/group_plan.hpp"

namespace retrace::kernels::testing {

struct SmallStates {
    Value anchor, count, message, local;
};
using SmallPhase = std::function<void(Graph&, const SmallStates&)>;

inline PhaseProgram small_phase(Phase phase, bool member_seed, const SmallPhase& write) {
    Graph g;
    SmallStates s;
    s.anchor = g.state("anchor", DType::f32, {4});
    s.count = g.state("count", DType::f32, {});
    s.message = g.state("message", DType::f32, {4});
    s.local = g.state("local", DType::f32, {4});
    write(g, s);
    return {phase, member_seed, g.build().value()};
}

inline Value copied(Graph& g, Value x) { return g.op(OpCode::reshape, {x}, {}, g.shape(x)); }

/// Init: all 1. Each inner step adds 1 to `local`, which is the message; a round moves the anchor by the messages'
/// shares, and `count` counts them.
inline GroupPlan small_plan() {
    GroupPlan plan;
    plan.steps_max = 4;
    plan.shared = 1;
    plan.public_tensors = {2};
    plan.phases.push_back(small_phase(Phase::init, false, [](Graph& g, const SmallStates& s) {
        for (const Value state : {s.anchor, s.message, s.local}) g.set_next(state, fill(g, 1.0f, {4}));
        g.set_next(s.count, fill(g, 0.0f, {}));
    }));
    plan.phases.push_back(small_phase(Phase::enter, false, [](Graph& g, const SmallStates& s) {
        const Value anchor = g.dataset("anchor", DType::f32, {4});
        g.set_next(s.anchor, copied(g, anchor));
        g.set_next(s.local, copied(g, anchor));
        g.set_next(s.message, fill(g, 0.0f, {4}));
        g.set_next(s.count, fill(g, 0.0f, {}));
    }));
    plan.phases.push_back(small_phase(Phase::begin, false,
                                      [](Graph& g, const SmallStates& s) { g.set_next(s.count, fill(g, 0.0f, {})); }));
    plan.phases.push_back(small_phase(Phase::add, false, [](Graph& g, const SmallStates& s) {
        const Value message = g.dataset("message", DType::f32, {4}), facts = g.dataset("facts", DType::i32, kFactDims);
        const auto fact = [&](std::uint64_t i) {
            return convert(g, reshape(g, slice(g, facts, {0, i}, {1, 1}), {}), DType::f32);
        };
        g.set_next(s.anchor, fma(g, div(g, fact(0), fact(1)), message, s.anchor));
        g.set_next(s.count, add(g, s.count, g.scalar(1.0f)));
    }));
    plan.phases.push_back(small_phase(
        Phase::end, false, [](Graph& g, const SmallStates& s) { g.set_next(s.local, copied(g, s.anchor)); }));
    plan.phases.push_back(small_phase(Phase::inner, true, [](Graph& g, const SmallStates& s) {
        const Value step = convert(g, g.op(OpCode::step_number, {}, {0}), DType::f32);
        g.set_next(s.local, add(g, s.local, mul(g, step, g.scalar(1.0f))));
    }));
    plan.phases.push_back(small_phase(
        Phase::restore, true, [](Graph& g, const SmallStates& s) { g.set_next(s.local, add(g, s.local, s.message)); }));
    plan.phases.push_back(small_phase(
        Phase::press, true, [](Graph& g, const SmallStates& s) { g.set_next(s.message, sub(g, s.local, s.anchor)); }));
    return plan;
}

}  // namespace retrace::kernels::testing
