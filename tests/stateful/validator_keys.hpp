// SPDX-License-Identifier: MIT
// The keys of the parties' validators: they follow from the account and a number.
#pragma once

#include "contracts/calls/validator_message.hpp"
#include "ledger/crypto/ed25519.hpp"
#include "ledger/crypto/vrf.hpp"
#include "market/validator.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::stateful {

inline Hash32 validator_seed(const ledger::Address& who, std::uint8_t number, std::string_view what) {
    return merkle::sha256({view(what), who.bytes, View(&number, 1)});
}

inline ledger::VrfSecret vrf_secret(const ledger::Address& who, std::uint8_t number) {
    return *ledger::VrfSecret::from_bytes(view(validator_seed(who, number, "vrf")));
}

inline Hash32 vote_key(const ledger::Address& who, std::uint8_t number) {
    return ledger::ed25519_public_key(view(validator_seed(who, number, "vote")));
}

inline contracts::RegisterValidator registration(const ledger::Address& who, std::uint8_t number) {
    const Bytes message = contracts::validator_key_message(who);
    const ledger::VrfSecret vrf = vrf_secret(who, number);
    return {vote_key(who, number), to_bytes(ledger::ed25519_sign(view(validator_seed(who, number, "vote")), message)),
            to_bytes(vrf.key().bytes), to_bytes(vrf.prove(message))};
}

/// An open set with windows that a game passes.
inline market::ValidatorRules validator_rules() {
    market::ValidatorRules rules;
    rules.places = 3;
    rules.min_stake = ledger::U256(market::kMilli);
    rules.unbond_blocks = 80;
    rules.evidence_blocks = 30;
    rules.downtime_blocks = 12;
    rules.jail_blocks = 10;
    rules.downtime_bp = 100;
    return rules;
}

}  // namespace retrace::stateful
