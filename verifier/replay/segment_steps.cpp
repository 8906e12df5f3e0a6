// SPDX-License-Identifier: MIT
#include "verifier/replay/segment_steps.hpp"

#include <algorithm>
#include <utility>

#include "merkle/base/ensure.hpp"

namespace retrace::verifier {
namespace {

using kernels::State;
using kernels::Tensor;

std::vector<const Tensor*> addresses_of(const std::vector<Tensor>& tensors) {
    std::vector<const Tensor*> out;
    for (const Tensor& tensor : tensors) out.push_back(&tensor);
    return out;
}

/// What a position reads of a message or of masks, with its facts as the last tensor.
struct LoadedMessage {
    kernels::Position at;
    kernels::MessageFacts facts;
    std::vector<Tensor> tensors;
};

class SegmentSteps final : public ReplaySteps {
public:
    SegmentSteps(MemberSetup setup, const solver::SegmentView& segment, kernels::SegmentPositions positions,
                 LoadMessage load)
        : setup_(std::move(setup)), segment_(segment), positions_(std::move(positions)), load_(std::move(load)) {}

    PlayedStep at(std::uint64_t t) override {
        const solver::PlanRunner::At at = runner_at(t);
        return {at.runner, at.inputs.seed, at.position.op_step};
    }
    const kernels::CommittedProgram& program_at(std::uint64_t t) const override {
        return setup_.runner->plan().program(positions_.at(t).phase);
    }
    std::vector<const Tensor*> datasets_at(std::uint64_t t) override {
        const kernels::Position position = positions_.at(t);
        if (position.phase == kernels::Phase::inner) return setup_.data;
        if (!kernels::reads_message(position.phase)) return {};
        return addresses_of(message(shown_, position).tensors);
    }
    const kernels::CommittedProgram& opened_at(std::uint64_t t) const override { return program_at(t); }
    const Hash32& root() const override { return setup_.runner->plan().root(); }
    std::uint64_t header_step(std::uint64_t t) const override { return t == 0 ? segment_.start_step : replay_step(t); }
    std::uint64_t replay_step(std::uint64_t t) const override {
        return kernels::header_step(positions_.span().base, t);
    }
    std::unique_ptr<solver::Computation> compute(State& state) override;
    std::uint64_t bytes() const override { return bytes_of(shown_) + bytes_of(run_); }

    solver::PlanRunner::At runner_at(std::uint64_t t) {
        return setup_.runner->at(positions_, t, setup_.run, [this](const kernels::Position& position) {
            const LoadedMessage& loaded = message(run_, position);
            kernels::Message out{loaded.facts, addresses_of(loaded.tensors)};
            out.tensors.pop_back();  // The runner makes the facts.
            return out;
        });
    }
    const kernels::SegmentPositions& positions() const noexcept { return positions_; }
    kernels::ThreadPool& pool() const noexcept { return *setup_.pool; }
    /// The number of the state with this `replay_step`.
    std::uint64_t number_of(std::uint64_t step) const {
        const std::uint64_t number = step - replay_step(0);
        ensure(number <= positions_.count(), "a state of the segment");
        return number;
    }

private:
    /// Returns the message, which `last` keeps until another one is asked for.
    const LoadedMessage& message(std::optional<LoadedMessage>& last, const kernels::Position& at) {
        if (last && last->at == at) return *last;
        last.reset();
        LoadedMessage loaded{at, kernels::mask_facts(at.message), {}};
        const std::size_t r = at.record - positions_.span().from;
        if (at.phase == kernels::Phase::mask) {
            loaded.tensors.push_back(kernels::mask_table(segment_.masks));
        } else if (at.phase == kernels::Phase::unmask) {
            loaded.tensors.push_back(kernels::mask_table(segment_.records.at(r).masks));
        } else {
            loaded.facts = facts_of(segment_.records.at(r), at.message);
            loaded.tensors = load_(r, at.message);
        }
        loaded.tensors.push_back(kernels::fact_tensor(loaded.facts));
        return last.emplace(std::move(loaded));
    }
    static std::uint64_t bytes_of(const std::optional<LoadedMessage>& message) {
        std::uint64_t bytes = 0;
        if (message)
            for (const Tensor& tensor : message->tensors) bytes += tensor.data.size();
        return bytes;
    }

    MemberSetup setup_;
    solver::SegmentView segment_;
    kernels::SegmentPositions positions_;
    LoadMessage load_;
    std::optional<LoadedMessage> run_;    // The one that a position reads while it runs,
    std::optional<LoadedMessage> shown_;  // and the one that datasets_at returned.
};

/// The inner steps are a training of their runner, so that a device keeps the state between them. Meanwhile `state_`
/// has the steps that the ops see.
class SegmentComputation final : public solver::Computation {
public:
    SegmentComputation(SegmentSteps& steps, State& state)
        : steps_(steps), state_(state), place_(steps.number_of(state.step)) {
        first_inner_ = steps.positions().recorded();
    }
    ~SegmentComputation() override { leave_inner(); }
    SegmentComputation(const SegmentComputation&) = delete;
    SegmentComputation& operator=(const SegmentComputation&) = delete;

