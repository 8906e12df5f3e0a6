// SPDX-License-Identifier: MIT
// Blind commitments of solvers and verifiers: one definition for the parties that make them and the ledger that checks
// them. Integers are little endian and of fixed width, so no two argument lists hash the same input. Layouts: README.
#pragma once

#include <array>
#include <cstdint>

#include "merkle/base/bytes.hpp"

namespace retrace::solver {

using PartyId = std::array<std::uint8_t, 20>;

/// L_i, a blind commitment (contracts 13.8):
/// SHA-256("retrace/checkpoint/1" ‖ task u64 ‖ run u32 ‖ index u64 ‖ salt 32 ‖ state root 32).
/// `run` counts the assignments of the task, so that a successor's commitments are never mistaken for its
/// predecessor's.
Hash32 checkpoint_commitment(std::uint64_t task, std::uint32_t run, std::uint64_t index, const Hash32& salt,
                             const Hash32& state_root);

/// The commitment that an auditor posts before anybody reveals (contracts 14.6):
/// SHA-256("retrace/verdict/1" ‖ audit u64 ‖ auditor 20 ‖ salt 32 ‖ state root 32). The auditor's address is
/// part of the input, so another auditor that copies the commitment cannot open it.
Hash32 verdict_commitment(const Hash32& state_root, const Hash32& salt, const PartyId& auditor, std::uint64_t audit);

/// Salt of a checkpoint, derived from a secret that only its owner has, so that it can be derived again after a crash:
/// SHA-256("retrace/salt/1" ‖ secret 32 ‖ task u64 ‖ run u32 ‖ index u64).
Hash32 checkpoint_salt(const Hash32& secret, std::uint64_t task, std::uint32_t run, std::uint64_t index);
/// SHA-256("retrace/verdict-salt/1" ‖ secret 32 ‖ audit u64).
Hash32 verdict_salt(const Hash32& secret, std::uint64_t audit);
/// SHA-256("retrace/bid-salt/1" ‖ secret 32 ‖ task u64 ‖ round u32). A task that returns to bidding has a new
/// round.
Hash32 bid_salt(const Hash32& secret, std::uint64_t task, std::uint32_t round);

/// Salt of what a member states to have of a round: SHA-256("retrace/holding-salt/1" ‖ secret 32 ‖ task u64 ‖ run u32 ‖
/// round u32 ‖ bitmap). It follows from the bitmap, so two statements about one round never share it.
Hash32 holding_salt(const Hash32& secret, std::uint64_t task, std::uint32_t run, std::uint32_t round, View bitmap);

/// One step of a beacon chain (contracts 11): SHA-256("retrace/beacon/1" ‖ preimage 32). A member registers the value
/// after `length` steps and reveals backwards: each reveal r satisfies beacon_link(r) == the value revealed before it.
Hash32 beacon_link(const Hash32& preimage);
/// Returns the value `steps` links after the secret start
/// SHA-256("retrace/beacon-start/1" ‖ secret 32 ‖ chain u64). Costs `steps` hashes.
Hash32 beacon_value(const Hash32& secret, std::uint64_t chain, std::uint64_t steps);

}  // namespace retrace::solver
