// SPDX-License-Identifier: MIT
// retrace task plan: describes a task, its needs and its possible cost before it is posted.
#include "node/cmd/task_plan.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <bit>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <new>
#include <optional>
#include <set>
#include <sstream>

#include "kernels/builder/training.hpp"
#include "kernels/commit/committer.hpp"
#include "kernels/offload/offloaded_executor.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/program/codec.hpp"
#include "node/cmd/outlier_report.hpp"
#include "node/cmd/renamed.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/machine_memory.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "solver/agent/task_cache.hpp"
#include "solver/run/device.hpp"
#include "solver/worker/tensors.hpp"

namespace retrace::node::cli {

std::uint64_t trained_elements(const kernels::Program& program) {
    std::set<std::string> names;
    for (std::uint32_t i = 0; i < program.states; ++i) names.insert(program.tensors[i].name);
    std::uint64_t with_moments = 0, written = 0;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const kernels::TensorRecord& record = program.tensors[i];
        const std::uint64_t elements = kernels::geometry(record.dims).elements();
        if (names.contains(record.name + ".m") || names.contains(record.name + ".momentum")) with_moments += elements;
        if (record.writer != kernels::kNoWriter && !record.name.ends_with("running_mean") &&
            !record.name.ends_with("running_var") && !kernels::is_metric_tensor(record.name)) {
            written += elements;
        }
    }
    return with_moments > 0 ? with_moments : written;
}

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMeasure{1500};  ///< Approximate total time for timing steps.

struct Plan {
    std::uint64_t parameters = 0, state_bytes = 0, data_bytes = 0, buffer_bytes = 0;
    std::uint64_t commitment_bytes = 0;         ///< The copy that a solver hashes during the next step.
    std::uint64_t party_bytes = 0;              ///< Compared with --memory of a solver or verifier.
    std::uint64_t step_bytes = 0;               ///< Needed for timing steps, including the data set.
    std::uint64_t offload_bytes = 0;            ///< Least --memory of `task run --offload`.
    std::optional<std::uint64_t> device_bytes;  ///< Device memory for training; only in a build with CUDA.
    std::uint64_t step_flops = 0;
    std::uint64_t evidence_bytes = 0;  ///< Upper bound of the evidence in the last move of a dispute.

    std::uint64_t memory() const { return state_bytes + buffer_bytes + commitment_bytes + data_bytes; }
};

/// Bound of the input tiles of one element, each with its path to a state, data or trace root.
std::uint64_t evidence_bound(const kernels::Program& program) {
    constexpr std::uint64_t kTileBytes = 4096, kHashBytes = 32;
    std::uint64_t tiles = 1;
    for (const kernels::TensorRecord& record : program.tensors) {
        tiles = std::max(tiles, kernels::geometry(record.dims).tiles());
    }
    const std::uint64_t path = std::bit_width(tiles) + std::bit_width(program.tensors.size());
    return kernels::kEvidenceTilesMax * (kTileBytes + kHashBytes * path);
}

/// Computes the plan without loading the data or running a step.
Result<Plan> make_plan(const TaskFile& task, const kernels::Program& program, const kernels::Executor& executor,
                       kernels::ThreadPool& pool) {
    Plan plan;
    plan.parameters = trained_elements(program);
    for (std::uint32_t i = 0; i < program.states; ++i) plan.state_bytes += solver::bytes_of(program.tensors[i]);
    for (std::uint32_t i = 0; i < program.datasets; ++i)
        plan.data_bytes += solver::bytes_of(program.tensors[program.states + program.constants + i]);
    plan.buffer_bytes = executor.planned_bytes();
    plan.commitment_bytes = kernels::StateCommitter::planned_bytes(program);
    plan.device_bytes = solver::device_bytes(program);
    plan.offload_bytes = kernels::OffloadedExecutor::memory_of(program, pool).least;
    plan.step_flops = 2 * kernels::step_cost(program);
    plan.evidence_bytes = evidence_bound(program);
    // Counted as in solver::TaskCache, for a party that computes on the CPU.
    const auto most = [](const kernels::Executor& e) { return std::max(e.planned_bytes(), e.dispute_bytes()); };
    plan.party_bytes = 2 * solver::memory_of(program) + most(executor);  // The party's, and the worker's.
    std::uint64_t beginning = 0;                                         // Extra memory for making the first state.
    if (task.initialiser) {
        RETRACE_TRY(init, read_program(*task.initialiser));
        const kernels::Executor initialiser(init, pool);
        plan.party_bytes += solver::memory_of(init) + most(initialiser);
        plan.offload_bytes = std::max(plan.offload_bytes, kernels::OffloadedExecutor::memory_of(init, pool).least);
        beginning = initialiser.planned_bytes();
    } else {
        std::error_code code;
        beginning = std::filesystem::file_size(*task.initial_state, code);
        if (code) return error(task.initial_state->string() + ": " + code.message());
    }
    plan.step_bytes = plan.state_bytes + plan.data_bytes + std::max(plan.buffer_bytes, beginning);
    return plan;
}

