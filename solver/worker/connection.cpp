// SPDX-License-Identifier: MIT
#include "solver/worker/connection.hpp"

#include <algorithm>
#include <new>

#include "kernels/program/limits.hpp"
#include "solver/run/preemption.hpp"
#include "solver/worker/tensors.hpp"

namespace retrace::solver {
namespace {

/// Replaces unprintable characters: a stranger's program may have taken over the process that sent the text.
std::string plain(std::string text) {
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

/// The token of an exchange that starts now, for this thread's order; empty if the order cannot be preempted.
kernels::StopToken stop_if_preempted() {
    const Preemption* const preemption = Preemption::of_this_thread();
    if (preemption == nullptr) return {};
    return [preemption, began = Channel::Clock::now()] { return preemption->must_stop_since(began); };
}

}  // namespace

std::chrono::milliseconds exchange_time(const kernels::Program& program, std::chrono::milliseconds least) {
    constexpr std::uint64_t kAMillisecond = 10'000;
    constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);
    std::uint64_t worth = kernels::step_cost(program);
    for (const kernels::TensorRecord& tensor : program.tensors)
        worth = kernels::saturating_add(worth, bytes_of(tensor));
    const std::chrono::milliseconds own(static_cast<std::int64_t>(worth / kAMillisecond));
    return std::min(kYear, std::min(kYear, own) + std::min(kYear, least));
}

void Connection::died(const std::string& how) {
    const std::string end = process_->end();
    throw WorkerDied(end == "stopped" ? "was stopped: " + how : end);
}

template <class Work>
auto Connection::exchange(const kernels::StopToken& stop, Work work) {
    process_->channel().begin_exchange(stop.ending_after(most_));
    try {
        return work();
    } catch (const ExchangeOver& over) {
        (void)process_->end();
        if (over.why() == ExchangeOver::Why::left) throw Preempted();
        throw WorkerDied("was stopped: it did not answer within " + std::to_string(most_.count()) + " ms", true);
    } catch (const ChannelBroken& broken) {
        const std::string how = broken.what();
        try {
            // The last message, which may say more than the exit status.
            if (process_->channel().wait(std::chrono::milliseconds(0))) (void)receive();
        } catch (const ChannelBroken&) {
            died(how);
        }
        died(how);
    }
}

template <class Work>
auto Connection::exchange(Work work) {
    return exchange(stop_if_preempted(), std::move(work));
}

WorkerReply Connection::receive() {
    auto reply = decode_worker_reply(process_->channel().receive(longest_reply(limits_)), limits_);
    if (!reply) died("it answered what is no answer (" + std::string(slug(reply.error())) + ")");
    if (const auto* failed = std::get_if<Failed>(&*reply)) {
        (void)process_->end();
        if (failed->memory) throw std::bad_alloc();
        throw std::runtime_error("the worker process says: " + plain(failed->why));
    }
    return std::move(*reply);
}

template <class Wanted>
Wanted Connection::expect() {
    WorkerReply reply = receive();
    auto* const wanted = std::get_if<Wanted>(&reply);
    if (wanted == nullptr) died("it answered something else than was asked");
    return std::move(*wanted);
}

template <class Wanted>
Wanted Connection::ask(const WorkerRequest& request) {
    process_->channel().send(encode(request));
    process_->channel().flush();
    return expect<Wanted>();
}

Connection::Connection(const WorkerOptions& options, const std::string& label, const kernels::Program& program,
                       const kernels::Inputs& inputs)
    : program_(program),
      leave_within_(options.leave_within),
      most_(exchange_time(program, options.answer_within)),
      limits_(limits_of(program)) {
    auto started = WorkerProcess::start(options.executable, options.limits, label);
    if (!started) throw std::runtime_error(started.error().message);
    process_ = std::move(*started);
    ready_ = exchange([&] {
        Channel& channel = process_->channel();
        const Bytes file = kernels::encode(program);
        channel.send(encode(WorkerRequest(SetProgram{inputs.seed, file.size(), options.device})));
        channel.send_raw(file);
        for (const kernels::Tensor* tensor : inputs.datasets) channel.send_raw(tensor->data);
        channel.flush();
        return expect<Ready>();
    });
}

void Connection::set_inputs(const kernels::Inputs& inputs) {
    exchange([&] {
        Channel& channel = process_->channel();
        channel.send(encode(WorkerRequest(SetInputs{inputs.seed})));
        for (const kernels::Tensor* tensor : inputs.datasets) channel.send_raw(tensor->data);
        channel.flush();
        (void)expect<Done>();
    });
}

void Connection::load(const kernels::State& state) {
    exchange([&] {
        Channel& channel = process_->channel();
        channel.send(encode(WorkerRequest(Load{state.step})));
        send_tensors(channel, state.tensors);
        channel.flush();
        (void)expect<Done>();
    });
}

std::optional<std::vector<std::vector<kernels::Metric>>> Connection::advance(std::uint64_t most,
                                                                             const kernels::StopToken& stop) {
    constexpr std::chrono::milliseconds kBetweenLooks{5};
    const kernels::StopToken leave = stop.has_condition() ? stop : stop_if_preempted();
    std::optional<Channel::Clock::time_point> leaving;
    // The worker survives if it aborts the step itself, so it gets leave_within_ for that.
    const auto look = [&] {
        if (leaving) return Channel::Clock::now() - *leaving >= leave_within_;
        if (leave.stop_requested()) leaving = Channel::Clock::now();
        return false;
    };
    std::optional<std::vector<std::vector<kernels::Metric>>> made;
    try {
        exchange(look, [&] {
            Channel& channel = process_->channel();
            const std::uint64_t number = ++requests_;
            const auto at_once = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, kStepsMax));
            channel.send(encode(WorkerRequest(Advance{number, at_once})));
            channel.flush();
            for (bool told = false; !channel.wait(kBetweenLooks);) {
                channel.check_exchange();
                if (!leaving || told) continue;
                told = true;
                channel.send(encode(WorkerRequest(Leave{number})));
                channel.flush();
            }
            WorkerReply reply = receive();
            if (std::holds_alternative<Left>(reply) && leaving) return;
            auto* const stepped = std::get_if<Stepped>(&reply);
            if (stepped == nullptr || stepped->steps.empty() || stepped->steps.size() > at_once)
                died("it answered something else than steps");
            made = std::move(stepped->steps);
        });
    } catch (const Preempted&) {
        if (!stop.has_condition()) throw;
    }
    if (!made && !stop.has_condition()) throw Preempted();
    return made;
}

