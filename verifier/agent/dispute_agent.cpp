// SPDX-License-Identifier: MIT
#include "verifier/agent/dispute_agent.hpp"

#include <algorithm>

namespace retrace::verifier {
namespace {

/// Grows with every move, so it names a position of the game.
std::uint64_t turn_of(const Game& game) {
    return game.evidence_bytes;
}

bool is_due(const DisputeView& view) {
    return view.game.phase != Phase::decided && view.game.mover == view.side;
}

}  // namespace

DisputeAgent::Output DisputeAgent::on_view(std::uint64_t height, const std::vector<DisputeView>& disputes,
                                           bool may_work) {
    height_ = height;
    outbox_.sweep(height);
    desk_.sweep(disputes, height);
    Output out;
    const DisputeView* first = nullptr;  // Of those that wait for an answer, the one that is due first.
    for (const DisputeView& view : disputes) {
        if (!is_due(view)) continue;
        const std::uint64_t turn = turn_of(view.game);
        const auto answer = answers_.find(view.id);
        const auto retry = retry_height_.find(view.id);
        const bool failed = answer != answers_.end() && answer->second.move.empty();
        const bool again = failed && retry != retry_height_.end() && height >= retry->second;
        if (answer != answers_.end() && answer->second.turn == turn && !again) {
            const std::string key = std::to_string(view.id) + " " + std::to_string(turn);
            if (!failed && outbox_.due(key, height)) {
                out.moves.push_back({view.id, answer->second.move});
            }
        } else if (first == nullptr || view.deadline < first->deadline) {
            first = &view;
        }
    }
    out.waiting = first != nullptr && !busy_;
    if (out.waiting && may_work) {
        busy_ = true;
        out.work = answer_order(*first);
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
    return solver::make_order<Answer>("move in dispute " + std::to_string(view.id), Answer{view.id, turn, {}, ""},
                                      [this, view, turn] {
        const Result<Bytes> move = desk_.answer(view);
        if (move) return Answer{view.id, turn, *move, ""};
        return Answer{view.id, turn, {}, move.error().message};
    });
}

void DisputeAgent::on_done(const Answer& answer) {
    busy_ = false;
    if (!answer.problem.empty()) {
        problems_.push_back("dispute " + std::to_string(answer.dispute) + ": " + answer.problem);
    }
    // What was not served may be there later: an answer that could not be made is tried again.
    if (answer.move.empty()) retry_height_[answer.dispute] = height_ + resend_blocks_;
    else retry_height_.erase(answer.dispute);
    answers_[answer.dispute] = answer;
}

}  // namespace retrace::verifier
