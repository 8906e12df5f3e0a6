// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

#include "solver/commitments.hpp"
#include "solver/rounds/message_store.hpp"

namespace retrace::verifier {

struct VerifierConfig {
    Hash32 secret;
    solver::PartyId address{};
    std::uint64_t resend_blocks = 10;
    std::uint64_t beacon_length = 1 << 16;  ///< Links of one hash chain.
    std::uint64_t beacon_chains = 256;      ///< Chains that may be registered, one after another.
    /// Share of all opened segments that the agent replays voluntarily, in basis points. Its secret decides which ones,
    /// so that a solver cannot predict which segments nobody checks.
    std::uint64_t watch_bp = 0;
    /// Messages of groups that segments took in. Must outlive the agent. Null: segments of groups are not replayed.
    solver::MessageStore* messages = nullptr;
    bool keep_offers = true;  ///< Keeps states that solvers pay for.
    /// Longest wait for peers, in blocks, by work without an audit deadline. The work resumes later where it stopped,
    /// so that an audit that is drawn meanwhile does not miss its deadline.
    std::uint64_t no_deadline_fetch_blocks = 15;
    /// Time that a replay has to finish its current step when more urgent work waits. After this timeout the step is
    /// abandoned, and the replay of the segment restarts later.
    std::chrono::milliseconds step_timeout{10'000};
    /// Bytes that dispute replays may take in addition to those counted with the tasks; never more than the task cache
    /// has to spare.
    std::uint64_t dispute_memory = UINT64_MAX;
};

}  // namespace retrace::verifier
