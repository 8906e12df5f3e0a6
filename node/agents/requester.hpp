// SPDX-License-Identifier: MIT
// The requester's side: post a task with its artifacts, follow it, fetch the model.
#pragma once

#include <functional>

#include "market/price_curve.hpp"
#include "node/agents/chain_reader.hpp"
#include "node/agents/submitter.hpp"
#include "node/agents/views.hpp"
#include "node/artifacts/client.hpp"
#include "node/artifacts/receipt.hpp"
#include "node/tasks/task_file.hpp"

namespace retrace::node {

struct PostedTask {
    std::uint64_t id = 0;
    market::TaskSpec spec;
    ledger::U256 escrow;
};

/// Builds the task's terms: checks its files and computes their roots. Stores the programs and data in `store`.
Result<market::TaskSpec> spec_of(const TaskFile& task, Store& store);

/// Returns how many auditors could be drawn for the task now, at most as many as it asks for.
std::size_t possible_auditors(const ledger::StateView& state, const market::Params& params,
                              const market::TaskSpec& spec, const ledger::Address& requester);

/// Fails when segments of the task would wait for auditors (contracts 14.12).
Status<> check_auditors(const ledger::StateView& state, const market::Params& params, const market::TaskSpec& spec,
                        const ledger::Address& requester);

/// The transaction that posts the task, for a wallet that signs elsewhere.
struct PostingCall {
    ledger::Address to;
    Bytes data;
    ledger::U256 value;  ///< The escrow.
};
Result<PostingCall> posting_call(const TaskFile& task, Store& store, ChainReader& chain);

/// Posts the task, unless its segments would wait for auditors, and uploads programs and data to the node, which serves
/// them until settlement. An error after the posting names the task id and says why the task has ended, or that
/// `upload_task` resumes the upload.
/// `admitted`: accounts, ascending, that may take part in a private group; more are admitted later by `admit_members`.
Result<PostedTask> post_task(const TaskFile& task, Store& store, Submitter& submitter, ChainReader& chain,
                             const std::function<void(const ArtifactClient::Progress&)>& progress,
                             const std::vector<ledger::Address>& admitted = {});
/// Admits the accounts, ascending, to a private group, in as many calls as it takes; returns the height of the last one.
Result<std::uint64_t> admit_members(Submitter& submitter, std::uint64_t task,
                                    const std::vector<ledger::Address>& accounts);
/// Retries an upload that breaks off when the node becomes unreachable, once `client` reaches it again.
Status<> upload_task(const market::TaskSpec& spec, Store& store, RpcClient& client,
                     const std::function<void(const ArtifactClient::Progress&)>& progress);

/// Raises a running task to `replicas` solvers in total; returns the amount put into escrow for the added ones.
Result<ledger::U256> raise_replicas(Submitter& submitter, ChainReader& chain, std::uint64_t task,
                                    std::uint8_t replicas);

struct TaskStatus {
    std::uint64_t height = 0;  ///< Of the state that it was read from.
    market::Task task;
    market::TaskSpec spec;
    market::Auctions auctions;                        ///< Those so far, and those that may follow.
    std::optional<market::NextAuction> next_auction;  ///< None when the task has ended.
    std::vector<market::Run> runs;                    ///< All runs so far.
    std::uint64_t committed = 0;           ///< Segments whose end is committed, in the newest run; of a group in all.
    std::uint64_t verified = 0, paid = 0;  ///< Segments.
    /// Of a private group, and in `verified` none of them: segments that train on a member's own data, which accounts that it
    /// chose have checked, or nobody.
    std::uint64_t consented = 0, unverified = 0;
    /// Set for a training in rounds.
    struct Group {
        market::GroupSpec terms;
        market::Group now;
        bool operator==(const Group&) const = default;
    };
    std::optional<Group> group;
    /// In the newest run that waits: the first segment for which no auditor can be drawn, and the height from which the
    /// requester may decide on it (contracts 14.12).
    struct Waiting {
        std::uint32_t run = 0;
        std::uint64_t segment = 0, decide_from = 0;
        bool operator==(const Waiting&) const = default;
    };
    std::optional<Waiting> waiting;
};
Result<TaskStatus> task_status(ChainReader& chain, std::uint64_t task);

/// Blocks until the task is in a final state or in `delivering`; calls `on_block` with the status at each new height.
/// If what is read is proved, then after a first status only a failure that lasts for half a minute ends it, because
/// nothing is proved while the node is restarted.
Result<TaskStatus> wait_for_delivery(ChainReader& chain, std::uint64_t task,
                                     const std::function<void(const TaskStatus&)>& on_block);

struct Delivered {
    kernels::Program program;
    kernels::State state;  ///< After the last step.
    Receipt receipt;
    bool in_rounds = false;  ///< Then the program is one of the plan's, and the state that of a member.
};
/// Fetches the final state from the peers that serve it, checked against the root on the ledger, and builds the
/// receipt. If the chain's state is proved, the receipt's heights of settlement and verdicts are 0: they are in logs only,
/// which the node could make up.
Result<Delivered> fetch_model(ChainReader& chain, std::uint64_t task, Store& store,
                              const std::function<void(const ArtifactClient::Progress&)>& progress);

}  // namespace retrace::node
