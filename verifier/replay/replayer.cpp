// SPDX-License-Identifier: MIT
#include "verifier/replay/replayer.hpp"

#include <algorithm>
#include <set>

#include "kernels/exec/partial_tile.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::verifier {

using kernels::State;
using kernels::StateCommitment;
using kernels::Tensor;

struct Replayer::StepCache {
    std::uint64_t t = 0;
    std::optional<StateCommitment> input, output;
    std::vector<Hash32> trace;
    std::optional<merkle::TileTree> trace_tree;
    std::map<std::uint32_t, Tensor> outputs;          // By op.
    std::map<std::uint32_t, merkle::TileTree> tiles;  // By tensor.
    std::uint32_t partial_op = 0;
    std::uint64_t partial_tile = 0;
    std::map<std::uint64_t, Bytes> partials;  // By the number of links.
};

Replayer::Replayer(ReplaySetup setup, State start, std::uint64_t last_step)
    : setup_(std::move(setup)), start_(std::move(start)), last_step_(last_step) {
    ensure(start_.step < last_step_, "a segment has steps");
}

Replayer::Replayer(ReplaySetup setup)
    : setup_(std::move(setup)), initialiser_(true), start_(solver::blank_state(setup_.played->program())) {}

Replayer::~Replayer() = default;
Replayer::Replayer(Replayer&&) noexcept = default;

const State& Replayer::end_state() {
    if (end_) return *end_;
    if (initialiser_) {
        State state = start_;
        setup_.runner->step(state);
        state.step = 0;  // The initialiser's one step leads to the state before step 0.
        end_ = std::move(state);
    } else {
        end_ = state_at(last_step_);
    }
    return *end_;
}

Hash32 Replayer::end_root() {
    const auto found = roots_.find(last_step_);
    if (found != roots_.end()) return found->second;
    if (initialiser_ || end_) return kernels::commit_state(setup_.program->root(), end_state(), *setup_.pool).root;
    // Hashed where the state is, before it comes here.
    const std::unique_ptr<solver::Training> training = train_to(last_step_);
    const Hash32 root = training->commit().root;
    end_ = training->state();
    return root;
}

std::vector<Hash32> Replayer::roots_at(std::uint64_t low, std::span<const std::uint64_t> steps) {
    ensure(!initialiser_ && low >= start_.step, "a step of the segment");
    ensure(steps.empty() || (low <= steps.front() && steps.back() <= last_step_), "steps of the segment");
    const auto known = [&](std::uint64_t step) { return roots_.count(step) != 0; };
    if (!std::all_of(steps.begin(), steps.end(), known)) {
        end_.reset();
        if (low == start_.step) cursor_.reset();
        State state = low == start_.step ? start_ : state_at(low);
        const auto training = setup_.runner->train(*setup_.program, state, *setup_.pool);
        for (const std::uint64_t step : steps) {
            if (known(step)) continue;
            ensure(training->step() <= step, "ascending steps");
            while (training->step() < step) training->advance();
            roots_[step] = training->commit().root;
            // Nothing is kept yet beside the start: the half way spares the next call half of it.
            if (!cursor_ && step == steps[steps.size() / 2]) cursor_ = training->state();
        }
    }
    std::vector<Hash32> roots;
    for (const std::uint64_t step : steps) roots.push_back(roots_.at(step));
    return roots;
}

void Replayer::forget() {
    cursor_.reset();
    end_.reset();
    roots_.clear();
    step_.reset();
}

const State& Replayer::state_at(std::uint64_t step) {
    if (cursor_ && cursor_->step == step) return *cursor_;
    return train_to(step)->state();
}

std::unique_ptr<solver::Training> Replayer::train_to(std::uint64_t step) {
    ensure(step >= start_.step && step <= last_step_, "a step of the segment");
    if (!cursor_ || cursor_->step > step) cursor_ = start_;
    try {
        auto training = setup_.runner->train(*setup_.program, *cursor_, *setup_.pool);
        while (training->step() < step) training->advance();
        return training;
    } catch (...) {
        cursor_.reset();  // Half a step further than it says, perhaps: whoever asks again starts anew.
        throw;
    }
}

Replayer::StepCache& Replayer::cache_of(std::uint64_t t) {
    if (!step_ || step_->t != t) {
        step_ = std::make_unique<StepCache>();
        step_->t = t;
    }
    return *step_;
}

const StateCommitment& Replayer::input_of(std::uint64_t t) {
    ensure(!initialiser_, "an initialiser has no input state");
    StepCache& cache = cache_of(t);
    if (!cache.input) cache.input = kernels::commit_state(setup_.program->root(), state_at(t), *setup_.pool);
    return *cache.input;
}

const StateCommitment& Replayer::output_of(std::uint64_t t) {
    StepCache& cache = cache_of(t);
    if (!cache.output) {
        State state = initialiser_ ? end_state() : state_at(t);
        if (!initialiser_) setup_.runner->step(state);
        cache.output = kernels::commit_state(setup_.program->root(), state, *setup_.pool);
    }
    return *cache.output;
}

