// SPDX-License-Identifier: MIT
// What a call costs, from its bytes alone: an estimate is exact, whatever happens in between. SPEC 4.4.
#pragma once

#include "contracts/calls/calls.hpp"

namespace retrace::contracts {

inline constexpr std::uint64_t kGasCall = 30'000;       ///< Every call.
inline constexpr std::uint64_t kGasByte = 8;            ///< Of calldata: decoding and hashing.
inline constexpr std::uint64_t kGasOpening = 20'000;    ///< For each state that openRoots opens.
inline constexpr std::uint64_t kGasPost = 100'000;      ///< A new task's records.
inline constexpr std::uint64_t kGasDispute = 150'000;   ///< Opening a dispute.
inline constexpr std::uint64_t kGasMove = 120'000;      ///< A move: proofs, at most one referee's element.
inline constexpr std::uint64_t kGasCapability = 120'000;   ///< Proofs, and as many elements as are drawn.
/// For each reminder that a call puts on the agenda. A block handles 256 of them (effects.hpp), and all the gas of a
/// block of 4·10^8 pays for 200 (decisions/005).
inline constexpr std::uint64_t kGasReminder = 2'000'000;

template <class Call>
std::uint64_t extra_gas(const Call&) {
    return 0;
}
inline std::uint64_t extra_gas(const PostTask&) { return kGasPost + kGasReminder; }      // Its auction's end.
inline std::uint64_t extra_gas(const RaiseReplicas&) { return kGasReminder; }
inline std::uint64_t extra_gas(const AcceptData&) { return kGasReminder; }               // Its checkpoints' deadline.
/// The draw, and the deadline by which the state has to be open.
inline std::uint64_t extra_gas(const CommitCheckpoint&) { return 2 * kGasReminder; }
inline std::uint64_t extra_gas(const OpenRoots& call) { return kGasOpening * call.roots.size(); }
inline std::uint64_t extra_gas(const ChallengeSegment&) { return kGasDispute; }
inline std::uint64_t extra_gas(const ChallengeInitial&) { return kGasDispute; }
inline std::uint64_t extra_gas(const RevealVerdict&) { return kGasDispute; }
inline std::uint64_t extra_gas(const ProveCapability&) { return kGasCapability; }
inline std::uint64_t extra_gas(const PlayMove&) { return kGasMove; }

template <class Call>
std::uint64_t gas_of(const Call& call, std::size_t calldata_bytes) {
    return kGasCall + kGasByte * calldata_bytes + extra_gas(call);
}

}  // namespace retrace::contracts
