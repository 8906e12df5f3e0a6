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
    std::unique_ptr<ReplaySteps> steps;
    kernels::ThreadPool& pool;
    bool initialiser = false;
    State start;
    std::uint64_t first = 0, last = 0;
    std::map<std::uint64_t, Hash32> roots = {};   // By number of the state, once requested.
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

/// While it exists, a state has another step: the one that ops see, or the one in its header.
class AsSeen {
public:
    AsSeen(State& state, std::uint64_t step) : state_(state), step_(std::exchange(state.step, step)) {}
    ~AsSeen() { state_.step = step_; }
    AsSeen(const AsSeen&) = delete;
    AsSeen& operator=(const AsSeen&) = delete;

private:
    State& state_;
    std::uint64_t step_;
};

/// Includes all levels: about two hashes for each leaf.
std::uint64_t bytes_of(const merkle::TileTree& tree) { return 2 * tree.leaf_count() * sizeof(Hash32); }

}  // namespace

Replayer::Replayer(std::shared_ptr<Segment> segment) : segment_(std::move(segment)), number_(segment_->replays++) {}

Replayer::Replayer(std::unique_ptr<ReplaySteps> steps, kernels::ThreadPool& pool, State start, std::uint64_t first,
                   std::uint64_t last)
    : Replayer(std::make_shared<Segment>(Segment{std::move(steps), pool, false, std::move(start), first, last})) {
    ensure(first < last, "a segment has steps");
    ensure(segment_->start.step == this->steps().header_step(first), "the state at the segment's start");
    segment_->start.step = this->steps().replay_step(first);
}

Replayer::Replayer(std::unique_ptr<ReplaySteps> steps, kernels::ThreadPool& pool)
    : Replayer(std::make_shared<Segment>(Segment{std::move(steps), pool, true, {}, 0, 0})) {
    segment_->start = solver::blank_state(this->steps().program_at(0).program());
}

Replayer::Replayer(ReplaySetup setup, State start, std::uint64_t last_step)
    : Replayer(steps_of(setup), *setup.pool, std::move(start), start.step, last_step) {}

Replayer::Replayer(ReplaySetup setup) : Replayer(steps_of(setup), *setup.pool) {}

Replayer::~Replayer() {
    if (segment_ != nullptr) drop_cursor();
}
Replayer::Replayer(Replayer&&) noexcept = default;

Replayer Replayer::beside() const { return Replayer(segment_); }

bool Replayer::initialiser() const noexcept { return segment_->initialiser; }
const ReplaySteps& Replayer::steps() const noexcept { return *segment_->steps; }
std::uint64_t Replayer::last_step() const noexcept { return segment_->last; }
std::uint64_t Replayer::start_bytes() const { return bytes_of(segment_->start) + steps().bytes(); }
PlayedStep Replayer::played(std::uint64_t t) { return segment_->steps->at(t); }
std::vector<const Tensor*> Replayer::datasets(std::uint64_t t) { return segment_->steps->datasets_at(t); }

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
        step_once(state, 0);
        end_ = std::move(state);
    } else {
        end_ = state_at(last_step());
    }
    return *end_;
}

Hash32 Replayer::end_root() {
    const auto found = segment_->roots.find(last_step());
    if (found != segment_->roots.end()) return found->second;
    if (initialiser() || end_) return kernels::commit_state(steps().root(), end_state(), segment_->pool).root;
    // The state is hashed where it is, before it is copied here.
    const std::unique_ptr<solver::Computation> computation = compute_to(last_step());
    const Hash32 root = computation->commit().root;
    end_ = computation->state();
    return root;
}

Hash32 Replayer::root_at(std::uint64_t step) { return roots_at(segment_->first, {&step, 1}).front(); }

Hash32 Replayer::end_root_beside(std::span<const std::uint64_t> steps) {
    std::vector<std::uint64_t> all(steps.begin(), steps.end());
    all.push_back(last_step());
    return find_roots(segment_->first, all, steps.size() / 2).back();
}

std::vector<Hash32> Replayer::roots_at(std::uint64_t low, std::span<const std::uint64_t> steps) {
    return find_roots(low, steps, steps.size() / 2);
}

