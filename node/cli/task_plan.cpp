// SPDX-License-Identifier: MIT
// retrace task plan: what a task is, what it needs and what it may cost, before it is posted.
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
#include <set>
#include <sstream>

#include "kernels/commit/committer.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/program/codec.hpp"
#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "node/cli/task_options.hpp"
#include "node/data/dataset.hpp"
#include "node/service/remote_state.hpp"
#include "node/task/initial_state.hpp"
#include "node/task/model_files.hpp"
#include "node/units.hpp"
#include "solver/agent/workshop.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMeasure{1500};  ///< Steps are timed for about as long.

struct Plan {
    std::uint64_t parameters = 0, state_bytes = 0, data_bytes = 0, buffer_bytes = 0;
    std::uint64_t commitment_bytes = 0;  ///< The copy that a solver hashes beside the next step.
    std::uint64_t party_bytes = 0;       ///< What a solver's or a verifier's --memory is compared with.
    std::uint64_t step_flops = 0;
    double step_seconds = 0;
    std::uint64_t evidence_bytes = 0;  ///< Most that the last move of a dispute brings to the ledger.
};

std::uint64_t bytes_of(const kernels::TensorRecord& record) {
    return kernels::geometry(record.dims).elements() * kernels::size_of(record.dtype);
}

/// Input tiles of one element, each with its path to a state, data or trace root.
std::uint64_t evidence_bound(const kernels::Program& program) {
    constexpr std::uint64_t kTileBytes = 4096, kHashBytes = 32;
    std::uint64_t tiles = 1;
    for (const kernels::TensorRecord& record : program.tensors) {
        tiles = std::max(tiles, kernels::geometry(record.dims).tiles());
    }
    const std::uint64_t path = std::bit_width(tiles) + std::bit_width(program.tensors.size());
    return kernels::kEvidenceTilesMax * (kTileBytes + kHashBytes * path);
}

/// Elements that the optimiser changes. They have moments where it keeps any; else all but running
/// statistics, which are named as PyTorch names them.
std::uint64_t trained_elements(const kernels::Program& program) {
    std::set<std::string> names;
    for (std::uint32_t i = 0; i < program.states; ++i) names.insert(program.tensors[i].name);
    std::uint64_t with_moments = 0, written = 0;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const kernels::TensorRecord& record = program.tensors[i];
        const std::uint64_t elements = kernels::geometry(record.dims).elements();
        if (names.contains(record.name + ".m") || names.contains(record.name + ".momentum"))
            with_moments += elements;
        if (record.writer != kernels::kNoWriter && !record.name.ends_with("running_mean") &&
            !record.name.ends_with("running_var")) {
            written += elements;
        }
    }
    return with_moments > 0 ? with_moments : written;
}

/// Seconds of a step: the mean of those that fit the time, the first one left out.
double measure(kernels::Executor& executor, kernels::State& state, const kernels::Inputs& inputs) {
    executor.step(state, inputs);
    const Clock::time_point start = Clock::now();
    std::uint64_t steps = 0;
    while (steps == 0 || Clock::now() - start < kMeasure) {
        executor.step(state, inputs);
        ++steps;
    }
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(steps);
}

/// As solver::Workshop counts it, for a party that computes on the host.
Result<std::uint64_t> party_bytes(const TaskFile& task, const kernels::Program& program,
                                  const kernels::Executor& executor, kernels::ThreadPool& pool) {
    const auto most = [](const kernels::Executor& e) { return std::max(e.planned_bytes(), e.dispute_bytes()); };
    std::uint64_t bytes = solver::memory_of(program) + most(executor);
    if (!task.initialiser) return bytes;
    RETRACE_TRY(init, read_program(*task.initialiser));
    return bytes + most(kernels::Executor(init, pool));
}

Result<Plan> make_plan(const TaskFile& task) {
    RETRACE_TRY(program, read_program(task.program));
    RETRACE_TRY(data, load_dataset(task.data));
    kernels::ThreadPool pool;
    RETRACE_TRY(state, first_state(task, program, pool));
    Plan plan;
    plan.parameters = trained_elements(program);
    for (std::uint32_t i = 0; i < program.states; ++i) plan.state_bytes += bytes_of(program.tensors[i]);
    kernels::Inputs inputs;
    inputs.seed = task.seed;
    for (const DataSet::Part& part : data.parts) {
        inputs.datasets.push_back(&part.tensor);
        plan.data_bytes += part.tensor.data.size();
    }
    if (inputs.datasets.size() != program.datasets) return error("the data set does not fit the program");
    kernels::Executor executor(program, pool);
    plan.buffer_bytes = executor.planned_bytes();
    plan.commitment_bytes = kernels::StateCommitter::planned_bytes(program);
    RETRACE_TRY(party, party_bytes(task, program, executor, pool));
    plan.party_bytes = party;
    plan.step_flops = 2 * kernels::step_cost(program);
    plan.step_seconds = measure(executor, state, inputs);
    plan.evidence_bytes = evidence_bound(program);
    return plan;
}

