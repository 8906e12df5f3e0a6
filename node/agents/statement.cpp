// SPDX-License-Identifier: MIT
#include "node/agents/statement.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "contracts/calls/encode.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/views.hpp"
#include "node/agents/kept_blocks.hpp"
#include "node/agents/remote_state.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node {
namespace {

using contracts::decode_event;
using Kind = StatementLine::Kind;

struct Payment {
    ledger::Address from;
    ledger::U256 value;
};

/// Coins that a transaction carried.
Result<Payment> payment_of(RpcClient& client, const Hash32& tx) {
    const auto answer = client.call("eth_getTransactionByHash", {rpc::data(tx)});
    if (!answer) return error(answer.error().message);
    const boost::json::object* object = answer->if_object();
    const auto member = [&](const char* name) {
        const boost::json::value* found = object != nullptr ? object->if_contains(name) : nullptr;
        return found != nullptr ? *found : boost::json::value();
    };
    const auto from = rpc::parse_address(member("from"));
    const auto value = rpc::parse_u256(member("value"));
    if (!from || !value)
        return error("the node no longer has the transaction " + rpc::data(tx) +
                     "; ask a node that keeps more blocks (--keep-blocks)");
    return Payment{*from, *value};
}

class Reader {
public:
    using FindAudit = std::function<std::optional<market::Audit>(std::uint64_t)>;
    /// `reservation`: by which the task began. `find_audit` is asked for audits that were drawn in blocks that are not
    /// kept.
    Reader(RpcClient& client, const market::Task& task, std::optional<market::Reservation> reservation,
           FindAudit find_audit)
        : client_(client),
          task_(task.id),
          requester_(task.requester),
          reservation_(std::move(reservation)),
          find_audit_(std::move(find_audit)) {}

    Status<> take(const PlacedLog& placed) {
        const ledger::Log& log = placed.log;
        if (const auto e = decode_event<contracts::TaskPosted>(log)) {
            if (e->task == task_) return paid_in(placed, Kind::posted);
        } else if (const auto e = decode_event<contracts::ReplicasWanted>(log)) {
            if (e->task == task_) return paid_in(placed, Kind::raised);
        } else if (const auto e = decode_event<contracts::TaskToppedUp>(log)) {
            if (e->task != task_) return Unit{};
            RETRACE_CHECK(paid_in(placed, Kind::topped_up));
            out_.back().auctions = e->auctions;
        } else if (const auto e = decode_event<contracts::ReservationChanged>(log)) {
            if (reservation_ && e->reservation == reservation_->id)
                deposit_moved(placed.height, static_cast<market::ReservationState>(e->state));
        } else if (const auto e = decode_event<contracts::MemberJoined>(log)) {
            if (e->task == task_) return paid_in(placed, Kind::joined);
        } else if (const auto e = decode_event<contracts::SegmentsPaid>(log)) {
            if (e->task == task_)
                out_.push_back({placed.height, Kind::segments, e->solver, e->amount, e->run, e->first, e->count});
        } else if (const auto e = decode_event<contracts::AuditorsDrawn>(log)) {
            audits_[e->audit] = {e->task, e->run, e->segment};
        } else if (const auto e = decode_event<contracts::AuditPaid>(log)) {
            const Audited& audited = audited_by(e->audit);
            if (audited.task == task_)
                out_.push_back({placed.height, Kind::audit, e->auditor, e->amount, audited.run, audited.segment, 1});
        } else if (const auto e = decode_event<contracts::PlacePaid>(log)) {
            // What a bid burns for its place did not come from the escrow.
            if (e->task == task_ && e->party == requester_)
                out_.push_back({placed.height, Kind::place, e->party, e->amount, 0, 0, 0});
        } else if (const auto e = decode_event<contracts::UndoneRepaid>(log)) {
            if (e->task == task_) out_.push_back({placed.height, Kind::repaid, e->requester, e->amount, e->run, 0, 0});
        } else if (const auto e = decode_event<contracts::EscrowReturned>(log)) {
            if (e->task == task_) out_.push_back({placed.height, Kind::returned, e->requester, e->amount, 0, 0, 0});
        }
        return Unit{};
    }
    const std::vector<StatementLine>& lines() const noexcept { return out_; }

private:
    struct Audited {
        std::uint64_t task = 0;
        std::uint32_t run = 0;
        std::uint64_t segment = 0;
    };
    const Audited& audited_by(std::uint64_t audit) {
        const auto [at, is_new] = audits_.try_emplace(audit);
        if (is_new) {
            if (const auto found = find_audit_(audit)) at->second = {found->task, found->run, found->segment};
        }
        return at->second;
    }
    void deposit_moved(std::uint64_t height, market::ReservationState to) {
        std::optional<Kind> kind;
        if (to == market::ReservationState::begun) kind = Kind::reserved;
        if (to == market::ReservationState::honoured || to == market::ReservationState::released)
            kind = Kind::deposit_returned;
        if (to == market::ReservationState::broken) kind = Kind::deposit_burned;
        if (!kind) return;
        StatementLine line{height, *kind, requester_, reservation_->deposit, 0, 0, 0};
        line.reservation = reservation_->id;
        if (*kind != Kind::reserved) return out_.push_back(line);
        line.height = reservation_->offered_height;  // Before the task, whose events begin with its posting.
        out_.insert(out_.begin(), line);
    }
    Status<> paid_in(const PlacedLog& placed, Kind kind) {
        RETRACE_TRY(payment, payment_of(client_, placed.tx));
        out_.push_back({placed.height, kind, payment.from, payment.value, 0, 0, 0});
        return Unit{};
    }

