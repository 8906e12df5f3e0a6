// SPDX-License-Identifier: MIT
#include "solver/attacks/protocol_attacks.hpp"

#include <algorithm>
#include <array>

#include "merkle/hash/sha256.hpp"
#include "solver/commitments.hpp"

namespace retrace::solver {
namespace {

constexpr std::array kProtocolAttacks = {
    ProtocolAttack::commit_early,  ProtocolAttack::withhold,     ProtocolAttack::wrong_tiles,
    ProtocolAttack::flood,         ProtocolAttack::hide,         ProtocolAttack::answer_late,
    ProtocolAttack::wrong_message, ProtocolAttack::hide_message, ProtocolAttack::list_falsely};
constexpr std::size_t kFloodCalls = 12;   // Calls for each view.
constexpr std::uint64_t kLateBlocks = 3;  // Blocks that a call may need to be included.

class NothingServed final : public ArtifactSource {
public:
    Result<Bytes> program(const Hash32&, std::uint64_t) override { return error("not served"); }
    Result<StateRoots> state(const Hash32&) override { return error("not served"); }
    Result<kernels::Tensor> tensor(const Hash32&, const kernels::TensorRecord&) override { return error("not served"); }
};

class BitTurned final : public ArtifactSource {
public:
    explicit BitTurned(ArtifactSource& honest) : honest_(honest) {}
    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override { return honest_.program(root, limit); }
    Result<StateRoots> state(const Hash32& root) override { return honest_.state(root); }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) override {
        auto tensor = honest_.tensor(root, record);
        if (tensor && !tensor->data.empty()) tensor->data.back() ^= 1;
        return tensor;
    }

private:
    ArtifactSource& honest_;
};

/// Serves states, and messages to nobody.
class MessagesHidden final : public ArtifactSource {
public:
    explicit MessagesHidden(ArtifactSource& honest) : honest_(honest) {}
    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override { return honest_.program(root, limit); }
    Result<StateRoots> state(const Hash32& root) override { return honest_.state(root); }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) override {
        return honest_.tensor(root, record);
    }
    Result<kernels::Tensor> message_tensor(const Hash32&, const kernels::TensorRecord&, std::uint64_t,
                                           std::uint32_t) override {
        return error("no such message here");
    }

private:
    ArtifactSource& honest_;
};

/// Whether a move commits to or opens a state after the first one of its run.
bool about_trained_state(const SolverView& view, const SolverMove& move) {
    const auto later = [&](std::uint64_t task, std::uint64_t index) {
        return std::any_of(view.runs.begin(), view.runs.end(),
                           [&](const RunView& run) { return run.terms.id == task && index > run.first_state; });
    };
    if (const auto* m = std::get_if<CommitCheckpoint>(&move)) return later(m->task, m->index);
    if (const auto* m = std::get_if<OpenSegment>(&move)) return later(m->task, m->opening.index);
    if (const auto* m = std::get_if<OpenRoots>(&move)) return later(m->task, m->openings.back().index);
    return std::holds_alternative<RevealSegment>(move);
}

}  // namespace

std::string_view slug(ProtocolAttack attack) noexcept {
    switch (attack) {
        case ProtocolAttack::commit_early: return "commit_early";
        case ProtocolAttack::withhold: return "withhold";
        case ProtocolAttack::wrong_tiles: return "wrong_tiles";
        case ProtocolAttack::flood: return "flood";
        case ProtocolAttack::hide: return "hide";
        case ProtocolAttack::answer_late: return "answer_late";
        case ProtocolAttack::wrong_message: return "wrong_message";
        case ProtocolAttack::hide_message: return "hide_message";
        case ProtocolAttack::list_falsely: return "list_falsely";
    }
    return "unknown";
}

std::optional<ProtocolAttack> parse_protocol_attack(std::string_view text) noexcept {
    const auto found = std::find_if(kProtocolAttacks.begin(), kProtocolAttacks.end(),
                                    [&](ProtocolAttack attack) { return slug(attack) == text; });
    if (found == kProtocolAttacks.end()) return std::nullopt;
    return *found;
}

Opening AttackingMoves::made_up(const RunView& run, std::uint64_t index) const {
    const Hash32 root = merkle::Sha256()
                            .update(view(std::string_view("no state of anything")))
                            .update_u64(run.terms.id)
                            .update_u64(index)
                            .finish();
    return {index, checkpoint_salt(secret_, run.terms.id, run.run, index), root};
}

