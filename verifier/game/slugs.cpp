// SPDX-License-Identifier: MIT
#include "verifier/game/game.hpp"

namespace retrace::verifier {

std::string_view slug(Phase phase) noexcept {
    switch (phase) {
        case Phase::search_steps: return "search_steps";
        case Phase::open_state: return "open_state";
        case Phase::descend_state: return "descend_state";
        case Phase::open_trace: return "open_trace";
        case Phase::descend_trace: return "descend_trace";
        case Phase::open_tensor: return "open_tensor";
        case Phase::descend_tiles: return "descend_tiles";
        case Phase::search_links: return "search_links";
        case Phase::open_tile: return "open_tile";
        case Phase::name_element: return "name_element";
        case Phase::prove_element: return "prove_element";
        case Phase::decided: return "decided";
    }
    return "unknown";
}

std::string_view slug(Ending ending) noexcept {
    switch (ending) {
        case Ending::none: return "none";
        case Ending::referee_solver_wrong: return "referee_solver_wrong";
        case Ending::referee_challenger_wrong: return "referee_challenger_wrong";
        case Ending::wrong_header: return "wrong_header";
        case Ending::unwritten_changed: return "unwritten_changed";
        case Ending::unwritten_equal: return "unwritten_equal";
        case Ending::bad_tile: return "bad_tile";
        case Ending::timeout_solver: return "timeout_solver";
        case Ending::timeout_challenger: return "timeout_challenger";
        case Ending::bad_program: return "bad_program";
        case Ending::nothing_disputed: return "nothing_disputed";
    }
    return "unknown";
}

std::string_view slug(MoveError error) noexcept {
    switch (error) {
        case MoveError::not_your_turn: return "not_your_turn";
        case MoveError::wrong_move: return "wrong_move";
        case MoveError::decided: return "dispute_decided";
        case MoveError::wrong_count: return "wrong_count";
        case MoveError::out_of_range: return "out_of_range";
        case MoveError::wrong_children: return "wrong_children";
        case MoveError::bad_proof: return "bad_proof";
        case MoveError::wrong_opening: return "wrong_opening";
        case MoveError::missing_input: return "missing_input";
        case MoveError::too_large: return "too_large";
        case MoveError::wrong_leaf: return "wrong_leaf";
    }
    return "unknown";
}

}  // namespace retrace::verifier
