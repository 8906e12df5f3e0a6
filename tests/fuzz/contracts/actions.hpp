// SPDX-License-Identifier: MIT
// Generates the calls that parties of the market could make next, so that the fuzzer of the contracts gets past the
// first checks: every call that could be legal now, and some lies.
#pragma once

#include <algorithm>
#include <map>

#include "contracts/calls/encode.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/views.hpp"
#include "market/auction.hpp"
#include "market/escrow.hpp"
#include "solver/commitments.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/stateful/group_states.hpp"

namespace retrace::fuzz {

inline constexpr std::size_t kParties = 5;
inline constexpr std::uint64_t kTasksMax = 3, kReservations = 3, kBeaconLength = 60, kFinishAfter = 60;

inline ledger::Address party(std::size_t n) {
    ledger::Address out;
    out.bytes[19] = static_cast<std::uint8_t>(n + 1);
    return out;
}

struct Action {
    ledger::Address sender;
    contracts::Contract contract{};
    Bytes data;
    ledger::U256 value;
};

class Actions {
public:
    Actions(const ledger::StateView& view, const market::Params& params, std::uint64_t height, Choices& choices)
        : view_(view), params_(params), height_(height), choices_(choices) {}

    std::vector<Action> all() {
        for (std::size_t i = 0; i < kParties; ++i) of_party(party(i));
        const std::uint64_t tasks = contracts::views::task_count(view_);
        if (tasks < kTasksMax) post();
        for (std::uint64_t id = 1; id <= tasks; ++id)
            if (const auto task = contracts::views::task(view_, id)) of_task(*task);
        for (std::uint64_t id = 1; id <= contracts::views::reservation_count(view_); ++id)
            of_reservation(contracts::views::reservation(view_, id).value());
        for (std::uint64_t id = contracts::views::audit_count(view_), n = 0; id > 0 && n < 4; --id, ++n)
            if (const auto audit = contracts::views::audit(view_, id)) of_audit(*audit);
        for (std::uint64_t id = contracts::views::dispute_count(view_), n = 0; id > 0 && n < 3; --id, ++n)
            if (const auto dispute = contracts::views::dispute(view_, id)) of_dispute(*dispute);
        return std::move(out_);
    }

    /// The root of state `index`, or a liar's false root.
    static Hash32 root(std::uint64_t index, bool lie) {
        Hash32 out;
        out.bytes[0] = static_cast<std::uint8_t>(index + 1);
        out.bytes[1] = lie ? 1 : 0;
        return out;
    }

private:
    template <class Call>
    void add(const ledger::Address& sender, const Call& call, const ledger::U256& value = 0) {
        out_.push_back({sender, Call::kContract, contracts::calldata(call), value});
    }
    ledger::U256 bond_of(std::uint64_t task) const {
        return market::challenge_bond(params_, contracts::views::spec(view_, task).value());
    }
    bool lie() { return choices_.below(8) == 0; }

    /// A party's hash chain from its start to the registered head.
    static const std::vector<Hash32>& beacon_chain(const ledger::Address& who) {
        static std::map<ledger::Address, std::vector<Hash32>> chains;
        std::vector<Hash32>& chain = chains[who];
        if (chain.empty()) chain.push_back(root(who.bytes[19], false));
        while (chain.size() <= kBeaconLength) chain.push_back(solver::beacon_link(chain.back()));
        return chain;
    }

