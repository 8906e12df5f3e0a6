// SPDX-License-Identifier: MIT
// Answers to unavailability reports (contracts 16): a solver's own answer verifies, and a damaged one, or one to
// another question, never proves a tile or a record that does not exist.
#include "solver/artifacts/availability.hpp"

#include "kernels/builder/training.hpp"
#include "kernels/exec/executor.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace solver;

struct World {
    kernels::TrainingPrograms plans = [] {
        kernels::ModelSpec model;
        model.hidden = {40};
        model.input = {1, 6, 6};
        model.classes = 3;
        kernels::TrainingSpec training;
        training.samples = training.batch = 2;
        return kernels::build_training(model, training, 2, 2).value();
    }();
    kernels::ThreadPool pool{1};
    kernels::CommittedProgram program{plans.train};
    kernels::State state = kernels::run_initialiser(plans.init, 5, pool);
    kernels::StateCommitment commitment = kernels::commit_state(program.root(), state, pool);
};

/// Returns small numbers, sometimes one past the end, rarely any number.
std::uint64_t pick(Choices& choices, std::uint64_t count) {
    return choices.below(16) == 0 ? choices.number() : choices.below(count + 1);
}

void state_tile(World& world, Choices& choices) {
    const std::size_t tensors = world.state.tensors.size();
    auto tensor = static_cast<std::uint32_t>(pick(choices, tensors));
    std::uint64_t tile = pick(choices, 3);
    const Hash32& root = world.commitment.root;
    const TileAnswer own = answer_state_tile(world.program, world.commitment, world.state, tensor, tile, world.pool);
    require(verify_state_tile(own, world.program.root(), root, tensor, tile).has_value(), "an honest answer verifies");
    Bytes bytes = encode(own);
    require(bytes.size() <= kTileAnswerBytesMax, "an answer fits its limit");
    damage(bytes, choices);
    const auto answer = decode_tile_answer(bytes);
    if (!answer) return;
    require(encode(*answer) == bytes, "one answer has one encoding");
    if (choices.flip()) tensor = static_cast<std::uint32_t>(pick(choices, tensors));
    if (choices.flip()) tile = pick(choices, 3);
    if (!verify_state_tile(*answer, world.program.root(), root, tensor, tile)) return;
    if (tensor >= tensors || tile >= kernels::geometry(world.state.tensors[tensor].dims).tiles()) return;
    require(answer->tile == kernels::tile_bytes(world.state.tensors[tensor], tile), "an answer shows what is there");
}

void data_tile(World& world, Choices& choices) {
    const kernels::Tensor& tensor = world.state.tensors[choices.below(world.state.tensors.size())];
    const Hash32 root = kernels::tensor_root(tensor, world.pool);
    std::uint64_t tile = pick(choices, 3);
    const TileAnswer own = answer_tensor_tile(tensor, tile, world.pool);
    require(verify_tensor_tile(own, root, tile).has_value(), "an honest answer verifies");
    Bytes bytes = encode(own);
    damage(bytes, choices);
    const auto answer = decode_tile_answer(bytes);
    if (choices.flip()) tile = pick(choices, 3);
    if (!answer || !verify_tensor_tile(*answer, root, tile)) return;
    if (tile < kernels::geometry(tensor.dims).tiles())
        require(answer->tile == kernels::tile_bytes(tensor, tile), "an answer shows what is there");
}

void program_record(World& world, Choices& choices) {
    const kernels::Program& program = world.program.program();
    auto list = static_cast<std::uint32_t>(choices.below(3));
    std::uint64_t index = pick(choices, program.ops.size());
    const ProgramAnswer own = answer_program(world.program, list, index);
    require(verify_program_record(own, world.program.root(), list, index).has_value(), "an honest answer verifies");
    Bytes bytes = encode(own);
    damage(bytes, choices);
    const auto answer = decode_program_answer(bytes);
    if (!answer) return;
    require(encode(*answer) == bytes, "one answer has one encoding");
    if (choices.flip()) list = static_cast<std::uint32_t>(choices.below(3));
    if (choices.flip()) index = pick(choices, program.ops.size());
    if (!verify_program_record(*answer, world.program.root(), list, index)) return;
    if (list == 0 && index < program.ops.size())
        require(answer->record == kernels::encode_record(program.ops[index]), "an answer shows what is there");
    if (list != 0 && index < program.tensors.size())
        require(answer->record == kernels::encode_record(program.tensors[index]), "an answer shows what is there");
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint8_t kind = 0; kind < 3; ++kind)
        for (std::uint64_t i = 0; i < 12; ++i) out.push_back(random_choices(kind, i, 60));
    return out;
}

void run(View input) {
    static World world;
    Choices choices(input);
    switch (choices.below(3)) {
        case 0: state_tile(world, choices); break;
        case 1: data_tile(world, choices); break;
        default: program_record(world, choices); break;
    }
}

}  // namespace retrace::fuzz
