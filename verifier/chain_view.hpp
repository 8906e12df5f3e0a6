// SPDX-License-Identifier: MIT
// A verifier's view of the chain and its moves; node/agents fills the view and sends the moves, as for the solver.
#pragma once

#include <cstdint>
#include <optional>
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
    bool may_report = false;  ///< Whether a report about this segment's start would be accepted.
    /// Height at which missing data is reported, early enough for the report to be in time; 0: none.
    std::uint64_t fetch_by = 0;
    std::uint64_t deadline = 0;  ///< Deadline of the verdict or of its reveal, whichever is due; 0: neither is.
    Hash32 commitment;           ///< This verifier's commitment; zero before it is sent.
    std::vector<Hash32> others;  ///< Commitments of other seats (only a copier uses them).
    std::uint64_t due = 0;       ///< Its place in this verifier's order of work; 0: the record has none.
    std::optional<solver::SegmentView> member = {};  ///< Set for a group's task.
};

/// An open dispute with this party on one side. Solvers use the same view.
struct DisputeView {
    std::uint64_t id = 0;
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;      ///< Unused if game.claim.initialiser.
    std::uint32_t own_run = 0;      ///< This party's own run as a solver, even if it disputes another one.
    std::uint64_t first_state = 0;  ///< First state of that run (lost states are recomputed from it).
    Hash32 first_root;              ///< Root of that state; zero for state 0.
    Side side{};
    Game game;
    bool may_report = false;     ///< Whether a report about the segment's start would be accepted.
    std::uint64_t deadline = 0;  ///< Deadline of the next move, of either side.
    std::uint64_t clock = 0;     ///< Blocks that this party has left on its turn.
    std::uint64_t due = 0;       ///< Its place in this party's order of work; 0: the record has none.
    Hash32 claimed_root;         ///< End root that the challenger claims; zero if it did not state one.
    /// Set for a group's task: the segment, or how state 0 is made if game.claim.initialiser.
    std::optional<solver::SegmentView> member = {};
    std::optional<solver::EntryView> entry = {};
};

/// An end state that this verifier found right and may have to keep.
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
    bool assigned = true;                         ///< This party has a seat in the run; otherwise it only watches.
    std::uint64_t due = 0;                        ///< The seat's `due`.
    std::uint64_t deadline = 0;                   ///< Last block that accepts a challenge; 0: not known yet.
    std::optional<solver::EntryView> entry = {};  ///< Set for a group's task.
};

/// A segment with both ends opened and a challenge window that this party may still use, drawn or not.
struct WatchView {
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 start_root, end_root;
    std::optional<solver::SegmentView> member = {};  ///< Set for a group's task.
};

/// A solver pays for keeping this opened state.
struct OfferView {
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    Hash32 root;
};

/// A successor reports that a state which this party keeps is not served.
struct KeptReportView {
    std::uint64_t id = 0;
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::uint32_t tensor = 0;
    std::uint64_t tile = 0;
    std::uint64_t deadline = 0;  ///< Last block that accepts the answer.
    std::uint64_t due = 0;       ///< Its place in this verifier's order of work; 0: not known.
};

struct BeaconView {
    bool may_reveal = false;
    Hash32 head;  ///< The head as registered or last revealed.
};

struct VerifierView {
    std::uint64_t height = 0;
    std::vector<AuditView> audits;
    std::vector<DisputeView> disputes;
    std::vector<KeepView> keep;  ///< A state is deleted if audits, disputes, keep, watch and offers do not name it.
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
/// Claims that the seeded initial state differs from the initialiser's output.
struct ChallengeInitial {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    Hash32 root;  ///< Root that this verifier computed.
};
/// Claims that the end of a segment that this party was not drawn for does not follow from its start.
struct ChallengeSegment {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    Hash32 root;  ///< Root that this verifier computed.
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
using VerifierMove = std::variant<CommitVerdict, RevealVerdict, AttestRetention, ReportUnavailable, RevealBeacon,
                                  ChallengeInitial, PlayMove, ChallengeSegment, AnswerReport>;

}  // namespace retrace::verifier
