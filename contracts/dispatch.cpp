// SPDX-License-Identifier: MIT
#include "contracts/dispatch.hpp"

#include "contracts/abi/typed.hpp"
#include "contracts/calls/gas.hpp"
#include "contracts/lifecycle/isolate.hpp"
#include "contracts/rules/audits/rules.hpp"
#include "contracts/rules/disputes/rules.hpp"
#include "contracts/rules/groups/rules.hpp"
#include "contracts/rules/market/rules.hpp"
#include "contracts/rules/staking/rules.hpp"
#include "contracts/rules/validators/rules.hpp"

namespace retrace::contracts {
namespace {

constexpr std::size_t kSelectorSize = 4;

std::uint64_t least_gas(View data) { return kGasCall + kGasByte * data.size(); }

template <class Record>
std::optional<std::uint64_t> task_of_record(const std::optional<Record>& record) {
    return record ? std::optional(record->task) : std::nullopt;
}

/// Returns the task of a call: the one that it names, or the owner of the record that it names.
template <class Call>
std::optional<std::uint64_t> task_of(const Call& call, const StateView& view) {
    if constexpr (requires { call.task; })
        return call.task;
    else if constexpr (requires { call.audit; })
        return task_of_record(views::audit(view, call.audit));
    else if constexpr (requires { call.dispute; })
        return task_of_record(views::dispute(view, call.dispute));
    else if constexpr (requires { call.report; })
        return task_of_record(views::report(view, call.report));
    else
        return std::nullopt;
}

/// Runs all phases of one rule. A payload that lacks one does not compile.
template <class Call>
Outcome run_rule(const ledger::Call& raw, Effects& fx) {
    const std::uint64_t least = least_gas(raw.data);
    if (raw.gas < least) return {CallStatus::out_of_gas, {}, raw.gas};  // 4.1.1
    const auto call = abi::decode_struct<Call>(raw.data.subspan(kSelectorSize));
    if (!call) return {CallStatus::bad_arguments, std::string(abi::slug(call.error())), least};  // 4.1.3
    const std::uint64_t gas = gas_of(*call, raw.data.size());
    if (raw.gas < gas) return {CallStatus::out_of_gas, {}, raw.gas};                         // 4.1.4
    if (!Call::kPayable && !raw.value.is_zero()) return {CallStatus::not_payable, {}, gas};  // 4.1.5
    CallStatus status = check(*call);
    if (status != CallStatus::ok) return {status, {}, gas};
    if (const auto task = task_of(*call, fx.state); task && is_frozen(fx.state, *task))
        return {CallStatus::task_frozen, {}, gas};  // 4.1.6
    const TxContext context{raw.sender, raw.value, fx.height, fx.params};
    status = admit(*call, context, fx.state);
    if (status != CallStatus::ok) return {status, {}, gas};
    if (ledger::balance_of(fx.state, raw.sender) < raw.value) return {CallStatus::balance_too_low, {}, gas};  // 4.2.1
    take(fx, Call::kContract, raw.sender, raw.value);
    apply(*call, context, fx);
    return {CallStatus::ok, {}, gas, std::is_same_v<Call, RevealBeacon>};
}

template <class Call>
std::uint64_t rule_gas(View data) {
    const auto call = abi::decode_struct<Call>(data.subspan(kSelectorSize));
    return call ? gas_of(*call, data.size()) : least_gas(data);
}

struct Method {
    Contract contract;
    std::uint32_t selector;
    Outcome (*run)(const ledger::Call&, Effects&);
    std::uint64_t (*gas)(View);
};

template <class... Call>
std::vector<Method> methods_of(std::type_identity<std::variant<Call...>>) {
    return {Method{Call::kContract, abi::selector(signature_of<Call>()), &run_rule<Call>, &rule_gas<Call>}...};
}

/// Returns nullptr when no method has that selector.
const Method* method_of(Contract contract, View data) {
    static const std::vector<Method> methods = methods_of(std::type_identity<AnyCall>{});
    if (data.size() < kSelectorSize) return nullptr;
    const std::uint32_t selector = std::uint32_t{data[0]} << 24 | std::uint32_t{data[1]} << 16 |
                                   std::uint32_t{data[2]} << 8 | std::uint32_t{data[3]};
    for (const Method& method : methods)
        if (method.contract == contract && method.selector == selector) return &method;
    return nullptr;
}

}  // namespace

std::uint64_t gas_needed(Contract contract, View data) {
    const Method* method = method_of(contract, data);
    return method != nullptr ? method->gas(data) : least_gas(data);
}

bool is_awaited_reveal(const ledger::Call& call, std::uint64_t height, const StateView& view) {
    const Method* method = method_of(RevealBeacon::kContract, call.data);
    if (method == nullptr || method->run != &run_rule<RevealBeacon>) return false;
    const auto reveal = abi::decode_struct<RevealBeacon>(call.data.subspan(kSelectorSize));
    if (!reveal || !call.value.is_zero() || call.gas < gas_of(*reveal, call.data.size())) return false;
    const auto params = must_load<Params>(view, keys::params());
    return admit(*reveal, {call.sender, call.value, height, params}, view) == CallStatus::ok;
}

Outcome dispatch(Contract contract, const ledger::Call& call, Effects& fx) {
    const std::uint64_t least = least_gas(call.data);
    if (call.gas < least) return {CallStatus::out_of_gas, {}, call.gas};  // 4.1.1
    const Method* method = method_of(contract, call.data);
    return method != nullptr ? method->run(call, fx) : Outcome{CallStatus::unknown_method, {}, least};  // 4.1.2
}

}  // namespace retrace::contracts
