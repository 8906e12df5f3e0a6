// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/groups/rollback.hpp"

#include <algorithm>

#include "contracts/lifecycle/groups/clock.hpp"
#include "contracts/records/rollback_views.hpp"

namespace retrace::contracts {
namespace {

using market::GroupPhase;

/// A rollback that a run's loss makes.
struct Undone {
    market::Rollback rollback;
    U256 price;  ///< Of all segments of others that it makes void.
};

/// Whether the message is paid for, or may be.
bool may_be_paid(const StateView& view, std::uint64_t task, const market::RoundMessage& message, std::uint32_t author) {
    const auto run = must_load<market::Run>(view, keys::run(task, author));
    return message.segment < run.finalised || !market::is_over(run.state);
}

/// What the messages of these runs in a round cost, but for those of `lost`.
U256 price_of(const StateView& view, const market::Group& group, const market::GroupSpec& terms, std::uint32_t round,
              const std::vector<std::uint32_t>& runs, std::uint32_t lost) {
    U256 out;
    for (const std::uint32_t run : runs) {
        if (run == lost) continue;
        const auto message = must_load<market::RoundMessage>(view, keys::round_message(group.task, round, run));
        if (may_be_paid(view, group.task, message, run))
            out += market::segment_pay(group.price, message.steps, terms.steps_max);
    }
    return out;
}

std::vector<std::uint32_t> authors_of(const market::Round& record) {
    std::vector<std::uint32_t> out;
    for (const market::RoundEntry& entry : record.entries) out.push_back(entry.run);
    return out;
}

/// 21.14.4: the round of the run's first message that is recorded, not final and not undone.
std::optional<std::uint32_t> first_not_final(const StateView& view, const market::Rollbacks& known,
                                             const market::Group& group, const market::Run& run) {
    const auto now = static_cast<std::uint8_t>(known.noted.size());
    for (std::uint32_t round = known.final_rounds; round < group.round; ++round) {
        const market::Round record = views::round_at(view, group.task, round, now).value();
        const auto authors = authors_of(record);
        if (std::find(authors.begin(), authors.end(), run.index) == authors.end()) continue;
        const auto message = must_load<market::RoundMessage>(view, keys::round_message(group.task, round, run.index));
        if (message.segment >= run.finalised) return round;
    }
    return std::nullopt;
}

/// Nullopt: the run's loss undoes nothing. `priced`: with the price, for which all messages that it undoes are read.
std::optional<Undone> undone_by(const StateView& view, std::uint64_t task, std::uint32_t index, bool priced) {
    const auto terms = views::group_spec(view, task);
    if (!terms || terms->rollbacks == 0) return std::nullopt;
    const market::Rollbacks known = views::rollbacks(view, task);
    if (known.noted.size() >= terms->rollbacks) return std::nullopt;
    const auto group = must_load<market::Group>(view, keys::group(task));
    const auto first = first_not_final(view, known, group, must_load<market::Run>(view, keys::run(task, index)));
    if (!first) return std::nullopt;
    Undone out;
    const bool open = group.phase != GroupPhase::settling;
    out.rollback = {index, *first, group.round - (open ? 0u : 1u), open};
    if (!priced) return out;
    const auto now = static_cast<std::uint8_t>(known.noted.size());
    for (std::uint32_t round = *first + 1; round < group.round; ++round) {
        // The segments whose inner steps began at this round are those that sent its messages.
        const auto record = views::round_at(view, task, round, now).value();
        out.price += price_of(view, group, *terms, round, authors_of(record), index);
    }
    if (open) out.price += price_of(view, group, *terms, group.round, group.committed, index);
    return out;
}

}  // namespace

void repay_undone(Effects& fx, std::uint64_t task, std::uint32_t index, SlashReason reason) {
    const auto undone = undone_by(fx.state, task, index, true);
    if (!undone || undone->price.is_zero()) return;
    auto run = must_load<market::Run>(fx.state, keys::run(task, index));
    const U256 amount = ledger::min(undone->price, run.locked);
    const Address requester = must_load<market::Task>(fx.state, keys::task(task)).requester;
    slash_locked(fx, run.solver, task, amount, {{requester, amount}}, reason);
    run.locked -= amount;
    store(fx.state, keys::run(task, index), run);
    fx.emit(UndoneRepaid{task, index, requester, amount});
}

void roll_back(Effects& fx, std::uint64_t task, std::uint32_t index) {
    const auto undone = undone_by(fx.state, task, index, false);
    if (!undone) return;
    auto rollbacks = views::rollbacks(fx.state, task);
    rollbacks.noted.push_back(undone->rollback);
    store(fx.state, keys::rollbacks(task), rollbacks);
    fx.emit(GroupRolledBack{task, index, undone->rollback.first, undone->rollback.last});
    if (undone->rollback.ended) end_round_empty(fx, task);
}

void note_attempt(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    const market::Rollbacks known = views::rollbacks(fx.state, task);
    if (known.noted.empty()) return;
    market::MemberAttempts attempts = views::member_attempts(fx.state, task, run);
    const auto now = static_cast<std::uint8_t>(known.noted.size());
    if (market::attempt_of(attempts, segment) == now) return;
    attempts.items.push_back({segment, views::start_of_member(fx.state, task, run).state, now});
    store(fx.state, keys::member_attempts(task, run), attempts);
}

}  // namespace retrace::contracts
