// SPDX-License-Identifier: MIT
// SPEC 15.4. One move of the dispute game by the party whose turn it is.
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/rules/disputes/rules.hpp"

namespace retrace::contracts {
namespace {

using verifier::Side;

std::optional<Side> side_of(const market::Dispute& dispute, const Address& party) {
    if (party == dispute.solver) return Side::solver;
    if (party == dispute.challenger) return Side::challenger;
    return std::nullopt;
}

CallStatus status_of(verifier::MoveError error) {
    return static_cast<CallStatus>(260 + static_cast<std::uint16_t>(error));
}

}  // namespace

CallStatus check(const PlayMove& call) {
    if (call.move.size() > verifier::kMoveBytesMax) return CallStatus::move_too_large;  // 15.4.1
    if (!verifier::decode_move(call.move)) return CallStatus::bad_move;                 // 15.4.2
    return CallStatus::ok;
}

CallStatus admit(const PlayMove& call, const TxContext& context, const StateView& view) {
    const auto dispute = views::dispute(view, call.dispute);
    if (!dispute || dispute->state != market::DisputeState::open) return CallStatus::unknown_dispute;  // 15.4.3
    const auto side = side_of(*dispute, context.sender);
    if (!side) return CallStatus::not_party;                                                        // 15.4.4
    if (dispute->mover != static_cast<std::uint8_t>(*side)) return CallStatus::move_not_your_turn;  // 15.4.5
    if (context.height > dispute->deadline) return CallStatus::too_late;                            // 15.4.6
    auto game = views::game(view, call.dispute);
    ensure(game.has_value(), "an open dispute has a game");
    const auto status = verifier::apply(*game, *side, verifier::decode_move(call.move).value());
    return status ? CallStatus::ok : status_of(status.error());  // 15.4.7
}

void apply(const PlayMove& call, const TxContext& context, Effects& fx) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(call.dispute));
    auto game = views::game(fx.state, call.dispute).value();
    const auto status =
        verifier::apply(game, side_of(dispute, context.sender).value(), verifier::decode_move(call.move).value());
    ensure(status.has_value(), "admit has tried the move");
    supply_position(fx.state, dispute, game);
    after_move(fx, dispute, game);
}

}  // namespace retrace::contracts
