// SPDX-License-Identifier: MIT
#include "solver/worker/serve.hpp"

#include <algorithm>
#include <new>

#include "kernels/exec/dispute_memory.hpp"
#include "kernels/exec/partial_tile.hpp"
#include "kernels/program/limits.hpp"
#include "merkle/base/non_fatal.hpp"
#include "solver/agent/task_cache.hpp"
#include "solver/run/offloaded_runner.hpp"
#include "solver/worker/messages.hpp"
#include "solver/worker/tensors.hpp"

namespace retrace::solver {
namespace {

using kernels::Tensor;
using kernels::TensorRecord;

/// Minimum time between two polls for Leave, because an op of a small program takes less time than a poll.
constexpr std::chrono::milliseconds kLook{2};
/// Steps are batched up to this time, because waking the other side costs as much as a step of a small model.
constexpr std::chrono::milliseconds kAtOnce{5};

/// A request that cannot be done.
class Refused final : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Session {
public:
    Session(Channel& channel, kernels::ThreadPool& pool, const WorkerRunner& make_runner)
        : channel_(channel), pool_(pool), make_runner_(make_runner) {}

    void answer(const WorkerRequest& request) {
        std::visit([this](const auto& m) { on(m); }, request);
        channel_.flush();
    }

private:
    void reply(const WorkerReply& what) { channel_.send(encode(what)); }
    static void need(bool holds, const char* what) {
        if (!holds) throw Refused(what);
    }
    const kernels::Program& program() const {
        need(program_ != nullptr, "no program is set up");
        return program_->program();
    }
    Training& loaded() const {
        need(training_ != nullptr, "no state is loaded");
        return *training_;
    }
    Training& training() const {
        need(!left_, "the state's step was left");
        return loaded();
    }
    std::span<const TensorRecord> states() const { return std::span(program().tensors).first(program().states); }

    void on(const SetProgram& m) {
        need(program_ == nullptr, "a program is set up already");
        Bytes file;
        // Allocate as bytes arrive, not by the announced length.
        while (file.size() < m.program_bytes) {
            constexpr std::uint64_t kPart = 1 << 20;
            const std::size_t begun = file.size();
            file.resize(begun + std::min(kPart, m.program_bytes - begun));
            channel_.receive_raw(std::span(file).subspan(begun));
        }
        auto decoded = kernels::decode_program(file);
        need(decoded.has_value(), "the program is none");
        program_ = std::make_unique<kernels::CommittedProgram>(std::move(decoded).value());
        const kernels::Program& it = program();
        receive_tensors(channel_, std::span(it.tensors).subspan(it.states + it.constants, it.datasets), data_);
        kernels::Inputs inputs{m.seed, {}};
        seed_ = m.seed;
        for (const Tensor& tensor : data_) inputs.datasets.push_back(&tensor);
        runner_ = make_runner_(m.device, it, std::move(inputs), pool_);
        need(runner_ != nullptr, "the chosen device cannot run the program");
        offloaded_ = dynamic_cast<OffloadedRunner*>(runner_.get());
        reply(Ready{runner_->planned_bytes(), runner_->on_device(), runner_->disk_bytes()});
    }

    void on(const SetInputs& m) {
        const kernels::Program& it = program();
        training_.reset();
        receive_tensors(channel_, std::span(it.tensors).subspan(it.states + it.constants, it.datasets), data_);
        kernels::Inputs inputs{m.seed, {}};
        seed_ = m.seed;
        for (const Tensor& tensor : data_) inputs.datasets.push_back(&tensor);
        runner_->set_inputs(std::move(inputs));
        reply(Done{});
    }

    void on(const Load& m) {
        training_.reset();
        if (offloaded_ != nullptr) {
            training_ = offloaded_->train(*program_, state_, m.step, [&](std::uint32_t s) {
                std::vector<Tensor> one;
                receive_tensors(channel_, states().subspan(s, 1), one);
                return std::move(one.front());
            });
        } else {
            receive_tensors(channel_, states(), state_.tensors);
            state_.step = m.step;
            training_ = runner_->train(*program_, state_, pool_);
        }
        left_ = false;
        reply(Done{});
    }