struct Timing {
    std::optional<double> step_seconds;
    std::string not_timed;     ///< Reason if `step_seconds` is empty.
    OutlierSampling outliers;  ///< Outliers of the first step.
};

/// Samples the outliers, then measures the seconds of a step: the mean over the steps that fit the time, without the
/// first.
Result<Timing> measure(const TaskFile& task, const kernels::Program& program, kernels::Executor& executor,
                       kernels::ThreadPool& pool) {
    RETRACE_TRY(data, load_dataset(task.data));
    kernels::Inputs inputs;
    inputs.seed = task.seed;
    for (const DataSet::Part& part : data.parts) inputs.datasets.push_back(&part.tensor);
    if (inputs.datasets.size() != program.datasets) return error("the data set does not fit the program");
    RETRACE_TRY(state, first_state(task, program, pool));
    Timing timing;
    timing.outliers = sample_outliers(executor, program, state, inputs);
    executor.step(state, inputs);
    const Clock::time_point start = Clock::now();
    std::uint64_t steps = 0;
    while (steps == 0 || Clock::now() - start < kMeasure) {
        executor.step(state, inputs);
        ++steps;
    }
    timing.step_seconds = std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(steps);
    return timing;
}

/// Runs steps only if memory suffices: the plan matters most on a machine where it does not.
Result<Timing> time_steps(const TaskFile& task, const kernels::Program& program, const Plan& plan,
                          kernels::Executor& executor, kernels::ThreadPool& pool) {
    const std::string needs = "a step needs " + std::to_string(plan.step_bytes) + " bytes and this machine ";
    const std::uint64_t available = memory_left();
    if (plan.step_bytes > available)
        return Timing{std::nullopt, needs + "has " + std::to_string(available) + " available", {}};
    try {
        return measure(task, program, executor, pool);
    } catch (const std::bad_alloc&) {
        return Timing{std::nullopt, needs + "does not give them", {}};
    }
}

