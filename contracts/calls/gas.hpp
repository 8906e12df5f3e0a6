// SPDX-License-Identifier: MIT
// The gas of a call, computed from its bytes alone, so an estimate is exact whatever the state is at execution. SPEC
// 4.4.
#pragma once

#include <algorithm>

#include "contracts/calls/calls.hpp"
#include "verifier/game/game.hpp"

namespace retrace::contracts {

inline constexpr std::uint64_t kGasCall = 30'000;  ///< Every call.
inline constexpr std::uint64_t kGasByte = 8;       ///< Per byte of calldata: decoding and hashing.
/// Per state that is opened: it may end audits and windows, open disputes with other replicas, and let them open theirs.
inline constexpr std::uint64_t kGasOpening = 160'000;
/// Added where a run may be paid: up to 64 segments, the return of its offers to keepers, the end of a replica auction.
inline constexpr std::uint64_t kGasPayments = 350'000;
inline constexpr std::uint64_t kGasAnswer = 80'000;       ///< Restarts the deadlines that waited for the answer.
inline constexpr std::uint64_t kGasPost = 100'000;        ///< A new task's records.
inline constexpr std::uint64_t kGasDispute = 150'000;     ///< Opening a dispute.
inline constexpr std::uint64_t kGasMove = 120'000;        ///< A move: proofs, at most one referee's element.
inline constexpr std::uint64_t kGasCapability = 120'000;  ///< Proofs and the drawn elements.
/// Per item that a call schedules, directly or as a consequence. A block handles 256 of them (effects.hpp), and the gas
/// limit of a block, 4·10^8, pays for 250 (decisions/005). SPEC 9.4 lists which call pays for which items.
inline constexpr std::uint64_t kGasScheduledItem = 1'600'000;
/// Items of a checkpoint: its draw, its opening, the draw of its auditors, and payments after its opening and its
/// window.
inline constexpr std::uint64_t kCheckpointItems = 5;

inline constexpr std::uint64_t kGasKeyProofs = 60'000;   ///< A signature and a VRF proof.
inline constexpr std::uint64_t kGasMaskShare = 200'000;  ///< A look at one dealt share.
inline constexpr std::uint64_t kGasMaskProof = 80'000;   ///< That a member knows the secrets of its four mask keys.
inline constexpr std::uint64_t kGasNamed = 20'000;       ///< An account in a list that a call writes.
/// The records of up to 200 candidates are read to find a place.
inline constexpr std::uint64_t kGasPlace = 400'000;

template <class Call>
std::uint64_t extra_gas(const Call&) {
    return 0;
}
inline std::uint64_t extra_gas(const RegisterSolver&) { return 4 * kGasScheduledItem; }  // A benchmark run's phases.
/// The ends of the auctions that may follow the first one; terms with more than a task may have are refused.
inline std::uint64_t following_auctions_gas(const TaskSpec& spec) {
    const std::uint64_t auctions = std::min(spec.auctions, market::kAuctionsMax);
    return auctions == 0 ? 0 : (auctions - 1) * kGasScheduledItem;
}
/// Its auctions, its delivery.
inline std::uint64_t extra_gas(const PostTask& call) {
    return kGasPost + 2 * kGasScheduledItem + following_auctions_gas(call.spec);
}
/// Also for the task's later auctions, whose number the call that begins it does not show.
inline std::uint64_t extra_gas(const Reserve& call) { return kGasPost + following_auctions_gas(call.spec); }
inline std::uint64_t extra_gas(const AcceptReservation&) { return kGasScheduledItem; }  // Its end without a task.
/// As PostTask of one auction, with the acceptance, and the auction that follows if the solver breaks its word.
inline std::uint64_t extra_gas(const BeginReserved&) { return kGasPost + 4 * kGasScheduledItem; }
inline std::uint64_t extra_gas(const RaiseReplicas&) { return kGasScheduledItem; }  // Its auction.
/// These two do immediately the work of scheduled items, however many records it closes: the end of an auction, and of
/// a delivery with the seats that it pays.
inline std::uint64_t extra_gas(const CancelTask&) { return kGasScheduledItem; }
inline std::uint64_t extra_gas(const AcceptModel&) { return 2 * kGasScheduledItem; }
/// The end of each auction; a call with more than a task may have is refused.
inline std::uint64_t extra_gas(const TopUpTask& call) {
    return kGasScheduledItem * std::min<std::uint32_t>(call.auctions, market::kAuctionsMax);
}
inline std::uint64_t extra_gas(const DecideUnaudited&) { return 2 * kGasScheduledItem; }  // Continuation or end.
inline std::uint64_t extra_gas(const RevealBid&) { return kGasScheduledItem; }            // The winner's acceptance.
inline std::uint64_t extra_gas(const DeclineTask&) { return 2 * kGasScheduledItem; }      // End of the run.
/// The deadline of its checkpoints, and at its end the next auction, or the openings and payments of other runs that
/// waited for it.
inline std::uint64_t extra_gas(const AcceptData&) { return 3 * kGasScheduledItem; }
inline std::uint64_t extra_gas(const CommitCheckpoint&) { return kCheckpointItems * kGasScheduledItem; }
inline std::uint64_t extra_gas(const GiveBack&) { return kCheckpointItems * kGasScheduledItem; }
inline std::uint64_t extra_gas(const OpenRoots& call) {
    return kGasOpening * std::min(call.roots.size(), kOpeningsMax);  // A call with more is refused.
}
inline std::uint64_t extra_gas(const OpenSegment&) { return kGasOpening; }
inline std::uint64_t extra_gas(const RevealSegment&) { return kGasOpening; }
/// After an audit's last commitment its end, and those of its replicas, may be opened.
inline std::uint64_t extra_gas(const CommitVerdict&) { return kGasOpening; }
inline std::uint64_t extra_gas(const AttestRetention&) { return kGasPayments; }
inline std::uint64_t extra_gas(const AnswerUnavailable&) { return kGasAnswer; }
/// The deadline of the report, that of the audit, dispute or run that waits for the answer, and the earlier one that
/// the answer leaves it.
inline std::uint64_t extra_gas(const ReportUnavailable&) { return 3 * kGasScheduledItem; }
/// The clock of the dispute, and the payment that waited for it.
inline std::uint64_t extra_gas(const ChallengeSegment&) { return kGasDispute + 2 * kGasScheduledItem; }
inline std::uint64_t extra_gas(const ChallengeInitial&) { return kGasDispute + 2 * kGasScheduledItem; }
inline std::uint64_t extra_gas(const RevealVerdict&) { return kGasDispute + kGasPayments; }
inline std::uint64_t extra_gas(const ProveCapability&) { return kGasCapability; }
inline std::uint64_t extra_gas(const RegisterValidator&) { return kGasKeyProofs; }
inline std::uint64_t extra_gas(const BondValidator&) { return kGasPlace; }
inline std::uint64_t extra_gas(const UnbondValidator&) { return kGasPlace; }
inline std::uint64_t extra_gas(const ReleaseValidator&) { return kGasPlace; }
inline std::uint64_t extra_gas(const UnjailValidator&) { return kGasPlace; }
inline std::uint64_t extra_gas(const VoteUpgrade&) { return kGasKeyProofs; }  // Its record holds up to 100 votes.
/// A move that decides a dispute may end a run, and with it all that waits for the run, as a scheduled item does.
inline std::uint64_t extra_gas(const PlayMove& call) {
    const bool may_decide = !call.move.empty() && call.move.front() < verifier::kMayDecide.size() &&
                            verifier::kMayDecide[call.move.front()];
    return kGasMove + (may_decide ? kGasScheduledItem : 0);
}

/// Its auctions, its delivery, and the clock of its rounds while nobody sends a message.
inline std::uint64_t extra_gas(const PostGroup& call) {
    return kGasPost + 4 * kGasScheduledItem + following_auctions_gas(call.spec);
}
/// As a checkpoint's, and the clock of the round.
inline std::uint64_t extra_gas(const CommitRound&) { return (kCheckpointItems + 1) * kGasScheduledItem; }
inline std::uint64_t extra_gas(const CommitHoldings&) { return kGasOpening; }
inline std::uint64_t extra_gas(const RevealHoldings&) { return kGasOpening; }
inline std::uint64_t extra_gas(const OpenMember&) { return 2 * kGasOpening; }  // The proof of its tensors.
/// Each mask takes an agreement, a product of a point and a scalar; the draw of auditors begins.
inline std::uint64_t extra_gas(const ShowMasks& call) {
    constexpr std::size_t kDealerBytes = 37;
    return 2 * kGasOpening + kGasMaskProof / 8 * std::min<std::size_t>(call.masks.size() / kDealerBytes + 3, 66);
}
inline std::uint64_t extra_gas(const JoinTask&) { return 3 * kGasScheduledItem; }   // As AcceptData.
inline std::uint64_t extra_gas(const LeaveTask&) { return 2 * kGasScheduledItem; }  // End of the run, and the clock.
/// As a round's clock. Points are decoded, and when the last one unmasks, the secrets are put together.
/// The proof of four keys takes eight products of a point and a scalar.
inline std::uint64_t extra_gas(const MaskKeys&) { return 2 * kGasScheduledItem + kGasMaskProof; }
inline std::uint64_t extra_gas(const MaskShares&) { return 2 * kGasScheduledItem; }
/// Each share takes a product of a point and a scalar for each commitment, up to 22. Each complaint may end a run, as a
/// move that decides.
inline std::uint64_t extra_gas(const Unmask& call) {
    constexpr std::uint64_t kShareBytes = 37;
    return (2 + market::complaints_in(call.shares)) * kGasScheduledItem +
           kGasMaskShare * (call.shares.size() / kShareBytes);
}
/// A proof, both shares, the end of a run, and the clock.
inline std::uint64_t extra_gas(const ComplainOfShare&) {
    return 2 * kGasScheduledItem + kGasMaskProof + 2 * kGasMaskShare;
}

inline std::uint64_t extra_gas(const AdmitMembers& call) {
    return kGasNamed * std::min(call.accounts.size(), market::kNamedInCallMax);
}
inline std::uint64_t extra_gas(const GiveConsent& call) {
    return kGasNamed * std::min(call.accounts.size(), market::kConsentedMax);
}
inline std::uint64_t extra_gas(const AcceptConsent&) { return kGasNamed; }
inline std::uint64_t extra_gas(const WithdrawConsent&) { return kGasNamed; }

template <class Call>
std::uint64_t gas_of(const Call& call, std::size_t calldata_bytes) {
    return kGasCall + kGasByte * calldata_bytes + extra_gas(call);
}

}  // namespace retrace::contracts