    void on(const Advance& m) {
        auto looked = std::chrono::steady_clock::now();
        const kernels::StopToken stop = [&] {
            const auto now = std::chrono::steady_clock::now();
            if (now - looked < kLook) return false;
            looked = now;
            while (channel_.wait(std::chrono::milliseconds(0))) {
                const auto request = decode_worker_request(channel_.receive(kMessageMax));
                const auto* leave = request ? std::get_if<Leave>(&*request) : nullptr;
                need(leave != nullptr, "another request in the middle of a step");
                if (leave->number == m.number) return true;
            }
            return false;
        };
        need(m.most >= 1 && m.most <= kStepsMax, "so many steps at once");
        Stepped stepped;
        std::size_t metrics_made = 0;
        const auto began = std::chrono::steady_clock::now();
        do {
            auto metrics = training().attempt(stop);
            if (!metrics) {
                left_ = true;  // The training stays, because a commitment begun before may still be finished.
                return reply(Left{});
            }
            metrics_made += metrics->size();
            stepped.steps.push_back(std::move(*metrics));
        } while (stepped.steps.size() < m.most && metrics_made < kMetricsAtOnce &&
                 std::chrono::steady_clock::now() - began < kAtOnce);
        reply(std::move(stepped));
    }

    void on(const Leave&) {}  // For a request that is over.

    void on(const Store&) {
        if (offloaded_ == nullptr) return send_state(training().state());
        send_offloaded(training().step(), &kernels::OffloadedExecutor::tensor);
    }
    void on(const StoreCommitted&) {
        if (offloaded_ == nullptr) return send_state(loaded().committed());
        send_offloaded(committed_step_, &kernels::OffloadedExecutor::committed_tensor);
    }
    void send_state(const kernels::State& state) {
        reply(Stored{state.step});
        send_tensors(channel_, state.tensors);
    }
    /// One tensor at a time, since the state may not fit the memory.
    void send_offloaded(std::uint64_t step, Tensor (kernels::OffloadedExecutor::*tensor)(std::uint32_t)) {
        reply(Stored{step});
        for (std::uint32_t s = 0; s < program().states; ++s)
            channel_.send_raw((offloaded_->executor().*tensor)(s).data);
    }

    void on(const Commit&) { send_roots(training().commit()); }
    void on(const BeginCommitment&) {
        need(!training().commitment_under_way(), "a commitment is under way");
        training().begin_commitment();
        committed_step_ = training().step();
        reply(Done{});
    }
    void on(const FinishCommitment&) {
        need(loaded().commitment_under_way(), "no commitment is under way");
        send_roots(loaded().finish_commitment());
    }
    void send_roots(const kernels::StateCommitment& commitment) {
        reply(Roots{commitment.header.step, commitment.tensor_roots});
    }

    void on(const Trace&) {
        if (offloaded_ != nullptr) return reply(Roots{training().step(), offloaded_->executor().trace()});
        const kernels::State& state = training().state();
        reply(Roots{state.step, runner_->trace(state)});
    }

    void on(const Outputs& m) {
        const auto ascending = std::adjacent_find(m.ops.begin(), m.ops.end(), std::greater_equal<>()) == m.ops.end();
        need(ascending && (m.ops.empty() || m.ops.back() < program().ops.size()), "no such ops");
        Training& from = training();
        const std::vector<Tensor> made =
            offloaded_ != nullptr ? offloaded_->executor().outputs(m.ops) : runner_->outputs(from.state(), m.ops);
        reply(Computed{});
        send_tensors(channel_, made);
    }

