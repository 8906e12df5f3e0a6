// SPDX-License-Identifier: MIT
#include "tests/simulation/checkers.hpp"

#include <algorithm>

#include "contracts/calls/encode.hpp"
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/invariants.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/standing.hpp"
#include "contracts/records/validator_views.hpp"
#include "contracts/records/views.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;
using contracts::AnyEvent;

constexpr std::size_t kViolationsMax = 20;  // The first violations are enough to find the cause.

}  // namespace

void Checkers::report(std::string violation) {
    if (findings_.violations.size() < kViolationsMax) findings_.violations.push_back(std::move(violation));
}

bool Checkers::honest(const ledger::Address& address) const {
    const auto found = parties_.find(address);
    return found != parties_.end() && found->second.honest;
}

const std::string& Checkers::name(const ledger::Address& address) const {
    static const std::string kStranger = "a stranger";
    const auto found = parties_.find(address);
    return found == parties_.end() ? kStranger : found->second.name;
}

void Checkers::see(const AnyEvent& event, const ledger::StateView& view) {
    if (const auto* slashed = std::get_if<contracts::Slashed>(&event)) {
        slashed_[slashed->party][slashed->task] += slashed->amount;
        if (!honest(slashed->party)) return;
        // A requester that serves nothing takes as much from itself: reservations_ checks that (SPEC 5.5).
        if (slashed->reason == "not_honoured" && unservable_.contains(slashed->task) &&
            !honest(reservations_.requester_of(slashed->task))) {
            bonded_[slashed->party] -= slashed->amount;
            return;
        }
        ++findings_.honest_slashed;
        report("honest " + name(slashed->party) + " lost stake: " + slashed->reason + " (task " +
               std::to_string(slashed->task) + ")");
    } else if (const auto* bid = std::get_if<contracts::BidForfeited>(&event)) {
        if (honest(bid->bidder)) report("honest " + name(bid->bidder) + " lost the deposit of a bid");
    } else if (const auto* left = std::get_if<contracts::VerifierLeft>(&event)) {
        if (left->dropped && honest(left->verifier))
            report("honest " + name(left->verifier) + " was dropped from the beacon");
    } else if (const auto* jailed = std::get_if<contracts::ValidatorJailed>(&event)) {
        if (honest(jailed->account)) report("honest " + name(jailed->account) + " was jailed");
    } else if (const auto* ended = std::get_if<contracts::RunEnded>(&event)) {
        constexpr auto kForfeited = static_cast<std::uint8_t>(market::RunState::forfeited);
        if (ended->state == kForfeited && honest(ended->solver))
            report("honest " + name(ended->solver) + " lost its run: " + ended->reason);
    } else if (const auto* opened = std::get_if<contracts::DisputeOpened>(&event)) {
        if (honest(opened->challenger) && !market::is_initial(market::DisputeKind{opened->kind}))
            accused_.insert({opened->task, opened->run, opened->segment});
    } else if (const auto* state = std::get_if<contracts::StateOpened>(&event)) {
        opened_.insert({state->task, state->index, state->run});
    } else if (const auto* committed = std::get_if<contracts::CheckpointCommitted>(&event)) {
        const auto run = views::run(view, committed->task, committed->run);
        const auto first = opened_.lower_bound({committed->task, committed->index, 0});
        const bool known =
            first != opened_.end() && std::get<0>(*first) == committed->task && std::get<1>(*first) == committed->index;
        if (run && honest(run->solver) && committed->index > run->first_state && !known)
            ++due_[{committed->task, committed->run}];
    } else if (const auto* paid = std::get_if<contracts::AuditPaid>(&event)) {
        audit_fees_[paid->audit] += paid->amount;
    } else if (const auto* assigned = std::get_if<contracts::TaskAssigned>(&event)) {
        if (const auto run = views::run(view, assigned->task, assigned->run))
            locked_[{assigned->task, assigned->run}] = run->locked;
    }
}