    void of_party(const ledger::Address& who) {
        using namespace contracts;
        const ledger::U256 wanted = ledger::U256(market::kMilli) * ledger::U256(20'000);
        if (views::stake(view_, who).bonded < wanted) add(who, Deposit{}, wanted);
        if (!views::solver(view_, who)) add(who, RegisterSolver{"http://a", 0});
        const std::vector<Hash32>& chain = beacon_chain(who);
        const auto verifier = views::verifier(view_, who);
        if (!verifier || !verifier->member) return add(who, RegisterVerifier{"http://v", chain.back()});
        if (verifier->revealed_epoch == views::epoch_of(params_, height_)) return;
        const auto head = std::find(chain.begin() + 1, chain.end(), verifier->head);
        if (head != chain.end()) add(who, RevealBeacon{*std::prev(head)});
    }

    void post() {
        market::TaskSpec spec;
        spec.name = "task";
        spec.program_root = root(9, false);
        spec.program_bytes = 1000;
        (choices_.flip() ? spec.init_root : spec.initial_state_root) = root(0, false);
        spec.data_roots = {root(8, false)};
        spec.interval = 10;
        spec.steps = 10 + choices_.below(40);
        spec.price_ceiling = ledger::U256(market::kMilli) * ledger::U256(3);
        spec.audit_bp = static_cast<std::uint16_t>(1 + 39 * choices_.byte());
        spec.auditors = static_cast<std::uint8_t>(choices_.between(1, 3));
        spec.replicas = static_cast<std::uint8_t>(choices_.between(1, 2));
        spec.checkpoint_blocks = params_.checkpoint_blocks;
        spec.replay_blocks = choices_.below(4);
        spec.finish_blocks = 2 * kFinishAfter;
        spec.auctions = static_cast<std::uint8_t>(choices_.between(1, 3));
        if (spec.auctions > 1) spec.last_ceiling = spec.price_ceiling * ledger::U256(choices_.between(1, 3));
        const auto escrow = market::escrow_of(spec, params_);
        if (escrow) add(party(0), contracts::PostTask{spec}, escrow->total());
        reserve(spec);
        post_group(std::move(spec));
    }
    void reserve(market::TaskSpec spec) {
        spec.replicas = 1;
        if (contracts::views::reservation_count(view_) >= kReservations) return;
        const std::uint64_t from = height_ + choices_.between(1, 8);
        add(party(0), contracts::Reserve{spec, party(1), spec.price_ceiling, from, from + choices_.between(1, 8)},
            ledger::U256(choices_.between(1, 9)));
    }
    void of_reservation(const market::Reservation& reservation) {
        add(lie() ? reservation.solver : reservation.requester, contracts::WithdrawReservation{reservation.id});
        add(lie() ? reservation.requester : reservation.solver, contracts::AcceptReservation{reservation.id});
        const auto spec = contracts::views::reserved_spec(view_, reservation.id);
        const auto escrow = spec ? market::escrow_of(*spec, params_) : std::nullopt;
        const ledger::Address& beginner = lie() ? reservation.solver : reservation.requester;
        if (escrow) add(beginner, contracts::BeginReserved{reservation.id}, escrow->total());
    }
    void post_group(market::TaskSpec spec) {
        market::GroupSpec terms = stateful::group_terms();
        if (choices_.flip()) {
            terms.private_sets = 1;
            spec.data_roots.clear();
            spec.allow_unaudited = true;
        }
        spec.program_root = contracts::plan_of(terms).root();
        spec.init_root = terms.phases[0].program_root;
        spec.initial_state_root = {};
        spec.interval = 1;
        spec.steps = terms.rounds + 1;
        spec.replicas = static_cast<std::uint8_t>(choices_.between(2, 4));
        const auto escrow = market::escrow_of(spec, params_);
        if (escrow) add(party(0), contracts::PostGroup{spec, terms}, escrow->total());
    }

    void of_task(const market::Task& task) {
        using namespace contracts;
        if (task.state == market::TaskState::bidding) {
            if (views::is_group(view_, task.id)) add(task.requester, AdmitMembers{task.id, everybody()});
            for (std::size_t i = 1; i < kParties; ++i) {
                const ledger::U256 price(1 + i % 2);
                if (height_ < task.bid_end)
                    add(party(i), CommitBid{task.id, sealed_bid(task, price, party(i))}, params_.bid_deposit);
                else
                    add(party(i), RevealBid{task.id, price, finish_of(task), {}});
            }
        }
        if (choices_.below(16) == 0) add(task.requester, CancelTask{task.id});
        add(task.requester, AcceptModel{task.id});
        for (const std::uint32_t index : task.active)
            if (const auto run = views::run(view_, task.id, index)) of_run(*run);
    }

    static std::vector<ledger::Address> everybody() {
        std::vector<ledger::Address> out;
        for (std::size_t i = 0; i < kParties; ++i) out.push_back(party(i));
        std::sort(out.begin(), out.end());
        return out;
    }

    void of_run(const market::Run& run) {
        using namespace contracts;
        if (run.state == market::RunState::assigned) {
            add(run.solver, AcceptData{run.task});
            if (choices_.below(8) == 0) add(run.solver, DeclineTask{run.task});
        }
        if (views::is_group(view_, run.task)) return of_member(run);
        add(run.solver, CommitCheckpoint{run.task, run.index, run.next_state,
                                         commitment_of(run.task, run.index, run.next_state, lie())});
        for (std::uint64_t i = run.first_state; i < run.next_state; ++i) {
            add(run.solver, OpenRoots{run.task, run.index, i, {Hash32{}}, {opening(run.task, run.index, i)}});
            if (choices_.below(8) == 0)
                add(party(4), ChallengeSegment{run.task, run.index, i, root(i + 1, lie())}, bond_of(run.task));
            if (choices_.below(8) == 0)
                add(party(3), ReportUnavailable{1, run.task, run.index, i, 0, 0}, params_.report_fee);
        }
        if (choices_.below(8) == 0)
            add(party(4), ChallengeInitial{run.task, run.index, root(0, true)}, bond_of(run.task));
    }

    void of_member(const market::Run& run) {
        using namespace contracts;
        if (!views::member(view_, run.task, run.index)) return;
        const stateful::MemberCalls calls(view_, run);
        add(run.solver, CommitData{run.task, run.index, {root(8, lie())}});
        if (choices_.below(8) == 0) add(run.solver, GiveConsent{run.task, run.index, {party(lie() ? 3 : 4)}});
        if (choices_.below(8) == 0) add(party(lie() ? 3 : 4), AcceptConsent{run.task, run.index});
        if (choices_.below(16) == 0)
            add(lie() ? run.solver : party(4), WithdrawConsent{run.task, run.index, party(lie() ? 3 : 4)});
        if (run.next_state == 0) return add(run.solver, calls.first(lie()));
        const std::uint32_t behind = static_cast<std::uint32_t>(choices_.below(2));
        for (const std::uint32_t steps : {0u, 1u + static_cast<std::uint32_t>(choices_.below(5))})
            if (const auto call = calls.next(calls.round() - std::min(calls.round(), behind), steps, lie(), lie()))
                add(run.solver, *call);
        const bool all = !lie();
        add(run.solver, calls.list(all));
        add(run.solver, calls.reveal(true));
        add(run.solver, calls.reveal(false));
        for (std::uint64_t i = 0; i < run.next_state; ++i) {
            if (const auto call = calls.open(i)) add(run.solver, *call);
            if (const auto call = calls.show(i)) add(run.solver, *call);
            if (choices_.below(8) == 0)
                add(party(4), ChallengeSegment{run.task, run.index, i, root(i + 1, lie())}, bond_of(run.task));
            if (choices_.below(8) == 0)
                add(party(3), ReportUnavailable{6, run.task, run.index, run.index, 0, 0}, params_.report_fee);
            if (choices_.below(8) == 0)
                if (const auto spec = views::spec(view_, run.task))
                    add(party(4), JoinTask{run.task, run.index, i}, market::join_fee(params_, *spec, i));
        }
        if (choices_.below(16) == 0) add(run.solver, LeaveTask{run.task, run.index});
    }

    void of_audit(const market::Audit& audit) {
        using namespace contracts;
        const auto run = views::run(view_, audit.task, audit.run);
        if (!run) return;
        const std::uint64_t first = audit.segment, last = audit.segment + 1;
        const auto found = [&](bool wrong) {
            if (wrong || !views::is_group(view_, audit.task)) return root(last, wrong);
            return stateful::MemberCalls(view_, *run).right_root(last);
        };
        add(run->solver, OpenSegment{audit.task, audit.run, first, {}, opening(audit.task, audit.run, first)});
        add(run->solver, RevealSegment{audit.task, audit.run, first, {}, opening(audit.task, audit.run, last)});
        for (const market::Seat& seat : audit.seats) {
            const auto commitment = [&](bool wrong) {
                return solver::verdict_commitment(found(wrong), {}, seat.auditor.bytes, audit.id);
            };
            add(seat.auditor, CommitVerdict{audit.id, commitment(lie())});
            add(seat.auditor, RevealVerdict{audit.id, found(seat.commitment == commitment(true)), {}});
            add(seat.auditor, AttestRetention{audit.task, audit.run, last});
        }
    }

    void of_dispute(const market::Dispute& dispute) {
        using namespace verifier;
        const auto game = contracts::views::game(view_, dispute.id);
        if (!game || game->phase == Phase::decided) return;
        Move move = Choose{static_cast<std::uint32_t>(choices_.below(17))};
        if (game->mover == Side::solver) move = PostHashes{std::vector<Hash32>(choices_.below(17))};
        if (choices_.below(8) == 0) move = OpenState{};
        add(game->mover == Side::solver ? dispute.solver : dispute.challenger,
            contracts::PlayMove{dispute.id, encode(move)});
    }

    static std::uint64_t finish_of(const market::Task& task) { return task.reveal_end + kFinishAfter; }
    static Hash32 sealed_bid(const market::Task& task, const ledger::U256& price, const ledger::Address& bidder) {
        return market::bid_commitment(task.id, task.round, price, finish_of(task), {}, bidder);
    }
    static Hash32 commitment_of(std::uint64_t task, std::uint32_t run, std::uint64_t index, bool wrong) {
        return solver::checkpoint_commitment(task, run, index, {}, root(index, wrong));
    }
    /// The root that the solver committed to: the true one, or its lie.
    Hash32 opening(std::uint64_t task, std::uint32_t run, std::uint64_t index) const {
        const auto checkpoint = contracts::views::checkpoint(view_, task, run, index);
        return root(index, checkpoint && checkpoint->commitment == commitment_of(task, run, index, true));
    }

    const ledger::StateView& view_;
    const market::Params& params_;
    std::uint64_t height_;
    Choices& choices_;
    std::vector<Action> out_;
};

}  // namespace retrace::fuzz