/// Rounded up, so that the value suffices for --memory.
std::uint64_t mebibytes(std::uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

std::string on_device(const Plan& plan) {
    if (!plan.device_bytes) return {};
    return "             training on a device takes at least " + amount(*plan.device_bytes) + " there\n";
}

/// Prints everything but the timing.
void say(const TaskFile& task, const Plan& plan, const Price& price) {
    const double flops = static_cast<double>(plan.step_flops) * static_cast<double>(task.steps);
    std::cout << std::setprecision(3) << "parameters   " << plan.parameters << " (state with moments "
              << amount(plan.state_bytes) << ")\narithmetic   " << static_cast<double>(plan.step_flops) / 1e9
              << " GFLOP a step, " << flops / 1e12 << " TFLOP in all\nmemory       " << amount(plan.memory())
              << " at the peak: state, " << amount(plan.buffer_bytes) << " of buffers, "
              << amount(plan.commitment_bytes) << " for commitments, " << amount(plan.data_bytes)
              << " of data\n             solvers and verifiers count " << plan.party_bytes << " bytes ("
              << mebibytes(plan.party_bytes) << " MiB) against --memory\n             task run --offload needs "
              << mebibytes(plan.offload_bytes) << " MiB beside the data\n"
              << on_device(plan) << "price        at most " << describe_coins(price.escrow.work) << " for "
              << price.segments << " segments and " << describe_coins(price.escrow.audits)
              << " set aside for audits\nauctions     " << auctions_of(price) << "\naudits       " << chances_of(price)
              << "\n             " << auditors_of(task, price) << '\n'
              << "evidence     a dispute ends with at most " << plan.evidence_bytes / 1024
              << " KiB of tiles and proofs\n"
              << std::flush;
}

json::object to_json(const TaskFile& task, const Plan& plan, const Price& price, const Timing& timing) {
    json::value step_seconds, seconds, not_timed;  // Null.
    if (timing.step_seconds) {
        step_seconds = *timing.step_seconds;
        seconds = *timing.step_seconds * static_cast<double>(task.steps);
    } else {
        not_timed = timing.not_timed;
    }
    json::object out{{"parameters", plan.parameters},
                     {"flops_per_step", plan.step_flops},
                     {"flops", static_cast<double>(plan.step_flops) * static_cast<double>(task.steps)},
                     {"memory_bytes", plan.memory()},
                     {"party_memory_bytes", plan.party_bytes},
                     {"offload_memory_bytes", plan.offload_bytes},
                     {"device_bytes", plan.device_bytes ? json::value(*plan.device_bytes) : json::value()},
                     {"state_bytes", plan.state_bytes},
                     {"commitment_bytes", plan.commitment_bytes},
                     {"seconds_per_step", step_seconds},
                     {"seconds", seconds},
                     {"not_timed", not_timed},
                     {"outliers", timing.outliers.json},
                     {"segments", price.segments},
                     {"escrow", price.escrow.total().to_decimal()},
                     {"escrow_work", price.escrow.work.to_decimal()},
                     {"escrow_audits", price.escrow.audits.to_decimal()},
                     {"detection_of_one", price.can_audit() ? json::value(price.found_one) : json::value()},
                     {"detection_of_ten", price.can_audit() ? json::value(price.found_ten) : json::value()},
                     {"possible_auditors", price.auditors ? json::value(*price.auditors) : json::value()},
                     {"paid_unaudited", task.allow_unaudited},
                     {"auctions", json_of_auctions(price)},
                     {"evidence_bytes", plan.evidence_bytes}};
    add_old_keys(out);
    return out;
}

int show(const Program& program, const TaskPlanFlags& flags) {
    auto task = load_task_file(flags.folder);
    if (!task) return fail(program, task.error().message);
    if (task->group) return plan_rounds(program, *task, flags);
    const auto step = read_program(task->program);
    if (!step) return fail(program, step.error().message);
    kernels::ThreadPool pool;
    kernels::Executor executor(*step, pool);
    const auto plan = make_plan(*task, *step, executor, pool);
    if (!plan) return fail(program, plan.error().message);
    const auto price = price_of(*task, flags);
    if (!price) return fail(program, price.error().message);
    // Printed before a step runs: if the kernel kills the process for its memory, the plan is already shown.
    if (!program.json) say(*task, *plan, *price);
    const auto timing = time_steps(*task, *step, *plan, executor, pool);
    if (!timing) return fail(program, timing.error().message);
    if (program.json) {
        std::cout << json::serialize(to_json(*task, *plan, *price, *timing)) << '\n';
    } else if (timing->step_seconds) {
        std::cout << "precision    " << timing->outliers.text << '\n';
        std::cout << "time         " << *timing->step_seconds * 1e3 << " ms a step here, "
                  << *timing->step_seconds * static_cast<double>(task->steps) << " s for " << task->steps << " steps\n";
    } else {
        std::cout << "time         not timed: " << timing->not_timed << '\n';
    }
    return kDone;
}

}  // namespace

void add_task_plan(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand(
        "plan", "Show what a compiled task needs: memory, price, audits, and time if it fits this machine");
    auto flags = std::make_shared<TaskPlanFlags>();
    flags->chain.node.url.clear();
    command->add_option("FOLDER", flags->folder, "task.toml or its folder")->required();
    command->add_option("--link-mbit", flags->link_mbit, "Rounds: speed of a member's link, in Mbit/s (100)")
        ->check(CLI::PositiveNumber);
    flags->auctions.add_to(*command);
    flags->chain.add_to(*command);
    command->get_option("--node")->description("Take fees and odds from this chain, not from a new one");
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return show(program, *flags); }; });
}

}  // namespace retrace::node::cli