    RpcClient& client_;
    std::uint64_t task_;
    ledger::Address requester_;
    std::optional<market::Reservation> reservation_;
    FindAudit find_audit_;
    std::vector<StatementLine> out_;
    std::map<std::uint64_t, Audited> audits_;
};

/// The logs of the contracts in which a task's coins move, in the order of their blocks.
Result<std::vector<PlacedLog>, RpcFailure> money_logs(RpcClient& client, std::uint64_t from, std::uint64_t to) {
    std::vector<PlacedLog> all;
    // Audits before the market, because a payment is found by its audit.
    for (const auto contract :
         {contracts::Contract::audits, contracts::Contract::market, contracts::Contract::groups}) {
        RETRACE_TRY(logs, when_allowed([&] { return client.logs(contracts::address_of(contract), from, to); }));
        all.insert(all.end(), logs.begin(), logs.end());
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const PlacedLog& a, const PlacedLog& b) { return a.height < b.height; });
    return all;
}

/// Adds what the segments of a line were paid for private inner steps, by what became of their audit.
void add_private_pay(const ledger::StateView& view, std::uint64_t task, const market::GroupSpec& terms,
                     const StatementLine& line, Statement::PrivatePay& out) {
    const auto run = contracts::views::run(view, task, line.run);
    const std::uint64_t paid = run ? std::min(run->paid, market::kSegmentsMax) : 0;
    for (std::uint64_t i = line.first; i < paid && i - line.first < line.count; ++i) {
        const auto segment = contracts::views::member_segment(view, task, line.run, i);
        if (!segment || segment->steps == 0) continue;
        const auto message = contracts::views::round_message(view, task, segment->base + segment->age, line.run);
        if (!message || !message->recorded || message->unpaid) continue;
        const auto audited = contracts::views::segment(view, task, line.run, i);
        const bool matched = audited && audited->state == market::SegmentState::verified;
        (matched ? out.consented : out.unverified) += market::segment_pay(run->price, segment->steps, terms.steps_max);
    }
}

