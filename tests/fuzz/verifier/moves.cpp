// SPDX-License-Identifier: MIT
// Encoded moves and stored games: bytes that decode are the only encoding of their value.
#include "kernels/ops/opcode.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "verifier/game/game.hpp"

namespace retrace::fuzz {
namespace {

using namespace verifier;
using kernels::DType;

std::vector<Move> every_move() {
    const merkle::MultiProof proof{{Hash32{}, Hash32{}}};
    const kernels::OpRecord op{kernels::OpCode::add, {0, 1}, {}, ""};
    const kernels::TensorRecord record{kernels::TensorKind::state, DType::f32, {2, 3}, 0, "w"};
    const kernels::TensorHeader header{DType::f32, {2, 3}, {}};
    const InputEvidence evidence{1, header, proof, {0, 2}, {Bytes(4096, 1), Bytes(4096, 2)}, proof};
    return {PostHashes{{Hash32{}, Hash32{}}},
            Choose{3},
            OpenState{},
            OpenTrace{{}, {}, record, proof, Written{{}, proof}},
            OpenTrace{{}, {}, record, proof, Unwritten{{}, {}, proof}},
            OpenTensor{header, op, proof, {record, record}, proof},
            OpenTile{Bytes(4096, 7)},
            NameElement{1023},
            ProveElement{kernels::StateHeader{}, {evidence}, Bytes(4096, 3)}};
}

Game full_game() {
    Game game = start({}, {false, 0, 20, {}, Hash32{}});
    game.facts.data_roots = {Hash32{}, Hash32{}};
    game.posted = {Hash32{}, Hash32{}, Hash32{}};
    game.accepted = {Hash32{}};
    game.op = {{kernels::OpCode::add, {0, 1}, {}, ""}, {{DType::f32, {2}}, {DType::f32, {2}}}, {DType::f32, {2}}};
    game.op_inputs = {{kernels::TensorKind::state, 0}, {kernels::TensorKind::op_output, 4}};
    game.tile = Bytes(64, 1);
    return game;
}

}  // namespace

std::vector<Bytes> seeds() {
    Game of_member = full_game();
    of_member.claim.positions = true;
    of_member.phase = Phase::open_state;
    set_position(of_member, {Hash32{}, 5, {Hash32{}, Hash32{}}, 6, 7});
    std::vector<Bytes> out{with_kind(1, encode(full_game())), with_kind(1, encode(of_member))};
    for (const Move& move : every_move()) out.push_back(with_kind(0, encode(move)));
    return out;
}

void run(View input) {
    Choices choices(input);
    const bool is_game = choices.flip();
    const View bytes = choices.rest();
    if (is_game) {
        if (const auto game = decode_game(bytes)) require(equal(encode(*game), bytes), "one game has one encoding");
        return;
    }
    const auto move = decode_move(bytes);
    if (!move) return;
    require(equal(encode(*move), bytes), "one move has one encoding");
    require(size_of(*move) == bytes.size(), "the size that is counted is the size that was sent");
}

}  // namespace retrace::fuzz
