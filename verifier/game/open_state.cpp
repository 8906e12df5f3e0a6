// SPDX-License-Identifier: MIT
// SPEC 4.1. The solver opens the header of its disputed state root.
#include "verifier/game/moves.hpp"
#include "verifier/game/narrowing.hpp"

namespace retrace::verifier {

Status<MoveError> open_state(Game& game, const OpenState& move) {
    if (move.header.root() != game.search.high_hash) return Unexpected{MoveError::wrong_opening};
    const StepFacts facts = step_facts(game);
    // All programs of a plan have one list of state tensors, and no program's header hashes to the plan's root.
    const Hash32& opened = game.claim.positions ? facts.played_root : game.facts.program_root;
    if (move.program.root() != opened) return Unexpected{MoveError::wrong_opening};

    const bool right = move.header.step == facts.output_step && move.header.contract == game.facts.contract &&
                       move.header.program == game.facts.program_root;
    const bool empty = move.program.states == 0;
    if (!right || (empty && !move.header.tree_root.is_zero())) {
        decide(game, Ending::wrong_header, Side::solver);
    } else if (empty) {
        decide(game, Ending::nothing_disputed, Side::challenger);
    } else {
        game.program = move.program;
        enter_descent(game, Phase::descend_state, descend_from(move.program.states, move.header.tree_root));
    }
    return Unit{};
}

}  // namespace retrace::verifier
