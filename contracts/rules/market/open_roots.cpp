// SPDX-License-Identifier: MIT
// SPEC 13.9. The solver opens states that no audit needs hidden any more.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/rules/market/rules.hpp"
#include "solver/commitments.hpp"

namespace retrace::contracts {
namespace {

constexpr std::size_t kOpeningsMax = 256;

}  // namespace

Verdict admit_opening(const StateView& view, std::uint64_t id, std::uint32_t run_index, std::uint64_t index,
                      const Hash32& salt, const Hash32& root) {
    const auto checkpoint = views::checkpoint(view, id, run_index, index);
    if (!checkpoint) return Verdict::not_committed;          // 13.9.5
    if (checkpoint->opened) return Verdict::already_opened;  // 13.9.6
    if (solver::checkpoint_commitment(id, run_index, index, salt, root) != checkpoint->commitment)
        return Verdict::wrong_opening;  // 13.9.7
    const auto task = must_load<market::Task>(view, keys::task(id));
    const auto run = must_load<market::Run>(view, keys::run(id, run_index));
    if (!may_open(view, task, run, index)) return Verdict::would_leak;  // 13.9.8
    return Verdict::ok;
}

Verdict check(const OpenRoots& call) {
    if (call.roots.empty() || call.roots.size() > kOpeningsMax || call.roots.size() != call.salts.size())
        return Verdict::count_mismatch;                                    // 13.9.1
    if (call.first > market::kSegmentsMax) return Verdict::not_committed;  // 13.9.2
    return Verdict::ok;
}

Verdict admit(const OpenRoots& call, const TxContext& context, const StateView& view) {
    const Verdict running = admit_running(view, call.task, call.run, context.sender);
    if (running != Verdict::ok) return running;  // 13.9.3
    for (std::size_t i = 0; i < call.roots.size(); ++i) {
        const Verdict opening = admit_opening(view, call.task, call.run, call.first + i, call.salts[i], call.roots[i]);
        if (opening != Verdict::ok) return opening;  // 13.9.4
    }
    return Verdict::ok;
}

void apply(const OpenRoots& call, const TxContext&, Effects& fx) {
    for (std::size_t i = 0; i < call.roots.size(); ++i) {
        if (!open_state(fx, call.task, call.run, call.first + i, call.salts[i], call.roots[i])) return;
        wake_openings(fx, call.task, call.first + i);
    }
}

}  // namespace retrace::contracts
