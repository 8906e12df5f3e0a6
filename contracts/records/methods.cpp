// SPDX-License-Identifier: MIT
#include "contracts/records/methods.hpp"

#include "contracts/abi/typed.hpp"
#include "contracts/calls/encode.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/region_views.hpp"
#include "contracts/records/rollback_views.hpp"

namespace retrace::contracts {
namespace {

using ledger::StateView;

std::optional<market::Stake> read(const ReadStake& call, const StateView& view) {
    return views::stake(view, call.party);
}
auto read(const ReadSolver& call, const StateView& view) { return views::solver(view, call.party); }
std::optional<market::Standing> read(const ReadStanding& call, const StateView& view) {
    return views::standing(view, call.party);
}
auto read(const ReadVerifier& call, const StateView& view) { return views::verifier(view, call.party); }
std::optional<market::Challenge> read(const ReadChallenge& call, const StateView& view) {
    const auto info = views::solver(view, call.solver);
    return info ? views::challenge(view, info->challenge) : std::nullopt;
}
auto read(const ReadBeacon&, const StateView& view) { return views::beacon(view); }
auto read(const ReadParams&, const StateView& view) { return views::params(view); }
std::optional<TaskIds> read(const ReadTaskIds&, const StateView& view) {
    return TaskIds{views::task_count(view), views::active_tasks(view)};
}
std::optional<Places> read(const ReadPlaces&, const StateView& view) {
    const auto params = views::params(view);
    if (!params) return std::nullopt;
    const std::uint64_t taken = views::open_tasks(view);
    const bool free = taken < market::kOpenTasksMax;
    return Places{taken, market::kOpenTasksMax, free ? market::task_rent(*params, taken) : U256()};
}
std::optional<market::Place> read(const ReadPlace& call, const StateView& view) {
    if (!views::task(view, call.task)) return std::nullopt;
    return views::place(view, call.task).value_or(market::Place{});
}
std::optional<market::NextAuction> read(const ReadNextAuction& call, const StateView& view) {
    if (!views::task(view, call.task)) return std::nullopt;
    return views::next_auction(view, call.task).value_or(market::NextAuction{});
}
auto read(const ReadReservation& call, const StateView& view) { return views::reservation(view, call.reservation); }
auto read(const ReadReservedSpec& call, const StateView& view) { return views::reserved_spec(view, call.reservation); }
auto read(const ReadSpec& call, const StateView& view) { return views::spec(view, call.task); }
auto read(const ReadTask& call, const StateView& view) { return views::task(view, call.task); }
auto read(const ReadBid& call, const StateView& view) { return views::bid(view, call.task, call.bidder); }
auto read(const ReadRun& call, const StateView& view) { return views::run(view, call.task, call.run); }
auto read(const ReadCheckpoint& call, const StateView& view) {
    return views::checkpoint(view, call.task, call.run, call.index);
}
auto read(const ReadSegment& call, const StateView& view) {
    return views::segment(view, call.task, call.run, call.index);
}
auto read(const ReadAudit& call, const StateView& view) { return views::audit(view, call.audit); }
auto read(const ReadReport& call, const StateView& view) { return views::report(view, call.report); }
auto read(const ReadRetention& call, const StateView& view) { return views::retention(view, call.retention); }
auto read(const ReadDispute& call, const StateView& view) { return views::dispute(view, call.dispute); }
auto read(const ReadValidator& call, const StateView& view) { return views::validator(view, call.account); }
std::optional<ValidatorSet> read(const ReadValidatorSet&, const StateView& view) {
    return ValidatorSet{views::validator_set(view)};
}
std::optional<Upgrade> read(const ReadUpgrade&, const StateView& view) { return views::upgrade(view); }
auto read(const ReadValidatorRules&, const StateView& view) { return views::validator_rules(view); }

auto read(const ReadGroupSpec& call, const StateView& view) { return views::group_spec(view, call.task); }
auto read(const ReadGroup& call, const StateView& view) { return views::group(view, call.task); }
auto read(const ReadRound& call, const StateView& view) { return views::round(view, call.task, call.round); }
auto read(const ReadRoundMessage& call, const StateView& view) {
    return views::round_message(view, call.task, call.round, call.run);
}
auto read(const ReadHolding& call, const StateView& view) {
    return views::holding(view, call.task, call.round, call.run);
}
auto read(const ReadRoundMasks& call, const StateView& view) { return views::round_masks(view, call.task, call.round); }
auto read(const ReadMemberMasks& call, const StateView& view) {
    return views::member_masks(view, call.task, call.round, call.run);
}
std::optional<AdmittedAccounts> read(const ReadAdmitted& call, const StateView& view) {
    if (!views::group(view, call.task)) return std::nullopt;
    return AdmittedAccounts{views::admitted(view, call.task)};
}
std::optional<market::Consent> read(const ReadConsent& call, const StateView& view) {
    if (!views::member(view, call.task, call.run)) return std::nullopt;
    return views::consent(view, call.task, call.run);
}
auto read(const ReadMember& call, const StateView& view) { return views::member(view, call.task, call.run); }
auto read(const ReadMemberSegment& call, const StateView& view) {
    return views::member_segment(view, call.task, call.run, call.index);
}
std::optional<market::Rollbacks> read(const ReadRollbacks& call, const StateView& view) {
    if (!views::group(view, call.task)) return std::nullopt;
    return views::rollbacks(view, call.task);
}
std::optional<market::Division> read(const ReadDivision& call, const StateView& view) {
    if (views::regions_of(view, call.task) == 0) return std::nullopt;
    return views::division(view, call.task);
}
std::optional<market::MemberAttempts> read(const ReadMemberAttempts& call, const StateView& view) {
    if (!views::member(view, call.task, call.run)) return std::nullopt;
    return views::member_attempts(view, call.task, call.run);
}

template <class Read>
CallStatus unknown_of_group() {
    if constexpr (
        requires(Read r) { r.task; } && !requires(Read r) { r.run; } && !requires(Read r) { r.round; })
        return CallStatus::not_group;
    if constexpr (std::same_as<Read, ReadMember> || std::same_as<Read, ReadConsent> ||
                  std::same_as<Read, ReadMemberAttempts>)
        return CallStatus::unknown_run;
    if constexpr (std::same_as<Read, ReadMemberSegment>) return CallStatus::not_committed;
    return CallStatus::unknown_round;
}

template <class Read>
CallStatus unknown() {
    if constexpr (Read::kContract == Contract::groups)
        return unknown_of_group<Read>();
    else if constexpr (std::same_as<Read, ReadChallenge>)
        return CallStatus::unknown_challenge;
    else if constexpr (Read::kContract == Contract::staking || Read::kContract == Contract::validators)
        return CallStatus::not_registered;
    else if constexpr (std::same_as<Read, ReadBid>)
        return CallStatus::not_bid;
    else if constexpr (std::same_as<Read, ReadRun>)
        return CallStatus::unknown_run;
    else if constexpr (requires(Read r) { r.reservation; })
        return CallStatus::unknown_reservation;
    else if constexpr (Read::kContract == Contract::market)
        return requires(Read r) { r.index; }
    ? CallStatus::not_committed : CallStatus::unknown_task;
    else if constexpr (std::same_as<Read, ReadAudit>) return CallStatus::unknown_audit;
    else if constexpr (std::same_as<Read, ReadReport>) return CallStatus::unknown_report;
    else if constexpr (std::same_as<Read, ReadRetention>) return CallStatus::nothing_to_report;
    else return CallStatus::unknown_dispute;
}

template <class Read>
ViewAnswer answer(View arguments, const StateView& view) {
    const auto call = abi::decode_struct<Read>(arguments);
    if (!call) return {CallStatus::bad_arguments, {}};
    const auto record = read(*call, view);
    if (!record) return {unknown<Read>(), {}};
    // There is one return value, a tuple, which is the only member of the list of return values.
    abi::Type returns;
    returns.kind = abi::Type::Kind::tuple;
    returns.parts.push_back(abi::type_of<typename Read::Answer>());
    return {CallStatus::ok, abi::encode(returns, {abi::List{abi::to_value(*record)}})};
}

struct ReadMethod {
    Contract contract;
    std::uint32_t selector;
    ViewAnswer (*run)(View, const StateView&);
};
template <class... Read>
std::vector<ReadMethod> read_methods_of(std::type_identity<std::variant<Read...>>) {
    return {ReadMethod{Read::kContract, abi::selector(signature_of<Read>()), &answer<Read>}...};
}

const ReadMethod* find_method(Contract contract, View data) {
    static const std::vector<ReadMethod> methods = read_methods_of(std::type_identity<AnyRead>{});
    if (data.size() < 4) return nullptr;
    const std::uint32_t selector = std::uint32_t{data[0]} << 24 | std::uint32_t{data[1]} << 16 |
                                   std::uint32_t{data[2]} << 8 | std::uint32_t{data[3]};
    for (const ReadMethod& method : methods)
        if (method.contract == contract && method.selector == selector) return &method;
    return nullptr;
}

}  // namespace

bool is_view(Contract contract, View data) { return find_method(contract, data) != nullptr; }

std::optional<ViewAnswer> answer_view(Contract contract, View data, const StateView& view) {
    const ReadMethod* method = find_method(contract, data);
    if (method == nullptr) return std::nullopt;
    return method->run(data.subspan(4), view);
}

}  // namespace retrace::contracts
