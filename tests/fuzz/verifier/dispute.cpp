// SPDX-License-Identifier: MIT
// Whole disputes in which one side is honest and the other plays moves from the input: its own consistent lie, moves
// with damaged bytes, moves of other phases. The honest side never loses, and a refused move changes nothing.
#include "kernels/builder/training.hpp"
#include "kernels/commit/contract.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "verifier/player/player.hpp"

namespace retrace::fuzz {
namespace {

using namespace verifier;

constexpr std::uint64_t kSeed = 11, kSteps = 20, kLieStep = 9;
constexpr int kRefusalsMax = 6;  ///< After so many refused moves, the hostile side's clock runs out.

/// Runs the program; a liar flips a bit of the first element of one op in one step.
class Runner final : public solver::ProgramRunner {
public:
    Runner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool,
           std::optional<std::uint32_t> lie, std::uint64_t step)
        : ProgramRunner(program, std::move(inputs), pool) {
        if (!lie) return;
        executor().set_tamper([op = *lie, step](std::uint64_t at, std::uint32_t which, kernels::Tensor& output) {
            if (at == step && which == op && !output.data.empty()) output.data[0] ^= 1;
        });
    }
};

kernels::TrainingPrograms programs() {
    kernels::ModelSpec model;
    model.hidden = {3};
    model.input = {1, 2, 2};
    model.classes = 2;
    kernels::TrainingSpec training;
    training.samples = 4;
    training.batch = 2;
    training.steps = kSteps;
    return kernels::build_training(model, training, 4, 2).value();
}

/// A task about a segment or the seeded initialiser, with the accounts of an honest party and of a liar.
struct World {
    explicit World(bool initialiser);
    Game begin(bool honest_solver) {
        const Claim lie{claim.initialiser, claim.first_step, claim.last_step, claim.start_root, liar->end_root()};
        return start(facts, honest_solver ? claim : lie);
    }

    kernels::ThreadPool pool{1};
    kernels::TrainingPrograms plans = programs();
    kernels::CommittedProgram program{plans.train}, init{plans.init};
    kernels::Tensor x = kernels::zeros(kernels::DType::u8, {4, 1, 2, 2}), y = kernels::zeros(kernels::DType::u8, {4});
    std::unique_ptr<Runner> honest_runner, liar_runner;
    std::unique_ptr<Replayer> honest, liar;
    Facts facts;
    Claim claim;  ///< Claim of the honest party.
};

/// Returns an op whose output reaches the next state.
std::uint32_t writer_of(const kernels::Program& program) {
    for (const kernels::TensorRecord& tensor : program.tensors)
        if (tensor.writer != kernels::kNoWriter) return tensor.writer;
    require(false, "training changes the state");
    return 0;
}

World::World(bool initialiser) {
    for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = static_cast<std::uint8_t>(37 * i);
    y.data[1] = y.data[2] = 1;
    x.dims = plans.train.tensors[plans.train.states + plans.train.constants].dims;
    const kernels::CommittedProgram& played = initialiser ? init : program;
    kernels::Inputs inputs{kSeed, {}};
    if (!initialiser) inputs.datasets = {&x, &y};
    const std::uint32_t op = writer_of(played.program());
    const std::uint64_t step = initialiser ? 0 : kLieStep;
    honest_runner = std::make_unique<Runner>(played.program(), inputs, pool, std::nullopt, step);
    liar_runner = std::make_unique<Runner>(played.program(), inputs, pool, op, step);
    const auto setup = [&](Runner& runner) {
        return ReplaySetup{&program, &played, &runner, &pool, kSeed, inputs.datasets};
    };
    facts = {kernels::contract_hash(), program.root(), played.root(), kSeed, {}};
    if (initialiser) {
        honest = std::make_unique<Replayer>(setup(*honest_runner));
        liar = std::make_unique<Replayer>(setup(*liar_runner));
        claim = {true, 0, 0, {}, honest->end_root()};
    } else {
        facts.data_roots = {kernels::tensor_root(x, pool), kernels::tensor_root(y, pool)};
        const kernels::State first = kernels::run_initialiser(plans.init, kSeed, pool);
        honest = std::make_unique<Replayer>(setup(*honest_runner), first, kSteps);
        liar = std::make_unique<Replayer>(setup(*liar_runner), first, kSteps);
        claim = {false, 0, kSteps, kernels::commit_state(program.root(), first, pool).root, honest->end_root()};
    }
}

/// Returns the move with some of its bytes changed, cut or doubled; nullopt if the result is no longer a move.
std::optional<Move> damaged(const Move& move, Choices& choices) {
    Bytes bytes = encode(move);
    for (std::size_t i = choices.between(1, 3); i > 0; --i) {
        const std::size_t at = (choices.byte() << 8 | choices.byte()) % bytes.size();
        switch (choices.below(4)) {
            case 0: bytes[at] ^= static_cast<std::uint8_t>(1u << choices.below(8)); break;
            case 1: bytes[at] = choices.byte(); break;
            case 2: bytes.resize(at + 1); break;
            default: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), choices.byte()); break;
        }
    }
    auto out = decode_move(bytes);
    return out ? std::optional(std::move(*out)) : std::nullopt;
}

std::optional<Move> hostile_move(World& world, const Game& game, Choices& choices) {
    Replayer& account = choices.below(4) == 0 ? *world.honest : *world.liar;
    auto own = next_move(game, game.mover, account);
    switch (choices.below(6)) {
        case 0: return Choose{choices.byte()};
        case 1: return NameElement{static_cast<std::uint32_t>(choices.byte() * choices.byte())};
        case 2: {
            PostHashes post;
            for (std::size_t i = choices.below(20); i > 0; --i) post.hashes.push_back(choices.hash());
            return post;
        }
        case 3:
            if (own) return damaged(*own, choices);
            return std::nullopt;
        default: break;
    }
    return own ? std::optional(std::move(*own)) : std::nullopt;
}

/// Plays to the end, and encodes and decodes every game as the chain does.
void play(World& world, Side honest_side, Choices& choices) {
    Game game = world.begin(honest_side == Side::solver);
    for (int refused = 0; game.phase != Phase::decided;) {
        const Bytes before = encode(game);
        auto stored = decode_game(before);
        require(stored.has_value() && encode(*stored) == before, "a game survives its bytes");
        game = std::move(*stored);
        require(game.rounds < 100, "a dispute is short");
        if (game.mover == honest_side) {
            const auto move = next_move(game, honest_side, *world.honest);
            require(move.has_value(), "the honest side always has a move");
            require(apply(game, honest_side, *move).has_value(), "and it is taken");
            continue;
        }
        const auto move = hostile_move(world, game, choices);
        if (move && apply(game, game.mover, *move)) {
            refused = 0;
            continue;
        }
        require(encode(game) == before, "a refused move changes nothing");
        if (++refused > kRefusalsMax || choices.empty()) expire(game);
    }
    require(game.loser && *game.loser != honest_side, "the honest side does not lose");
    require(game.largest_move <= kMoveBytesMax, "moves are small");
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint8_t kind = 0; kind < 4; ++kind) {
        out.push_back(with_kind(kind, Bytes(80, 5)));  // Plays the liar's own account to the end.
        for (std::uint64_t i = 0; i < 12; ++i) out.push_back(random_choices(kind, i, 300));
    }
    return out;
}

void run(View input) {
    static World segment(false), initialiser(true);
    Choices choices(input);
    const std::size_t kind = choices.below(4);
    play(kind < 2 ? segment : initialiser, kind % 2 == 0 ? Side::solver : Side::challenger, choices);
}

}  // namespace retrace::fuzz
