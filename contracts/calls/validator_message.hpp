// SPDX-License-Identifier: MIT
#pragma once

#include "contracts/calls/calls.hpp"

namespace retrace::contracts {

/// What the owner of validator's keys signs, and proves with its VRF, to register them for `account`: the text
/// "retrace/validator-key/1" and the account. SPEC 20.2
Bytes validator_key_message(const Address& account);
/// Input of the VRF for the beacon's share of a height: the text "retrace/beacon-share/1", then chain id and height as
/// u64. SPEC 20.8
Bytes beacon_share_message(std::uint64_t chain_id, std::uint64_t height);

}  // namespace retrace::contracts