void AttackingMoves::commit_early(const RunView& run, std::vector<SolverMove>& moves) const {
    // The first state must be the true one, because anybody can check it once it is opened.
    if (run.may_commit && run.next_state > run.first_state) {
        const Opening opening = made_up(run, run.next_state);
        moves.push_back(
            CommitCheckpoint{run.terms.id, run.run, run.next_state,
                             checkpoint_commitment(run.terms.id, run.run, opening.index, opening.salt, opening.root)});
    }
    for (const std::uint64_t index : run.open_segments)
        if (index > run.first_state) moves.push_back(OpenSegment{run.terms.id, run.run, made_up(run, index)});
    for (const std::uint64_t index : run.reveal_segments)
        moves.push_back(RevealSegment{run.terms.id, run.run, made_up(run, index)});
    for (const std::uint64_t index : run.open_roots)
        if (index > run.first_state) moves.push_back(OpenRoots{run.terms.id, run.run, {made_up(run, index)}});
}

void AttackingMoves::answer_late(const SolverView& view, std::vector<SolverMove>& moves) {
    for (const SolverMove& move : moves)
        if (const auto* answer = std::get_if<AnswerReport>(&move)) held_.try_emplace(answer->report, *answer);
    std::erase_if(moves, [](const SolverMove& move) { return std::holds_alternative<AnswerReport>(move); });
    // Near the deadline the answer is sent in every block until the chain shows it, so that it cannot be lost.
    for (const RunView& run : view.runs)
        for (const ReportView& report : run.reports) {
            const auto held = held_.find(report.id);
            if (held != held_.end() && view.height + kLateBlocks >= report.deadline) moves.emplace_back(held->second);
        }
}

/// The run of a view that a move is about, if it is a member's.
template <class Move>
const RunView* member_of(const SolverView& view, const Move& move) {
    const auto found = std::ranges::find_if(
        view.runs, [&](const RunView& run) { return run.terms.id == move.task && run.run == move.run && run.member; });
    return found == view.runs.end() ? nullptr : &*found;
}

void AttackingMoves::send_wrong_message(const SolverView& view, CommitRound& move) const {
    const RunView* const run = member_of(view, move);
    if (run == nullptr || move.message.empty()) return;
    // Another member's message if there is one, else roots of nothing.
    for (Hash32& root : move.message) root = made_up(*run, move.index).root;
    for (const SentMessage& sent : run->member->committed)
        if (sent.run != move.run) move.message = sent.tensors;
}

void AttackingMoves::list_all(const SolverView& view, auto& move) const {
    const RunView* const run = member_of(view, move);
    if (run == nullptr) return;
    const std::vector<SentMessage>& sent = run->member->committed;
    for (std::size_t i = 0; i < sent.size() && i / 8 < move.bitmap.size(); ++i)
        if (sent[i].run != move.run) move.bitmap[i / 8] |= static_cast<std::uint8_t>(1u << i % 8);
    move.salt = holding_salt(secret_, move.task, move.run, move.round, move.bitmap);
}

void AttackingMoves::filter(const SolverView& view, std::vector<SolverMove>& moves) {
    std::vector<SolverMove> kept;
    for (const SolverMove& move : moves) {
        const bool hidden = attack_ == ProtocolAttack::hide && std::holds_alternative<AnswerReport>(move);
        const bool replaced = attack_ == ProtocolAttack::commit_early && about_trained_state(view, move);
        if (!hidden && !replaced) kept.push_back(move);
    }
    for (const RunView& run : view.runs) {
        if (attack_ == ProtocolAttack::commit_early) commit_early(run, kept);
        for (std::size_t i = 0; attack_ == ProtocolAttack::flood && i < kFloodCalls; ++i)
            kept.push_back(CommitCheckpoint{run.terms.id, run.run, (1u << 20) + flooded_++, secret_});
    }
    if (attack_ == ProtocolAttack::answer_late) answer_late(view, kept);
    for (SolverMove& move : kept) {
        auto* const round = std::get_if<CommitRound>(&move);
        if (attack_ == ProtocolAttack::wrong_message && round != nullptr) send_wrong_message(view, *round);
        if (attack_ != ProtocolAttack::list_falsely) continue;
        if (auto* const list = std::get_if<CommitHoldings>(&move)) list_all(view, *list);
        if (auto* const list = std::get_if<RevealHoldings>(&move)) list_all(view, *list);
    }
    moves = std::move(kept);
}

std::unique_ptr<ArtifactSource> attacking_provider(ProtocolAttack attack, ArtifactSource& honest) {
    if (attack == ProtocolAttack::withhold || attack == ProtocolAttack::hide || attack == ProtocolAttack::answer_late)
        return std::make_unique<NothingServed>();
    if (attack == ProtocolAttack::wrong_tiles) return std::make_unique<BitTurned>(honest);
    if (attack == ProtocolAttack::hide_message) return std::make_unique<MessagesHidden>(honest);
    return nullptr;
}

}  // namespace retrace::solver
