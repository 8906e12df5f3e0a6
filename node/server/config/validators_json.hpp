// SPDX-License-Identifier: MIT
// The validators in a genesis file: the sections "validators" and "validatorRules".
#pragma once

#include <boost/json/value.hpp>

#include "ledger/chain/genesis.hpp"

namespace retrace::node {

/// Reads a list of {"key", "vrfKey", "account", "power"} into the genesis, in the order of the keys.
Status<> parse_validators(const boost::json::value& list, ledger::Genesis& genesis);
/// Reads fields of market::ValidatorRules by name, as the section "contracts" is read. nullptr: the defaults.
Result<Bytes> parse_validator_rules(const boost::json::value* rules);

/// An open set whose founders have little power belongs to the first stranger with some coins, and one whose stake
/// unbonds within an epoch is not punished. Both are Errors. The genesis has its contracts and its rules.
Status<> check_founders(const ledger::Genesis& genesis);

}  // namespace retrace::node
