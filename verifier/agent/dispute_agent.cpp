// SPDX-License-Identifier: MIT
#include "verifier/agent/dispute_agent.hpp"

#include <algorithm>

namespace retrace::verifier {
namespace {

/// Number of the game's position: evidence_bytes grows with every move.
std::uint64_t turn_of(const Game& game) { return game.evidence_bytes; }

std::uint64_t place_of(const DisputeView& view) { return solver::place_of(view.due, view.deadline); }

bool is_due(const DisputeView& view) { return view.game.phase != Phase::decided && view.game.mover == view.side; }

}  // namespace

DisputeAgent::Output DisputeAgent::on_view(std::uint64_t height, const std::vector<DisputeView>& disputes,
                                           std::uint64_t before) {
    height_ = height;
    outbox_.sweep(height);
    dispute_replays_.sweep(disputes, height);
    Output out;
    const DisputeView* first = nullptr;  // The unanswered dispute with the earliest place.
    for (const DisputeView& view : disputes) {
        if (!is_due(view) || view.id == working_) continue;
        const std::uint64_t turn = turn_of(view.game);
        const auto answer = answers_.find(view.id);
        const auto retry = retry_height_.find(view.id);
        const bool failed = answer != answers_.end() && answer->second.move.empty();
        if (failed && answer->second.no_case) continue;
        const bool again = failed && retry != retry_height_.end() && height >= retry->second;
        if (answer != answers_.end() && answer->second.turn == turn && !again) {
            const std::string key = std::to_string(view.id) + " " + std::to_string(turn);
            if (!failed && outbox_.due(key, height)) {
                out.moves.push_back({view.id, answer->second.move});
            }
        } else if (first == nullptr || place_of(view) < place_of(*first)) {
            first = &view;
        }
    }
    // A move that is no longer due must not hold the worker.
    const auto waits = [&](const DisputeView& view) { return view.id == working_ && is_due(view); };
    if (working_ && std::none_of(disputes.begin(), disputes.end(), waits)) slot_.preemption().request();
    slot_.set_waiting_dispute(first != nullptr ? std::optional(place_of(*first)) : std::nullopt);
    if (first != nullptr) {
        const std::uint64_t place = place_of(*first);
        slot_.wait(place);
        if (slot_.is_free() && place <= before) {
            slot_.take(place);
            slot_.set_waiting_dispute(std::nullopt);
            working_ = first->id;
            out.work = answer_order(*first);
            slot_.equip(*out.work);
        }
    }
    std::erase_if(answers_, [&](const auto& item) {
        return std::none_of(disputes.begin(), disputes.end(),
                            [&](const DisputeView& view) { return view.id == item.first; });
    });
    std::erase_if(retry_height_, [&](const auto& item) { return answers_.count(item.first) == 0; });
    return out;
}

solver::WorkOrder<Answer> DisputeAgent::answer_order(const DisputeView& view) {
    const std::uint64_t turn = turn_of(view.game);
    return solver::make_order<Answer>(
        "move in dispute " + std::to_string(view.id), Answer{view.id, turn, {}, ""},
        [this, view, turn] {
            const Result<Bytes, MoveProblem> move = dispute_replays_.answer(view, &slot_.preemption());
            if (move) return Answer{view.id, turn, *move, ""};
            using Kind = MoveProblem::Kind;
            if (move.error().kind == Kind::preempted) return Answer{view.id, turn, {}, "", false, true};
            return Answer{view.id, turn, {}, move.error().message, move.error().kind == Kind::no_case};
        },
        0, {view.terms.id, view.run});
}

void DisputeAgent::on_done(const Answer& answer) {
    working_.reset();
    slot_.release();
    if (answer.preempted) return;
    if (!answer.problem.empty()) {
        problems_.push_back("dispute " + std::to_string(answer.dispute) + ": " + answer.problem);
    }
    // Missing data may be served later: a failed answer is retried.
    if (answer.move.empty())
        retry_height_[answer.dispute] = height_ + resend_blocks_;
    else
        retry_height_.erase(answer.dispute);
    answers_[answer.dispute] = answer;
}

}  // namespace retrace::verifier