void Checkers::check_free_calls(const ledger::Block& block) {
    for (std::size_t i = 0; i < block.txs.size(); ++i) {
        const ledger::TxPtr& tx = block.txs[i].tx;
        if (!tx || !block.receipts[i].success || block.receipts[i].effective_gas_price >= block.header.base_fee)
            continue;
        constexpr std::ptrdiff_t kSelector = 4;
        static const Bytes reveal = contracts::calldata(contracts::RevealBeacon{});
        const bool reveals = tx->tx.to == contracts::address_of(contracts::Contract::staking) &&
                             std::equal(reveal.begin(), reveal.begin() + kSelector, tx->tx.data.begin());
        if (!reveals) report(name(tx->sender) + " made another call than a reveal without a base fee");
        std::uint64_t& until = free_until_[tx->sender];
        if (block.header.height < until) report(name(tx->sender) + " made two free reveals in an epoch");
        until = (views::epoch_of(params_, block.header.height) + 1) * params_.epoch_blocks;
    }
}

void Checkers::check_disputes(const ledger::StateView& view, std::uint64_t height) {
    for (const std::uint64_t count = views::dispute_count(view); disputes_seen_ < count;)
        open_disputes_.insert(++disputes_seen_);
    for (auto it = open_disputes_.begin(); it != open_disputes_.end();) {
        const auto dispute = views::dispute(view, *it);
        const std::string which = "dispute " + std::to_string(*it);
        if (!dispute) {
            report(which + " is gone");
            it = open_disputes_.erase(it);
            continue;
        }
        if (dispute->state != market::DisputeState::open) {
            it = open_disputes_.erase(it);
            continue;
        }
        const auto game = views::game(view, *it++);
        if (!game || game->phase == verifier::Phase::decided)
            report(which + " is open without a game to play");
        else if (dispute->mover != static_cast<std::uint8_t>(game->mover))
            report(which + " waits for another party than its game");
        if (dispute->mover != 1 && dispute->mover != 2) report(which + " has not exactly one mover");
        if (dispute->deadline < height) report(which + " is past its deadline");
    }
}

void Checkers::check_stakes(const ledger::StateView& view) {
    for (const auto& [address, party] : parties_) {
        const market::Stake stake = views::stake(view, address);
        if (stake.locked > stake.bonded) report(party.name + " has more stake locked than bonded");
        if (!party.honest) continue;
        ledger::U256& highest = bonded_[address];
        if (stake.bonded < highest) report("the stake of honest " + party.name + " shrank");
        highest = stake.bonded;
    }
}

void Checkers::after_block(const ledger::Block& block, const ledger::StateView& view, bool deep) {
    const auto see_all = [&](const std::vector<ledger::Log>& logs) {
        for (const ledger::Log& log : logs)
            if (const auto event = contracts::decode_any_event(log)) see(*event, view);
    };
    for (std::string& broken : reservations_.after_block(block, view)) report(std::move(broken));
    findings_.reservations = reservations_.compared();
    see_all(block.system_logs);
    for (const ledger::Receipt& receipt : block.receipts) see_all(receipt.logs);
    check_free_calls(block);
    check_disputes(view, block.header.height);
    check_stakes(view);
    if (!deep) return;
    std::vector<ledger::Address> addresses;
    for (const auto& [address, party] : parties_) addresses.push_back(address);
    if (const auto broken = contracts::deep_check(view, addresses)) report("invariant: " + *broken);
}