void Connection::begin_commitment() {
    exchange([&] { (void)ask<Done>(BeginCommitment{}); });
}

void Connection::fetch(const WorkerRequest& request, std::uint64_t step, kernels::State& state) {
    exchange([&] {
        if (ask<Stored>(request).step != step) died("it has another state than was asked for");
        receive_tensors(process_->channel(), states(), state.tensors);
    });
    state.step = step;
}

std::vector<Hash32> Connection::roots(const WorkerRequest& request, std::uint64_t step, std::size_t count) {
    return exchange([&] {
        Roots found = ask<Roots>(request);
        if (found.step != step || found.roots.size() != count) died("it has other roots than were asked for");
        return std::move(found.roots);
    });
}

std::vector<kernels::Tensor> Connection::outputs(const std::vector<std::uint32_t>& ops) {
    std::vector<kernels::TensorRecord> records;
    for (const std::uint32_t op : ops) records.push_back(program_.tensors[program_.output_of(op)]);
    std::vector<kernels::Tensor> made;
    exchange([&] {
        (void)ask<Computed>(Outputs{ops});
        receive_tensors(process_->channel(), records, made);
    });
    return made;
}

void Connection::partial(const Partial& which, std::span<const std::uint8_t* const> inputs, View carried_in,
                         std::span<std::uint8_t> carried_out) {
    exchange([&] {
        Channel& channel = process_->channel();
        channel.send(encode(WorkerRequest(which)));
        channel.send_raw(carried_in);
        const std::vector<std::uint32_t>& tensors = program_.ops[which.op].inputs;
        for (std::size_t slot = 0; slot < tensors.size(); ++slot)
            channel.send_raw({inputs[slot], bytes_of(program_.tensors[tensors[slot]])});
        channel.flush();
        (void)expect<Computed>();
        channel.receive_raw(carried_out);
    });
}

}  // namespace retrace::solver
