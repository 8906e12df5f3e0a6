// SPDX-License-Identifier: MIT
// A compiled task on disk: a folder with task.toml beside the programs and a reference to the data set.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ledger/types/u256.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// A training in rounds by several members. market/groups.hpp says what the fields of the market mean.
struct GroupTerms {
    std::filesystem::path plan;  ///< Its programs (plan.rtg).
    std::uint64_t rounds = 0;
    std::uint32_t members = 0;           ///< Members that the training is meant for, the most on the market.
    std::uint32_t inner = 0;             ///< Most inner steps of a member in a round.
    std::optional<std::uint32_t> least;  ///< Default: half of the members, and at least two.
    std::uint64_t round_blocks = 600, grace_blocks = 60, fetch_blocks = 60, reveal_blocks = 30;
    std::uint32_t absence_limit = 8, keep_rounds = 64;
    /// Default: what a member that was away for absence_limit rounds has missed, absence_limit + max_age + 1 messages of
    /// each member.
    std::optional<std::uint32_t> catch_up_max;
    std::uint32_t max_age = 0;
    std::uint8_t mask_bits = 0;     ///< Bits of a value of a message that is sent under masks; 0: without masks.
    std::uint64_t mask_blocks = 0;  ///< Blocks of each step of the masks; 0 without.
    std::uint8_t rollbacks = 0;     ///< 0: messages of a member that is convicted stand.
    std::uint32_t ahead = 0;
    std::uint32_t regions = 0;  ///< Not 0: messages are merged in so many regions, in a round of their own after each.
    std::uint64_t merge_blocks = 60;
    bool private_data = false;  ///< Members train on data of their own, of the shapes of the task's, which stay here.
};

/// What follows from the training program or the plan, for a page that posts the task and computes no costs.
struct CompiledFacts {
    std::uint64_t step_cost = 0;     ///< Multiply-adds of a step; in rounds, of a member's segment without messages.
    std::uint64_t message_cost = 0;  ///< In rounds, multiply-adds to take in a message; else 0.
    Hash32 contract;                 ///< Hash of the numeric contract.
    bool operator==(const CompiledFacts&) const = default;
};

struct TaskFile {
    std::string name;
    std::filesystem::path program;                       ///< Training program; absolute after loading.
    std::optional<std::filesystem::path> initialiser;    ///< Seeded initialiser program; exactly one of the two.
    std::optional<std::filesystem::path> initial_state;  ///< model.safetensors with the initial state tensors.
    std::optional<std::filesystem::path> evaluation;     ///< Program that measures the model on the test data.
    std::optional<std::filesystem::path> module;         ///< TorchScript file that the task was compiled from.
    std::filesystem::path data;                          ///< Folder of an imported data set (node/tasks/data).
    std::optional<std::filesystem::path> test_data;
    std::uint64_t steps = 0, interval = 0, seed = 0;
    std::optional<GroupTerms> group;
    std::optional<CompiledFacts> compiled;

    ledger::U256 price_ceiling;  ///< Highest price of one segment.
    /// Not in the file, because whoever posts it decides: the auctions that may follow one another while too few solvers
    /// bid, and the ceiling of the last one (0: as the first).
    std::uint8_t auctions = 1;
    std::uint64_t pause_blocks = 0;
    ledger::U256 last_ceiling;
    std::uint16_t audit_bp = 500;
    std::uint8_t auditors = 2, replicas = 1, hardware_class = 0;
    bool spot = false;             ///< Its solver may give it back at a checkpoint.
    bool allow_unaudited = false;  ///< Segments for which no auditor can be drawn are paid unaudited.
    std::uint64_t checkpoint_blocks = 600, replay_blocks = 300, finish_blocks = 100'000;
};

/// `path` is the file or its folder. Errors name the key, what is wrong with it and what would be right.
Result<TaskFile> load_task_file(const std::filesystem::path& path);
/// Writes task.toml into `folder`; paths below the folder are stored relative to it.
Status<> store_task_file(const TaskFile& task, const std::filesystem::path& folder);

}  // namespace retrace::node