std::vector<Hash32> Replayer::find_roots(std::uint64_t low, std::span<const std::uint64_t> steps,
                                         std::size_t half_way) {
    std::map<std::uint64_t, Hash32>& found = segment_->roots;
    ensure(!initialiser() && low >= segment_->first, "a step of the segment");
    ensure(steps.empty() || (low <= steps.front() && steps.back() <= last_step()), "steps of the segment");
    const auto known = [&](std::uint64_t step) { return found.count(step) != 0; };
    if (!std::all_of(steps.begin(), steps.end(), known)) {
        end_.reset();
        State state = search_start(low, *std::find_if_not(steps.begin(), steps.end(), known));
        auto computation = segment_->steps->compute(state);
        for (const std::uint64_t step : steps) {
            if (known(step)) continue;
            const std::uint64_t replay_step = segment_->steps->replay_step(step);
            ensure(computation->step() <= replay_step, "ascending steps");
            if (!advance_to(*computation, replay_step)) {
                computation.reset();
                if (!state.tensors.empty()) stopped_ = std::move(state);  // Otherwise a step was left half done.
                throw ReplayPreempted();
            }
            found[step] = computation->commit().root;
            // Nothing is kept yet besides the start: keeping the state half way saves the next call half of the
            // execution.
            if (cursor() == nullptr && step == steps[half_way])
                segment_->cursors.emplace(number_, computation->state());
        }
    }
    stopped_.reset();
    std::vector<Hash32> roots;
    for (const std::uint64_t step : steps) roots.push_back(found.at(step));
    return roots;
}

State Replayer::search_start(std::uint64_t low, std::uint64_t first) {
    const std::uint64_t low_step = steps().replay_step(low), first_step = steps().replay_step(first);
    if (auto stopped = std::exchange(stopped_, std::nullopt);
        stopped && low_step <= stopped->step && stopped->step <= first_step)
        return std::move(*stopped);
    if (low != segment_->first) return state_at(low);
    if (const State* own = cursor(); own != nullptr && own->step <= first_step) return *own;
    drop_cursor();
    return segment_->start;
}

void Replayer::stop_if_preempted() const {
    if (preemption_ != nullptr && preemption_->requested()) throw ReplayPreempted();
}

bool Replayer::advance_to(solver::Computation& computation, std::uint64_t replay_step) {
    computation.run_ahead(replay_step);
    while (computation.step() < replay_step) {
        if (preemption_ == nullptr) {
            computation.advance();
            continue;
        }
        if (preemption_->requested()) {
            computation.state();
            return false;
        }
        preemption_->begin_step();
        if (!computation.attempt(preemption_->step_stop())) return false;
    }
    return true;
}

void Replayer::step_once(State& state, std::uint64_t t) {
    stop_if_preempted();
    const PlayedStep step = played(t);
    state.step = step.op_step;
    if (preemption_ == nullptr) {
        step.runner.step(state);
    } else {
        preemption_->begin_step();
        if (!step.runner.attempt(state, preemption_->step_stop())) throw ReplayPreempted();
    }
    state.step = steps().replay_step(initialiser() ? 0 : t + 1);
}

State* Replayer::cursor() const {
    const auto own = segment_->cursors.find(number_);
    return own == segment_->cursors.end() ? nullptr : &own->second;
}

void Replayer::drop_cursor() { segment_->cursors.erase(number_); }

State& Replayer::cursor_before(std::uint64_t replay_step) {
    const State* nearest = &segment_->start;
    for (const auto& [replay, state] : segment_->cursors)
        if (state.step <= replay_step && state.step > nearest->step) nearest = &state;
    State* const own = cursor();
    if (own != nullptr && own->step <= replay_step && own->step >= nearest->step) return *own;
    drop_cursor();
    return segment_->cursors.emplace(number_, *nearest).first->second;
}

State& Replayer::state_at(std::uint64_t t) {
    if (State* own = cursor(); own != nullptr && own->step == steps().replay_step(t)) return *own;
    const std::unique_ptr<solver::Computation> computation = compute_to(t);
    try {
        computation->state();
        return *cursor();
    } catch (...) {
        drop_cursor();
        throw;
    }
}

