// SPDX-License-Identifier: MIT
// Whole disputes, about tasks and about members of groups, in which one side is honest and the other plays moves from
// the input: its own consistent lie, moves with damaged bytes, moves of other phases. The honest side never loses, and a
// refused move changes nothing.
#include <array>

#include "kernels/builder/training.hpp"
#include "kernels/commit/contract.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/unit/kernels/plan/small_plan.hpp"
#include "verifier/game/member_facts.hpp"
#include "verifier/player/player.hpp"
#include "verifier/replay/segment_steps.hpp"

namespace retrace::fuzz {
namespace {

using namespace verifier;

constexpr std::uint64_t kSeed = 11, kSteps = 20, kLieStep = 9;
constexpr std::size_t kWorlds = 5, kKinds = 2 * kWorlds;  ///< In each world, either side may be the honest one.
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

/// A claim with the accounts of an honest party and of a liar.
struct World {
    virtual ~World() = default;
    Game begin(bool honest_solver) {
        Claim made = claim;
        if (!honest_solver) made.end_root = liar->end_root();
        Game game = start(facts, made);
        supply(game);
        return game;
    }
    /// Does what a ledger does when a game has found its position.
    void supply(Game& game) const {
        if (needs_position(game)) set_position(game, position_facts(game.found.step));
    }
    virtual StepFacts position_facts(std::uint64_t) const { return {}; }

    kernels::ThreadPool pool{1};
    std::unique_ptr<Replayer> honest, liar;
    Facts facts;
    Claim claim;  ///< Claim of the honest party.
};

/// A task about a segment or the seeded initialiser.
struct TaskWorld final : World {
    explicit TaskWorld(bool initialiser);

    kernels::TrainingPrograms plans = programs();
    kernels::CommittedProgram program{plans.train}, init{plans.init};
    kernels::Tensor x = kernels::zeros(kernels::DType::u8, {4, 1, 2, 2}), y = kernels::zeros(kernels::DType::u8, {4});
    std::unique_ptr<Runner> honest_runner, liar_runner;
};

/// A member of a group and one segment of it, or its first state, with a lie in one phase: it takes in a record of two
/// messages, which its own is not in, and makes two inner steps.
struct MemberWorld final : World {
    explicit MemberWorld(kernels::Phase lie);
    StepFacts position_facts(std::uint64_t place) const override;
    std::unique_ptr<solver::PlanRunner> make_runner(kernels::Phase lie, std::optional<std::uint64_t> step);

    static constexpr std::uint32_t kRun = 0;
    solver::CommittedPlan plan{kernels::testing::small_plan()};
    MemberTerms terms{kernels::header_of(kernels::testing::small_plan()), kSeed, kRun, {}};
    kernels::Tensor anchor = kernels::zeros(kernels::DType::f32, {4});
    std::vector<kernels::Tensor> messages{2, kernels::zeros(kernels::DType::f32, {4})};
    solver::SegmentView segment{{0, 1, 2, 0}, 0, {{0, 5, {{1, 2, {}, 4, 0}, {2, 1, {}, 1, 1}}}}};
    std::optional<kernels::SegmentPositions> positions;
    std::unique_ptr<solver::PlanRunner> honest_runner, liar_runner;
};

/// Returns an op whose output reaches the next state.
std::uint32_t writer_of(const kernels::Program& program) {
    for (const kernels::TensorRecord& tensor : program.tensors)
        if (tensor.writer != kernels::kNoWriter) return tensor.writer;
    require(false, "training changes the state");
    return 0;
}

TaskWorld::TaskWorld(bool initialiser) {
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

std::unique_ptr<solver::PlanRunner> MemberWorld::make_runner(kernels::Phase lie, std::optional<std::uint64_t> step) {
    const kernels::Program* tampered = step ? &plan.program(lie).program() : nullptr;
    const auto make = [this, tampered, step](const kernels::Program& program, kernels::Inputs inputs) {
        std::optional<std::uint32_t> op;
        if (&program == tampered) op = writer_of(program);
        return std::make_unique<Runner>(program, std::move(inputs), pool, op, step.value_or(0));
    };
    return std::make_unique<solver::PlanRunner>(plan, kSeed, std::vector<const kernels::Tensor*>{}, make, pool);
}

MemberWorld::MemberWorld(kernels::Phase lie) {
    const bool enters = lie == kernels::Phase::enter;
    anchor.data[2] = 0x80, anchor.data[3] = 0x3f;  // 1.0
    for (std::size_t i = 0; i < messages.size(); ++i) {
        // 2 and 512: a lie in both messages' `add` must not cancel itself out.
        messages[i].data[3] = static_cast<std::uint8_t>(0x40 + 4 * i);
        segment.records[0].entries[i].tensors = {kernels::tensor_root(messages[i], pool)};
    }
    positions = segment.positions(plan.steps_max()).value();
    std::uint64_t step = std::uint64_t{3} * plan.steps_max();  // Of `enter`, at the start of round 3.
    for (std::uint64_t p = 0; p < positions->count(); ++p)
        if (positions->at(p).phase == lie) step = positions->at(p).op_step;
    honest_runner = make_runner(lie, std::nullopt);
    liar_runner = make_runner(lie, step);
    facts = {kernels::contract_hash(), plan.root(), {}, 0, {}};
    const kernels::State first = honest_runner->init().value();
    const auto replay = [&](solver::PlanRunner& runner) {
        const MemberSetup setup{&runner, &pool, {}, kRun};
        if (enters) return std::make_unique<Replayer>(enter_steps_of(setup, 3, {anchor}), pool);
        const auto load = [this](std::size_t, std::size_t entry) { return std::vector{messages[entry]}; };
        return std::make_unique<Replayer>(steps_of(setup, segment, *positions, load), pool, first, 0,
                                          positions->count());
    };
    honest = replay(*honest_runner);
    liar = replay(*liar_runner);
    require(honest->end_root() != liar->end_root(), "the lie reaches the end");
    claim = {enters, 0, enters ? 0 : positions->count(), {}, honest->end_root(), true};
    if (!enters) claim.start_root = kernels::commit_state(plan.root(), first, pool).root;
}

StepFacts MemberWorld::position_facts(std::uint64_t place) const {
    if (claim.initialiser) {
        kernels::ThreadPool own(1);
        return facts_of_entry(terms, 3, {kernels::tensor_root(anchor, own)}).value();
    }
    const solver::RecordView& record = segment.records[0];
    const kernels::Position position = positions->at(place);
    return facts_of_position(terms, *positions, place,
                             {record.entries[position.message].tensors, facts_of(record, position.message)})
        .value();
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
            world.supply(game);
            continue;
        }
        const auto move = hostile_move(world, game, choices);
        if (move && apply(game, game.mover, *move)) {
            world.supply(game);
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
    for (std::uint8_t kind = 0; kind < kKinds; ++kind) {
        out.push_back(with_kind(kind, Bytes(80, 5)));  // Plays the liar's own account to the end.
        for (std::uint64_t i = 0; i < 12; ++i) out.push_back(random_choices(kind, i, 300));
    }
    return out;
}

void run(View input) {
    static TaskWorld segment(false), initialiser(true);
    static MemberWorld add(kernels::Phase::add), inner(kernels::Phase::inner), enter(kernels::Phase::enter);
    static const std::array<World*, kWorlds> worlds = {&segment, &initialiser, &add, &inner, &enter};
    Choices choices(input);
    const std::size_t kind = choices.below(kKinds);
    play(*worlds.at(kind / 2), kind % 2 == 0 ? Side::solver : Side::challenger, choices);
}

}  // namespace retrace::fuzz