void Checkers::count_frauds(const ledger::StateView& view) {
    std::set<SegmentId> checked;  // Segments with a verdict of an honest auditor.
    for (std::uint64_t id = 1; id <= views::audit_count(view); ++id) {
        const auto audit = views::audit(view, id);
        if (!audit) continue;
        for (const market::Seat& seat : audit->seats) {
            const bool committed = !seat.commitment.is_zero();
            if (committed && honest(seat.auditor)) checked.insert({audit->task, audit->run, audit->segment});
        }
    }
    checked.insert(accused_.begin(), accused_.end());
    for (const SegmentId& segment : checked) {
        const auto& [task, run_index, index] = segment;
        const auto run = views::run(view, task, run_index);
        const std::uint64_t from = views::start_of_segment(view, task, run_index, index);
        const auto start = views::checkpoint(view, task, run_index, from);
        const auto end = views::checkpoint(view, task, run_index, index + 1);
        const auto& truth = truth_of(task, run_index);
        const bool opened = start && end && start->opened && end->opened && index + 1 < truth.size();
        const bool wrong_by_truth = opened && start->root == truth[from] && end->root != truth[index + 1];
        if (!run || (!wrong_by_truth && accused_.count(segment) == 0)) continue;
        ++findings_.frauds_audited;
        const bool lost =
            run->state == market::RunState::forfeited && slashed_[run->solver][task] >= locked_[{task, run_index}];
        if (lost)
            ++findings_.frauds_convicted;
        else
            report("the wrong segment " + std::to_string(index) + " of task " + std::to_string(task) + " run " +
                   std::to_string(run_index) + " by " + name(run->solver) + " was audited and not convicted");
    }
}

const std::vector<Hash32>& Checkers::truth_of(std::uint64_t task, std::uint32_t run) {
    const auto found = truth_of_members_.find({task, run});
    return found != truth_of_members_.end() ? found->second : truth_[task];
}

/// An honest member has been paid for all of its recorded messages, for that of the last round if it has finished, and members that took in the same records have the
/// same shared tensors.
void Checkers::check_group(const ledger::StateView& view, const market::Task& task) {
    const auto terms = views::group_spec(view, task.id);
    const std::vector<market::Rollback> noted = views::rollbacks(view, task.id).noted;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Hash32> shared;  // By base, and the rollbacks that it knows of.
    for (std::uint32_t index = 0; index < task.runs; ++index) {
        const auto run = views::run(view, task.id, index);
        if (!run || !honest(run->solver)) continue;
        const std::string which = "member " + std::to_string(index) + ", honest " + name(run->solver) + ", ";
        ledger::U256 due;
        for (std::uint64_t i = 0; i + 1 < run->next_state; ++i) {
            const auto segment = views::member_segment(view, task.id, index, i);
            if (!segment->shared.empty()) {
                const Hash32 digest = market::shared_digest(segment->shared);
                const std::uint32_t changed =
                    market::changed_by(noted, views::attempt_of(view, task.id, index, i), segment->base);
                if (shared.emplace(std::pair(segment->base, changed), digest).first->second != digest)
                    report(which + "has other shared tensors at base " + std::to_string(segment->base));
            }
            if (segment->steps == 0 || i >= run->finalised) continue;
            const std::uint32_t sent = segment->base + segment->age;
            const auto message = views::round_message(view, task.id, sent, index);
            const bool ended_unaudited =
                run->state == market::RunState::left && contracts::has_taken_in_all(view, *run);
            if (sent + 1 == terms->rounds && !contracts::has_finished(view, *run) && !ended_unaudited)
                continue;  // contracts 21.9.1
            if (message && market::ended_by_rollback(noted, sent))
                due += market::segment_pay(run->price, segment->steps, terms->steps_max);
            else if (message)
                due += views::pay_of(*terms, sent, *message, run->price);
        }
        if (run->earned != due && market::is_over(run->state))
            report(which + "earned " + run->earned.to_decimal() + " of " + due.to_decimal());
    }
}

