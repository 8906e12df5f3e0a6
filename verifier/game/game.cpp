// SPDX-License-Identifier: MIT
#include "verifier/game/game.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "merkle/base/ensure.hpp"
#include "verifier/game/moves.hpp"
#include "verifier/game/narrowing.hpp"

namespace retrace::verifier {
namespace {

template <class M, Status<MoveError> (*handler)(Game&, const M&)>
Status<MoveError> call(Game& game, const Move& move) {
    return handler(game, std::get<M>(move));
}

template <class M, std::size_t i = 0>
constexpr std::size_t tag_of() {
    if constexpr (std::is_same_v<M, std::variant_alternative_t<i, Move>>)
        return i;
    else
        return tag_of<M, i + 1>();
}

struct Row {
    Phase phase;
    Side side;
    std::size_t move;
    Status<MoveError> (*handle)(Game&, const Move&);
};

template <class M, Status<MoveError> (*handler)(Game&, const M&)>
constexpr Row row(Phase phase, Side side) {
    return {phase, side, tag_of<M>(), &call<M, handler>};
}

// Phases × moves; combinations that are not listed are illegal. SPEC 2 gives the reason for each row.
constexpr std::array kTable = {
    row<PostHashes, post_for_search>(Phase::search_steps, Side::solver),
    row<Choose, choose_in_search>(Phase::search_steps, Side::challenger),
    row<OpenState, open_state>(Phase::open_state, Side::solver),
    row<PostHashes, post_for_descent>(Phase::descend_state, Side::solver),
    row<Choose, choose_in_descent>(Phase::descend_state, Side::challenger),
    row<OpenTrace, open_trace>(Phase::open_trace, Side::solver),
    row<PostHashes, post_for_descent>(Phase::descend_trace, Side::solver),
    row<Choose, choose_in_descent>(Phase::descend_trace, Side::challenger),
    row<OpenTensor, open_tensor>(Phase::open_tensor, Side::solver),
    row<PostHashes, post_for_descent>(Phase::descend_tiles, Side::solver),
    row<Choose, choose_in_descent>(Phase::descend_tiles, Side::challenger),
    row<PostHashes, post_for_search>(Phase::search_links, Side::solver),
    row<Choose, choose_in_search>(Phase::search_links, Side::challenger),
    row<OpenTile, open_tile>(Phase::open_tile, Side::solver),
    row<NameElement, name_element>(Phase::name_element, Side::challenger),
    row<ProveElement, prove_element>(Phase::prove_element, Side::challenger),
};

}  // namespace

Game start(const Facts& facts, const Claim& claim) {
    Game game;
    game.facts = facts;
    game.claim = claim;
    if (claim.initialiser) {
        game.search = {0, 0, {}, claim.end_root};
        await(game, Phase::open_state, Side::solver);
    } else {
        ensure(claim.first_step < claim.last_step, "a segment has steps");
        enter_search(game, Phase::search_steps, {claim.first_step, claim.last_step, claim.start_root, claim.end_root});
    }
    return game;
}

bool needs_position(const Game& game) {
    return game.claim.positions && game.phase == Phase::open_state && !game.position;
}

void set_position(Game& game, StepFacts facts) {
    ensure(needs_position(game), "a game that waits for the facts of a position");
    game.position = std::move(facts);
}

StepFacts step_facts(const Game& game) {
    if (game.claim.positions) {
        ensure(game.position.has_value(), "the facts of the disputed position");
        return *game.position;
    }
    const std::uint64_t step = game.found.step, output = game.claim.initialiser ? 0 : step + 1;
    return {game.facts.played_root, game.facts.seed, game.facts.data_roots, step, output};
}

Status<MoveError> apply(Game& game, Side side, const Move& move) {
    ensure(!needs_position(game), "the facts of the disputed position");
    if (game.phase == Phase::decided) return Unexpected{MoveError::decided};
    if (side != game.mover) return Unexpected{MoveError::not_your_turn};
    const std::size_t size = size_of(move);
    if (size > kMoveBytesMax) return Unexpected{MoveError::too_large};
    for (const Row& row : kTable) {
        if (row.phase != game.phase || row.side != side || row.move != move.index()) continue;
        Game next = game;
        next.evidence_bytes += size;
        next.largest_move = std::max<std::uint64_t>(next.largest_move, size);
        if (side == Side::challenger) ++next.rounds;
        RETRACE_CHECK(row.handle(next, move));
        game = std::move(next);
        return Unit{};
    }
    return Unexpected{MoveError::wrong_move};
}

void expire(Game& game) {
    if (game.phase == Phase::decided) return;
    const bool solver = game.mover == Side::solver;
    decide(game, solver ? Ending::timeout_solver : Ending::timeout_challenger, game.mover);
}

void decide(Game& game, Ending ending, Side loser) {
    game.phase = Phase::decided;
    game.ending = ending;
    game.loser = loser;
    game.posted.clear();
}

void await(Game& game, Phase phase, Side side) {
    game.phase = phase;
    game.mover = side;
}

}  // namespace retrace::verifier
