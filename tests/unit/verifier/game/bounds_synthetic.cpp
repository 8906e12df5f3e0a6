// SPDX-License-Identifier: MIT
#include "tests/unit/verifier/game/bounds_synthetic.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "kernels/ops/op.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::test {
namespace {

using namespace verifier;
using kernels::Geometry;

constexpr float kValue = 0.3125f;
constexpr std::uint32_t kPlaces = 1024;

/// A tensor whose elements are all equal: it has at most four kinds of tiles, which differ in padding.
class Uniform {
public:
    Uniform(kernels::Dims dims, std::uint32_t bits)
        : dims_(std::move(dims)), shape_(kernels::geometry(dims_)), bits_(bits) {
        std::vector<Hash32> leaves(shape_.tiles());
        Hash32 kinds[4];
        for (std::uint64_t i = 0; i < leaves.size(); ++i) {
            Hash32& leaf = kinds[kind(i)];
            if (leaf.is_zero()) leaf = merkle::tile_leaf(tile(i));
            leaves[i] = leaf;
        }
        tree_ = merkle::TileTree(std::move(leaves));
    }
    Bytes tile(std::uint64_t index) const { return filled(index, bits_); }
    /// A tile of this tensor's shape with other numbers.
    Bytes filled(std::uint64_t index, std::uint32_t bits) const {
        Bytes out(std::size_t{4} * kPlaces);
        for (std::uint32_t place = 0; place < kPlaces; ++place)
            if (inside(index, place)) store_u32(out.data() + std::size_t{4} * place, bits);
        return out;
    }
    kernels::TensorHeader header() const { return {kernels::DType::f32, dims_, tree_.root()}; }
    const Geometry& shape() const { return shape_; }
    const kernels::Dims& dims() const { return dims_; }
    const merkle::TileTree& tree() const { return tree_; }
    merkle::TileTree& tree() { return tree_; }

private:
    bool inside(std::uint64_t index, std::uint32_t place) const {
        return index / shape_.tile_cols() * 32 + place / 32 < shape_.rows &&
               index % shape_.tile_cols() * 32 + place % 32 < shape_.cols;
    }
    std::size_t kind(std::uint64_t index) const {
        return (index / shape_.tile_cols() + 1 == shape_.tile_rows() ? 1u : 0u) +
               (index % shape_.tile_cols() + 1 == shape_.tile_cols() ? 2u : 0u);
    }
    kernels::Dims dims_;
    Geometry shape_;
    std::uint32_t bits_;
    merkle::TileTree tree_;
};

class SameEverywhere final : public kernels::ElementSource {
public:
    std::optional<std::uint32_t> read(std::uint32_t, std::uint64_t) override {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &kValue, 4);
        return bits;
    }
};

kernels::Program program_of(const SyntheticShape& s) {
    const kernels::Dims a = s.transposed ? kernels::Dims{s.batch, s.k, s.m} : kernels::Dims{s.batch, s.m, s.k};
    const kernels::Dims b{s.batch, s.k, s.n};
    const kernels::Dims c{s.batch, s.m, s.n};
    kernels::Program program;
    program.states = 3 * s.layers;
    const std::uint64_t flag = s.transposed ? 1 : 0;
    for (std::uint32_t layer = 0; layer < s.layers; ++layer) {
        program.tensors.push_back({kernels::TensorKind::state, kernels::DType::f32, a, kernels::kNoWriter, ""});
        program.tensors.push_back({kernels::TensorKind::state, kernels::DType::f32, b, kernels::kNoWriter, ""});
        program.tensors.push_back({kernels::TensorKind::state, kernels::DType::f32, c, layer, ""});
        program.ops.push_back({kernels::OpCode::matmul, {3 * layer, 3 * layer + 1}, {3, flag, 0}, ""});
    }
    for (std::uint32_t layer = 0; layer < s.layers; ++layer)
        program.tensors.push_back({kernels::TensorKind::op_output, kernels::DType::f32, c, kernels::kNoWriter, ""});
    return program;
}

/// The data that both sides agree on, and the place of the lie.
struct World {
    explicit World(const SyntheticShape& s)
        : shape(s),
          program(program_of(s)),
          layer(s.layers * 2 / 3),
          step(s.steps * 5 / 8),
          facts(kernels::facts_of(program.program(), layer)),
          a(facts.inputs[0].dims, bits_of(kValue)),
          b(facts.inputs[1].dims, bits_of(kValue)) {
        SameEverywhere source;
        kernels::ElementQuery query{0, 0, 0, 11, step};
        for (; query.link < kernels::link_count(facts); ++query.link) {
            query.before = kernels::evaluate(facts, query, source).value();
            partials.push_back(query.before);
        }
        link = partials.size() / 2;
        const Geometry out = kernels::geometry(facts.output.dims);
        element = out.elements() * 7 / 9;
        tile = out.tile_of(element);
        place = out.place_in_tile(element);
    }
    static std::uint32_t bits_of(float value) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, 4);
        return bits;
    }
    SyntheticShape shape;
    kernels::CommittedProgram program;
    std::uint32_t layer;
    std::uint64_t step;
    kernels::OpFacts facts;
    Uniform a, b;
    std::vector<std::uint32_t> partials;  ///< Value of every element after each link; the last one is C's.
    std::uint64_t link = 0, element = 0, tile = 0;
    std::uint32_t place = 0;
};

