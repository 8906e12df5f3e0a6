// SPDX-License-Identifier: MIT
#include "verifier/replay/replayer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/exec/partial_tile.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::verifier {

using kernels::State;
using kernels::StateCommitment;
using kernels::Tensor;

struct Replayer::Segment {
    ReplaySetup setup;
    bool initialiser = false;
    State start;
    std::uint64_t last_step = 0;
    std::map<std::uint64_t, Hash32> roots = {};   // By step, once requested.
    std::map<std::uint64_t, State> cursors = {};  // Keyed by replay.
    std::uint64_t replays = 0;                    // Number of replays ever made.
};

struct Replayer::StepCache {
    std::uint64_t t = 0;
    std::optional<StateCommitment> input, output;
    std::vector<Hash32> trace;
    std::optional<merkle::TileTree> trace_tree;
    std::map<std::uint32_t, Tensor> outputs;          // Keyed by op.
    std::map<std::uint32_t, Tensor> constants;        // Keyed by tensor.
    std::map<std::uint32_t, merkle::TileTree> tiles;  // Keyed by tensor.
    std::uint32_t partial_op = 0;
    std::uint64_t partial_tile = 0;
    std::map<std::uint64_t, Bytes> partials;  // Keyed by the number of links.
};

namespace {

std::uint64_t bytes_of(const State& state) {
    std::uint64_t bytes = 0;
    for (const Tensor& tensor : state.tensors) bytes += tensor.data.size();
    return bytes;
}

/// Includes all levels: about two hashes for each leaf.
std::uint64_t bytes_of(const merkle::TileTree& tree) { return 2 * tree.leaf_count() * sizeof(Hash32); }

}  // namespace

Replayer::Replayer(std::shared_ptr<Segment> segment) : segment_(std::move(segment)), number_(segment_->replays++) {}

Replayer::Replayer(ReplaySetup setup, State start, std::uint64_t last_step)
    : Replayer(std::make_shared<Segment>(Segment{std::move(setup), false, std::move(start), last_step})) {
    ensure(segment_->start.step < segment_->last_step, "a segment has steps");
}

Replayer::Replayer(ReplaySetup setup)
    : Replayer(std::make_shared<Segment>(Segment{setup, true, solver::blank_state(setup.played->program()), 0})) {}

Replayer::~Replayer() {
    if (segment_ != nullptr) drop_cursor();
}
Replayer::Replayer(Replayer&&) noexcept = default;

Replayer Replayer::beside() const { return Replayer(segment_); }

bool Replayer::initialiser() const noexcept { return segment_->initialiser; }
const ReplaySetup& Replayer::setup() const noexcept { return segment_->setup; }
std::uint64_t Replayer::last_step() const noexcept { return segment_->last_step; }
std::uint64_t Replayer::start_bytes() const { return bytes_of(segment_->start); }

std::uint64_t Replayer::own_bytes() const {
    std::uint64_t bytes = 0;
    if (const State* kept = cursor()) bytes += bytes_of(*kept);
    if (end_) bytes += bytes_of(*end_);
    if (stopped_) bytes += bytes_of(*stopped_);
    if (step_ == nullptr) return bytes;
    for (const auto* commitment : {&step_->input, &step_->output})
        if (*commitment) bytes += (*commitment)->tensor_roots.size() * sizeof(Hash32);
    bytes += step_->trace.size() * sizeof(Hash32);
    if (step_->trace_tree) bytes += bytes_of(*step_->trace_tree);
    for (const auto* tensors : {&step_->outputs, &step_->constants})
        for (const auto& [number, tensor] : *tensors) bytes += tensor.data.size();
    for (const auto& [tensor, tree] : step_->tiles) bytes += bytes_of(tree);
    for (const auto& [links, partial] : step_->partials) bytes += partial.size();
    return bytes;
}

const State& Replayer::end_state() {
    if (end_) return *end_;
    if (initialiser()) {
        State state = segment_->start;
        step_once(state);
        state.step = 0;  // The initialiser's one step leads to the state before step 0.
        end_ = std::move(state);
    } else {
        end_ = state_at(last_step());
    }
    return *end_;
}

Hash32 Replayer::end_root() {
    const auto found = segment_->roots.find(last_step());
    if (found != segment_->roots.end()) return found->second;
    if (initialiser() || end_) return kernels::commit_state(setup().program->root(), end_state(), *setup().pool).root;
    // The state is hashed where it is, before it is copied here.
    const std::unique_ptr<solver::Training> training = train_to(last_step());
    const Hash32 root = training->commit().root;
    end_ = training->state();
    return root;
}

Hash32 Replayer::root_at(std::uint64_t step) { return roots_at(segment_->start.step, {&step, 1}).front(); }

