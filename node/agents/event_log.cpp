// SPDX-License-Identifier: MIT
#include "node/agents/event_log.hpp"

#include <algorithm>

#include "ledger/crypto/eip55.hpp"
#include "market/capability.hpp"
#include "market/reservations.hpp"
#include "node/platform/units.hpp"
#include "verifier/game/game.hpp"

namespace retrace::node {
namespace {

using contracts::decode_event;

}  // namespace

std::string with_task(std::uint64_t task, const std::string& line) {
    return task == 0 ? line : "task " + std::to_string(task) + ": " + line;
}

std::string EventLog::name(const ledger::Address& address) const {
    const auto found = names_.find(address);
    return found != names_.end() ? found->second : ledger::to_checksum(address);
}

Status<> EventLog::advance(RpcClient& client, const PageOptions& pages, std::uint64_t known) {
    const auto tip = client.height();
    if (!tip) return error(tip.error().message);
    const auto read = read_pages(height_ + 1, std::max(*tip, known), pages,
                                 [&](std::uint64_t from, std::uint64_t to) { return read_page(client, from, to); });
    return read ? Status<>(Unit{}) : error(read.error().message);
}

Result<bool, RpcFailure> EventLog::read_page(RpcClient& client, std::uint64_t from, std::uint64_t to) {
    std::vector<PlacedLog> all;
    // In a block, verdicts are told before what follows from them.
    std::vector<contracts::Contract> order(std::begin(contracts::kContracts), std::end(contracts::kContracts));
    std::stable_partition(order.begin(), order.end(), [](contracts::Contract contract) {
        return contract == contracts::Contract::audits || contract == contracts::Contract::disputes;
    });
    for (const contracts::Contract contract : order) {
        RETRACE_TRY(logs, when_allowed([&] { return client.logs(contracts::address_of(contract), from, to); }));
        all.insert(all.end(), logs.begin(), logs.end());
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const PlacedLog& a, const PlacedLog& b) { return a.height < b.height; });
    for (const PlacedLog& placed : all) take(placed);
    height_ = to;
    return true;
}

void EventLog::take(const PlacedLog& placed) {
    if (const auto slash = decode_event<contracts::Slashed>(placed.log)) {
        slashed_[slash->party] += slash->amount;
        print(placed.height, slash->task,
              name(slash->party) + " is slashed " + describe_coins(slash->amount) + " (" + slash->reason + "): " +
                  describe_coins(slash->burned) + " burned, " + describe_coins(slash->to_others) + " to others");
        return;
    }
    take_capability(placed.height, placed.log);
    take_market(placed.height, placed.log);
    take_reservations(placed.height, placed.log);
    take_audits(placed.height, placed.log);
    take_disputes(placed);
    take_groups(placed.height, placed.log);
}

void EventLog::take_groups(std::uint64_t height, const ledger::Log& log) {
    if (const auto e = decode_event<contracts::RoundClosed>(log)) {
        print(height, e->task,
              "round " + std::to_string(e->round) + " is closed: " + std::to_string(e->recorded) + " of " +
                  std::to_string(e->committed) + " messages are recorded, " + std::to_string(e->total) + " steps");
    } else if (const auto e = decode_event<contracts::MemberJoined>(log)) {
        print(height, e->task, name(e->solver) + " joins at round " + std::to_string(e->base));
    } else if (const auto e = decode_event<contracts::MemberLeaves>(log)) {
        print(height, e->task,
              "member " + std::to_string(e->run) + (e->absent ? " was away for too long and leaves" : " leaves") +
                  " in round " + std::to_string(e->round));
    } else if (const auto e = decode_event<contracts::GroupRolledBack>(log)) {
        print(height, e->task,
              "the group goes back to round " + std::to_string(e->first) + " without the message of member " +
                  std::to_string(e->run) + "; what followed up to round " + std::to_string(e->last) + " is void");
    } else if (const auto e = decode_event<contracts::UndoneRepaid>(log)) {
        print(height, e->task,
              "the lock of member " + std::to_string(e->run) + " repays the requester " + describe_coins(e->amount) +
                  " for what is void");
    }
}

void EventLog::take_capability(std::uint64_t height, const ledger::Log& log) {
    if (const auto e = decode_event<contracts::CapabilityAnswered>(log)) {
        print(height, 0, name(e->solver) + " ran " + std::to_string(e->rounds) + " rounds of its benchmark");
    } else if (const auto e = decode_event<contracts::CapabilityMeasured>(log)) {
        capability_[e->solver] = e->score;
        const auto state = market::slug(static_cast<market::ChallengeState>(e->state));
        print(height, 0,
              name(e->solver) + " is measured: " + std::to_string(e->score) + " multiply-adds a block (" +
                  std::string(state) + ")");
    }
}

