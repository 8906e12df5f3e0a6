// SPDX-License-Identifier: MIT
// SPEC 20.2. An account names the keys with which its validator votes, and proves that it has them.
#include "contracts/calls/validator_message.hpp"
#include "contracts/lifecycle/staking/validators.hpp"
#include "contracts/rules/validators/rules.hpp"
#include "ledger/crypto/ed25519.hpp"

namespace retrace::contracts {

CallStatus check(const RegisterValidator& call) {
    if (call.vrf_key.size() != ledger::VrfKey{}.bytes.size() || call.vrf_proof.size() != ledger::VrfProof{}.size() ||
        call.signature.size() != 64)
        return CallStatus::bad_validator_key;  // 20.2.1
    return CallStatus::ok;
}

CallStatus admit(const RegisterValidator& call, const TxContext& context, const StateView& view) {
    const auto rules = views::validator_rules(view);
    const auto info = views::validator(view, context.sender);
    if (!rules || (!rules->is_open() && !info)) return CallStatus::set_closed;                           // 20.2.2
    if (info && info->double_signed) return CallStatus::double_signed;                                   // 20.2.3
    if (views::registered_key(view, ledger::consensus_address(call.key))) return CallStatus::key_taken;  // 20.2.4
    const Bytes message = validator_key_message(context.sender);
    ledger::VrfKey vrf_key;
    std::ranges::copy(call.vrf_key, vrf_key.bytes.begin());
    if (!ledger::ed25519_verify(call.key, message, call.signature) ||
        !ledger::vrf_verify(vrf_key, message, call.vrf_proof))
        return CallStatus::wrong_key_proof;  // 20.2.5
    return CallStatus::ok;
}

void apply(const RegisterValidator& call, const TxContext& context, Effects& fx) {
    register_keys(fx, context.sender, {context.sender, call.key, call.vrf_key});
}

}  // namespace retrace::contracts
