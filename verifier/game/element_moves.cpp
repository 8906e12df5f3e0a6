// SPDX-License-Identifier: MIT
// SPEC 5.1, 5.2. The solver opens the disputed tile, and the challenger names one element of it.
#include "kernels/exec/tile_form.hpp"
#include "merkle/base/ensure.hpp"
#include "verifier/game/moves.hpp"

namespace retrace::verifier {
namespace {

bool well_formed(const Game& game, View tile) {
    return kernels::is_tile(tile, game.op.output.dtype, kernels::geometry(game.op.output.dims), game.found.tile);
}

}  // namespace

std::optional<std::uint64_t> element_at(const Game& game, std::uint32_t place) {
    const kernels::Geometry shape = kernels::geometry(game.op.output.dims);
    const std::uint64_t row = game.found.tile / shape.tile_cols() * 32 + place / 32;
    const std::uint64_t col = game.found.tile % shape.tile_cols() * 32 + place % 32;
    if (row >= shape.rows || col >= shape.cols) return std::nullopt;
    return row * shape.cols + col;
}

std::uint32_t bits_at(View tile, kernels::DType dtype, std::uint32_t place) {
    const std::uint32_t size = kernels::size_of(dtype);
    ensure(tile.size() == std::size_t{size} * kTilePlaces && place < kTilePlaces, "a whole tile");
    return size == 4 ? load_u32(tile.data() + std::size_t{4} * place) : tile[place];
}

Status<MoveError> open_tile(Game& game, const OpenTile& move) {
    if (merkle::tile_leaf(move.tile) != game.search.high_hash) return Unexpected{MoveError::wrong_opening};
    if (!well_formed(game, move.tile)) {
        decide(game, Ending::bad_tile, Side::solver);
        return Unit{};
    }
    game.tile = move.tile;
    await(game, Phase::name_element, Side::challenger);
    return Unit{};
}

Status<MoveError> name_element(Game& game, const NameElement& move) {
    if (move.place >= kTilePlaces) return Unexpected{MoveError::out_of_range};
    const std::optional<std::uint64_t> element = element_at(game, move.place);
    if (!element) return Unexpected{MoveError::out_of_range};
    game.found.element = *element;
    game.found.claimed_bits = bits_at(game.tile, game.op.output.dtype, move.place);
    await(game, Phase::prove_element, Side::challenger);
    return Unit{};
}

}  // namespace retrace::verifier