/// Paid segments with a promised audit must be correct, and computed segments must be paid.
void Checkers::check_paid(const ledger::StateView& view, const market::Run& run) {
    const std::string which =
        "task " + std::to_string(run.task) + " run " + std::to_string(run.index) + " by " + name(run.solver);
    const auto spec = views::spec(view, run.task);
    const auto due = due_.find({run.task, run.index});
    if (spec && due != due_.end() && run.state == market::RunState::settled) {
        const std::uint64_t share = parties_.at(run.solver).price_bp;
        const auto price = ledger::mul_div(spec->price_ceiling, share, market::kBasisPoints);
        const auto asked = price * ledger::U256(due->second);
        if (run.earned < asked)
            findings_.unpaid_work.push_back(which + " computed " + std::to_string(due->second) +
                                            " segments and earned " + run.earned.to_decimal() + ", but asked for " +
                                            asked.to_decimal());
    }
    const auto& truth = truth_[run.task];
    for (std::uint64_t index = run.first_state; spec && index < run.paid && index + 1 < truth.size(); ++index) {
        const auto start = views::checkpoint(view, run.task, run.index, index);
        const auto end = views::checkpoint(view, run.task, run.index, index + 1);
        const bool promised =
            index == run.first_state || index + 1 == spec->segments() || spec->audit_bp == market::kBasisPoints;
        if (promised && start && end && start->root == truth[index] && end->root != truth[index + 1])
            findings_.paid_wrong.push_back("segment " + std::to_string(index) + " of " + which);
    }
}

/// Checks the guarantees for verified segments and settled tasks.
void Checkers::check_outcomes(const ledger::StateView& view) {
    for (std::uint64_t id = 1; id <= views::task_count(view); ++id) {
        const auto task = views::task(view, id);
        if (!task) continue;
        if (views::is_group(view, id)) {
            check_group(view, *task);
            continue;
        }
        const auto& truth = truth_[id];
        // Segments that an honest solver was paid for must be correct to the last bit.
        for (std::uint32_t index = 0; index < task->runs; ++index) {
            const auto run = views::run(view, id, index);
            if (run) check_paid(view, *run);
            if (!run || !honest(run->solver) || run->paid == run->first_state) continue;
            const auto first = views::checkpoint(view, id, index, run->first_state);
            const auto last = views::checkpoint(view, id, index, run->paid);
            const bool from_truth = first && run->first_state < truth.size() && first->root == truth[run->first_state];
            if (from_truth && last && run->paid < truth.size() && last->root != truth[run->paid])
                report("honest " + name(run->solver) + " was paid for another state than the true one");
        }
    }
}

/// A standing is made of fees of auditors of its owner's runs, and of stake that it lost. No run is as long as a step of
/// their decay.
void Checkers::check_standings(const ledger::StateView& view) {
    std::map<ledger::Address, ledger::U256> fees;
    for (const auto& [id, amount] : audit_fees_) {
        const auto audit = views::audit(view, id);
        const auto run = audit ? views::run(view, audit->task, audit->run) : std::nullopt;
        if (run) fees[run->solver] += amount;
    }
    for (const auto& [address, party] : parties_) {
        const market::Standing standing = views::standing(view, address);
        if (fees[address] < standing.verified)
            report("the standing of " + party.name + " is above the fees of its auditors");
        ledger::U256 lost;
        for (const auto& [task, amount] : slashed_[address]) lost += amount;
        if (lost < standing.lost) report("the standing of " + party.name + " has more losses than there were");
    }
}

void Checkers::at_end(const ledger::StateView& view, std::uint64_t height, bool done) {
    if (!done) {
        std::string stuck;
        for (const std::uint64_t id : views::active_tasks(view)) {
            const auto task = views::task(view, id);
            stuck += " " + std::to_string(id) + " (" +
                     std::string(task ? market::slug(task->state) : std::string_view("?")) + ")";
        }
        report("at height " + std::to_string(height) + " these tasks have not ended:" + stuck);
    }
    for (const auto& [address, party] : parties_) {
        ledger::U256 locked = views::stake(view, address).locked;
        if (const auto validator = views::validator(view, address)) locked -= validator->stake + validator->leaving;
        if (done && !locked.is_zero()) report("all tasks ended and stake of " + party.name + " is still locked");
    }
    count_frauds(view);
    check_outcomes(view);
    check_standings(view);
}

}  // namespace retrace::sim
