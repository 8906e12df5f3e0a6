// SPDX-License-Identifier: MIT
// What a verifier sees of the chain, and what it answers; filled and sent by node/service, as for the solver.
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
    bool may_challenge_initial =
        false;                   ///< The segment is the first, its start seeded and still to be challenged.
    Hash32 commitment;           ///< This verifier's; zero before.
    std::vector<Hash32> others;  ///< Commitments of other seats (of use to a copier only).
};

/// An open dispute with this party on one side. Solvers use the same view.
struct DisputeView {
    std::uint64_t id = 0;
    solver::TaskTerms terms;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;      ///< Not used when game.claim.initialiser.
    std::uint64_t first_state = 0;  ///< Of the run (a solver remakes lost states from there),
    Hash32 first_root;              ///< with its root; zero for state 0.
    Side side{};
    Game game;
};

/// An end state that this verifier found right and may be asked to keep.
struct KeepView {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    bool may_attest = false;
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
/// The next move of a dispute, encoded.
struct PlayMove {
    std::uint64_t dispute = 0;
    Bytes move;
};
using VerifierMove = std::variant<CommitVerdict, RevealVerdict, AttestRetention, ReportUnavailable,
                                  RevealBeacon, ChallengeInitial, PlayMove>;

}  // namespace retrace::verifier