const std::vector<Hash32>& Replayer::trace_of(std::uint64_t t) {
    StepCache& cache = cache_of(t);
    if (cache.trace.empty()) cache.trace = setup_.runner->trace(initialiser_ ? start_ : state_at(t));
    return cache.trace;
}

const merkle::TileTree& Replayer::trace_tree_of(std::uint64_t t) {
    const std::vector<Hash32>& trace = trace_of(t);
    StepCache& cache = cache_of(t);
    if (!cache.trace_tree) cache.trace_tree = kernels::trace_tree(trace);
    return *cache.trace_tree;
}

void Replayer::prepare_op(std::uint64_t t, std::uint32_t op) {
    StepCache& cache = cache_of(t);
    const kernels::Program& program = setup_.played->program();
    std::set<std::uint32_t> wanted;
    if (cache.outputs.count(op) == 0) wanted.insert(op);
    for (const std::uint32_t input : program.ops[op].inputs) {
        if (!program.is_op_output(input)) continue;
        const std::uint32_t source = input - program.tensors_static();
        if (cache.outputs.count(source) == 0) wanted.insert(source);
    }
    if (wanted.empty()) return;
    const std::vector<std::uint32_t> ops(wanted.begin(), wanted.end());
    std::vector<Tensor> tensors = setup_.runner->outputs(initialiser_ ? start_ : state_at(t), ops);
    for (std::size_t i = 0; i < ops.size(); ++i) cache.outputs[ops[i]] = std::move(tensors[i]);
}

const Tensor& Replayer::tensor_of(std::uint64_t t, std::uint32_t tensor) {
    const kernels::Program& program = setup_.played->program();
    if (program.is_op_output(tensor)) {
        const std::uint32_t op = tensor - program.tensors_static();
        StepCache& cache = cache_of(t);
        if (cache.outputs.count(op) == 0) prepare_op(t, op);
        return cache.outputs.at(op);
    }
    if (tensor < program.states) return (initialiser_ ? start_ : state_at(t)).tensors[tensor];
    tensor -= program.states;
    if (tensor >= program.constants) return *setup_.datasets.at(tensor - program.constants);
    const auto found = constants_.find(tensor);
    if (found != constants_.end()) return found->second;
    const kernels::TensorRecord& record = program.tensors[program.states + tensor];
    Tensor constant{record.dtype, record.dims, program.constant_data[tensor].data};
    return constants_.emplace(tensor, std::move(constant)).first->second;
}

const merkle::TileTree& Replayer::tiles_of(std::uint64_t t, std::uint32_t tensor) {
    StepCache& cache = cache_of(t);
    const auto found = cache.tiles.find(tensor);
    if (found != cache.tiles.end()) return found->second;
    merkle::TileTree tree = kernels::tile_tree(tensor_of(t, tensor), *setup_.pool);
    return cache.tiles.emplace(tensor, std::move(tree)).first->second;
}

const Bytes& Replayer::partial_of(std::uint64_t t, std::uint32_t op, std::uint64_t tile, std::uint64_t links) {
    StepCache& cache = cache_of(t);
    if (cache.partial_op != op || cache.partial_tile != tile) cache.partials.clear();
    cache.partial_op = op;
    cache.partial_tile = tile;
    const auto next = cache.partials.lower_bound(links);
    if (next != cache.partials.end() && next->first == links) return next->second;
    const kernels::OpFacts facts = kernels::facts_of(setup_.played->program(), op);
    ensure(kernels::size_of(facts.output.dtype) == 4, "chains carry words");
    kernels::PartialTile carried{};
    std::uint64_t first = 0;
    if (next != cache.partials.begin()) {
        const auto& [kept, bytes] = *std::prev(next);
        first = kept;
        for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = load_u32(bytes.data() + 4 * i);
    }
    const WholeInputs inputs = whole_inputs(*this, t, op);
    const std::vector<const std::uint8_t*> data = inputs.data();
    kernels::advance_partial({facts, data, nullptr, setup_.seed, t, *setup_.pool}, tile, first, links, carried);
    Bytes bytes(4 * carried.size());
    for (std::size_t i = 0; i < carried.size(); ++i) store_u32(bytes.data() + 4 * i, carried[i]);
    return cache.partials[links] = std::move(bytes);
}

std::optional<std::uint32_t> WholeInputs::read(std::uint32_t slot, std::uint64_t element) {
    if (slot >= inputs_.size() || element >= inputs_[slot]->elements()) return std::nullopt;
    return inputs_[slot]->bits(element);
}

std::vector<const std::uint8_t*> WholeInputs::data() const {
    std::vector<const std::uint8_t*> data;
    for (const Tensor* input : inputs_) data.push_back(input->data.data());
    return data;
}

WholeInputs whole_inputs(Replayer& truth, std::uint64_t t, std::uint32_t op) {
    truth.prepare_op(t, op);
    std::vector<const Tensor*> inputs;
    for (const std::uint32_t tensor : truth.setup().played->program().ops[op].inputs) {
        inputs.push_back(&truth.tensor_of(t, tensor));
    }
    return WholeInputs(std::move(inputs));
}

}  // namespace retrace::verifier
