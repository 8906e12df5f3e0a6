// SPDX-License-Identifier: MIT
// The parts of the solver's agent that run on the worker thread.
#include "solver/agent/agent.hpp"
#include "solver/artifacts/availability.hpp"

namespace retrace::solver {

Prepared SolverAgent::prepare(const RunView& run) {
    Prepared out{run.terms.id, run.run, std::nullopt, std::nullopt, false};
    const auto material = workshop_.material(run.terms);
    if (!material) {
        out.problem = material.error().message;
        out.unserved = material.error().kind.has_value();
        return out;
    }
    // A state that others made is fetched before the run is accepted: until then leaving it is free.
    const Hash32 first = run.first_root.is_zero() ? run.terms.initial_state_root : run.first_root;
    if (first.is_zero() || store_.commitment({run.terms.id, run.run, run.first_state})) return out;
    const auto state = workshop_.fetch(**material, first, run.first_state);
    if (!state) {
        out.problem = state.error().message;
        out.unserved = state.error().kind.has_value();
        if (state.error().kind == ReportKind::state) out.missing = state.error().tensor;
        return out;
    }
    const CheckpointKey key{run.terms.id, run.run, run.first_state};
    const kernels::StateCommitment commitment =
        kernels::commit_state((*material)->program->root(), *state, workshop_.pool());
    auto saved = store_.save(key, commitment, *state);
    if (saved) saved = store_.retain(key, true);
    if (!saved) out.problem = saved.error().message;
    return out;
}

Reached SolverAgent::reach(const RunView& run, std::uint64_t index) {
    Reached reached{run.terms.id, run.run, index, std::nullopt};
    const auto material = workshop_.material(run.terms);
    if (!material) {
        reached.problem = material.error().message;
        return reached;
    }
    if (const auto made = make_state(**material, run.run, run.first_state, run.first_root, index); !made) {
        reached.problem = made.error().message;
        return reached;
    }
    for (std::uint64_t old = run.first_state; old < run.keep_from && old <= index; ++old) {
        if (store_.commitment({run.terms.id, run.run, old}))
            (void)store_.retain({run.terms.id, run.run, old}, false);
    }
    // What stays behind when this fails is dropped the next time.
    (void)store_.prune(run.terms.id, run.run, config_.keep_checkpoints);
    return reached;
}

Status<> SolverAgent::make_state(TaskMaterial& material, std::uint32_t run, std::uint64_t first_state,
                                 const Hash32& first_root, std::uint64_t index) {
    const std::uint64_t task = material.terms.id;
    kernels::ThreadPool& pool = workshop_.pool();
    const auto save = [&](std::uint64_t at, const kernels::StateCommitment& commitment,
                          const kernels::State& state) -> Status<> {
        RETRACE_CHECK(store_.save({task, run, at}, commitment, state));
        return store_.retain({task, run, at}, true);
    };
    std::optional<kernels::State> state;
    while (!state) {
        const auto newest = store_.newest(task, run, index);
        if (!newest) break;
        auto loaded = store_.load(*newest, pool);
        if (loaded) state = std::move(loaded).value();
        // A damaged checkpoint is no reason to stop: the one before it leads to the same bits.
        else
            RETRACE_CHECK(store_.discard(*newest));
    }
    if (!state) {
        auto first = first_root.is_zero() ? workshop_.initial_state(material)
                                          : workshop_.fetch(material, first_root, first_state);
        if (!first) return error(first.error().message);
        state = std::move(first).value();
        RETRACE_CHECK(
            save(first_state, kernels::commit_state(material.program->root(), *state, pool), *state));
    }
    Trainer trainer(*material.program, *material.runner, material.terms.schedule, pool);
    const auto progress = [&](const Progress& done) {
        if (config_.on_progress) config_.on_progress(task, done);
        return true;
    };
    const auto trained = trainer.run(*state, index, progress, save);
    if (!trained) return Unexpected{trained.error()};
    return Unit{};
}

Result<kernels::State> SolverAgent::state_of(const TaskTerms& terms, std::uint32_t run,
                                             std::uint64_t first_state, const Hash32& first_root,
                                             std::uint64_t index) {
    const auto material = workshop_.material(terms);
    if (!material) return error(material.error().message);
    RETRACE_CHECK(make_state(**material, run, first_state, first_root, index));
    return store_.load({terms.id, run, index}, workshop_.pool());
}

Answered SolverAgent::make_answer(const RunView& run, const ReportView& report) {
    Answered answered{report.id, {}, ""};
    const auto material = workshop_.material(run.terms);
    if (!material) {
        answered.problem = material.error().message;
        return answered;
    }
    const kernels::CommittedProgram& program = *(*material)->program;
    switch (report.kind) {
        case ReportKind::kept:
            answered.problem = "this solver keeps no state for others";
            break;
        case ReportKind::state:
        case ReportKind::model: {
            const bool model = report.kind == ReportKind::model;
            const std::uint64_t index = model ? run.terms.schedule.segments() : report.index;
            const auto state = state_of(run.terms, run.run, run.first_state, run.first_root, index);
            if (!state) {
                answered.problem = state.error().message;
                return answered;
            }
            const kernels::StateCommitment commitment =
                store_.commitment({run.terms.id, run.run, index}).value();
            answered.answer = encode(
                answer_state_tile(program, commitment, *state, report.tensor, report.tile, workshop_.pool()));
            break;
        }
        case ReportKind::data:
            if (report.index >= (*material)->data.size()) {
                answered.problem = "no such data set";
                return answered;
            }
            answered.answer =
                encode(answer_tensor_tile((*material)->data[report.index], report.tile, workshop_.pool()));
            break;
        case ReportKind::program:
            answered.answer = encode(answer_program(program, report.tensor, report.tile));
            break;
    }
    return answered;
}

}  // namespace retrace::solver
