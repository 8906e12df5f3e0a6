// SPDX-License-Identifier: MIT
#include "verifier/replay/replayer.hpp"

#include <algorithm>
#include <set>

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
    std::vector<Bytes> partials;
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
    if (!roots_.empty()) return roots_.back();
    if (initialiser_ || end_) return kernels::commit_state(setup_.program->root(), end_state(), *setup_.pool).root;
    // Hashed where the state is, before it comes here.
    const std::unique_ptr<solver::Training> training = train_to(last_step_);
    const Hash32 root = training->commit().root;
    end_ = training->state();
    return root;
}

Hash32 Replayer::root_at(std::uint64_t step) {
    ensure(!initialiser_ && step >= start_.step && step <= last_step_, "a step of the segment");
    if (roots_.empty()) {
        State state = start_;
        std::vector<Hash32> roots;
        const auto training = setup_.runner->train(*setup_.program, state, *setup_.pool);
        roots.push_back(training->commit().root);
        while (training->step() < last_step_) {
            training->advance();
            roots.push_back(training->commit().root);  // at once: kernels/decisions/005
        }
        training->state();
        roots_ = std::move(roots);
        end_ = std::move(state);
    }
    return roots_[step - start_.step];
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

const std::vector<Bytes>& Replayer::partials_of(std::uint64_t t, std::uint32_t op, std::uint64_t tile) {
    StepCache& cache = cache_of(t);
    if (!cache.partials.empty() && cache.partial_op == op && cache.partial_tile == tile)
        return cache.partials;
    prepare_op(t, op);
    const kernels::OpFacts facts = kernels::facts_of(setup_.played->program(), op);
    const kernels::Geometry shape = kernels::geometry(facts.output.dims);
    const std::uint32_t size = kernels::size_of(facts.output.dtype);
    const std::uint64_t links = kernels::link_count(facts);
    const std::uint64_t first_row = tile / shape.tile_cols() * 32, first_col = tile % shape.tile_cols() * 32;
    const WholeInputs inputs = whole_inputs(*this, t, op);

    std::vector<Bytes> partials(links > 0 ? links - 1 : 0, Bytes(std::size_t{1024} * size));
    setup_.pool->parallel_for(1024, 32, [&](std::uint64_t begin, std::uint64_t end) {
        WholeInputs source = inputs;
        for (std::uint64_t place = begin; place < end; ++place) {
            const std::uint64_t row = first_row + place / 32, col = first_col + place % 32;
            if (row >= shape.rows || col >= shape.cols) continue;
            kernels::ElementQuery query{row * shape.cols + col, 0, 0, setup_.seed, t};
            for (query.link = 0; query.link < partials.size(); ++query.link) {
                query.before = kernels::evaluate(facts, query, source).value();
                std::uint8_t bits[4];
                store_u32(bits, query.before);
                std::copy_n(bits, size,
                            partials[query.link].begin() + static_cast<std::ptrdiff_t>(place * size));
            }
        }
    });
    cache.partial_op = op;
    cache.partial_tile = tile;
    cache.partials = std::move(partials);
    return cache.partials;
}

std::optional<std::uint32_t> WholeInputs::read(std::uint32_t slot, std::uint64_t element) {
    if (slot >= inputs_.size() || element >= inputs_[slot]->elements()) return std::nullopt;
    return inputs_[slot]->bits(element);
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
