// SPDX-License-Identifier: MIT
// The moves of a solver as signed calls: bids with their prices, and what is not sent after all.
#include <spdlog/spdlog.h>

#include "contracts/records/places.hpp"
#include "contracts/records/views.hpp"
#include "node/agents/opening_calls.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/solver_service.hpp"
#include "node/platform/printable.hpp"
#include "verifier/game/public_leaves.hpp"

namespace retrace::node {
namespace {

namespace calls = contracts;

/// Flooding fills blocks with refused calls, so these are sent without an estimate.
constexpr std::uint64_t kFloodGas = 10'000'000;  // a commitment's, with its scheduled items

/// Bids that others may make before this one is in a block. What it then brings too much returns at once.
constexpr std::size_t kBidsAhead = 4;

/// Sends every move except bids, which also need a price.
struct SolverCall {
    Submitter& submitter;
    const market::Params& params;
    Result<Hash32> operator()(const solver::AcceptData& m) const {
        return submitter.send("accept data of task " + std::to_string(m.task), calls::AcceptData{m.task});
    }
    Result<Hash32> operator()(const solver::Decline& m) const {
        spdlog::warn("event=decline task={} reason=\"{}\"", m.task, printable(m.reason));
        return submitter.send("decline task " + std::to_string(m.task), calls::DeclineTask{m.task});
    }
    Result<Hash32> operator()(const solver::CommitCheckpoint& m) const {
        spdlog::info("event=checkpoint task={} run={} index={}", m.task, m.run, m.index);
        return submitter.send("checkpoint " + std::to_string(m.index) + " of task " + std::to_string(m.task),
                              calls::CommitCheckpoint{m.task, m.run, m.index, m.commitment});
    }
    Result<Hash32> operator()(const solver::OpenSegment& m) const {
        return submitter.send("open segment " + std::to_string(m.opening.index) + " of task " + std::to_string(m.task),
                              calls::OpenSegment{m.task, m.run, m.opening.index, m.opening.salt, m.opening.root});
    }
    Result<Hash32> operator()(const solver::RevealSegment& m) const {
        const std::uint64_t segment = m.opening.index - 1;
        return submitter.send("reveal segment " + std::to_string(segment) + " of task " + std::to_string(m.task),
                              calls::RevealSegment{m.task, m.run, segment, m.opening.salt, m.opening.root});
    }
    Result<Hash32> operator()(const solver::AnswerReport& m) const {
        return submitter.send("answer report " + std::to_string(m.report),
                              calls::AnswerUnavailable{m.report, m.answer});
    }
    Result<Hash32> operator()(const solver::ReportKept& m) const {
        spdlog::warn("event=report_unavailable task={} run={} index={} tensor={}", m.task, m.run, m.index, m.tensor);
        const calls::ReportUnavailable call{
            static_cast<std::uint8_t>(market::ReportKind::kept), m.task, m.run, m.index, m.tensor, m.tile};
        return submitter.send("report task " + std::to_string(m.task), call, params.report_fee);
    }
    Result<Hash32> operator()(const solver::RequestRetention& m) const {
        return submitter.send(
            "offer for keeping state " + std::to_string(m.index) + " of task " + std::to_string(m.task),
            calls::RequestRetention{m.task, m.run, m.index}, params.audit_fee);
    }
    Result<Hash32> operator()(const solver::AnswerCapability& m) const {
        spdlog::info("event=capability challenge={} rounds={}", m.challenge, m.rounds);
        return submitter.send("answer challenge " + std::to_string(m.challenge),
                              calls::AnswerCapability{m.challenge, m.rounds, m.root});
    }
    Result<Hash32> operator()(const solver::ProveCapability& m) const {
        return submitter.send("prove challenge " + std::to_string(m.challenge),
                              calls::ProveCapability{m.challenge, m.proof});
    }
    Result<Hash32> operator()(const solver::OpenRoots& m) const {
        Result<Hash32> result = Hash32{};
        for (const calls::OpenRoots& call : opening_calls(m)) {
            auto sent = submitter.send("open roots of task " + std::to_string(m.task), call);
            if (result) result = std::move(sent);  // The first failure is reported; the other states are opened.
        }
        return result;
    }
    Result<Hash32> operator()(const solver::CommitRound& m) const {
        spdlog::info("event=round task={} run={} base={} steps={} index={}", m.task, m.run, m.base, m.steps, m.index);
        return submitter.send(
            "round " + std::to_string(m.base) + " of task " + std::to_string(m.task),
            calls::CommitRound{m.task, m.run, m.index, m.base, m.steps, m.commitment, m.message, m.masks});
    }
    Result<Hash32> operator()(const solver::CommitData& m) const {
        spdlog::info("event=data task={} run={} sets={}", m.task, m.run, m.data.size());
        return submitter.send("data of task " + std::to_string(m.task), calls::CommitData{m.task, m.run, m.data});
    }
    Result<Hash32> operator()(const solver::CommitHoldings& m) const {
        const Hash32 commitment = market::holding_commitment(m.task, m.run, m.round, m.salt, m.bitmap);
        return submitter.send(
            "state holdings of round " + std::to_string(m.round) + " of task " + std::to_string(m.task),
            calls::CommitHoldings{m.task, m.run, m.round, commitment});
    }
    Result<Hash32> operator()(const solver::RevealHoldings& m) const {
        return submitter.send(
            "reveal holdings of round " + std::to_string(m.round) + " of task " + std::to_string(m.task),
            calls::RevealHoldings{m.task, m.run, m.round, m.bitmap, m.salt});
    }
    Result<Hash32> operator()(const solver::OpenMember& m) const {
        const verifier::PublicLeaves shown{m.header, m.program, m.leaves, m.proof};
        return submitter.send(
            "open state " + std::to_string(m.opening.index) + " of task " + std::to_string(m.task),
            calls::OpenMember{m.task, m.run, m.opening.index, m.opening.salt, m.opening.root, verifier::encode(shown)});
    }
    Result<Hash32> operator()(const auto&) const { return error("no call"); }
};

}  // namespace

Result<Hash32> SolverService::send_bid(const solver::SolverView& view, const solver::CommitBid& bid) {
    const RemoteState state = process_->chain().state(view.height);
    const auto spec = process_->immutable().spec(state, bid.task);
    const auto params = process_->immutable().params(state);
    const auto base_fee = process_->client().base_fee();
    Quote price;
    std::optional<ledger::U256> place;
    state.read([&] {
        if (spec && params && base_fee) price = bidding_.quote(state, *params, *base_fee, bid.task, *spec);
        const auto task = contracts::views::task(state, bid.task);
        if (params && task) place = contracts::views::bid_place_fee(state, *params, *task, kBidsAhead);
    });
    if (!place) return Hash32{};                           // The auction is full.
    if (state.failure() || !price.price) return Hash32{};  // Stake or fees have changed meanwhile.
    RETRACE_TRY(call, bidding_.commit(bid, price, *spec, view.height));
    if (!call) return Hash32{};
    return process_->submitter().send("bid for task " + std::to_string(bid.task), *call, params->bid_deposit + *place);
}

solver::SolverMove SolverService::accepted(const solver::SolverView& view, const solver::AcceptData& move) {
    const RemoteState state = process_->chain().state(view.height);
    const auto spec = process_->immutable().spec(state, move.task);
    const auto run = contracts::views::run(state, move.task, move.run);
    const auto base_fee = process_->client().base_fee();
    if (state.failure() || !spec || !run || !base_fee || bidding_.is_worth(*base_fee, *run, *spec)) return move;
    return solver::Decline{move.task, move.run, "others have committed to most of what it would be paid for"};
}

bool SolverService::gives_back(const solver::SolverView& view, const solver::CommitCheckpoint& move) const {
    const auto run = std::find_if(view.runs.begin(), view.runs.end(), [&](const solver::RunView& one) {
        return one.terms.id == move.task && one.run == move.run;
    });
    if (run == view.runs.end() || !run->spot || !(draining_ || give_back_.contains({move.task, move.run})))
        return false;
    return move.index > run->first_state && move.index < run->terms.schedule.segments();
}

void SolverService::send(const solver::SolverView& view, const solver::SolverMove& wanted) {
    Submitter& submitter = process_->submitter();
    const auto* accept = std::get_if<solver::AcceptData>(&wanted);
    const solver::SolverMove move = accept != nullptr ? accepted(view, *accept) : wanted;
    journal_.on_move(move);
    Result<Hash32> sent = Hash32{};
    if (const auto* bid = std::get_if<solver::CommitBid>(&move)) {
        sent = send_bid(view, *bid);
    } else if (const auto* join = std::get_if<solver::JoinGroup>(&move)) {
        sent = send_join(view, *join);
    } else if (const auto* reveal = std::get_if<solver::RevealBid>(&move)) {
        const auto call = bidding_.reveal(*reveal);
        if (!call) return spdlog::error("event=not_sent reason=\"{}\"", call.error().message);
        sent = submitter.send("reveal bid for task " + std::to_string(reveal->task), *call);
    } else {
        const RemoteState state = process_->chain().state(view.height);
        const auto params = process_->immutable().params(state);
        if (!params) return;
        const bool floods = options_.cheat && options_.cheat->protocol_attack == solver::ProtocolAttack::flood;
        const auto* checkpoint = std::get_if<solver::CommitCheckpoint>(&move);
        if (floods && checkpoint != nullptr) {
            const calls::CommitCheckpoint call{checkpoint->task, checkpoint->run, checkpoint->index,
                                               checkpoint->commitment};
            sent = submitter.send_unchecked("flood", call, kFloodGas);
        } else if (checkpoint != nullptr && gives_back(view, *checkpoint)) {
            spdlog::info("event=give_back task={} run={} index={}", checkpoint->task, checkpoint->run,
                         checkpoint->index);
            sent = submitter.send(
                "give task " + std::to_string(checkpoint->task) + " back",
                calls::GiveBack{checkpoint->task, checkpoint->run, checkpoint->index, checkpoint->commitment});
        } else {
            sent = std::visit(SolverCall{submitter, *params}, move);
        }
    }
    if (!sent) spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
}

}  // namespace retrace::node
