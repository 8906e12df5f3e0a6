// SPDX-License-Identifier: MIT
// The parts of the solver's agent that run on the worker thread.
#include "kernels/program/limits.hpp"
#include "solver/agent/agent.hpp"
#include "solver/agent/deadline_check.hpp"
#include "solver/artifacts/availability.hpp"

namespace retrace::solver {

Prepared SolverAgent::prepare(const RunView& run, std::uint64_t promised) {
    Prepared out;
    out.task = run.terms.id;
    out.run = run.run;
    if (run.member) return prepare_member(run, promised);
    const auto material = task_cache_.material(run.terms);
    if (!material) {
        out.problem = material.error().message;
        out.transient = material.error().kind.has_value();
        out.preempted = slot_.preemption().requested();
        return out;
    }
    const kernels::Program* const init = (*material)->init ? &(*material)->init->program() : nullptr;
    const StepRunner& runner = *(*material)->runner;
    const auto fits = check_pace(run, (*material)->program->program(), init, runner.on_device(),
                                 kernels::saturating_mul(runner.disk_bytes(), disk_byte_cost_));
    if (run.may_accept && !fits) {
        out.problem = fits.error().message;
        return out;
    }
    // A first state made by others is fetched before the run is accepted, because until then declining is free.
    const Hash32 first = run.first_root.is_zero() ? run.terms.initial_state_root : run.first_root;
    if (first.is_zero() || store_.commitment({run.terms.id, run.run, run.first_state})) return out;
    const auto state = task_cache_.fetch(**material, first, run.first_state);
    if (!state) {
        out.problem = state.error().message;
        out.transient = state.error().kind.has_value();
        out.preempted = slot_.preemption().requested();
        if (state.error().kind == ReportKind::state) out.missing = state.error().tensor;
        return out;
    }
    const CheckpointKey key{run.terms.id, run.run, run.first_state};
    const kernels::StateCommitment commitment =
        kernels::commit_state((*material)->program->root(), *state, task_cache_.pool());
    auto saved = store_.save(key, commitment, *state);
    if (saved) saved = store_.retain(key, true);
    if (!saved) {
        out.problem = saved.error().message;
        out.transient = true;
    }
    return out;
}

Reached SolverAgent::reach(const RunView& run, std::uint64_t index, std::optional<kernels::State>& suspended) {
    Reached reached{run.terms.id, run.run, index, std::nullopt};
    // A failure after a preemption request is not a problem: the fetch was interrupted.
    const auto fail = [&](const std::string& problem) {
        reached.preempted = slot_.preemption().requested();
        if (!reached.preempted) reached.problem = problem;
        return reached;
    };
    const auto material = task_cache_.material(run.terms);
    if (!material) return fail(material.error().message);
    const auto made = make_state(**material, run.run, run.first_state, run.first_root, index, &suspended);
    if (!made) return fail(made.error().message);
    reached.preempted = !*made;
    if (reached.preempted) return reached;
    for (std::uint64_t old = run.first_state; old < run.keep_from && old <= index; ++old) {
        if (store_.commitment({run.terms.id, run.run, old})) (void)store_.retain({run.terms.id, run.run, old}, false);
    }
    // If this fails, the rest is dropped the next time.
    (void)store_.prune(run.terms.id, run.run, config_.keep_checkpoints);
    return reached;
}

Result<std::optional<kernels::State>> SolverAgent::nearest(const RunKey& key, std::uint64_t index,
                                                           std::uint64_t last_step,
                                                           std::optional<kernels::State>* suspended) {
    if (suspended != nullptr && *suspended && (*suspended)->step <= last_step)
        return std::exchange(*suspended, std::nullopt);
    while (const auto newest = store_.newest(key.first, key.second, index)) {
        auto loaded = store_.load(*newest, task_cache_.pool());
        if (loaded) return std::optional(std::move(loaded).value());
        // Skip a damaged checkpoint: training from the one before it leads to the same bits.
        RETRACE_CHECK(store_.discard(*newest));
    }
    return std::optional<kernels::State>();
}

Result<bool> SolverAgent::make_state(TaskMaterial& material, std::uint32_t run, std::uint64_t first_state,
                                     const Hash32& first_root, std::uint64_t index,
                                     std::optional<kernels::State>* suspended) {
    const std::uint64_t task = material.terms.id, last = material.terms.schedule.step_of(index);
    kernels::ThreadPool& pool = task_cache_.pool();
    const auto save = [&](std::uint64_t at, const kernels::StateCommitment& commitment,
                          const kernels::State& state) -> Status<> {
        RETRACE_CHECK(store_.save({task, run, at}, commitment, state));
        return store_.retain({task, run, at}, true);
    };
    const bool may_wait = suspended != nullptr;
    Preemption& preemption = slot_.preemption();
    preemption.begin_step();
    const kernels::StopToken stop = may_wait ? preemption.step_stop() : kernels::StopToken();
    RETRACE_TRY(state, nearest({task, run}, index, last, suspended));
    if (!state) {
        auto first = first_root.is_zero() ? task_cache_.initial_state(material, stop)
                                          : task_cache_.fetch(material, first_root, first_state);
        if (!first) return error(first.error().message);
        state = std::move(first).value();
        RETRACE_CHECK(save(first_state, kernels::commit_state(material.program->root(), *state, pool), *state));
    }
    Trainer trainer(*material.program, *material.runner, material.terms.schedule, pool);
    preemption.begin_step();
    const auto progress = [&](const Progress& done) {
        if (config_.on_progress) config_.on_progress(task, done);
        preemption.begin_step();
        return !may_wait || !preemption.requested();
    };
    RETRACE_TRY(finished, trainer.run(*state, index, progress, save, stop));
    // An aborted step leaves no state; the next attempt starts from the newest checkpoint.
    if (may_wait && !finished && !state->tensors.empty() && state->step < last) *suspended = std::move(*state);
    return finished;
}

Result<kernels::State> SolverAgent::state_of(const TaskTerms& terms, std::uint32_t run, std::uint64_t first_state,
                                             const Hash32& first_root, std::uint64_t index) {
    if (terms.group) return state_of_member(terms, run, index);
    const auto material = task_cache_.material(terms);
    if (!material) return error(material.error().message);
    const CheckpointKey key{terms.id, run, index};
    if (store_.newest(key.task, key.run, key.index) == key) {
        auto loaded = store_.load(key, task_cache_.pool());
        if (loaded) return loaded;
        RETRACE_CHECK(store_.discard(key));
    }
    // A dispute's order must not use the run's suspended training, because the agent may drop it meanwhile.
    RETRACE_CHECK(make_state(**material, run, first_state, first_root, index, nullptr));
    return store_.load(key, task_cache_.pool());
}

Result<TileAnswer> SolverAgent::state_tile(TaskMaterial& material, const RunView& run, std::uint64_t index,
                                           const ReportView& report) {
    const CheckpointKey key{run.terms.id, run.run, index};
    const auto from_store = [&] {
        return task_cache_.answers().state_tile(store_, key, material.program->header(), report.tensor, report.tile,
                                                task_cache_.pool());
    };
    if (auto made = from_store()) return made;
    // Recompute a missing or damaged state.
    if (store_.newest(key.task, key.run, key.index) == key) RETRACE_CHECK(store_.discard(key));
    RETRACE_CHECK(make_state(material, run.run, run.first_state, run.first_root, index, nullptr));
    return from_store();
}

Answered SolverAgent::make_answer(const RunView& run, const ReportView& report) {
    if (run.member) return answer_as_member(run, report);
    Answered answered{report.id, {}, ""};
    const auto material = task_cache_.material(run.terms);
    if (!material) {
        answered.problem = material.error().message;
        answered.preempted = slot_.preemption().requested();
        return answered;
    }
    const kernels::CommittedProgram& program = *(*material)->program;
    switch (report.kind) {
        case ReportKind::message: answered.problem = "the task has no messages"; break;
        case ReportKind::kept: answered.problem = "this solver keeps no state for others"; break;
        case ReportKind::state:
        case ReportKind::model: {
            const bool model = report.kind == ReportKind::model;
            const std::uint64_t index = model ? run.terms.schedule.segments() : report.index;
            const auto made = state_tile(**material, run, index, report);
            if (made)
                answered.answer = encode(*made);
            else
                answered.problem = made.error().message;
            break;
        }
        case ReportKind::data:
            if (report.index >= (*material)->data.size()) {
                answered.problem = "no such data set";
                return answered;
            }
            answered.answer = encode(task_cache_.answers().data_tile(
                (*material)->data[report.index], run.terms.data_roots[report.index], report.tile, task_cache_.pool()));
            break;
        case ReportKind::program: answered.answer = encode(answer_program(program, report.tensor, report.tile)); break;
    }
    return answered;
}

}  // namespace retrace::solver