market::TaskSpec terms_of(const TaskFile& task) {
    market::TaskSpec spec;
    spec.steps = task.steps;
    spec.interval = task.interval;
    spec.price_ceiling = task.price_ceiling;
    spec.audit_bp = task.audit_bp;
    spec.auditors = task.auditors;
    spec.replicas = task.replicas;
    return spec;
}

/// Parameters of the chain behind `node`, or those that a new chain has.
Result<market::Params> params_of(const NodeOptions& node) {
    if (node.url.empty()) return market::Params{};
    auto client = node.connect();
    if (!client) return error(client.error().message);
    const auto height = client->height();
    if (!height) return error(height.error().message);
    const RemoteState state(*client, *height);
    const auto params = contracts::views::params(state);
    if (!params) return error("the node at " + node.url + " has no Retrace contracts");
    return *params;
}

std::string amount(std::uint64_t bytes) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(1);
    if (bytes >= 1ull << 30) {
        out << static_cast<double>(bytes) / (1ull << 30) << " GiB";
    } else {
        out << static_cast<double>(bytes) / (1ull << 20) << " MiB";
    }
    return out.str();
}

/// Rounded up, as --memory has to be.
std::uint64_t mebibytes(std::uint64_t bytes) {
    return (bytes + (1 << 20) - 1) >> 20;
}

int show(const Program& program, const std::string& folder, const NodeOptions& node) {
    const auto task = load_task_file(folder);
    if (!task) return fail(program, task.error().message);
    const auto plan = make_plan(*task);
    if (!plan) return fail(program, plan.error().message);
    const auto params = params_of(node);
    if (!params) return fail(program, params.error().message);
    const market::TaskSpec spec = terms_of(*task);
    const auto escrow = market::escrow_of(spec, *params);
    if (!escrow) return fail(program, "price_ceiling is too large");
    const auto chance =
        market::effective_audit_probability(spec.audit_bp, params->collusion_bp, spec.auditors);
    const auto found = [&](std::uint64_t bad) {
        return static_cast<double>(market::detection_ppm(chance, bad)) / 1e6;
    };
    const std::uint64_t memory =
        plan->state_bytes + plan->buffer_bytes + plan->commitment_bytes + plan->data_bytes;
    const double seconds = plan->step_seconds * static_cast<double>(task->steps);
    const double flops = static_cast<double>(plan->step_flops) * static_cast<double>(task->steps);
    if (program.json) {
        std::cout << json::serialize(json::object{{"parameters", plan->parameters},
                                                  {"flops_per_step", plan->step_flops},
                                                  {"flops", flops},
                                                  {"memory_bytes", memory},
                                                  {"party_memory_bytes", plan->party_bytes},
                                                  {"state_bytes", plan->state_bytes},
                                                  {"commitment_bytes", plan->commitment_bytes},
                                                  {"seconds_per_step", plan->step_seconds},
                                                  {"seconds", seconds},
                                                  {"segments", spec.segments()},
                                                  {"escrow", escrow->total().to_decimal()},
                                                  {"escrow_work", escrow->work.to_decimal()},
                                                  {"escrow_audits", escrow->audits.to_decimal()},
                                                  {"detection_of_one", found(1)},
                                                  {"detection_of_ten", found(10)},
                                                  {"evidence_bytes", plan->evidence_bytes}})
                  << '\n';
        return kDone;
    }
    std::cout << std::setprecision(3) << "parameters   " << plan->parameters << " (state with moments "
              << amount(plan->state_bytes) << ")\narithmetic   "
              << static_cast<double>(plan->step_flops) / 1e9 << " GFLOP a step, " << flops / 1e12
              << " TFLOP in all\nmemory       " << amount(memory) << " at the peak: state, "
              << amount(plan->buffer_bytes) << " of buffers, " << amount(plan->commitment_bytes)
              << " for commitments, " << amount(plan->data_bytes)
              << " of data\n             solvers and verifiers count " << plan->party_bytes << " bytes ("
              << mebibytes(plan->party_bytes) << " MiB) against --memory\ntime         "
              << plan->step_seconds * 1e3 << " ms a step here, " << seconds << " s for " << task->steps
              << " steps\nprice        at most " << format_coins(escrow->work) << " for " << spec.segments()
              << " segments and " << format_coins(escrow->audits)
              << " set aside for audits\naudits       one bad segment is found with " << 100 * found(1)
              << " %, ten with " << 100 * found(10)
              << " %; the first and the last are always audited\nevidence     a dispute ends with at most "
              << plan->evidence_bytes / 1024 << " KiB of tiles and proofs\n";
    return kDone;
}

}  // namespace

void add_task_plan(CLI::App& parent, Program& program) {
    CLI::App* command =
        parent.add_subcommand("plan", "What a compiled task needs: memory, time here, price, audits");
    auto folder = std::make_shared<std::string>();
    auto node = std::make_shared<NodeOptions>();
    node->url.clear();
    command->add_option("FOLDER", *folder, "task.toml or its folder")->required();
    node->add_to(*command);
    command->get_option("--node")->description("Take fees and odds from this chain, not from a new one");
    add_json(*command, program);
    command->callback([&program, folder, node] {
        program.run = [&program, folder, node] { return show(program, *folder, *node); };
    });
}

}  // namespace retrace::node::cli
