// SPDX-License-Identifier: MIT
// retrace task run, of a training in rounds.
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "node/cmd/task_run.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/group_task.hpp"
#include "node/tasks/model_files.hpp"
#include "solver/rounds/local_group.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

/// Checks that the plan trains the parameters of the task's program with its data.
Status<> check_fit(const kernels::GroupPlan& plan, const kernels::Program& train) {
    const kernels::Program& inner = *plan.find(kernels::Phase::inner);
    bool same = inner.datasets == train.datasets;
    for (std::uint32_t i = 0; same && i < train.datasets; ++i) {
        const kernels::TensorRecord& a = inner.tensors[inner.states + inner.constants + i];
        const kernels::TensorRecord& b = train.tensors[train.states + train.constants + i];
        same = a.dtype == b.dtype && a.dims == b.dims;
    }
    if (!same) return error("the plan and the program take other data; compile the task anew");
    return Unit{};
}

/// The members' own data, which the plan's inner steps take in place of the task's.
Result<std::vector<DataSet>> load_member_data(const kernels::GroupPlan& plan, const std::vector<std::string>& folders,
                                              std::uint32_t members) {
    if (folders.size() > members)
        return error("--member-data names " + std::to_string(folders.size()) + " folders for " +
                     std::to_string(members) + " members");
    const kernels::Program& inner = *plan.find(kernels::Phase::inner);
    std::vector<DataSet> out;
    for (const std::string& folder : folders) {
        RETRACE_TRY(data, load_dataset(folder));
        bool fits = data.parts.size() == inner.datasets;
        for (std::uint32_t i = 0; fits && i < inner.datasets; ++i) {
            const kernels::TensorRecord& wanted = inner.tensors[inner.states + inner.constants + i];
            fits = data.parts[i].tensor.dtype == wanted.dtype && data.parts[i].tensor.dims == wanted.dims;
        }
        if (!fits) return error(folder + ": it has other types or shapes than the task's data");
        out.push_back(std::move(data));
    }
    return out;
}

/// The mean of the metric over all inner steps of a round.
float mean_loss(const std::vector<std::vector<std::vector<kernels::Metric>>>& members) {
    float sum = 0;
    std::size_t count = 0;
    for (const auto& steps : members)
        for (const auto& metrics : steps)
            for (const kernels::Metric& metric : metrics)
                if (metric.name == "loss") sum += metric.value, ++count;
    return count == 0 ? 0.0f : sum / static_cast<float>(count);
}

void show_round(std::uint64_t round, std::uint64_t rounds, float loss, Clock::time_point start) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (::isatty(STDOUT_FILENO) == 0) {
        std::cout << "round " << round << " loss " << loss << '\n';
        return;
    }
    std::printf("\rround %llu of %llu, loss %.4f, %.0f s left   ", static_cast<unsigned long long>(round + 1),
                static_cast<unsigned long long>(rounds), static_cast<double>(loss),
                static_cast<double>(rounds - round - 1) * seconds / static_cast<double>(round + 1));
    if (round + 1 == rounds) std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int run_rounds(const Program& program, const TaskFile& task, const kernels::Program& train,
               const kernels::Inputs& inputs, const TaskRunFlags& flags) {
    if (flags.device.starts_with("cuda") || flags.outliers)
        return fail(program, "trainings in rounds have no --device cuda and no --outliers yet");
    const GroupTerms& terms = *task.group;
    const auto plan = read_plan(terms);
    if (!plan) return fail(program, plan.error().message);
    if (const auto fits = check_fit(*plan, train); !fits) return fail(program, fits.error().message);
    kernels::ThreadPool pool(flags.threads);
    const std::uint32_t members = flags.members != 0 ? flags.members : terms.members;
    solver::LocalGroup group(*plan, task.seed, inputs.datasets, members, pool);
    if (flags.regions != 0 && !plan->has_regions())
        return fail(program, "--regions is for a task that was compiled with --regions");
    if (plan->has_regions()) group.set_regions(flags.regions != 0 ? flags.regions : terms.regions);

    const auto own = load_member_data(*plan, flags.member_data, members);
    if (!own) return fail(program, own.error().message);
    for (std::uint32_t member = 0; member < own->size(); ++member) {
        std::vector<const kernels::Tensor*> tensors;
        for (const DataSet::Part& part : (*own)[member].parts) tensors.push_back(&part.tensor);
        group.set_data(member, std::move(tensors));
    }
    const std::vector<solver::MemberTurn> turns(members, {terms.inner, true});
    MetricTable table{{"loss"}, {}};
    json::array losses;
    const Clock::time_point start = Clock::now();
    for (std::uint64_t round = 0; round < terms.rounds; ++round) {
        const float loss = mean_loss(group.play(turns));
        table.rows.push_back({round, {loss}});
        losses.emplace_back(loss);
        if (!program.json) show_round(round, terms.rounds, loss, start);
    }
    group.catch_up(0);
    const auto state = model_state(plan->phases.front().program, group.state(0), train, task.steps);
    if (!state) return fail(program, state.error().message);

    json::object out{{"rounds", terms.rounds},
                     {"members", members},
                     {"losses", std::move(losses)},
                     {"regions", plan->has_regions() ? (flags.regions != 0 ? flags.regions : terms.regions) : 0},
                     {"message_bytes", group.message_bytes()},
                     {"state_root", to_0x(view(group.commit(0).root))}};
    if (flags.evaluate) {
        const auto result = evaluate_task(task, *state, pool);
        if (!result) return fail(program, result.error().message);
        out["test_loss"] = result->loss;
        if (result->counts_correct) out["accuracy"] = result->accuracy();
    }
    if (!flags.out.empty()) {
        if (const auto written = write_results(task, train, *state, table, flags.out); !written)
            return fail(program, written.error().message);
    }
    if (program.json) {
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << "state root " << to_0x(view(group.commit(0).root)) << '\n';
    std::cout << "message " << group.message_bytes() << " bytes a round and member, before packing\n";
    if (flags.evaluate) std::cout << "test loss " << out["test_loss"].as_double() << '\n';
    if (out.contains("accuracy")) std::cout << "accuracy " << 100 * out["accuracy"].as_double() << " %\n";
    return kDone;
}

}  // namespace retrace::node::cli
