// SPDX-License-Identifier: MIT
// SPEC 10.5. A party joins the verifiers and the beacon or waits for a place, replaces its endpoint and hash
// chain, or leaves.
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/rules/staking/rules.hpp"

namespace retrace::contracts {
namespace {

bool is_beacon_full(const StateView& view) { return views::verifiers(view).size() >= market::kVerifiersMax; }

}  // namespace

CallStatus check(const RegisterVerifier& call) {
    if (call.endpoint.empty() || call.endpoint.size() > market::kEndpointMax)
        return CallStatus::endpoint_too_long;                     // 10.5.1
    if (call.head.is_zero()) return CallStatus::commitment_zero;  // 10.5.2
    return CallStatus::ok;
}

CallStatus admit(const RegisterVerifier&, const TxContext& context, const StateView& view) {
    const market::Stake stake = views::stake(view, context.sender);
    if (stake.bonded < context.params.min_verifier_stake) return CallStatus::stake_too_low;  // 10.5.3
    const auto info = views::verifier(view, context.sender);
    const bool member = info && info->member;
    if (!member && stake.available() < context.params.beacon_penalty) return CallStatus::stake_too_low;  // 10.5.9
    if (!member && is_beacon_full(view) && !views::is_candidate(view, context.sender) &&
        !has_candidate_place(view, stake.bonded))
        return CallStatus::verifiers_full;  // 10.5.4
    // 10.5.5: a new chain must not let a member out of the reveal that it owes in this epoch.
    const std::uint64_t epoch = views::epoch_of(context.params, context.height);
    if (member && info->joined_epoch < epoch && info->revealed_epoch != epoch) return CallStatus::reveal_due;
    return CallStatus::ok;
}

void apply(const RegisterVerifier& call, const TxContext& context, Effects& fx) {
    market::VerifierInfo info = views::verifier(fx.state, context.sender).value_or(market::VerifierInfo{});
    info.endpoint = call.endpoint;
    // A member's new chain is used from the next epoch on: a reveal of this epoch must stay in the mix, so its head is
    // kept until the epoch is mixed.
    const bool reveals = info.member && info.joined_epoch < views::epoch_of(fx.params, fx.height);
    info.pending_head = reveals ? call.head : Hash32{};
    if (!reveals) info.head = call.head;
    info.retiring = false;  // 10.5.8
    store(fx.state, keys::verifier(context.sender), info);
    if (info.member) return fx.emit(VerifierRegistered{context.sender, call.endpoint, info.joined_epoch});
    if (is_beacon_full(fx.state)) return add_candidate(fx, context.sender);  // 11.8
    remove_from_list(fx.state, keys::candidates(), context.sender);
    add_member(fx, context.sender);
}

CallStatus check(const RetireVerifier&) { return CallStatus::ok; }

CallStatus admit(const RetireVerifier&, const TxContext& context, const StateView& view) {
    if (views::is_candidate(view, context.sender)) return CallStatus::ok;
    const auto info = views::verifier(view, context.sender);
    if (!info || !info->member) return CallStatus::not_member;  // 10.5.6
    // 10.5.7: leaving after others have revealed would be a free choice between two beacons.
    const std::uint64_t epoch = views::epoch_of(context.params, context.height);
    if (info->joined_epoch < epoch) return info->revealed_epoch == epoch ? CallStatus::ok : CallStatus::reveal_due;
    return CallStatus::ok;
}

void apply(const RetireVerifier&, const TxContext& context, Effects& fx) {
    if (views::is_candidate(fx.state, context.sender)) return drop_candidate(fx, context.sender);
    auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(context.sender));
    const bool revealed =
        info.revealed_epoch == views::epoch_of(fx.params, fx.height) && info.joined_epoch < info.revealed_epoch;
    if (!revealed) return drop_member(fx, context.sender, false);
    info.retiring = true;  // its reveal still counts; it leaves when the epoch is mixed
    store(fx.state, keys::verifier(context.sender), info);
}

}  // namespace retrace::contracts
