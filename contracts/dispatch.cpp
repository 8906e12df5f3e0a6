// SPDX-License-Identifier: MIT
#include "contracts/dispatch.hpp"

#include "contracts/abi/typed.hpp"
#include "contracts/audits/rules.hpp"
#include "contracts/disputes/rules.hpp"
#include "contracts/gas.hpp"
#include "contracts/market/rules.hpp"
#include "contracts/staking/rules.hpp"

namespace retrace::contracts {
namespace {

constexpr std::size_t kSelectorSize = 4;

/// All phases of one rule. A payload that lacks one does not compile.
template <class Call>
Outcome run_rule(const ledger::Call& raw, Effects& fx) {
    const std::uint64_t least = kGasCall + kGasByte * raw.data.size();
    if (raw.gas < least) return {Verdict::out_of_gas, {}, raw.gas};                                       // 4.1.1
    const auto call = abi::decode_struct<Call>(raw.data.subspan(kSelectorSize));
    if (!call) return {Verdict::bad_arguments, std::string(abi::slug(call.error())), least};              // 4.1.3
    const std::uint64_t gas = gas_of(*call, raw.data.size());
    if (raw.gas < gas) return {Verdict::out_of_gas, {}, raw.gas};                                         // 4.1.4
    if (!Call::kPayable && !raw.value.is_zero()) return {Verdict::not_payable, {}, gas};                  // 4.1.5
    Verdict verdict = check(*call);
    if (verdict != Verdict::ok) return {verdict, {}, gas};
    const TxContext context{raw.sender, raw.value, fx.height, fx.params};
    verdict = admit(*call, context, fx.state);
    if (verdict != Verdict::ok) return {verdict, {}, gas};
    if (ledger::balance_of(fx.state, raw.sender) < raw.value) return {Verdict::balance_too_low, {}, gas}; // 4.2.1
    take(fx, Call::kContract, raw.sender, raw.value);
    apply(*call, context, fx);
    return {Verdict::ok, {}, gas};
}

struct Method {
    Contract contract;
    std::uint32_t selector;
    Outcome (*run)(const ledger::Call&, Effects&);
};

template <class... Call>
std::vector<Method> methods_of(std::type_identity<std::variant<Call...>>) {
    return {Method{Call::kContract, abi::selector(signature_of<Call>()), &run_rule<Call>}...};
}

}  // namespace

Outcome dispatch(Contract contract, const ledger::Call& call, Effects& fx) {
    static const std::vector<Method> methods = methods_of(std::type_identity<AnyCall>{});
    const std::uint64_t least = kGasCall + kGasByte * call.data.size();
    if (call.gas < least) return {Verdict::out_of_gas, {}, call.gas};                                     // 4.1.1
    if (call.data.size() < kSelectorSize) return {Verdict::unknown_method, {}, least};                    // 4.1.2
    const std::uint32_t selector = std::uint32_t{call.data[0]} << 24 | std::uint32_t{call.data[1]} << 16 |
                                   std::uint32_t{call.data[2]} << 8 | std::uint32_t{call.data[3]};
    for (const Method& method : methods)
        if (method.contract == contract && method.selector == selector) return method.run(call, fx);
    return {Verdict::unknown_method, {}, least};                                                          // 4.1.2
}

}  // namespace retrace::contracts
