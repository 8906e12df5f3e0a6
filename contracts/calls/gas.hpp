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
/// For each item that a call schedules, or that follows from it. A block handles 256 of them (effects.hpp),
/// and all the gas of a block of 4·10^8 pays for 250 (decisions/005). SPEC 9.4 lists which call pays for which.
inline constexpr std::uint64_t kGasReminder = 1'600'000;
/// Of a checkpoint: its draw, its opening, the draw of its auditors, and payments after its opening and its window.
inline constexpr std::uint64_t kCheckpointReminders = 5;

template <class Call>
std::uint64_t extra_gas(const Call&) {
    return 0;
}
inline std::uint64_t extra_gas(const RegisterSolver&) { return 4 * kGasReminder; }       // A benchmark run's phases.
inline std::uint64_t extra_gas(const PostTask&) { return kGasPost + 2 * kGasReminder; }  // Its auction, its delivery.
inline std::uint64_t extra_gas(const RaiseReplicas&) { return kGasReminder; }            // Its auction.
/// They do at once what an item would do otherwise, however much has to be closed: the end of an auction, of a
/// delivery.
inline std::uint64_t extra_gas(const CancelTask&) { return kGasReminder; }
inline std::uint64_t extra_gas(const AcceptModel&) { return kGasReminder; }
inline std::uint64_t extra_gas(const DecideUnaudited&) { return 2 * kGasReminder; }      // What goes on, or ends.
inline std::uint64_t extra_gas(const RevealBid&) { return kGasReminder; }                // The winner's acceptance.
inline std::uint64_t extra_gas(const DeclineTask&) { return 2 * kGasReminder; }          // As the run's end:
/// Its checkpoints' deadline, and at its end the next auction, or what others waited for and their payments.
inline std::uint64_t extra_gas(const AcceptData&) { return 3 * kGasReminder; }
inline std::uint64_t extra_gas(const CommitCheckpoint&) { return kCheckpointReminders * kGasReminder; }
inline std::uint64_t extra_gas(const OpenRoots& call) { return kGasOpening * call.roots.size(); }
/// Its deadline, and that of what waits for the answer.
inline std::uint64_t extra_gas(const ReportUnavailable&) { return 2 * kGasReminder; }
/// Its clock, and the payment that waited for it.
inline std::uint64_t extra_gas(const ChallengeSegment&) { return kGasDispute + 2 * kGasReminder; }
inline std::uint64_t extra_gas(const ChallengeInitial&) { return kGasDispute + 2 * kGasReminder; }
inline std::uint64_t extra_gas(const RevealVerdict&) { return kGasDispute; }
inline std::uint64_t extra_gas(const ProveCapability&) { return kGasCapability; }
inline std::uint64_t extra_gas(const PlayMove&) { return kGasMove; }

template <class Call>
std::uint64_t gas_of(const Call& call, std::size_t calldata_bytes) {
    return kGasCall + kGasByte * calldata_bytes + extra_gas(call);
}

}  // namespace retrace::contracts