/// One side: the world, with a wrong bit from some link on if it lies.
class Account {
public:
    Account(const World& world, bool lies) : w_(world), lies_(lies), c_(w_.facts.output.dims, w_.partials.back()) {
        const Hash32 agreed = c_.header().root();
        Hash32 own = agreed;
        if (lies) {
            c_.tree().update(w_.tile, merkle::tile_leaf(own_tile(w_.partials.size() - 1)));
            own = c_.header().root();
        }
        std::vector<Hash32> before, after;
        for (std::uint32_t layer = 0; layer < w_.shape.layers; ++layer) {
            for (auto* state : {&before, &after}) {
                state->push_back(w_.a.header().root());
                state->push_back(w_.b.header().root());
                state->push_back(state == &after && layer == w_.layer ? own : agreed);
            }
            trace_.push_back(layer == w_.layer ? own : agreed);
        }
        input_ = kernels::commit_roots(w_.program.root(), w_.step, before);
        output_ = kernels::commit_roots(w_.program.root(), w_.step + 1, after);
        trace_tree_ = kernels::trace_tree(trace_);
    }

    Hash32 root_at(std::uint64_t step) const {
        if (step == w_.step) return input_.root;
        if (step == w_.step + 1) return output_.root;
        Hash32 other;  // A root that nothing opens.
        store_u64(other.bytes.data(), step + 1);
        other.bytes[31] = lies_ && step > w_.step ? 1 : 0;
        return other;
    }
    Bytes own_tile(std::uint64_t link) const {
        Bytes tile = c_.filled(w_.tile, w_.partials[link]);
        if (lies_ && link >= w_.link) tile[std::size_t{4} * w_.place] ^= 1;
        return tile;
    }

    Move move(const Game& game) const {
        switch (game.phase) {
            case Phase::search_steps:
            case Phase::descend_state:
            case Phase::descend_trace:
            case Phase::descend_tiles:
            case Phase::search_links: return game.mover == Side::solver ? Move(PostHashes{hashes(game)}) : choose(game);
            case Phase::open_state: return OpenState{output_.header, w_.program.header()};
            case Phase::open_trace: return open_trace(game);
            case Phase::open_tensor: return open_tensor(game);
            case Phase::open_tile: return OpenTile{own_tile(game.found.link)};
            case Phase::name_element: return name(game);
            default: return prove();
        }
    }

private:
    static merkle::MultiProof prove_one(const merkle::TileTree& tree, std::uint64_t index) {
        return tree.prove({&index, 1});
    }

