// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/invariants.hpp"

#include "contracts/lifecycle/disputes/open_cases.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/validator_views.hpp"
#include "contracts/records/views.hpp"
#include "ledger/state/supply.hpp"

namespace retrace::contracts {
namespace {

using ledger::State;
using ledger::StateView;
using market::DisputeState;

U256 held(const StateView& view, Contract contract) {
    return load<Amount>(view, keys::held(contract)).value_or(Amount{}).value;
}

/// Whether a slot of a contract holds the record with this tag (keys.cpp).
bool has_tag(const ledger::SlotKey& key, Contract contract, char tag) {
    return key.contract == address_of(contract) && !key.key.empty() && key.key[0] == static_cast<std::uint8_t>(tag);
}

/// Whether the table leads from `from` to `to`, in any number of steps of one transaction or block.
bool reachable(market::TaskState from, market::TaskState to) {
    if (from == to) return true;
    constexpr auto kFirst = market::TaskEvent::open_auction, kLast = last_of(market::TaskEvent{});
    std::uint32_t seen = 1u << static_cast<unsigned>(from);
    for (bool grew = true; grew;) {
        grew = false;
        for (std::uint8_t state = 1; state <= static_cast<std::uint8_t>(last_of(market::TaskState{})); ++state) {
            if (!(seen & 1u << state)) continue;
            for (auto event = static_cast<std::uint8_t>(kFirst); event <= static_cast<std::uint8_t>(kLast); ++event) {
                const auto next =
                    market::next(static_cast<market::TaskState>(state), static_cast<market::TaskEvent>(event));
                if (!next || seen & 1u << static_cast<unsigned>(*next)) continue;
                seen |= 1u << static_cast<unsigned>(*next);
                grew = true;
            }
        }
    }
    return (seen & 1u << static_cast<unsigned>(to)) != 0;
}

std::optional<std::string> broken_task(const Bytes& old_bytes, const Bytes& new_bytes) {
    const auto now = market::decode_record<market::Task>(new_bytes);
    if (!now) return "a task's record decodes";
    if (old_bytes.empty()) return std::nullopt;
    const auto old = market::decode_record<market::Task>(old_bytes);
    if (!old || !reachable(old->state, now->state)) return "a task moves along its table";
    return std::nullopt;
}

std::optional<std::string> broken_dispute(const market::Dispute& dispute) {
    const bool open = dispute.state == DisputeState::open;
    if (open != (dispute.mover == 1 || dispute.mover == 2)) return "an open dispute has exactly one party to move";
    if (open != (dispute.deadline != 0)) return "an open dispute has a deadline";
    return std::nullopt;
}

bool is_validator_set(const ledger::SlotKey& key) {
    return key.contract == address_of(Contract::validators) && key.key == keys::validator_set().bytes;
}

std::optional<std::string> broken_set(View value) {
    const auto set = market::decode_record<ListOf<SetMember>>(value);
    const bool good = set && !set->items.empty() && set->items.size() <= ledger::kValidatorsMax;
    return good ? std::nullopt : std::optional<std::string>("a chain with validators has 1 to 100 of them");
}

std::optional<std::string> broken_slot(const StateView& before, const ledger::SlotKey& key, const Bytes& value) {
    if (is_validator_set(key)) return broken_set(value);
    if (value.empty()) return std::nullopt;
    if (has_tag(key, Contract::market, 't')) return broken_task(before.slot(key.contract, key.key), value);
    if (has_tag(key, Contract::disputes, 'd')) {
        const auto dispute = market::decode_record<market::Dispute>(value);
        return dispute ? broken_dispute(*dispute) : std::optional<std::string>("a dispute's record decodes");
    }
    if (has_tag(key, Contract::staking, 'k')) {
        const auto stake = market::decode_record<market::Stake>(value);
        if (!stake || stake->locked > stake->bonded) return "no more stake is locked than bonded";
    }
    return std::nullopt;
}

/// Coins that the records of one task hold and lock.
struct Sums {
    U256 market, disputes, audits;
    std::map<Address, U256> locked;
};

/// 21.9: as most_owed, for a group. In each round that is not closed, each seat may earn the price once.
U256 most_owed_to_group(const StateView& view, const market::Task& task, const market::TaskSpec& spec,
                        const market::Group& group) {
    if (market::is_final(task.state)) return {};
    if (task.wanted != 0) return spec.price_ceiling * U256(spec.segments()) * U256(spec.replicas);
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(task.id));
    U256 owed = group.price * U256(std::uint64_t{terms.rounds - group.round}) * U256(spec.replicas);
    for (const std::uint32_t index : task.active) {
        const auto run = must_load<market::Run>(view, keys::run(task.id, index));
        const std::uint64_t segments = run.next_state == 0 ? 0 : run.next_state - 1;
        owed += earned_in_group(view, run, run.paid, segments);
    }
    return owed;
}

/// 13.4.1: the most that the escrow may have to pay, runs of the open auction included.
U256 most_owed(const StateView& view, const market::Task& task) {
    const auto spec = must_load<market::TaskSpec>(view, keys::spec(task.id));
    if (const auto group = views::group(view, task.id)) return most_owed_to_group(view, task, spec, *group);
    U256 owed;
    if (task.wanted != 0) {
        const std::uint64_t from = views::joining_state(view, task).index;
        owed = spec.price_ceiling * U256(spec.segments() - from) * U256(task.wanted);
    }
    for (const std::uint32_t index : task.active) {
        const auto run = must_load<market::Run>(view, keys::run(task.id, index));
        owed += run.price * U256(spec.segments() - run.paid);
    }
    return owed;
}

std::optional<std::string> add_task(const StateView& view, std::uint64_t id, Sums& sums) {
    const auto task = must_load<market::Task>(view, keys::task(id));
    sums.market += task.escrow + task.audit_budget + views::place(view, id).value_or(market::Place{}).deposit;
    const auto active = views::active_tasks(view);
    const bool listed = std::binary_search(active.begin(), active.end(), id);
    if (listed == market::is_final(task.state)) return "the list of active tasks is right";
    if (most_owed(view, task) > task.escrow) return "a task's escrow pays for all that its runs may be paid";
    for (const Address& bidder : task.bidders) {
        const auto bid = must_load<market::Bid>(view, keys::bid(id, bidder));
        sums.market += bid.deposit;
        sums.locked[bidder] += bid.locked;
    }
    for (std::uint32_t index = 0; index < task.runs; ++index) {
        const auto run = must_load<market::Run>(view, keys::run(id, index));
        sums.locked[run.solver] += run.locked;
        const bool over = market::is_over(run.state);
        const bool is_active = std::find(task.active.begin(), task.active.end(), index) != task.active.end();
        if (over == is_active) return "a task's active runs are those that are not over";
        if (over && (!run.locked.is_zero() || run.open_disputes != 0)) return "a run that is over holds nothing";
        if (run.paid > run.finalised || run.finalised > run.next_state) return "payments follow verified segments";
        if (!run.retained.empty() && run.retained.front() <= run.paid) return "a retained state is above what is paid";
    }
    return std::nullopt;
}

std::optional<std::string> broken_lists(const StateView& view) {
    const auto members = views::verifiers(view);
    const auto waiting = views::candidates(view);
    if (members.size() > market::kVerifiersMax) return "the beacon has at most 1,024 members";
    if (waiting.size() > market::kCandidatesMax) return "at most 48 candidates wait for a place in the beacon";
    if (views::solvers(view).size() > market::kSolversMax) return "at most 1,024 solvers are challenged";
    for (const Address& party : waiting)
        if (std::binary_search(members.begin(), members.end(), party)) return "a candidate is no member";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const StateView& before, const State& after) {
    if (!ledger::supply_conserved(before, after)) return "supply is conserved";
    for (const Contract contract : kContracts) {
        const Address address = address_of(contract);
        // A contract's balance must change exactly as its `held` record. The sums do not overflow: both are parts of
        // one supply.
        if (balance_of(before, address) + held(after, contract) != balance_of(after, address) + held(before, contract))
            return "a contract's balance is what its records hold";
    }
    for (const auto& [key, value] : after.diff().slots)
        if (auto broken = broken_slot(before, key, value)) return broken;
    return std::nullopt;
}

std::optional<std::string> deep_check(const StateView& view, const std::vector<Address>& parties) {
    if (auto broken = broken_lists(view)) return broken;
    Sums sums;
    for (std::uint64_t id = 1; id <= views::task_count(view); ++id)
        if (auto broken = add_task(view, id, sums)) return broken;
    for (std::uint64_t id = 1; id <= views::audit_count(view); ++id) {
        const auto audit = must_load<market::Audit>(view, keys::audit(id));
        for (const market::Seat& seat : audit.seats) sums.locked[seat.auditor] += seat.bond;
        const auto segment = must_load<market::Segment>(view, keys::segment(audit.task, audit.run, audit.segment));
        if (!audit.waiting.empty() && (segment.audit != id || segment.audit_dispute == 0))
            return "an auditor waits only while another one of its segment plays";
    }
    for (std::uint64_t id = 1; id <= views::dispute_count(view); ++id) {
        const auto dispute = must_load<market::Dispute>(view, keys::dispute(id));
        if (auto broken = broken_dispute(dispute)) return broken;
        if (dispute.state != DisputeState::open) continue;
        if (bond_is_stake(dispute.kind))
            sums.locked[dispute.challenger] += dispute.bond;
        else
            sums.disputes += dispute.bond;
    }
    for (std::uint64_t id = 1; id <= views::report_count(view); ++id) {
        const auto report = must_load<market::Report>(view, keys::report(id));
        if (report.state == market::ReportState::open) sums.audits += report.fee;
    }
    for (std::uint64_t id = 1; id <= views::retention_count(view); ++id) {
        const auto offer = must_load<market::Retention>(view, keys::retention(id));
        if (offer.state == market::RetentionState::open) sums.audits += offer.fee;
    }
    for (std::uint64_t id = 1; id <= views::reservation_count(view); ++id) {
        const auto reservation = must_load<market::Reservation>(view, keys::reservation(id));
        if (market::holds_deposit(reservation.state)) sums.market += reservation.deposit;
        sums.locked[reservation.solver] += reservation.locked;
    }
    U256 staked;
    for (const Address& party : parties) {
        const market::Stake stake = views::stake(view, party);
        staked += stake.bonded + stake.unbonding;
        if (const auto info = views::validator(view, party)) sums.locked[party] += info->stake + info->leaving;
        if (stake.locked != sums.locked[party]) return "a party's locked stake is the sum of its locks";
    }
    const std::pair<Contract, U256> expected[] = {{Contract::staking, staked},     {Contract::market, sums.market},
                                                  {Contract::audits, sums.audits}, {Contract::disputes, sums.disputes},
                                                  {Contract::validators, U256()},  {Contract::groups, U256()}};
    for (const auto& [contract, amount] : expected)
        if (held(view, contract) != amount || balance_of(view, address_of(contract)) < amount)
            return "a contract holds the sum of its records: " + std::string(interface_name(contract));
    return std::nullopt;
}

}  // namespace retrace::contracts