/// nullopt: the task is no private group.
std::optional<Statement::PrivatePay> private_pay(const RemoteState& state, const Statement& statement) {
    std::optional<Statement::PrivatePay> out;
    const auto read = [&] {
        const auto terms = contracts::views::group_spec(state, statement.task);
        out.reset();
        if (!terms || terms->private_sets == 0) return;
        out.emplace();
        for (const StatementLine& line : statement.lines)
            if (line.kind == Kind::segments) add_private_pay(state, statement.task, *terms, line, *out);
    };
    state.read_ahead(read);
    state.read(read);
    return out;
}

}  // namespace

std::string_view slug(StatementLine::Kind kind) noexcept {
    switch (kind) {
        case Kind::posted: return "posted";
        case Kind::raised: return "raised";
        case Kind::joined: return "joined";
        case Kind::segments: return "segments";
        case Kind::audit: return "audit";
        case Kind::returned: return "returned";
        case Kind::place: return "place";
        case Kind::topped_up: return "topped_up";
        case Kind::reserved: return "reserved";
        case Kind::deposit_returned: return "deposit_returned";
        case Kind::deposit_burned: return "deposit_burned";
        case Kind::repaid: return "repaid";
    }
    return "unknown";
}

void Statement::add_up() {
    paid_in = paid_out = repaid = {};
    for (const StatementLine& line : lines) {
        if (line.in()) paid_in += line.amount;
        if (line.out()) paid_out += line.amount;
        if (line.kind == Kind::repaid) repaid += line.amount;
    }
}

Result<Statement> task_statement(RpcClient& client, std::uint64_t id, const PageOptions& pages) {
    const auto height = client.height();
    if (!height) return error(height.error().message);
    const RemoteState state(client, *height);
    std::optional<market::Task> task;
    std::optional<market::Place> place;
    std::optional<market::Reservation> reservation;
    state.read([&] {
        reservation = contracts::views::reservation_of_task(state, id);
        task = contracts::views::task(state, id);
        place = contracts::views::place(state, id);
    });
    if (state.failure()) return error(state.failure()->message);
    if (!task) return error("there is no task " + std::to_string(id));
    const auto find_audit = [&](std::uint64_t audit) {
        std::optional<market::Audit> found;
        state.read([&] { found = contracts::views::audit(state, audit); });
        return found;
    };
    Statement out;
    out.task = id;
    out.height = *height;
    out.requester = task->requester;
    out.held = task->escrow + task->audit_budget + place.value_or(market::Place{}).deposit;
    if (reservation && market::holds_deposit(reservation->state)) out.held += reservation->deposit;
    const auto read = [&](std::uint64_t first) -> Status<> {
        Reader reader(client, *task, reservation, find_audit);
        const auto page = [&](std::uint64_t begin, std::uint64_t end) -> Result<bool, RpcFailure> {
            RETRACE_TRY(logs, money_logs(client, begin, end));
            for (const PlacedLog& placed : logs)
                if (const auto taken = reader.take(placed); !taken)
                    return Unexpected{RpcFailure{0, taken.error().message, {}, false}};
            out.lines = reader.lines();
            out.add_up();
            // Nothing moves any more once the escrow of a task that is over is empty.
            const bool ended = market::is_final(task->state) && out.held.is_zero() && !out.paid_in.is_zero();
            return !(ended && first == task->posted_height && out.adds_up());
        };
        const auto done = read_pages(first, *height, pages, page);
        return done ? Status<>(Unit{}) : error(done.error().message);
    };
    RETRACE_TRY(from, read_kept(client, task->posted_height, read));
    if (state.failure()) return error(state.failure()->message);
    out.from = from;
    out.whole = from == task->posted_height;
    out.add_up();
    const ledger::U256 gone = out.paid_out + out.held;
    if (!out.whole && gone > out.paid_in) out.brought_forward = gone - out.paid_in;
    out.private_pay = private_pay(state, out);
    if (state.failure()) return error(state.failure()->message);
    return out;
}

}  // namespace retrace::node