State& Replayer::start_of(std::uint64_t t) { return initialiser() ? segment_->start : state_at(t); }

std::unique_ptr<solver::Computation> Replayer::compute_to(std::uint64_t t) {
    ensure(t >= segment_->first && t <= last_step(), "a step of the segment");
    const std::uint64_t replay_step = steps().replay_step(t);
    State& state = cursor_before(replay_step);
    try {
        auto computation = segment_->steps->compute(state);
        if (advance_to(*computation, replay_step)) return computation;
        computation.reset();
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
    if (!cache.input) {
        State& state = state_at(t);
        const AsSeen seen(state, steps().header_step(t));
        cache.input = kernels::commit_state(steps().root(), state, segment_->pool);
    }
    return *cache.input;
}

const StateCommitment& Replayer::output_of(std::uint64_t t) {
    StepCache& cache = cache_of(t);
    if (!cache.output) {
        State state = initialiser() ? end_state() : state_at(t);
        if (!initialiser()) step_once(state, t);
        cache.output = kernels::commit_state(steps().root(), state, segment_->pool);
    }
    return *cache.output;
}

const std::vector<Hash32>& Replayer::trace_of(std::uint64_t t) {
    StepCache& cache = cache_of(t);
    if (cache.trace.empty()) {
        State& input = start_of(t);
        stop_if_preempted();
        const PlayedStep step = played(t);
        const AsSeen seen(input, step.op_step);
        cache.trace = step.runner.trace(input);
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
    const kernels::Program& program = steps().program_at(t).program();
    std::set<std::uint32_t> wanted;
    if (cache.outputs.count(op) == 0) wanted.insert(op);
    for (const std::uint32_t input : program.ops[op].inputs) {
        if (!program.is_op_output(input)) continue;
        const std::uint32_t source = input - program.tensors_static();
        if (cache.outputs.count(source) == 0) wanted.insert(source);
    }
    if (wanted.empty()) return;
    const std::vector<std::uint32_t> ops(wanted.begin(), wanted.end());
    State& input = start_of(t);
    stop_if_preempted();
    const PlayedStep step = played(t);
    const AsSeen seen(input, step.op_step);
    std::vector<Tensor> tensors = step.runner.outputs(input, ops);
    for (std::size_t i = 0; i < ops.size(); ++i) cache.outputs[ops[i]] = std::move(tensors[i]);
}

const Tensor& Replayer::tensor_of(std::uint64_t t, std::uint32_t tensor) {
    const kernels::Program& program = steps().program_at(t).program();
    if (program.is_op_output(tensor)) {
        const std::uint32_t op = tensor - program.tensors_static();
        StepCache& cache = cache_of(t);
        if (cache.outputs.count(op) == 0) prepare_op(t, op);
        return cache.outputs.at(op);
    }
    if (tensor < program.states) return start_of(t).tensors[tensor];
    tensor -= program.states;
    if (tensor >= program.constants) return *datasets(t).at(tensor - program.constants);
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
    merkle::TileTree tree = kernels::tile_tree(tensor_of(t, tensor), segment_->pool);
    return cache.tiles.emplace(tensor, std::move(tree)).first->second;
}

const Bytes& Replayer::partial_of(std::uint64_t t, std::uint32_t op, std::uint64_t tile, std::uint64_t links) {
    StepCache& cache = cache_of(t);
    if (cache.partial_op != op || cache.partial_tile != tile) cache.partials.clear();
    cache.partial_op = op;
    cache.partial_tile = tile;
    const auto next = cache.partials.lower_bound(links);
    if (next != cache.partials.end() && next->first == links) return next->second;
    const kernels::OpFacts facts = kernels::facts_of(steps().program_at(t).program(), op);
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
    const PlayedStep step = played(t);
    step.runner.advance_partial({facts, data, nullptr, step.seed, step.op_step, segment_->pool}, op, tile, first, links,
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
    for (const std::uint32_t tensor : replay.steps().program_at(t).program().ops[op].inputs) {
        inputs.push_back(&replay.tensor_of(t, tensor));
    }
    return WholeInputs(std::move(inputs));
}

}  // namespace retrace::verifier
