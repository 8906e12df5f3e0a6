// SPDX-License-Identifier: MIT
#include "node/tasks/compile.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include "kernels/builder/models.hpp"
#include "kernels/program/codec.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/files.hpp"
#include "node/tasks/data/import.hpp"
#include "node/tasks/group_task.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "node/tasks/torch_tool.hpp"
#include "solver/import/mapping.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEvalBatchMax = 500;

/// The programs, and the initial tensors where no program makes them.
struct Compiled {
    kernels::TrainingPrograms programs;
    std::optional<kernels::GroupPlan> plan;
    std::vector<solver::NamedTensor> initial;
};

kernels::Dims without_first(const kernels::Dims& dims) { return {dims.begin() + 1, dims.end()}; }

/// Checks that the samples and targets of both data sets have the same shapes and types.
Status<> check_alike(const DataSet& train, const DataSet& test) {
    for (const char* part : {"x", "y"}) {
        const kernels::Tensor *a = train.find(part), *b = test.find(part);
        if (b == nullptr || a->dtype != b->dtype || b->dims.empty() ||
            without_first(a->dims) != without_first(b->dims)) {
            return error("samples of the test data have another shape than those of the training data");
        }
    }
    return Unit{};
}

/// Returns the number of elements of one target.
std::uint64_t target_size(const kernels::Tensor& y) { return y.elements() / y.dims[0]; }

std::uint32_t greatest(const kernels::Tensor& labels) {
    std::uint32_t out = 0;
    for (std::uint64_t i = 0; i < labels.elements(); ++i) out = std::max(out, labels.bits(i));
    return out;
}

/// The built-in model with the types and extents of the data.
Result<kernels::ModelSource> builtin_source(const CompileRequest& request, const kernels::TrainingSpec& training,
                                            const DataSet& train) {
    const kernels::Tensor &x = *train.find("x"), &y = *train.find("y");
    kernels::ModelSpec model = request.model;
    model.input = without_first(x.dims);
    const bool classifies = training.loss == kernels::LossKind::cross_entropy;
    model.classes = classifies ? train.classes : std::max<std::uint64_t>(2, target_size(y));
    RETRACE_CHECK(kernels::check_model(model));
    if (!classifies) model.classes = target_size(y);
    kernels::ModelSource source = kernels::source_of(model, training.precision);
    if (source.tokens && !are_tokens(train)) return error(model.kind + " reads tokens, and the data set has none");
    source.x_dtype = x.dtype;
    source.y_dtype = y.dtype;
    source.target = without_first(y.dims);
    return source;
}

Result<Compiled> build_builtin(const CompileRequest& request, const kernels::TrainingSpec& training,
                               const DataSet& train, std::uint64_t eval_samples) {
    RETRACE_TRY(source, builtin_source(request, training, train));
    const std::uint64_t eval_batch = std::min(eval_samples, kEvalBatchMax);
    RETRACE_TRY(programs, kernels::build_training(source, training, eval_samples, eval_batch));
    return Compiled{std::move(programs), {}, {}};
}

Result<kernels::GroupPlan> build_plan(const CompileRequest& request, const kernels::TrainingPrograms& programs,
                                      const kernels::TrainingSpec& training, const DataSet& train) {
    if (request.rounds->spec.update != kernels::UpdateKind::gradient)
        return kernels::build_rounds(programs, training, request.rounds->spec);
    RETRACE_TRY(source, builtin_source(request, training, train));
    RETRACE_TRY(gradient, kernels::build_gradient(source, training));
    return kernels::build_rounds(programs, training, request.rounds->spec, &gradient);
}

Result<Compiled> build_imported(const CompileRequest& request, const kernels::TrainingSpec& training,
                                const DataSet& train, std::uint64_t eval_samples) {
    const kernels::Tensor &x = *train.find("x"), &y = *train.find("y");
    solver::MappingOptions options;
    options.loss = training.loss;
    options.precision = training.precision;
    options.x_dtype = x.dtype;
    options.y_dtype = y.dtype;
    options.sample = without_first(x.dims);
    options.target = without_first(y.dims);
    options.tokens = are_tokens(train);
    options.classes = training.loss == kernels::LossKind::cross_entropy ? train.classes : 0;
    // A byte of text has 256 values, but the model needs only those that occur.
    if (options.tokens) options.classes = greatest(y) + 1;
    const std::uint64_t eval_batch = std::min(eval_samples, training.batch);
    RETRACE_TRY(recording, record_model(request.module, {options.tokens, options.sample, training.batch, eval_batch},
                                        request.require_sandbox));
    auto mapped = solver::map_model(std::move(recording), options);
    if (!mapped) return error(request.module.string() + ": " + mapped.error().message);
    auto programs = kernels::build_training(mapped->source, training, eval_samples, eval_batch);
    if (!programs) return error(request.module.string() + ": " + programs.error().message);
    return Compiled{std::move(*programs), {}, std::move(mapped->initial)};
}

/// Whether this is a low-rank correction of a frozen layer, which the weights of the original model do not have.
bool is_correction(const std::string& name) { return name.ends_with(".lora_down") || name.ends_with(".lora_up"); }