Hash32 Replayer::end_root_beside(std::span<const std::uint64_t> steps) {
    std::vector<std::uint64_t> all(steps.begin(), steps.end());
    all.push_back(last_step());
    return find_roots(segment_->start.step, all, steps.size() / 2).back();
}

std::vector<Hash32> Replayer::roots_at(std::uint64_t low, std::span<const std::uint64_t> steps) {
    return find_roots(low, steps, steps.size() / 2);
}

std::vector<Hash32> Replayer::find_roots(std::uint64_t low, std::span<const std::uint64_t> steps,
                                         std::size_t half_way) {
    std::map<std::uint64_t, Hash32>& found = segment_->roots;
    const State& start = segment_->start;
    ensure(!initialiser() && low >= start.step, "a step of the segment");
    ensure(steps.empty() || (low <= steps.front() && steps.back() <= last_step()), "steps of the segment");
    const auto known = [&](std::uint64_t step) { return found.count(step) != 0; };
    if (!std::all_of(steps.begin(), steps.end(), known)) {
        end_.reset();
        State state = search_start(low, *std::find_if_not(steps.begin(), steps.end(), known));
        auto training = setup().runner->train(*setup().program, state, *setup().pool);
        for (const std::uint64_t step : steps) {
            if (known(step)) continue;
            ensure(training->step() <= step, "ascending steps");
            if (!advance_to(*training, step)) {
                training.reset();
                if (!state.tensors.empty()) stopped_ = std::move(state);  // Otherwise a step was left half done.
                throw ReplayPreempted();
            }
            found[step] = training->commit().root;
            // Nothing is kept yet besides the start: keeping the state half way saves the next call half of the
            // execution.
            if (cursor() == nullptr && step == steps[half_way]) segment_->cursors.emplace(number_, training->state());
        }
    }
    stopped_.reset();
    std::vector<Hash32> roots;
    for (const std::uint64_t step : steps) roots.push_back(found.at(step));
    return roots;
}

State Replayer::search_start(std::uint64_t low, std::uint64_t first) {
    if (auto stopped = std::exchange(stopped_, std::nullopt); stopped && low <= stopped->step && stopped->step <= first)
        return std::move(*stopped);
    if (low != segment_->start.step) return state_at(low);
    if (const State* own = cursor(); own != nullptr && own->step <= first) return *own;
    drop_cursor();
    return segment_->start;
}

void Replayer::stop_if_preempted() const {
    if (preemption_ != nullptr && preemption_->requested()) throw ReplayPreempted();
}

bool Replayer::advance_to(solver::Training& training, std::uint64_t step) {
    training.run_ahead(step);
    while (training.step() < step) {
        if (preemption_ == nullptr) {
            training.advance();
            continue;
        }
        if (preemption_->requested()) {
            training.state();
            return false;
        }
        preemption_->begin_step();
        if (!training.attempt(preemption_->step_stop())) return false;
    }
    return true;
}

void Replayer::step_once(State& state) {
    if (preemption_ == nullptr) return (void)setup().runner->step(state);
    stop_if_preempted();
    preemption_->begin_step();
    if (!setup().runner->attempt(state, preemption_->step_stop())) throw ReplayPreempted();
}

State* Replayer::cursor() const {
    const auto own = segment_->cursors.find(number_);
    return own == segment_->cursors.end() ? nullptr : &own->second;
}

void Replayer::drop_cursor() { segment_->cursors.erase(number_); }

State& Replayer::cursor_before(std::uint64_t step) {
    const State* nearest = &segment_->start;
    for (const auto& [replay, state] : segment_->cursors)
        if (state.step <= step && state.step > nearest->step) nearest = &state;
    State* const own = cursor();
    if (own != nullptr && own->step <= step && own->step >= nearest->step) return *own;
    drop_cursor();
    return segment_->cursors.emplace(number_, *nearest).first->second;
}

const State& Replayer::state_at(std::uint64_t step) {
    if (const State* own = cursor(); own != nullptr && own->step == step) return *own;
    const std::unique_ptr<solver::Training> training = train_to(step);
    try {
        return training->state();
    } catch (...) {
        drop_cursor();
        throw;
    }
}

std::unique_ptr<solver::Training> Replayer::train_to(std::uint64_t step) {
    ensure(step >= segment_->start.step && step <= last_step(), "a step of the segment");
    State& state = cursor_before(step);
    try {
        auto training = setup().runner->train(*setup().program, state, *setup().pool);
        if (advance_to(*training, step)) return training;
        training.reset();
        if (state.tensors.empty()) drop_cursor();  // A step was left half done.
    } catch (...) {
        drop_cursor();  // The state may be half a step ahead of its step number: the next call starts anew.
        throw;
    }
    throw ReplayPreempted();
}