    std::vector<Hash32> hashes(const Game& game) const {
        std::vector<Hash32> out;
        if (game.phase == Phase::search_steps) {
            for (const std::uint64_t step : search_positions(game.search)) out.push_back(root_at(step));
        } else if (game.phase == Phase::search_links) {
            for (const std::uint64_t position : search_positions(game.search))
                out.push_back(merkle::tile_leaf(own_tile(position - 1)));
        } else {
            const merkle::TileTree state = output_.tree();
            const merkle::TileTree& tree = game.phase == Phase::descend_state   ? state
                                           : game.phase == Phase::descend_trace ? trace_tree_
                                                                                : c_.tree();
            const Children at = children_of(game.descent);
            for (std::uint64_t i = 0; i < at.count; ++i) out.push_back(tree.node(at.level, at.first + i));
        }
        return out;
    }
    Move choose(const Game& game) const {
        const std::vector<Hash32> own = hashes(game);
        const auto differ = std::mismatch(game.posted.begin(), game.posted.end(), own.begin()).first;
        return Choose{static_cast<std::uint32_t>(differ - game.posted.begin())};
    }
    Move open_trace(const Game& game) const {
        const std::uint32_t tensor = game.found.state_tensor;
        OpenTrace move;
        move.tensor_root = output_.tensor_roots[tensor];
        move.program = w_.program.header();
        move.record = w_.program.program().tensors[tensor];
        move.record_proof = prove_one(w_.program.tensor_tree(), tensor);
        move.source = Written{trace_tree_.root(), prove_one(trace_tree_, move.record.writer)};
        return move;
    }
    Move open_tensor(const Game& game) const {
        const std::uint32_t op = game.found.op;
        OpenTensor move;
        move.header = c_.header();
        move.op = w_.program.program().ops[op];
        move.op_proof = prove_one(w_.program.op_tree(), op);
        const std::vector<std::uint64_t> numbers = {move.op.inputs[0], move.op.inputs[1],
                                                    w_.program.program().output_of(op)};
        for (const std::uint64_t number : numbers) move.records.push_back(w_.program.program().tensors[number]);
        move.records_proof = w_.program.tensor_tree().prove(numbers);
        return move;
    }
    Move name(const Game& game) const {
        const Bytes own = own_tile(game.found.link);
        const auto differ = std::mismatch(game.tile.begin(), game.tile.end(), own.begin()).first - game.tile.begin();
        return NameElement{static_cast<std::uint32_t>(differ / 4)};
    }
    Move prove() const {
        ProveElement move;
        kernels::ElementQuery query{w_.element, w_.link, 0, 11, w_.step};
        if (w_.link > 0) {
            move.partial = own_tile(w_.link - 1);
            query.before = w_.partials[w_.link - 1];
        }
        SameEverywhere source;
        std::vector<std::uint64_t> wanted[2];
        for (const kernels::TileRef& read : kernels::inputs_of(w_.facts, query, source))
            wanted[read.slot].push_back(read.tile);
        for (std::uint32_t slot = 0; slot < 2; ++slot) {
            const Uniform& tensor = slot == 0 ? w_.a : w_.b;
            const std::uint64_t number = 3 * w_.layer + slot;
            InputEvidence input{
                static_cast<std::uint32_t>(number), tensor.header(), prove_one(input_.tree(), number), wanted[slot], {},
                tensor.tree().prove(wanted[slot])};
            for (const std::uint64_t tile : wanted[slot]) input.tile_bytes.push_back(tensor.tile(tile));
            move.inputs.push_back(std::move(input));
        }
        move.input_state = input_.header;
        return move;
    }

    const World& w_;
    bool lies_;
    Uniform c_;
    std::vector<Hash32> trace_;
    kernels::StateCommitment input_, output_;
    merkle::TileTree trace_tree_;
};

double thread_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double referee_ms(const Game& game, const Bytes& wire) {
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
        Game copy = game;
        const double begin = thread_ms();
        const auto move = decode_move(wire);
        if (move) (void)apply(copy, copy.mover, *move);
        least = std::min(least, thread_ms() - begin);
    }
    return least;
}

}  // namespace

std::vector<SyntheticShape> synthetic_shapes() {
    return {{"p1e4", 1, 1, 64, 64, 64, 100, false},
            {"p1e5", 2, 1, 128, 128, 128, 100, false},
            {"p1e6", 6, 1, 256, 256, 256, 1'000, false},
            {"p1e7", 12, 1, 512, 512, 512, 1'000, true},
            {"p1e8", 34, 1, 1'024, 1'024, 1'024, 1'000, false},
            {"p1e9", 80, 1, 2'048, 2'048, 2'048, 1'000, true},
            // Matrices of a batch that start inside a tile: 18 input tiles.
            {"p1e9_batch", 40, 33, 400, 400, 780, 1'000, true},
            // One layer with all parameters, and thousands of thin ones.
            {"p1e9_wide", 1, 1, 18'400, 18'400, 18'400, 10'000, true},
            {"p1e9_deep", 5'000, 1, 260, 260, 260, 100'000, false}};
}

SyntheticResult synthetic_dispute(const SyntheticShape& shape, bool solver_lies) {
    const World world(shape);
    const Account solver(world, solver_lies), challenger(world, !solver_lies);
    Claim claim;
    claim.last_step = shape.steps;
    claim.start_root = solver.root_at(0);
    claim.end_root = solver.root_at(shape.steps);
    SyntheticResult result;
    result.game = start({kernels::contract_hash(), world.program.root(), world.program.root(), 11, {}}, claim);
    Game& game = result.game;
    while (game.phase != Phase::decided) {
        const Side side = game.mover;
        const Bytes wire = encode((side == Side::solver ? solver : challenger).move(game));
        auto move = decode_move(wire);
        ensure(move.has_value(), "a move that was encoded");
        if (game.phase == Phase::prove_element) result.referee_ms = referee_ms(game, wire);
        const auto applied = apply(game, side, *move);
        ++result.moves;
        if (!applied) {
            result.refused = std::string(slug(applied.error())) + " in " + std::string(slug(game.phase));
            break;
        }
    }
    return result;
}

}  // namespace retrace::test