void EventLog::take_market(std::uint64_t height, const ledger::Log& log) {
    if (const auto e = decode_event<contracts::TaskPosted>(log)) {
        print(height, e->task,
              "posted \"" + e->name + "\", " + std::to_string(e->segments) + " segments, at most " +
                  describe_coins(e->price_ceiling) + " each, in escrow");
    } else if (const auto e = decode_event<contracts::TaskStateChanged>(log)) {
        states_[e->task] = static_cast<market::TaskState>(e->to);
        print(height, e->task, std::string(market::slug(static_cast<market::TaskState>(e->to))));
    } else if (const auto e = decode_event<contracts::BidCommitted>(log)) {
        print(height, e->task, name(e->bidder) + " has bid; the price is sealed");
    } else if (const auto e = decode_event<contracts::BidForfeited>(log)) {
        print(height, e->task, name(e->bidder) + " has not revealed its bid; its deposit is burned");
    } else if (const auto e = decode_event<contracts::BidRevealed>(log)) {
        asked_[{e->task, e->bidder}] = e->price;
        print(height, e->task,
              name(e->bidder) + " bids " + describe_coins(e->price) + " a segment and locks " +
                  describe_coins(e->locked));
    } else if (const auto e = decode_event<contracts::TaskAssigned>(log)) {
        runs_[e->task].push_back({e->solver, e->first_state, {}});
        const auto asked = asked_.find({e->task, e->solver});
        const bool above = asked != asked_.end() && asked->second < e->price;
        print(height, e->task,
              "assigned to " + name(e->solver) + " for " + describe_coins(e->price) + " a segment, from checkpoint " +
                  std::to_string(e->first_state) +
                  (above ? "; it asked " + describe_coins(asked->second) +
                               ", and is paid the price at which it would have lost"
                         : ""));
    } else if (const auto e = decode_event<contracts::CheckpointCommitted>(log)) {
        print(height, e->task, "checkpoint " + std::to_string(e->index) + " committed, blind");
    } else if (const auto e = decode_event<contracts::SegmentDrawn>(log)) {
        if (!e->audited) print(height, e->task, "segment " + std::to_string(e->segment) + " is not audited");
    } else if (const auto e = decode_event<contracts::SegmentVerified>(log)) {
        print(height, e->task, "segment " + std::to_string(e->segment) + " verified");
    } else if (const auto e = decode_event<contracts::SegmentsPaid>(log)) {
        Paid& paid = paid_[e->task][e->solver];
        paid.segments += e->count;
        paid.amount += e->amount;
        print(height, e->task,
              name(e->solver) + " is paid " + describe_coins(e->amount) + " for " + std::to_string(e->count) +
                  " segments");
    } else if (const auto e = decode_event<contracts::RunEnded>(log)) {
        if (e->run < runs_[e->task].size()) runs_[e->task][e->run].ended = e->reason;
        print(height, e->task, "the run of " + name(e->solver) + " ends (" + e->reason + ")");
    } else if (const auto e = decode_event<contracts::RunGivenBack>(log)) {
        print(height, e->task,
              name(e->solver) + " gives its run back at checkpoint " + std::to_string(e->index) +
                  "; another solver goes on from there when it is final");
    } else if (const auto e = decode_event<contracts::TaskToppedUp>(log)) {
        const std::string auctions = std::to_string(e->auctions) + (e->auctions == 1 ? " auction" : " auctions") +
                                     " may follow ones without winners";
        print(height, e->task,
              e->amount.is_zero()
                  ? auctions
                  : describe_coins(e->amount) + " more in escrow: at most " + describe_coins(e->ceiling) +
                        " a segment from the next auction on, and " + auctions);
    } else if (const auto e = decode_event<contracts::EscrowReturned>(log)) {
        print(height, e->task, describe_coins(e->amount) + " of the escrow are returned to " + name(e->requester));
    }
}

