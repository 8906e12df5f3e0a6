// SPDX-License-Identifier: MIT
#include "tests/stateful/mirror.hpp"

#include "contracts/records/store.hpp"

namespace retrace::stateful {
namespace {

using contracts::Contract;

/// Reads the numbers and the address behind a key's tag (contracts/records/keys.cpp).
class KeyReader {
public:
    explicit KeyReader(View key) : left_(key.subspan(1)) {}
    std::uint64_t number() {
        std::uint64_t out = 0;
        for (std::size_t i = 0; i < 8; ++i) out = out << 8 | left_[i];
        left_ = left_.subspan(8);
        return out;
    }
    Address party() {
        const Address out = ledger::address_of_bytes(left_.first(20));
        left_ = left_.subspan(20);
        return out;
    }

private:
    View left_;
};

template <class T>
T decode(const Bytes& value) {
    auto record = market::decode_record<T>(value);
    ensure(record.has_value(), "a record that the rules wrote decodes");
    return std::move(*record);
}

template <class T>
T& at_id(std::vector<T>& records, std::uint64_t id) {
    if (records.size() < id) records.resize(id);
    return records[id - 1];
}

template <class Enum>
void visit(Visits& visits, Enum before, Enum now) {
    if (before != now) ++visits[static_cast<std::size_t>(now) % visits.size()];
}

void keep_if(std::set<std::uint64_t>& open, std::uint64_t id, bool is_open) {
    if (is_open)
        open.insert(id);
    else
        open.erase(id);
}

}  // namespace

void Reached::add(const Reached& other) {
    Visits* const mine[] = {&tasks,         &runs,    &segments,     &audits,     &seats,      &disputes,    &endings,
                            &dispute_kinds, &reports, &report_kinds, &retentions, &challenges, &reservations};
    const Visits* const theirs[] = {&other.tasks,       &other.runs,         &other.segments,   &other.audits,
                                    &other.seats,       &other.disputes,     &other.endings,    &other.dispute_kinds,
                                    &other.reports,     &other.report_kinds, &other.retentions, &other.challenges,
                                    &other.reservations};
    for (std::size_t i = 0; i < std::size(mine); ++i)
        for (std::size_t n = 0; n < mine[i]->size(); ++n) (*mine[i])[n] += (*theirs[i])[n];
    raised += other.raised;
    successors += other.successors;
    joined_late += other.joined_late;
    late_schedules += other.late_schedules;
    longest_list = std::max(longest_list, other.longest_list);
}

void Mirror::apply(const ledger::StateDiff& diff) {
    for (const auto& [slot, value] : diff.slots) {
        if (slot.key.empty()) continue;
        if (slot.contract == address_of(Contract::market))
            market_record(slot.key, value);
        else if (slot.contract == address_of(Contract::staking))
            staking_record(slot.key, value);
        else if (slot.contract == address_of(Contract::audits))
            audits_record(slot.key, value);
        else if (slot.contract == address_of(Contract::validators) && slot.key[0] == 'v')
            validators[ledger::address_of_bytes(View(slot.key).subspan(1))] = decode<market::ValidatorInfo>(value);
        else if (slot.contract == address_of(Contract::disputes))
            disputes_record(slot.key, value);
        else if (slot.contract == address_of(Contract::groups))
            groups_record(slot.key, value);
    }
}

TaskModel& Mirror::task_of(std::uint64_t id) { return at_id(tasks, id); }

RunModel& Mirror::run_of(std::uint64_t id, std::uint64_t run) {
    TaskModel& task = task_of(id);
    if (task.runs.size() <= run) task.runs.resize(run + 1);
    return task.runs[run];
}

void Mirror::task_record(std::uint64_t id, const Bytes& value) {
    TaskModel& model = task_of(id);
    auto now = decode<market::Task>(value);
    visit(reached.tasks, model.task.state, now.state);
    reached.raised += now.state == market::TaskState::running && now.wanted != 0 && model.task.wanted == 0;
    model.task = std::move(now);
    keep_if(active_tasks, id, !market::is_final(model.task.state));
}

void Mirror::run_record(std::uint64_t id, std::uint64_t index, const Bytes& value) {
    RunModel& model = run_of(id, index);
    auto now = decode<market::Run>(value);
    if (model.run.state == market::RunState{}) {
        reached.successors += now.first_state > 0;
        reached.joined_late += now.joined;
    }
    visit(reached.runs, model.run.state, now.state);
    model.run = std::move(now);
}

void Mirror::market_record(View key, const Bytes& value) {
    KeyReader in(key);
    switch (key[0]) {
        case 't':
            if (!value.empty()) task_record(in.number(), value);
            return;
        case 's':
            if (!value.empty()) task_of(in.number()).spec = decode<market::TaskSpec>(value);
            return;
        case 'b': {
            auto& bids = task_of(in.number()).bids;
            const Address bidder = in.party();
            if (value.empty())
                bids.erase(bidder);
            else
                bids[bidder] = decode<market::Bid>(value);
            return;
        }
        case 'r': {
            const std::uint64_t task = in.number();
            if (!value.empty()) run_record(task, in.number(), value);
            return;
        }
        case 'c': {
            const std::uint64_t task = in.number(), run = in.number();
            if (!value.empty()) run_of(task, run).states[in.number()] = decode<market::Checkpoint>(value);
            return;
        }
        case 'g': {
            const std::uint64_t task = in.number(), run = in.number();
            if (value.empty()) return;
            auto& segment = run_of(task, run).segments[in.number()];
            auto now = decode<market::Segment>(value);
            visit(reached.segments, segment.state, now.state);
            segment = std::move(now);
            return;
        }
        case 'V': {
            if (value.empty()) return;
            market::Reservation& reservation = at_id(reservations, in.number());
            auto now = decode<market::Reservation>(value);
            visit(reached.reservations, reservation.state, now.state);
            reservation = std::move(now);
            return;
        }
        case 'H': {
            const std::uint64_t task = in.number();
            if (!value.empty()) stopped.insert({task, in.number()});
            return;
        }
        case 'e': {
            const std::uint64_t height = in.number();
            const std::pair place{height, in.number()};
            if (value.empty())
                scheduler.erase(place);
            else
                scheduler[place] = decode<contracts::ListOf<contracts::ScheduledItem>>(value).items;
            return;
        }
        case 'f': {
            if (value.empty()) {
                cursor.reset();
            } else {
                Reader at(value);
                const std::uint64_t height = at.u64();
                cursor = {height, at.u64()};
                ++reached.late_schedules;
            }
            return;
        }
        case 'w':
            if (value.empty())
                scheduled_heights.erase(to_bytes(key));
            else
                scheduled_heights[to_bytes(key)] = decode<contracts::Counter>(value).value;
            return;
        case 'a':
        case 'p': {
            Reader list(value);
            if (!value.empty()) reached.longest_list = std::max<std::size_t>(reached.longest_list, list.u32());
            return;
        }
        default: return;
    }
}

void Mirror::staking_record(View key, const Bytes& value) {
    KeyReader in(key);
    switch (key[0]) {
        case 'k':
            if (!value.empty()) stakes[in.party()] = decode<market::Stake>(value);
            return;
        case 's':
            if (!value.empty()) solvers[in.party()] = decode<market::SolverInfo>(value);
            return;
        case 'v':
            if (!value.empty()) verifiers[in.party()] = decode<market::VerifierInfo>(value);
            return;
        case 'c': {
            const std::uint64_t id = in.number();
            if (value.empty()) {
                challenges.erase(id);
                return;
            }
            auto now = decode<market::Challenge>(value);
            visit(reached.challenges, challenges[id].state, now.state);
            challenges[id] = std::move(now);
            return;
        }
        default: return;
    }
}

void Mirror::audit_record(std::uint64_t id, const Bytes& value) {
    market::Audit& audit = at_id(audits, id);
    auto now = decode<market::Audit>(value);
    visit(reached.audits, audit.phase, now.phase);
    for (std::size_t i = 0; i < now.seats.size(); ++i)
        visit(reached.seats, i < audit.seats.size() ? audit.seats[i].state : market::SeatState{}, now.seats[i].state);
    reached.longest_list = std::max(reached.longest_list, now.seats.size());
    audit = std::move(now);
    keep_if(open_audits, id, audit.phase != market::AuditPhase::closed);
}

void Mirror::audits_record(View key, const Bytes& value) {
    KeyReader in(key);
    switch (key[0]) {
        case 'a':
            if (!value.empty()) audit_record(in.number(), value);
            return;
        case 'e':
            if (value.empty())
                queue.erase(to_bytes(key));
            else
                queue[to_bytes(key)] = Reader(value).u64();
            return;
        case 'H': {
            const std::uint64_t task = in.number(), run = in.number();
            auto held =
                value.empty() ? std::vector<std::uint64_t>{} : decode<contracts::ListOf<std::uint64_t>>(value).items;
            reached.longest_list = std::max(reached.longest_list, held.size());
            held_audits[{task, run}] = std::move(held);
            return;
        }
        case 'w': {
            if (value.empty()) return;
            const std::uint64_t id = in.number();
            market::Report& report = at_id(reports, id);
            auto now = decode<market::Report>(value);
            if (report.id == 0) ++reached.report_kinds[static_cast<std::size_t>(now.kind)];
            visit(reached.reports, report.state, now.state);
            report = std::move(now);
            keep_if(open_reports, id, report.state == market::ReportState::open);
            return;
        }
        case 'z': {
            if (value.empty()) return;
            const std::uint64_t id = in.number();
            market::Retention& offer = at_id(retentions, id);
            auto now = decode<market::Retention>(value);
            visit(reached.retentions, offer.state, now.state);
            offer = std::move(now);
            keep_if(open_retentions, id, offer.state == market::RetentionState::open);
            return;
        }
        case 'p':
        case 'q':
        case 'o':
        case 'r': {
            Reader list(value);
            if (!value.empty()) reached.longest_list = std::max<std::size_t>(reached.longest_list, list.u32());
            return;
        }
        default: return;
    }
}

void Mirror::disputes_record(View key, const Bytes& value) {
    KeyReader in(key);
    if (key[0] == 'p' || key[0] == 'r') {
        Reader list(value);
        if (!value.empty()) reached.longest_list = std::max<std::size_t>(reached.longest_list, list.u32());
    }
    if (key[0] != 'd' || value.empty()) return;
    const std::uint64_t id = in.number();
    market::Dispute& dispute = at_id(disputes, id);
    auto now = decode<market::Dispute>(value);
    if (dispute.id == 0) ++reached.dispute_kinds[static_cast<std::size_t>(now.kind)];
    visit(reached.disputes, dispute.state, now.state);
    visit(reached.endings, dispute.ending, now.ending);
    dispute = std::move(now);
    keep_if(open_disputes, id, dispute.state == market::DisputeState::open);
}

void Mirror::round_record(View key, const Bytes& value) {
    KeyReader in(key);
    TaskModel& model = task_of(in.number());
    const auto round = static_cast<std::uint32_t>(in.number());
    if (key[0] == 'k') {
        if (value.empty())
            model.masks.erase(round);
        else
            model.masks[round] = decode<market::RoundMasks>(value);
        return;
    }
    auto& posted = key[0] == 'h' ? model.holdings : model.member_masks;
    const std::pair of(round, static_cast<std::uint32_t>(in.number()));
    if (value.empty())
        posted.erase(of);
    else
        posted.insert(of);
}

void Mirror::groups_record(View key, const Bytes& value) {
    KeyReader in(key);
    if (key[0] == 'g' && !value.empty()) task_of(in.number()).group = decode<market::Group>(value);
    if (key[0] == 'k' || key[0] == 'p' || key[0] == 'h') round_record(key, value);
    if (key[0] != 'e' || value.empty()) return;
    Reader list(value);
    reached.longest_list = std::max<std::size_t>(reached.longest_list, list.u32());
}

std::optional<std::uint64_t> Mirror::next_due() const {
    if (cursor) return cursor->first;
    if (scheduler.empty()) return std::nullopt;
    return scheduler.begin()->first.first;
}

}  // namespace retrace::stateful
