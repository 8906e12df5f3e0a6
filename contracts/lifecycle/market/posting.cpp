// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/market/posting.hpp"

#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/records/auctions.hpp"
#include "contracts/records/places.hpp"
#include "market/escrow.hpp"
#include "market/odds.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

constexpr std::uint64_t kDurationMax = 1'000'000'000;

/// The ceilings of the terms, and the number of auctions.
CallStatus check_auctions(const market::TaskSpec& spec) {
    if (spec.price_ceiling.is_zero()) return CallStatus::price_zero;              // 12.1.8
    if (!below_2_128(spec.highest_ceiling())) return CallStatus::price_too_high;  // 12.1.9
    const bool ends_lower = spec.last_ceiling < spec.price_ceiling;
    if (ends_lower && !spec.last_ceiling.is_zero()) return CallStatus::price_under_ceiling;  // 12.12.1
    if (spec.auctions == 0 || spec.auctions > market::kAuctionsMax)
        return CallStatus::auctions_out_of_range;  // 12.12.2
    const bool rises = spec.last_ceiling > spec.price_ceiling;
    if (rises && spec.auctions == 1) return CallStatus::auctions_out_of_range;       // 12.12.3
    if (spec.pause_blocks > kDurationMax) return CallStatus::duration_out_of_range;  // 12.12.7
    return CallStatus::ok;
}

}  // namespace

bool below_2_128(const U256& amount) { return amount.limbs()[2] == 0 && amount.limbs()[3] == 0; }

CallStatus check_terms(const market::TaskSpec& spec, std::uint8_t most_runs) {
    if (spec.name.size() > market::kNameMax) return CallStatus::name_too_long;                       // 12.1.1
    if (spec.program_root.is_zero() || spec.program_bytes == 0) return CallStatus::program_missing;  // 12.1.2
    if (spec.init_root.is_zero() == spec.initial_state_root.is_zero())
        return CallStatus::initial_state_unclear;                                                    // 12.1.3
    if (spec.data_roots.size() > market::kDataRootsMax) return CallStatus::too_many_data_roots;      // 12.1.4
    if (spec.steps == 0 || spec.steps > market::kStepsMax) return CallStatus::steps_out_of_range;    // 12.1.5
    if (spec.interval == 0 || spec.interval > spec.steps) return CallStatus::interval_out_of_range;  // 12.1.6
    if (spec.segments() > market::kSegmentsMax) return CallStatus::too_many_segments;                // 12.1.7
    const CallStatus auctions = check_auctions(spec);
    if (auctions != CallStatus::ok) return auctions;
    if (spec.audit_bp == 0 || spec.audit_bp > market::kBasisPoints)
        return CallStatus::audit_share_out_of_range;  // 12.1.10
    if (spec.auditors == 0 || spec.auditors > market::kAuditorsMax)
        return CallStatus::auditors_out_of_range;                                                   // 12.1.11
    if (spec.replicas == 0 || spec.replicas > most_runs) return CallStatus::replicas_out_of_range;  // 12.1.12
    if (spec.spot && spec.replicas != 1) return CallStatus::replicas_out_of_range;                  // 12.1.20
    if (spec.checkpoint_blocks > kDurationMax || spec.replay_blocks > kDurationMax || spec.finish_blocks == 0 ||
        spec.finish_blocks > kDurationMax)
        return CallStatus::duration_out_of_range;  // 12.1.13
    return CallStatus::ok;
}

CallStatus admit_chain_terms(const market::TaskSpec& spec, const Params& params) {
    if (spec.contract_hash != params.contract_hash) return CallStatus::wrong_contract;  // 12.1.14
    // 12.1.15: stake that secures a run must not unbond before the longest dispute about it can end.
    if (2 * (market::longest_dispute_work(spec) + params.moves * params.move_blocks) >= params.unbond_blocks)
        return CallStatus::replay_too_long;
    market::TaskSpec last = spec;
    last.price_ceiling = spec.highest_ceiling();
    if (!market::stake_floor(params, last)) return CallStatus::no_stake_suffices;  // 12.1.16
    if (spec.auctions > params.rounds) return CallStatus::auctions_out_of_range;   // 12.12.4
    return CallStatus::ok;
}

CallStatus admit_terms(const market::TaskSpec& spec, const market::GroupSpec* group, const TxContext& context,
                       const StateView& view) {
    const Params& params = context.params;
    const CallStatus chain = admit_chain_terms(spec, params);
    if (chain != CallStatus::ok) return chain;
    const auto escrow = market::escrow_of(spec, params);
    if (!escrow || context.value < escrow->total()) return CallStatus::wrong_value;  // 12.1.17
    const auto deposit = views::rent_deposit(view, params, spec, group);
    if (!deposit) return CallStatus::too_many_tasks;                                 // 12.1.18
    if (context.value - escrow->total() < *deposit) return CallStatus::wrong_value;  // 12.1.19
    return CallStatus::ok;
}

namespace {

/// 12.8: what the task brought beyond its escrow pays the rent of its place; without a rent it returns at once.
void take_place(Effects& fx, const market::Task& task, const U256& deposit) {
    const U256 rent = market::task_rent(fx.params, views::open_tasks(fx.state));
    if (!rent.is_zero()) return store(fx.state, keys::place(task.id), market::Place{rent, deposit});
    pay(fx, Contract::market, task.requester, deposit);
    if (!deposit.is_zero()) fx.emit(EscrowReturned{task.id, task.requester, deposit});
}

}  // namespace

void lengthen_place(Effects& fx, const market::Task& task, const U256& amount) {
    if (amount.is_zero()) return;
    if (auto place = views::place(fx.state, task.id)) {
        place->deposit += amount;
        return store(fx.state, keys::place(task.id), *place);
    }
    pay(fx, Contract::market, task.requester, amount);
    fx.emit(EscrowReturned{task.id, task.requester, amount});
}

market::Task new_task(Effects& fx, const Address& requester, const market::TaskSpec& spec, const U256& value) {
    const auto escrow = market::escrow_of(spec, fx.params);
    ensure(escrow.has_value(), "admit has seen that the escrow is a number");
    market::Task task;
    task.id = next_id(fx.state, keys::task_count());
    task.requester = requester;
    task.state = market::TaskState::posted;
    task.posted_height = fx.height;
    task.escrow = escrow->work;
    task.audit_budget = escrow->audits;
    store(fx.state, keys::spec(task.id), spec);
    store(fx.state, keys::task(task.id), task);
    if (spec.auctions > 1)
        store(fx.state, keys::auctions(task.id),
              market::Auctions{spec.price_ceiling, {}, 0, std::uint32_t{spec.auctions} - 1});
    take_place(fx, task, value - escrow->total());
    add_open_task(fx.state, task.id);
    return task;
}

std::uint64_t post_task(Effects& fx, const Address& requester, const market::TaskSpec& spec, const U256& value) {
    market::Task task = new_task(fx, requester, spec, value);
    open_auction(fx, task);
    fx.emit(TaskPosted{task.id, task.requester, spec.name, spec.segments(), spec.price_ceiling, task.bid_end,
                       task.reveal_end});
    return task.id;
}

}  // namespace retrace::contracts