/// Reads every tensor of the model as another training left it; corrections that the file lacks are initialised from
/// the seed.
Result<std::vector<solver::NamedTensor>> read_weights(const fs::path& path, const kernels::TrainingPrograms& programs,
                                                      std::uint64_t seed) {
    const kernels::Program& train = programs.train;
    RETRACE_TRY(state, read_initial_state(path, train));
    auto file = read_file(path, kDataBytesMax);
    if (!file) return error(file.error().message);
    auto content = solver::decode_safetensors(*file);
    if (!content) return error(path.string() + ": " + content.error().message);
    std::set<std::string> given;
    for (const solver::NamedTensor& named : content->tensors) given.insert(named.name);
    std::optional<kernels::State> seeded;
    for (std::uint32_t i = 0; i < train.states; ++i) {
        const std::string& name = train.tensors[i].name;
        if (given.contains(name) || !is_correction(name) || programs.init.ops.empty()) continue;
        kernels::ThreadPool pool;
        if (!seeded) seeded = kernels::run_initialiser(programs.init, seed, pool);
        given.insert(name);
        content->tensors.push_back({name, seeded->tensors[i]});
    }
    for (const solver::NamedTensor& needed : model_tensors(train, state)) {
        if (!given.contains(needed.name)) return error(path.string() + ": the model's " + needed.name + " is missing");
    }
    return std::move(content->tensors);
}

Status<> write_task(const TaskFile& task, const Compiled& compiled, const DataSet& train, const DataSet* test,
                    const fs::path& module, const fs::path& folder) {
    RETRACE_CHECK(write_durably(task.program, {kernels::encode(compiled.programs.train)}));
    if (task.group) RETRACE_CHECK(write_durably(task.group->plan, {kernels::encode(*compiled.plan)}));
    if (task.initialiser) {
        RETRACE_CHECK(write_durably(*task.initialiser, {kernels::encode(compiled.programs.init)}));
    } else {
        RETRACE_CHECK(write_initial_state(compiled.initial, *task.initial_state));
    }
    if (task.module) {
        std::error_code code;
        fs::copy_file(module, *task.module, code);
        if (code) return error(task.module->string() + ": " + code.message());
    }
    RETRACE_CHECK(save_dataset(train, task.data));
    if (test != nullptr) {
        RETRACE_CHECK(write_durably(*task.evaluation, {kernels::encode(compiled.programs.eval)}));
        RETRACE_CHECK(save_dataset(*test, *task.test_data));
    }
    return store_task_file(task, folder);
}

TaskFile with_paths(TaskFile task, const fs::path& folder, const CompileRequest& request, bool tested) {
    const bool imported = !request.module.empty();
    task.program = folder / "program.rtp";
    task.data = folder / "data";
    if (imported || !request.start.empty())
        task.initial_state = folder / "initial.safetensors";
    else
        task.initialiser = folder / "init.rtp";
    if (imported) task.module = folder / "module.pt";
    if (request.rounds) {
        task.group = request.rounds->terms;
        task.group->plan = folder / "plan.rtg";
        task.group->inner = request.rounds->spec.inner;
    }
    if (tested) {
        task.evaluation = folder / "eval.rtp";
        task.test_data = folder / "test_data";
    }
    return task;
}

}  // namespace

Result<TaskFile> compile_task(const CompileRequest& request, const DataSet& train, const DataSet* test) {
    std::error_code code;
    if (fs::exists(request.out, code) && !fs::is_empty(request.out, code)) {
        return error(request.out.string() + " exists and is not empty; choose another folder with -o");
    }
    RETRACE_CHECK(check_data(train, request.training.loss, request.training.batch));
    if (test != nullptr) {
        RETRACE_CHECK(check_alike(train, *test));
        RETRACE_CHECK(check_data(*test, request.training.loss, 1));
    }
    kernels::TrainingSpec training = request.training;
    training.samples = train.samples();
    training.steps = request.task.steps;
    training.keep_metrics = true;
    const std::uint64_t test_samples = test != nullptr ? test->samples() : training.batch;
    const bool imported = !request.module.empty();
    RETRACE_TRY(compiled, imported ? build_imported(request, training, train, test_samples)
                                   : build_builtin(request, training, train, test_samples));
    if (request.rounds) {
        if (imported || !request.start.empty()) return error("--rounds is for built-in models that begin with a seed");
        RETRACE_TRY(plan, build_plan(request, compiled.programs, training, train));
        compiled.plan = std::move(plan);
    }
    if (!request.start.empty()) {
        RETRACE_TRY(weights, read_weights(request.start, compiled.programs, request.task.seed));
        compiled.initial = std::move(weights);
    }
    for (solver::NamedTensor& named : compiled.initial) {
        if (const auto cleaned = clean(named.tensor, named.name); !cleaned)
            return error((request.start.empty() ? request.module : request.start).string() + ": " +
                         cleaned.error().message);
    }

    const fs::path out = fs::absolute(request.out).lexically_normal();
    const fs::path draft = out.string() + ".partial";
    fs::remove_all(draft, code);
    if (!fs::create_directories(draft, code)) return error(draft.string() + ": " + code.message());
    TaskFile task = with_paths(request.task, draft, request, test != nullptr);
    task.compiled = compiled.plan ? facts_of(*compiled.plan) : facts_of(compiled.programs.train);
    auto written = write_task(task, compiled, train, test, request.module, draft);
    if (written) {
        fs::remove(out, code);  // It is empty or does not exist.
        fs::rename(draft, out, code);
        if (code) written = Status<>(error(out.string() + ": " + code.message()));
    }
    if (!written) {
        fs::remove_all(draft, code);
        return Unexpected{written.error()};
    }
    return load_task_file(out);
}

}  // namespace retrace::node