Replayer::StepCache& Replayer::cache_of(std::uint64_t t) {
    if (!step_ || step_->t != t) {
        step_ = std::make_unique<StepCache>();
        step_->t = t;
    }
    return *step_;
}

const StateCommitment& Replayer::input_of(std::uint64_t t) {
    ensure(!initialiser(), "an initialiser has no input state");
    StepCache& cache = cache_of(t);
    if (!cache.input) cache.input = kernels::commit_state(setup().program->root(), state_at(t), *setup().pool);
    return *cache.input;
}

const StateCommitment& Replayer::output_of(std::uint64_t t) {
    StepCache& cache = cache_of(t);
    if (!cache.output) {
        State state = initialiser() ? end_state() : state_at(t);
        if (!initialiser()) step_once(state);
        cache.output = kernels::commit_state(setup().program->root(), state, *setup().pool);
    }
    return *cache.output;
}

const std::vector<Hash32>& Replayer::trace_of(std::uint64_t t) {
    StepCache& cache = cache_of(t);
    if (cache.trace.empty()) {
        const State& input = initialiser() ? segment_->start : state_at(t);
        stop_if_preempted();
        cache.trace = setup().runner->trace(input);
    }
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
    const kernels::Program& program = setup().played->program();
    std::set<std::uint32_t> wanted;
    if (cache.outputs.count(op) == 0) wanted.insert(op);
    for (const std::uint32_t input : program.ops[op].inputs) {
        if (!program.is_op_output(input)) continue;
        const std::uint32_t source = input - program.tensors_static();
        if (cache.outputs.count(source) == 0) wanted.insert(source);
    }
    if (wanted.empty()) return;
    const std::vector<std::uint32_t> ops(wanted.begin(), wanted.end());
    const State& input = initialiser() ? segment_->start : state_at(t);
    stop_if_preempted();
    std::vector<Tensor> tensors = setup().runner->outputs(input, ops);
    for (std::size_t i = 0; i < ops.size(); ++i) cache.outputs[ops[i]] = std::move(tensors[i]);
}

const Tensor& Replayer::tensor_of(std::uint64_t t, std::uint32_t tensor) {
    const kernels::Program& program = setup().played->program();
    if (program.is_op_output(tensor)) {
        const std::uint32_t op = tensor - program.tensors_static();
        StepCache& cache = cache_of(t);
        if (cache.outputs.count(op) == 0) prepare_op(t, op);
        return cache.outputs.at(op);
    }
    if (tensor < program.states) return (initialiser() ? segment_->start : state_at(t)).tensors[tensor];
    tensor -= program.states;
    if (tensor >= program.constants) return *setup().datasets.at(tensor - program.constants);
    StepCache& cache = cache_of(t);
    const auto found = cache.constants.find(tensor);
    if (found != cache.constants.end()) return found->second;
    const kernels::TensorRecord& record = program.tensors[program.states + tensor];
    Tensor constant{record.dtype, record.dims, program.constant_data[tensor].data};
    return cache.constants.emplace(tensor, std::move(constant)).first->second;
}

const merkle::TileTree& Replayer::tiles_of(std::uint64_t t, std::uint32_t tensor) {
    StepCache& cache = cache_of(t);
    const auto found = cache.tiles.find(tensor);
    if (found != cache.tiles.end()) return found->second;
    merkle::TileTree tree = kernels::tile_tree(tensor_of(t, tensor), *setup().pool);
    return cache.tiles.emplace(tensor, std::move(tree)).first->second;
}

const Bytes& Replayer::partial_of(std::uint64_t t, std::uint32_t op, std::uint64_t tile, std::uint64_t links) {
    StepCache& cache = cache_of(t);
    if (cache.partial_op != op || cache.partial_tile != tile) cache.partials.clear();
    cache.partial_op = op;
    cache.partial_tile = tile;
    const auto next = cache.partials.lower_bound(links);
    if (next != cache.partials.end() && next->first == links) return next->second;
    const kernels::OpFacts facts = kernels::facts_of(setup().played->program(), op);
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
    setup().runner->advance_partial({facts, data, nullptr, setup().seed, t, *setup().pool}, op, tile, first, links,
                                    carried);
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

WholeInputs whole_inputs(Replayer& replay, std::uint64_t t, std::uint32_t op) {
    replay.prepare_op(t, op);
    std::vector<const Tensor*> inputs;
    for (const std::uint32_t tensor : replay.setup().played->program().ops[op].inputs) {
        inputs.push_back(&replay.tensor_of(t, tensor));
    }
    return WholeInputs(std::move(inputs));
}

}  // namespace retrace::verifier