void EventLog::take_reservations(std::uint64_t height, const ledger::Log& log) {
    if (const auto e = decode_event<contracts::TimeReserved>(log)) {
        reserved_[e->reservation] = *e;
        print(height, 0,
              "reservation " + std::to_string(e->reservation) + ": " + name(e->requester) + " asks " + name(e->solver) +
                  " for its time from block " + std::to_string(e->from) + " and before block " +
                  std::to_string(e->until) + ", at " + describe_coins(e->price) + " a segment; deposit " +
                  describe_coins(e->deposit));
    } else if (const auto e = decode_event<contracts::ReservationChanged>(log)) {
        const auto state = static_cast<market::ReservationState>(e->state);
        const auto found = reserved_.find(e->reservation);
        const std::string deposit = found == reserved_.end() ? "its deposit" : describe_coins(found->second.deposit);
        print(height, e->task,
              "reservation " + std::to_string(e->reservation) + " is " + std::string(market::slug(state)) +
                  (market::holds_deposit(state)                ? std::string()
                   : state == market::ReservationState::broken ? "; " + deposit + " and as much stake are burned"
                   : state == market::ReservationState::unused ? "; its solver has " + deposit
                                                               : "; " + deposit + " returned"));
        if (!market::holds_deposit(state)) reserved_.erase(e->reservation);
    }
}

void EventLog::take_audits(std::uint64_t height, const ledger::Log& log) {
    if (const auto e = decode_event<contracts::AuditorsDrawn>(log)) {
        audits_[e->task].insert(e->audit);
        task_of_audit_[e->audit] = e->task;
        segment_of_audit_[e->audit] = e->segment;
        std::string who;
        for (const ledger::Address& auditor : e->auditors) who += (who.empty() ? "" : ", ") + name(auditor);
        print(height, e->task, "segment " + std::to_string(e->segment) + " is audited by " + who);
    } else if (const auto e = decode_event<contracts::VerdictRevealed>(log)) {
        const std::uint64_t task = task_of_audit_[e->audit];
        if (e->matches) ++equal_[task];
        print(height, task,
              name(e->auditor) + (e->matches ? " got the same bits" : " got OTHER bits") + " in segment " +
                  std::to_string(segment_of_audit_[e->audit]));
    } else if (const auto e = decode_event<contracts::AuditPaid>(log)) {
        audit_fees_[e->auditor] += e->amount;
        print(height, task_of_audit_[e->audit],
              name(e->auditor) + " is paid " + describe_coins(e->amount) + " for its audit of segment " +
                  std::to_string(segment_of_audit_[e->audit]));
    }
}

void EventLog::take_disputes(const PlacedLog& placed) {
    if (const auto e = decode_event<contracts::DisputeOpened>(placed.log)) {
        disputes_[e->dispute].opened = *e;
        print(placed.height, e->task,
              "dispute " + std::to_string(e->dispute) + " of segment " + std::to_string(e->segment) + ": " +
                  name(e->challenger) + " against " + name(e->solver));
    } else if (const auto e = decode_event<contracts::DisputeMoved>(placed.log)) {
        print(placed.height, disputes_[e->dispute].opened.task,
              "dispute " + std::to_string(e->dispute) + ": round " + std::to_string(e->rounds) + ", " +
                  std::string(verifier::slug(static_cast<verifier::Phase>(e->phase))));
    } else if (const auto e = decode_event<contracts::DisputeDecided>(placed.log)) {
        DisputeFacts& facts = disputes_[e->dispute];
        facts.decided = *e;
        facts.decided_height = placed.height;
        facts.last_move = placed.tx;
        const auto ending = verifier::slug(static_cast<verifier::Ending>(e->ending));
        print(placed.height, e->task,
              "dispute " + std::to_string(e->dispute) + ": " +
                  (e->loser.is_zero() ? std::string("withdrawn") : name(e->loser) + " loses") + " (" +
                  std::string(ending) + "), step " + std::to_string(e->step) + ", op " + std::to_string(e->op) +
                  ", tile " + std::to_string(e->tile) + ", link " + std::to_string(e->link) + ", element " +
                  std::to_string(e->element));
    }
}

std::optional<market::TaskState> EventLog::state_of(std::uint64_t task) const {
    const auto found = states_.find(task);
    return found != states_.end() ? std::optional(found->second) : std::nullopt;
}
std::uint64_t EventLog::audits(std::uint64_t task) const {
    const auto found = audits_.find(task);
    return found != audits_.end() ? found->second.size() : 0;
}
std::uint64_t EventLog::verdicts_equal(std::uint64_t task) const {
    const auto found = equal_.find(task);
    return found != equal_.end() ? found->second : 0;
}
ledger::U256 EventLog::slashed(const ledger::Address& party) const {
    const auto found = slashed_.find(party);
    return found != slashed_.end() ? found->second : ledger::U256{};
}

}  // namespace retrace::node
