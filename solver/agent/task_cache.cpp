// SPDX-License-Identifier: MIT
#include "solver/agent/task_cache.hpp"

#include <algorithm>

#include "kernels/commit/contract.hpp"
#include "kernels/exec/dispute_memory.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/initialiser.hpp"
#include "kernels/program/limits.hpp"
#include "solver/run/preemption.hpp"

namespace retrace::solver {
namespace {

Unexpected<Unavailable> unavailable(std::string message, std::optional<ReportKind> kind) {
    return Unexpected{Unavailable{std::move(message), kind, 0, 0}};
}

/// Memory of the tensors of a plan: a worker process for each phase has its own, and the party has one list of states.
std::uint64_t tensor_memory_of(const CommittedPlan& plan) {
    std::uint64_t bytes = memory_of(plan.states());
    plan.for_each([&](const kernels::Program& program) { bytes = kernels::saturating_add(bytes, memory_of(program)); });
    return bytes;
}

}  // namespace

RunnerFactory honest_runners() {
    return [](const TaskTerms&, const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool) {
        return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
    };
}

RunnerFactory honest_runners(DeviceChoice choice, std::function<void(const std::string&)> report) {
    return [choice, report = std::move(report)](const TaskTerms& terms, const kernels::Program& program,
                                                kernels::Inputs inputs,
                                                kernels::ThreadPool& pool) -> std::unique_ptr<StepRunner> {
        auto device = open_device(choice, program);
        if (!device) {
            report("task " + std::to_string(terms.id) + ": " + device.error().message);
            return nullptr;
        }
        if (*device == nullptr) return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
        return std::make_unique<ProgramRunner>(program, std::move(inputs), pool, std::move(*device));
    };
}

kernels::Inputs TaskMaterial::inputs() const {
    kernels::Inputs inputs{terms.seed, {}};
    for (const kernels::Tensor& tensor : data) inputs.datasets.push_back(&tensor);
    return inputs;
}

std::uint64_t memory_of(const kernels::Program& program) {
    // Facts, plans and copies of one op: 1.1 KiB for a chain of 100,000 reshapes, more for ops with more inputs.
    constexpr std::uint64_t kOpBytes = 2048;
    // Index of a checkpoint store for one state tensor: its file name and root in each of 64 checkpoints that may be
    // asked for at once, and the hashes of its tiles in the newest of up to four lines of checkpoints.
    constexpr std::uint64_t kTensorBytes = 64 * 160, kTileBytes = 4 * sizeof(Hash32);
    std::uint64_t bytes = kOpBytes * program.ops.size() + kTensorBytes * program.states;
    const std::uint32_t fixed = program.states + program.constants + program.datasets;
    for (std::uint32_t i = 0; i < fixed; ++i) {
        const kernels::TensorRecord& record = program.tensors[i];
        const std::uint64_t size = kernels::geometry(record.dims).elements() * kernels::size_of(record.dtype);
        bytes += i < program.states ? 2 * size + kTileBytes * kernels::geometry(record.dims).tiles() : size;
    }
    return bytes;
}

std::uint64_t memory_of(const CommittedPlan& plan, kernels::ThreadPool& pool) {
    std::uint64_t bytes = tensor_memory_of(plan), dispute = 0;
    plan.for_each([&](const kernels::Program& program) {
        const kernels::Executor executor(program, pool);
        bytes = kernels::saturating_add(bytes, executor.planned_bytes());
        dispute = std::max(dispute, executor.dispute_bytes());
    });
    return kernels::saturating_add(bytes, dispute);  // A party plays one move at a time.
}

std::uint64_t memory_beside_states(const kernels::Program& program) {
    return memory_of(program) - 2 * kernels::state_bytes(program);
}

TaskCache::TaskCache(ArtifactSource& source, kernels::ThreadPool& pool, RunnerFactory runners, std::uint64_t memory,
                     RunnerFactory initialisers)
    : source_(source),
      pool_(pool),
      runners_(std::move(runners)),
      initialisers_(std::move(initialisers)),
      memory_(memory) {}

std::uint64_t TaskCache::held() const {
    std::uint64_t held = 0;
    for (const auto& [id, other] : materials_) held += other->bytes;
    for (const auto& [id, other] : groups_) held += other->bytes;
    return held;
}

std::uint64_t TaskCache::spare() const {
    const std::uint64_t taken = held() + answers_.bytes();
    return taken < memory_ ? memory_ - taken : 0;
}

void TaskCache::bound_answers() {
    const std::uint64_t taken = held() + (kept_ ? kept_() : 0);
    answers_.keep_within(taken < memory_ ? memory_ - taken : 0);
}

std::vector<std::uint64_t> TaskCache::tasks() const {
    std::vector<std::uint64_t> out;
    for (const auto& [id, material] : materials_) out.push_back(id);
    for (const auto& [key, material] : groups_) out.push_back(key.first);
    return out;
}

Status<> TaskCache::check_memory(std::uint64_t bytes, const FreeMemory& free_memory) {
    if (bytes > spare()) answers_.clear();
    while (bytes > spare()) {
        if (free_memory && free_memory()) continue;
        return error("the task needs " + std::to_string(bytes) + " bytes of memory and " + std::to_string(memory_) +
                     " are allowed (--memory), of which other tasks hold " + std::to_string(held()));
    }
    if (less_to_spare_) less_to_spare_(spare() - bytes);
    return Unit{};
}

Result<TaskMaterial*, Unavailable> TaskCache::material(const TaskTerms& terms, const FreeMemory& free_memory) {
    const auto found = materials_.find(terms.id);
    if (found != materials_.end()) return found->second.get();
    if (terms.contract != kernels::contract_hash())
        return unavailable("the task asks for another kernel contract", std::nullopt);
    auto made = std::make_unique<TaskMaterial>();
    made->terms = terms;
    auto program = fetch_program(source_, terms.program_root, terms.program_bytes);
    if (!program) return unavailable(program.error().message, ReportKind::program);
    made->program = std::move(program).value();
    made->bytes =
        states_on_disk_ ? memory_beside_states(made->program->program()) : memory_of(made->program->program());
    if (const auto fits = check_memory(made->bytes, free_memory); !fits)
        return unavailable(fits.error().message, std::nullopt);
    if (!terms.init_root.is_zero()) {
        auto init = fetch_program(source_, terms.init_root, kernels::Limits{}.constant_bytes);
        if (!init) return unavailable(init.error().message, ReportKind::program);
        made->init = std::move(init).value();
        const auto fits = kernels::check_initialiser(made->init->program(), made->program->program());
        if (!fits) return unavailable(fits.error().message, std::nullopt);
        made->init_runner = initialisers_(terms, made->init->program(), kernels::Inputs{terms.seed, {}}, pool_);
        made->bytes = kernels::saturating_add(made->bytes, made->init_runner->planned_bytes());
        if (const auto room = check_memory(made->bytes, free_memory); !room)
            return unavailable(room.error().message, std::nullopt);
    }
    RETRACE_TRY(data, fetch_data(source_, made->program->program(), terms.data_roots, pool_));
    made->data = std::move(data);
    made->runner = runners_(terms, made->program->program(), made->inputs(), pool_);
    if (made->runner == nullptr) return unavailable("the chosen device cannot run the task's program", std::nullopt);
    made->bytes = kernels::saturating_add(made->bytes, made->runner->planned_bytes());
    if (const auto room = check_memory(made->bytes, free_memory); !room)
        return unavailable(room.error().message, std::nullopt);
    return (materials_[terms.id] = std::move(made)).get();
}

Result<std::vector<kernels::Tensor>, Unavailable> TaskCache::data_of_group(const TaskTerms& terms,
                                                                           const kernels::Program& inner) {
    if (!terms.group || terms.group->private_sets == 0) return fetch_data(source_, inner, terms.data_roots, pool_);
    if (terms.data_roots.empty()) return std::vector<kernels::Tensor>{};
    return own_data().take(terms.id, inner, terms.data_roots);
}

const PrivateData& TaskCache::own_data() const {
    static const PrivateData kNone;
    return private_ != nullptr ? *private_ : kNone;
}

Result<Unit, Unavailable> TaskCache::check_private(const TaskTerms& terms, const std::vector<Hash32>& roots) {
    const auto plan = fetch_plan(source_, terms.program_root, terms.program_bytes);
    if (!plan) return unavailable(plan.error().message, ReportKind::program);
    const auto fits = own_data().fits((*plan)->states(), roots);
    if (!fits) return unavailable(fits.error().message, std::nullopt);
    return Unit{};
}

Result<std::shared_ptr<const CommittedPlan>, Unavailable> TaskCache::plan(const TaskTerms& terms) {
    if (const auto found = plans_.find(terms.id); found != plans_.end()) return found->second;
    auto plan = fetch_plan(source_, terms.program_root, terms.program_bytes);
    if (!plan) return unavailable(plan.error().message, ReportKind::program);
    return plans_[terms.id] = std::move(plan).value();
}

Result<GroupMaterial*, Unavailable> TaskCache::group(const TaskTerms& terms, const FreeMemory& free_memory) {
    const std::pair key(terms.id, terms.data_roots);
    const auto found = groups_.find(key);
    if (found != groups_.end()) return found->second.get();
    if (terms.contract != kernels::contract_hash())
        return unavailable("the task asks for another kernel contract", std::nullopt);
    auto made = std::make_unique<GroupMaterial>();
    made->terms = terms;
    RETRACE_TRY(committed, plan(terms));
    made->plan = std::move(committed);
    // Without the buffers first: planning them takes time.
    if (const auto fits = check_memory(tensor_memory_of(*made->plan), free_memory); !fits)
        return unavailable(fits.error().message, std::nullopt);
    made->bytes = memory_of(*made->plan, pool_);
    if (const auto fits = check_memory(made->bytes, free_memory); !fits)
        return unavailable(fits.error().message, std::nullopt);
    RETRACE_TRY(data, data_of_group(terms, made->plan->states()));
    made->data = std::move(data);
    std::vector<const kernels::Tensor*> datasets;
    for (const kernels::Tensor& tensor : made->data) datasets.push_back(&tensor);
    const auto make = [this, terms](const kernels::Program& program, kernels::Inputs inputs) {
        return runners_(terms, program, std::move(inputs), pool_);
    };
    made->runner = std::make_unique<PlanRunner>(*made->plan, terms.seed, std::move(datasets), make, pool_);
    return (groups_[key] = std::move(made)).get();
}

Result<kernels::State, Unavailable> TaskCache::fetch(const GroupMaterial& material, const Hash32& root,
                                                     std::uint64_t header_step) {
    return fetch_state(source_, material.plan->root(), material.plan->states(), root, header_step, pool_);
}

FetchedMessage TaskCache::fetch_message(const CommittedPlan& plan, const MessageRequest& request) {
    return solver::fetch_message(source_, plan, request, pool_);
}

void TaskCache::fetch_messages(const GroupMaterial& material, const std::vector<MessageRequest>& requests,
                               const std::function<bool(std::size_t place, FetchedMessage)>& done) {
    solver::fetch_messages(source_, *material.plan, requests, pool_, done);
}

Result<std::vector<kernels::Tensor>, Unavailable> TaskCache::fetch_shared(const GroupMaterial& material,
                                                                          const std::vector<Hash32>& roots) {
    if (roots.size() != material.plan->shared())
        return unavailable("another number of shared tensors than the plan says", std::nullopt);
    std::vector<kernels::Tensor> out;
    for (std::uint32_t t = 0; t < roots.size(); ++t) {
        auto tensor = fetch_tensor(source_, material.plan->states().tensors[t], roots[t], pool_);
        if (!tensor) return unavailable(tensor.error().message, ReportKind::state);
        out.push_back(std::move(tensor).value());
    }
    return out;
}

Result<kernels::ProgramHeader, Unavailable> TaskCache::header(const TaskTerms& terms) {
    if (const auto found = materials_.find(terms.id); found != materials_.end())
        return found->second->program->header();
    if (const auto known = headers_.find(terms.program_root); known != headers_.end()) return known->second;
    auto program = fetch_program(source_, terms.program_root, terms.program_bytes);
    if (!program) return unavailable(program.error().message, ReportKind::program);
    constexpr std::size_t kHeadersMax = 64;
    if (headers_.size() >= kHeadersMax) headers_.clear();
    return headers_.emplace(terms.program_root, (*program)->header()).first->second;
}

Result<kernels::State, Unavailable> TaskCache::initial_state(TaskMaterial& material, const kernels::StopToken& stop) {
    if (material.init == nullptr) return fetch(material, material.terms.initial_state_root, 0);
    kernels::State state = blank_state(material.init->program());
    if (!material.init_runner->attempt(state, stop)) throw Preempted();
    state.step = 0;
    return state;
}

Result<kernels::State, Unavailable> TaskCache::fetch(TaskMaterial& material, const Hash32& root, std::uint64_t index) {
    return fetch_state(source_, *material.program, root, material.terms.schedule.step_of(index), pool_);
}

}  // namespace retrace::solver
