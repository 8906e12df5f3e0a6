// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/audits/seats.hpp"

#include "contracts/lifecycle/audits/members.hpp"
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/standing.hpp"
#include "market/draw.hpp"
#include "market/escrow.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

struct Weights {
    U256 free, all;
    bool too_busy() const { return free * U256(2) < all; }
};

/// Weights of all members and of those that may be drawn for this audit (`own`), and the candidates of the latter that
/// are free now.
struct Pool {
    Weights members, own;
    std::size_t own_members = 0;
    std::vector<market::Candidate> free;
};

/// Returns the task's own parties and the auditors that have a seat already.
std::vector<Address> barred_from(const Effects& fx, const market::Audit& audit) {
    const auto task = must_load<market::Task>(fx.state, keys::task(audit.task));
    std::vector<Address> barred{task.requester};
    barred.insert(barred.end(), task.excluded.begin(), task.excluded.end());
    for (const std::uint32_t run : task.active)
        barred.push_back(must_load<market::Run>(fx.state, keys::run(task.id, run)).solver);
    for (const market::Seat& seat : audit.seats) barred.push_back(seat.auditor);
    return barred;
}

bool is_in(const std::vector<Address>& list, const Address& party) {
    return std::find(list.begin(), list.end(), party) != list.end();
}

Pool pool_of(const Effects& fx, const market::Audit& audit) {
    const std::vector<Address> barred = barred_from(fx, audit);
    const bool is_private = views::is_private(fx.state, audit.task, audit.run, audit.segment);
    const auto consented =
        is_private ? views::auditors_of_data(fx.state, audit.task, audit.run, audit.segment) : std::vector<Address>{};
    Pool pool;
    visit_members(fx, [&](const Member& member) {
        const bool free = member.readiness == Readiness::free;
        if (member.readiness == Readiness::none) return false;
        pool.members.all += member.weight;
        if (free) pool.members.free += member.weight;
        if (is_in(barred, member.party) || (is_private && !is_in(consented, member.party))) return false;  // 21.13.6
        pool.own.all += member.weight;
        ++pool.own_members;
        if (!free) return false;
        pool.own.free += member.weight;
        pool.free.push_back({member.party, member.weight});
        return false;
    });
    return pool;
}

/// Returns the weight of the auditors that left because they were not served.
U256 released_weight(const Effects& fx, const market::Audit& audit) {
    U256 weight;
    for (const market::Seat& seat : audit.seats)
        if (seat.state == market::SeatState::released)
            weight += must_load<market::VerifierInfo>(fx.state, keys::verifier(seat.auditor)).weight;
    return weight;
}

std::size_t empty_seats(const market::TaskSpec& spec, const market::Audit& audit) {
    const auto serving = std::count_if(audit.seats.begin(), audit.seats.end(), [](const market::Seat& seat) {
        return seat.state == market::SeatState::committed;
    });
    return spec.auditors - static_cast<std::size_t>(serving);
}

/// An audit that ended with a match at `height`.
struct MatchedAudit {
    std::uint64_t audit = 0;
    std::uint64_t height = 0;
    static auto tie(auto& m) { return std::tie(m.audit, m.height); }
};
constexpr std::size_t kMatchedMax = 256;

void pay_matched_seats(Effects& fx, std::uint64_t id) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
    for (market::Seat& seat : audit.seats)
        if (seat.state == market::SeatState::matched && !seat.paid) pay_seat(fx, audit, seat);
    store(fx.state, keys::audit(id), audit);
}

void leave_seat(Effects& fx, const market::Audit& audit, market::Seat& seat) {
    seat.state = market::SeatState::missed;
    remove_from_list(fx.state, keys::open_audits(seat.auditor), audit.id);
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(seat.auditor));
    ++info.missed;
    store(fx.state, keys::verifier(seat.auditor), info);
}

}  // namespace

bool had_members(const StateView& view, const market::Audit& audit) {
    return counter(view, keys::had_members(audit.id)) != 0;
}

