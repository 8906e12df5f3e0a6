// SPDX-License-Identifier: MIT
// What a verifier sees of the chain, and what it answers; filled and sent by node/agents, as for the solver.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "solver/chain_view.hpp"
#include "verifier/game/game.hpp"

namespace retrace::verifier {

/// A seat of this verifier in an audit that is not closed.
struct AuditView {
    std::uint64_t id = 0;
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 start_root;  ///< Zero until openSegment.
    Hash32 end_root;    ///< Zero until revealSegment.
    bool may_commit = false;
    bool may_reveal = false;
    bool may_report = false;  ///< A report about this segment's start would be taken.
    /// Height at which what has not come is to be reported, so that the report is there in time; 0: no such height.
    std::uint64_t fetch_by = 0;
    std::uint64_t deadline = 0;  ///< Of the verdict, or of its opening, whichever is due; 0: neither is.
    Hash32 commitment;           ///< This verifier's; zero before.
    std::vector<Hash32> others;  ///< Commitments of other seats (of use to a copier only).
    std::uint64_t due = 0;       ///< Its place in this verifier's order of work; 0: the record has none.
};

/// An open dispute with this party on one side. Solvers use the same view.
struct DisputeView {
    std::uint64_t id = 0;
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;      ///< Not used when game.claim.initialiser.
    std::uint32_t own_run = 0;      ///< Whose states a solver that plays has: its own, also where it accuses another.
    std::uint64_t first_state = 0;  ///< Of that one (lost states are remade from there),
    Hash32 first_root;              ///< with its root; zero for state 0.
    Side side{};
    Game game;
    bool may_report = false;        ///< A report about the start of the segment would be taken.
    std::uint64_t deadline = 0;     ///< Of the move that is due, of either side.
    std::uint64_t clock = 0;        ///< Blocks that this party has left when its turn comes.
    std::uint64_t due = 0;          ///< Its place in this party's order of work; 0: the record has none.
    Hash32 claimed_root;            ///< What the challenger says that the end is; zero when it did not say.
};

/// An end state that this verifier found right and may be asked to keep.
struct KeepView {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    bool may_attest = false;
};

/// The opened state 0 of a run with a seeded initialiser, which this party checks and may still challenge.
struct InitialView {
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    Hash32 root;
    bool asked = true;           ///< It has a seat in the run; else it only watches.
    std::uint64_t due = 0;       ///< The seat's.
    std::uint64_t deadline = 0;  ///< The last block that takes a challenge; 0: not known yet.
};

/// A segment with both ends open whose challenge window this party may still use, drawn or not.
struct WatchView {
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 start_root, end_root;
};

/// A solver pays for keeping this opened state.
struct OfferView {
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 root;
};

/// A successor says that a state which this party keeps is not served.
struct KeptReportView {
    std::uint64_t id = 0;
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
    std::uint64_t deadline = 0;  ///< The last block that takes the answer.
    std::uint64_t due = 0;       ///< Its place in this verifier's order of work; 0: not known.
};

struct BeaconView {
    bool may_reveal = false;
    Hash32 head;  ///< As registered or last revealed.
};

struct VerifierView {
    std::uint64_t height = 0;
    std::vector<AuditView> audits;
    std::vector<DisputeView> disputes;
    std::vector<KeepView> keep;  ///< What is in none of audits, disputes and keep may be deleted.
    BeaconView beacon;
    std::vector<InitialView> initials;
    std::vector<WatchView> watch;
    std::vector<OfferView> offers;
    std::vector<KeptReportView> reports;
};

struct CommitVerdict {
    std::uint64_t audit = 0;
    Hash32 commitment;
};
struct RevealVerdict {
    std::uint64_t audit = 0;
    Hash32 root, salt;
};
struct AttestRetention {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
struct ReportUnavailable {
    solver::ReportKind kind{};
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
};
struct RevealBeacon {
    Hash32 preimage;
};
/// The seeded initial state is not what the initialiser makes.
struct ChallengeInitial {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Hash32 root;  ///< What this verifier computed.
};
/// The end of a segment that was not drawn for this party is not what its start leads to.
struct ChallengeSegment {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 root;  ///< What this verifier computed.
};
struct AnswerReport {
    std::uint64_t report = 0;
    Bytes answer;  ///< An encoded solver::TileAnswer.
};
/// The next move of a dispute, encoded.
struct PlayMove {
    std::uint64_t dispute = 0;
    Bytes move;
};
using VerifierMove = std::variant<CommitVerdict, RevealVerdict, AttestRetention, ReportUnavailable,
                                  RevealBeacon, ChallengeInitial, PlayMove, ChallengeSegment, AnswerReport>;

}  // namespace retrace::verifier
