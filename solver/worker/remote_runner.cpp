// SPDX-License-Identifier: MIT
#include "solver/worker/remote_runner.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

#include "kernels/program/limits.hpp"
#include "solver/run/preemption.hpp"
#include "solver/worker/remote_training.hpp"

namespace retrace::solver {
namespace {

std::string step_name(std::uint64_t step) { return "step " + std::to_string(step); }

}  // namespace

Connection& RemoteRunner::connection() {
    if (connection_ == nullptr || connection_->is_over()) {
        connection_ = std::make_unique<Connection>(options_, label_, program_, inputs_);
        ++number_;
        record_->started();
    } else if (!inputs_sent_) {
        connection_->set_inputs(inputs_);
    }
    inputs_sent_ = true;
    return *connection_;
}

template <class Work>
auto RemoteRunner::insist(unsigned& deaths, const std::string& where, Work work) {
    constexpr std::chrono::milliseconds kPause{50};  // Doubled after each further death.
    for (;;) {
        if (const auto why = record_->backoff(task_); why && connection_ == nullptr)
            throw std::runtime_error("task " + std::to_string(task_) + " is " + *why);
        try {
            return work(connection());
        } catch (const WorkerDied& died) {
            drop();
            const unsigned weight = died.silent() ? WorkerRecord::kDeathsMost : 1;
            record_->died(task_, died.what(), where, weight);
            deaths += weight;
            if (deaths < WorkerRecord::kDeathsMost) {
                std::this_thread::sleep_for(kPause * (1 << deaths));
                continue;
            }
            leave_device();
            throw std::runtime_error("task " + std::to_string(task_) + ": its worker process " + died.what() + " at " +
                                     where + ", " + std::to_string(deaths) + " times");
        } catch (const Preempted&) {
            drop();
            throw;
        } catch (...) {
            drop();
            leave_device();
            throw;
        }
    }
}

void RemoteRunner::leave_device() {
    if (!on_device_) return;
    options_.device = DeviceChoice::cpu;
    on_device_ = false;
}

template <class Work>
auto RemoteRunner::complete(const std::string& where, Work work) {
    unsigned deaths = 0;
    auto out = insist(deaths, where, work);
    record_->worked(task_);
    return out;
}

RemoteRunner::RemoteRunner(std::uint64_t task, std::string label, const kernels::Program& program,
                           kernels::Inputs inputs, WorkerOptions options, std::shared_ptr<WorkerRecord> record)
    : task_(task),
      label_(std::move(label)),
      program_(program),
      inputs_(std::move(inputs)),
      options_(std::move(options)),
      record_(std::move(record)) {
    unsigned deaths = 0;
    insist(deaths, "its start", [&](const Connection& worker) {
        disk_bytes_ = options_.limits.offload.empty() ? 0 : worker.ready().disk_bytes;
        const std::uint64_t held = disk_bytes_ != 0 ? memory_beside_states(program_) : memory_of(program_);
        planned_bytes_ = kernels::saturating_add(worker.ready().planned_bytes, held);
        on_device_ = worker.ready().on_device;
    });
}

RemoteRunner::~RemoteRunner() = default;

void RemoteRunner::set_inputs(kernels::Inputs inputs) {
    inputs_ = std::move(inputs);
    inputs_sent_ = false;
}

std::optional<std::vector<kernels::Metric>> RemoteRunner::attempt(kernels::State& state,
                                                                  const kernels::StopToken& stop) {
    // Receive into another state, because the worker may die during the transfer.
    kernels::State next;
    auto metrics = complete(step_name(state.step), [&](Connection& worker) {
        worker.load(state);
        auto made = worker.advance(1, stop);
        if (made) worker.store(state.step + 1, next);
        return made;
    });
    if (!metrics) drop();  // The loaded state is lost, and perhaps the worker too.
    state.tensors = std::move(next.tensors);
    if (!metrics) return std::nullopt;
    ++state.step;
    return std::move(metrics->front());
}

std::vector<Hash32> RemoteRunner::trace(const kernels::State& state) {
    return complete("the trace of " + step_name(state.step), [&](Connection& worker) {
        worker.load(state);
        return worker.trace(state.step);
    });
}

std::vector<kernels::Tensor> RemoteRunner::outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) {
    return complete("outputs of " + step_name(state.step), [&](Connection& worker) {
        worker.load(state);
        return worker.outputs(ops);
    });
}

void RemoteRunner::advance_partial(const kernels::OpCall& call, std::uint32_t op, std::uint64_t tile,
                                   std::uint64_t first, std::uint64_t end, kernels::PartialTile& carried) {
    Bytes before(sizeof carried);
    for (std::size_t i = 0; i < carried.size(); ++i) store_u32(before.data() + 4 * i, carried[i]);
    const Bytes after = complete("a tile of " + step_name(call.step), [&](Connection& worker) {
        Bytes made(before.size());
        worker.partial({op, call.step, tile, first, end}, call.inputs, before, made);
        return made;
    });
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = load_u32(after.data() + 4 * i);
}