void note_members(Effects& fx, const market::Audit& audit) { store(fx.state, keys::had_members(audit.id), Counter{1}); }

void forget_members(Effects& fx, const market::Audit& audit) {
    if (had_members(fx.state, audit)) remove(fx.state, keys::had_members(audit.id));
}

DrawnSeats drawn_seats(const StateView& view, const market::Audit& audit) {
    auto out = load<DrawnSeats>(view, keys::cleared_seats(audit.id)).value_or(DrawnSeats{});
    out.drawn += audit.seats.size();
    out.released +=
        static_cast<std::uint64_t>(std::count_if(audit.seats.begin(), audit.seats.end(), [](const market::Seat& seat) {
            return seat.state == market::SeatState::released;
        }));
    return out;
}

void clear_seats(Effects& fx, market::Audit& audit) {
    if (audit.seats.empty()) return;
    store(fx.state, keys::cleared_seats(audit.id), drawn_seats(fx.state, audit));
    audit.seats.clear();
}

void forget_cleared_seats(Effects& fx, const market::Audit& audit) {
    const keys::Key key = keys::cleared_seats(audit.id);
    if (load<DrawnSeats>(fx.state, key)) remove(fx.state, key);
}

bool enough_members(const Effects& fx, const market::Audit& audit) {
    const std::vector<Address> barred = barred_from(fx, audit);
    std::size_t missing = must_load<market::TaskSpec>(fx.state, keys::spec(audit.task)).auditors;
    // Stops at the last member needed, because this runs for every drawn segment.
    return visit_members(fx, [&](const Member& member) {
        if (is_in(barred, member.party) || member.readiness == Readiness::none) return false;
        return --missing == 0;
    });
}

DrawResult fill_seats(Effects& fx, market::Audit& audit) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(audit.task));
    const Pool pool = pool_of(fx, audit);
    // 14.12: an audit needs all its auditors at the first draw. Replacements of silent auditors may be fewer.
    const bool whole = audit.seats.empty() && !spec.allow_unaudited;
    if (whole && !had_members(fx.state, audit) && pool.own_members < spec.auditors) return DrawResult::too_few;
    if (pool.own.all.is_zero()) return DrawResult::nobody;
    // 14.2.3: a draw among few free members could be steered by keeping the others busy.
    if (pool.own.too_busy()) {
        // 21.13.7: the member chose them, and the group does not wait for them.
        if (views::is_private(fx.state, audit.task, audit.run, audit.segment)) return DrawResult::nobody;
        if (pool.members.too_busy()) return DrawResult::busy;
        return released_weight(fx, audit) > pool.own.all ? DrawResult::exhausted : DrawResult::own_busy;
    }
    if (whole && pool.free.size() < std::min<std::size_t>(spec.auditors, pool.own_members)) return DrawResult::own_busy;
    const auto beacon = must_load<views::Beacon>(fx.state, keys::beacon());
    const auto drawn = market::draw_auditors(beacon.value, audit.id, static_cast<std::uint32_t>(audit.redraws),
                                             pool.free, empty_seats(spec, audit));
    for (const Address& party : drawn) {
        lock(fx, party, fx.params.audit_bond);
        market::Seat seat;
        seat.auditor = party;
        seat.state = market::SeatState::drawn;
        seat.bond = fx.params.audit_bond;
        seat.due = give_work(fx, party, market::audit_work(spec, audit.segment));  // 14.6.8
        audit.seats.push_back(seat);
        add_to_list(fx.state, keys::open_audits(party), audit.id);
    }
    fx.emit(AuditorsDrawn{audit.id, audit.task, audit.run, audit.segment, drawn});
    return DrawResult::found;
}

void end_seat_work(Effects& fx, const market::Audit& audit, const market::Seat& seat) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(audit.task));
    end_work(fx, seat.auditor, market::audit_work(spec, audit.segment));
}