    std::uint64_t step() const noexcept override { return steps_.replay_step(place_); }
    void run_ahead(std::uint64_t step) override {
        ahead_ = steps_.number_of(step);
        if (inner_ != nullptr) inner_->run_ahead(inner_limit());
    }
    std::vector<kernels::Metric> advance() override { return *attempt({}); }
    std::optional<std::vector<kernels::Metric>> attempt(const kernels::StopToken& stop) override {
        const solver::PlanRunner::At at = steps_.runner_at(place_);
        if (at.position.phase != kernels::Phase::inner) leave_inner_with_state();
        std::optional<std::vector<kernels::Metric>> metrics;
        if (at.position.phase == kernels::Phase::inner) {
            if (inner_ == nullptr) {
                state_.step = at.position.op_step;
                inner_ = at.runner.train(at.program, state_, steps_.pool());
                inner_->run_ahead(inner_limit());
            }
            metrics = inner_->attempt(stop);
        } else {
            state_.step = at.position.op_step;
            metrics = at.runner.attempt(state_, stop);
        }
        if (!metrics) {
            leave_inner();
            return std::nullopt;
        }
        ++place_;
        if (inner_ == nullptr) state_.step = steps_.replay_step(place_);
        for (std::uint32_t t = 0; t < at.program.program().states; ++t)
            if (at.program.program().tensors[t].writer != kernels::kNoWriter) written_[t] = true;
        return metrics;
    }
    const State& state() override {
        leave_inner_with_state();
        return state_;
    }
    kernels::StateCommitment commit() override {
        if (inner_ != nullptr) {
            roots_ = inner_->commit().tensor_roots;
        } else {
            roots_.resize(state_.tensors.size());
            for (std::size_t t = 0; t < roots_.size(); ++t)
                if (roots_[t].is_zero() || written_[t])
                    roots_[t] = kernels::tensor_root(state_.tensors[t], steps_.pool());
        }
        written_.assign(roots_.size(), false);
        return kernels::commit_roots(steps_.root(), steps_.header_step(place_), roots_);
    }

private:
    /// Number that the ops see at the end of the inner steps that are asked for without another question.
    std::uint64_t inner_limit() const {
        const kernels::SegmentSpan& span = steps_.positions().span();
        const std::uint64_t first = steps_.positions().at(first_inner_).op_step;
        return first + std::min<std::uint64_t>(std::max(ahead_, place_) - first_inner_, span.steps);
    }
    void leave_inner_with_state() {
        if (inner_ == nullptr) return;
        inner_->state();
        leave_inner();
    }
    /// Ends the training of inner steps. The state is what the training left of it, perhaps that of an earlier step.
    void leave_inner() {
        if (inner_ == nullptr) return;
        inner_.reset();
        place_ = first_inner_ + state_.step - steps_.positions().at(first_inner_).op_step;
        state_.step = steps_.replay_step(place_);
    }

    SegmentSteps& steps_;
    State& state_;
    std::uint64_t place_ = 0, first_inner_ = 0, ahead_ = 0;
    std::unique_ptr<solver::Training> inner_;
    std::vector<Hash32> roots_;                                             // Of the state at the last commitment,
    std::vector<bool> written_ = std::vector<bool>(state_.tensors.size());  // and what was written since.
};

std::unique_ptr<solver::Computation> SegmentSteps::compute(State& state) {
    return std::make_unique<SegmentComputation>(*this, state);
}

class EntrySteps final : public ReplaySteps {
public:
    EntrySteps(MemberSetup setup, kernels::Phase phase, std::uint32_t base, std::vector<Tensor> anchor)
        : setup_(std::move(setup)), phase_(phase), base_(base), anchor_(std::move(anchor)) {}

    PlayedStep at(std::uint64_t) override {
        const solver::PlanRunner::At at = phase_ == kernels::Phase::init
                                              ? setup_.runner->at_init()
                                              : setup_.runner->at_enter(base_, addresses_of(anchor_));
        return {at.runner, at.inputs.seed, at.position.op_step};
    }
    const kernels::CommittedProgram& program_at(std::uint64_t) const override {
        return setup_.runner->plan().program(phase_);
    }
    std::vector<const Tensor*> datasets_at(std::uint64_t) override { return addresses_of(anchor_); }
    const kernels::CommittedProgram& opened_at(std::uint64_t t) const override { return program_at(t); }
    const Hash32& root() const override { return setup_.runner->plan().root(); }
    std::uint64_t header_step(std::uint64_t) const override { return kernels::header_step(base_, 0); }
    std::unique_ptr<solver::Computation> compute(State&) override {
        ensure(false, "an initialiser has one step");
        return nullptr;
    }
    std::uint64_t bytes() const override {
        std::uint64_t bytes = 0;
        for (const Tensor& tensor : anchor_) bytes += tensor.data.size();
        return bytes;
    }

private:
    MemberSetup setup_;
    kernels::Phase phase_;
    std::uint32_t base_;
    std::vector<Tensor> anchor_;
};

}  // namespace

std::unique_ptr<ReplaySteps> steps_of(MemberSetup setup, const solver::SegmentView& segment,
                                      kernels::SegmentPositions positions, LoadMessage load) {
    return std::make_unique<SegmentSteps>(std::move(setup), segment, std::move(positions), std::move(load));
}

std::unique_ptr<ReplaySteps> init_steps_of(MemberSetup setup) {
    return std::make_unique<EntrySteps>(std::move(setup), kernels::Phase::init, 0, std::vector<Tensor>());
}

std::unique_ptr<ReplaySteps> enter_steps_of(MemberSetup setup, std::uint32_t base, std::vector<Tensor> anchor) {
    return std::make_unique<EntrySteps>(std::move(setup), kernels::Phase::enter, base, std::move(anchor));
}

}  // namespace retrace::verifier