    void on(const Partial& m) {
        const kernels::Program& it = program();
        need(m.op < it.ops.size(), "no such op");
        std::vector<TensorRecord> records;
        for (const std::uint32_t input : it.ops[m.op].inputs) records.push_back(it.tensors[input]);
        Bytes carried_bytes(sizeof(kernels::PartialTile));
        channel_.receive_raw(carried_bytes);
        std::vector<Tensor> inputs;
        receive_tensors(channel_, records, inputs);
        kernels::PartialTile carried{};
        for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = load_u32(carried_bytes.data() + 4 * i);
        std::vector<const std::uint8_t*> data;
        for (const Tensor& input : inputs) data.push_back(input.data.data());
        const kernels::OpFacts facts = kernels::facts_of(it, m.op);
        kernels::advance_partial({facts, data, nullptr, seed_, m.step, pool_}, m.tile, m.first, m.end, carried);
        for (std::size_t i = 0; i < carried.size(); ++i) store_u32(carried_bytes.data() + 4 * i, carried[i]);
        reply(Computed{});
        channel_.send_raw(carried_bytes);
    }

    Channel& channel_;
    kernels::ThreadPool& pool_;
    const WorkerRunner& make_runner_;
    std::uint64_t seed_ = 0;
    std::unique_ptr<kernels::CommittedProgram> program_;
    std::vector<Tensor> data_;
    std::unique_ptr<StepRunner> runner_;
    OffloadedRunner* offloaded_ = nullptr;  ///< The runner, if the state that is loaded lies on disk.
    kernels::State state_;
    std::unique_ptr<Training> training_;
    std::uint64_t committed_step_ = 0;
    bool left_ = false;
};

}  // namespace

WorkerRunner honest_worker_runner() {
    return [](DeviceChoice choice, const kernels::Program& program, kernels::Inputs inputs,
              kernels::ThreadPool& pool) -> std::unique_ptr<StepRunner> {
        auto device = open_device(choice, program);
        if (!device) throw Refused(device.error().message);
        if (*device == nullptr) return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
        return std::make_unique<ProgramRunner>(program, std::move(inputs), pool, std::move(*device));
    };
}

WorkerRunner offloading_worker_runner(kernels::ScratchFolder files, std::uint64_t share, WorkerRunner otherwise) {
    return [files, share, otherwise = std::move(otherwise)](DeviceChoice device, const kernels::Program& program,
                                                            kernels::Inputs inputs,
                                                            kernels::ThreadPool& pool) -> std::unique_ptr<StepRunner> {
        auto whole = otherwise(device, program, inputs, pool);
        const std::uint64_t beside = memory_beside_states(program);
        const std::uint64_t taken = kernels::saturating_add(memory_of(program), whole->planned_bytes());
        if (whole->on_device() || kernels::saturating_add(beside, taken) <= share) return whole;
        whole.reset();
        // The party holds as much beside the states.
        const std::uint64_t held = kernels::saturating_add(2 * beside, kernels::move_memory_bytes(program));
        const std::uint64_t least = OffloadedRunner::least_bytes(program, pool);
        if (kernels::saturating_add(held, least) > share)
            throw Refused("with its state on disk the task needs " +
                          std::to_string(2 * kernels::saturating_add(held, least)) + " bytes of memory and " +
                          std::to_string(2 * share) + " are allowed (--memory)");
        auto runner = OffloadedRunner::open(program, std::move(inputs), pool, {files, share - held, 0});
        if (!runner) throw Refused(runner.error().message);
        return std::move(*runner);
    };
}

void serve(Channel& channel, kernels::ThreadPool& pool, const WorkerRunner& make_runner) {
    Failed failed;
    try {
        const NonFatalScope question;  // A broken invariant throws and is reported to the party.
        Session session(channel, pool, make_runner);
        for (;;) {
            const auto request = decode_worker_request(channel.receive(kMessageMax));
            if (!request) throw Refused("a request that is none");
            session.answer(*request);
        }
    } catch (const ChannelBroken&) {
        return;
    } catch (const std::bad_alloc&) {
        failed = {true, "not enough memory"};
    } catch (const std::exception& thrown) {
        failed = {false, thrown.what()};
    }
    // Part of an answer may have been sent already; then the other side takes the rest for a dead worker, as it should.
    try {
        channel.send(encode(WorkerReply(failed)));
        channel.flush();
    } catch (const ChannelBroken&) {
        return;
    }
}

}  // namespace retrace::solver