void free_seat(Effects& fx, const market::Audit& audit, market::Seat& seat) {
    if (seat.state == market::SeatState::drawn) end_seat_work(fx, audit, seat);
    unlock(fx, seat.auditor, seat.bond);
    seat.bond = U256();
    remove_from_list(fx.state, keys::open_audits(seat.auditor), audit.id);
}

void pay_seat(Effects& fx, const market::Audit& audit, market::Seat& seat) {
    seat.paid = true;
    // 21.13.8: they may be the member's own, so nobody pays them here, and no match of theirs is a standing.
    if (views::is_private(fx.state, audit.task, audit.run, audit.segment)) return;
    const U256 fee = pay_audit_fee(fx, audit.task, audit.run, seat.auditor);
    const auto run = must_load<market::Run>(fx.state, keys::run(audit.task, audit.run));
    if (seat.state == market::SeatState::matched && run.state != market::RunState::forfeited)
        note_verified(fx.state, run.solver, fee, fx.height);  // 13.11
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(seat.auditor));
    ++info.audits;
    store(fx.state, keys::verifier(seat.auditor), info);
    fx.emit(AuditPaid{audit.id, seat.auditor, fee});
}

void forget_matched(Effects& fx, std::uint64_t task) {
    auto matched = list<MatchedAudit>(fx.state, keys::matched_audits(task));
    if (matched.empty()) return;
    std::erase_if(matched,
                  [&](const MatchedAudit& item) { return item.height + fx.params.reveal_verdict_blocks < fx.height; });
    store_list(fx.state, keys::matched_audits(task), std::move(matched));
}

void note_matched(Effects& fx, const market::Audit& audit) {
    forget_matched(fx, audit.task);
    auto matched = list<MatchedAudit>(fx.state, keys::matched_audits(audit.task));
    matched.push_back({audit.id, fx.height});
    if (matched.size() > kMatchedMax) {  // Nobody loses a fee because many audits end at once.
        pay_matched_seats(fx, matched.front().audit);
        matched.erase(matched.begin());
    }
    store_list(fx.state, keys::matched_audits(audit.task), std::move(matched));
}

void pay_matched(Effects& fx, std::uint64_t task) {
    for (const MatchedAudit& item : list<MatchedAudit>(fx.state, keys::matched_audits(task)))
        pay_matched_seats(fx, item.audit);
    remove(fx.state, keys::matched_audits(task));
}

void slash_hidden_verdict(Effects& fx, const market::Audit& audit, market::Seat& seat) {
    // Otherwise hiding a committed verdict would be a cheap way to be paid for guesses.
    slash_locked(fx, seat.auditor, audit.task, seat.bond, {}, SlashReason::verdict_hidden);
    seat.bond = U256();
    leave_seat(fx, audit, seat);
}

void mark_missed(Effects& fx, const market::Audit& audit, market::Seat& seat) {
    end_seat_work(fx, audit, seat);
    const U256 penalty = market::split(seat.bond, fx.params.silence_penalty_bp).share;
    unlock(fx, seat.auditor, seat.bond - penalty);
    seat.bond = penalty;
    leave_seat(fx, audit, seat);
}

void settle_silence(Effects& fx, market::Audit& audit) {
    const auto verdicts = std::count_if(audit.seats.begin(), audit.seats.end(), [](const market::Seat& seat) {
        return seat.state == market::SeatState::committed || seat.state == market::SeatState::matched ||
               seat.state == market::SeatState::mismatched;
    });
    const bool possible = 2 * static_cast<std::size_t>(verdicts) > audit.seats.size();
    for (market::Seat& seat : audit.seats) {
        if (seat.state != market::SeatState::missed || seat.bond.is_zero()) continue;
        if (possible)
            slash_locked(fx, seat.auditor, audit.task, seat.bond, {}, SlashReason::verdict_missed);
        else
            unlock(fx, seat.auditor, seat.bond);
        seat.bond = U256();
    }
}

}  // namespace retrace::contracts