std::unique_ptr<Training> RemoteRunner::train(const kernels::CommittedProgram& program, kernels::State& state,
                                              kernels::ThreadPool&) {
    return std::make_unique<RemoteTraining>(*this, program.root(), state);
}

RunnerFactory remote_runners(WorkerOptions options, std::shared_ptr<WorkerRecord> record, std::string purpose) {
    return [options = std::move(options), record = std::move(record), purpose = std::move(purpose)](
               const TaskTerms& terms, const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool&) {
        return std::make_unique<RemoteRunner>(terms.id, "task " + std::to_string(terms.id) + purpose, program,
                                              std::move(inputs), options, record);
    };
}

// --- RemoteTraining.

RemoteTraining::RemoteTraining(RemoteRunner& runner, const Hash32& program_root, kernels::State& state)
    : runner_(runner), program_root_(program_root), state_(state), step_(state.step), saved_(Clock::now()) {}

bool RemoteTraining::is_loaded() const {
    return number_ != 0 && runner_.connection_ != nullptr && number_ == runner_.number_;
}

bool RemoteTraining::bring_to(Connection& worker, std::uint64_t step, const kernels::StopToken& stop) {
    if (!is_loaded() || !at_ || *at_ > step) {
        number_ = 0;
        worker.load(state_);
        number_ = runner_.number_;
        at_ = state_.step;
        begun_ = false;
    }
    for (;;) {
        // Begin the commitment again if a worker died that had begun it.
        if (under_way_ && !begun_ && *at_ == committed_step_) {
            worker.begin_commitment();
            begun_ = true;
        }
        if (*at_ == step) return true;
        const bool stops = under_way_ && !begun_ && committed_step_ > *at_;
        const auto made = worker.advance((stops ? std::min(committed_step_, step) : step) - *at_, stop);
        if (!made) return false;
        *at_ += made->size();
    }
}

template <class Work>
auto RemoteTraining::ask(Work work) {
    auto out = runner_.insist(deaths_, step_name(step_), work);
    deaths_ = 0;
    return out;
}

std::optional<std::vector<kernels::Metric>> RemoteTraining::attempt(const kernels::StopToken& stop) {
    if (made_.empty()) {
        auto made = ask([&](Connection& worker) {
            if (!bring_to(worker, step_, stop)) return std::optional<std::vector<std::vector<kernels::Metric>>>();
            auto steps = worker.advance(ahead_ > step_ ? ahead_ - step_ : 1, stop);
            if (steps) *at_ += steps->size();
            return steps;
        });
        if (!made) {
            at_.reset();
            return std::nullopt;
        }
        made_.assign(std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
    }
    std::vector<kernels::Metric> metrics = std::move(made_.front());
    made_.pop_front();
    ++step_;
    // Not while a commitment is under way: its earlier state may have to be recomputed from state_.
    if (made_.empty() && !under_way_ && Clock::now() - saved_ >= runner_.options_.save_every) save();
    return metrics;
}

std::vector<kernels::Metric> RemoteTraining::advance() { return *attempt({}); }

void RemoteTraining::save() {
    ask([&](Connection& worker) {
        bring_to(worker, step_, {});
        worker.store(step_, spare_);
        return true;
    });
    std::swap(state_, spare_);
    saved_ = Clock::now();
}

const kernels::State& RemoteTraining::state() {
    step_ += made_.size();
    made_.clear();
    if (state_.step != step_) save();
    runner_.record_->worked(runner_.task_);
    return state_;
}

kernels::StateCommitment RemoteTraining::commit() {
    auto roots = ask([&](Connection& worker) {
        bring_to(worker, step_, {});
        return worker.commit(step_);
    });
    runner_.record_->worked(runner_.task_);
    return kernels::commit_roots(program_root_, step_, std::move(roots));
}

void RemoteTraining::begin_commitment() {
    under_way_ = true;
    committed_step_ = step_;
    begun_ = false;
    ask([&](Connection& worker) { return bring_to(worker, step_, {}); });
}

kernels::StateCommitment RemoteTraining::finish_commitment() {
    auto roots = ask([&](Connection& worker) {
        // A commitment that the worker has begun survives a later aborted step.
        if (!is_loaded() || !begun_) bring_to(worker, std::max(step_, committed_step_), {});
        return worker.finish_commitment(committed_step_);
    });
    under_way_ = begun_ = false;
    finished_in_ = number_;
    runner_.record_->worked(runner_.task_);
    return kernels::commit_roots(program_root_, committed_step_, std::move(roots));
}

const kernels::State& RemoteTraining::committed() {
    if (state_.step == committed_step_) return state_;
    ask([&](Connection& worker) {
        if (is_loaded() && finished_in_ == number_) {
            worker.store_committed(committed_step_, spare_);
        } else {
            bring_to(worker, committed_step_, {});
            worker.store(committed_step_, spare_);
        }
        return true;
    });
    std::swap(state_, spare_);
    saved_ = Clock::now();
    return state_;
}

}  // namespace retrace::solver
