// SPDX-License-Identifier: MIT
// How a requester reads a solver's journal of its task: GET /task-log/{task}?height=H&signature=S at the solver's endpoint,
// signed by the account that posted the task. The answer is the solver's word, which nothing proves.
#pragma once

#include <chrono>

#include "ledger/crypto/secp256k1.hpp"
#include "node/agents/task_journal.hpp"
#include "node/platform/fault.hpp"

namespace retrace::node {

inline constexpr std::string_view kJournalPath = "/task-log/";
/// A signature counts for so many blocks before and after the height that it names.
inline constexpr std::uint64_t kSignedBlocks = 200;

/// What a signature is for, beside the task and the height: it counts at no other solver and on no other chain.
struct JournalPlace {
    std::uint64_t chain_id = 0;
    ledger::Address solver;
};
struct JournalRequest {
    std::uint64_t task = 0, height = 0;
    ledger::Signature signature;
    bool operator==(const JournalRequest&) const = default;
};
JournalRequest sign_request(const ledger::SecretKey& key, const JournalPlace& at, std::uint64_t task,
                            std::uint64_t height);
/// The target of the HTTP request; decode_target accepts this one spelling.
std::string encode_target(const JournalRequest& request);
std::optional<JournalRequest> decode_target(std::string_view target);

/// The answer of a solver at this height: malformed; not_found; not_wanted for whoever is not the task's requester.
Result<Bytes, Failure> answer_journal(const TaskJournals& journals, const JournalPlace& at, std::uint64_t height,
                                      std::string_view target);
/// Asks the solver at `endpoint`, for `most` at most.
Result<Journal> fetch_journal(const std::string& endpoint, const JournalRequest& request,
                              std::chrono::milliseconds most = std::chrono::seconds(10));

}  // namespace retrace::node
