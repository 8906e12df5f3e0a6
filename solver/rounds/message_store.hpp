// SPDX-License-Identifier: MIT
// The messages that a member of a group has: its own and those that it lists. They lie on disk in their transport form,
// under the roots of their tensors, and are served from there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "kernels/program/codec.hpp"
#include "kernels/runtime/tensor.hpp"
#include "kernels/runtime/thread_pool.hpp"
#include "merkle/base/result.hpp"

namespace retrace::solver {

/// As the run of a key: the shared tensors from which a member began at that round. They are needed again if its first
/// state is disputed.
inline constexpr std::uint32_t kAnchorRun = UINT32_MAX;

/// The message of run `run` of a task whose inner steps began at a round. A run has one of each, whichever round it is
/// sent in.
struct MessageKey {
    std::uint64_t task = 0;
    std::uint32_t round = 0, run = 0;
    auto operator<=>(const MessageKey&) const = default;
};
/// Key of a message that was sent in `round`: of a RecordView::Entry or a SentMessage.
MessageKey message_key(std::uint64_t task, std::uint32_t round, const auto& message) {
    return {task, round - message.age, message.run};
}

/// Files, under names without meaning to others: "<task>-<round>-<run>-<place>-<root>.message" is the tensor at a place
/// of a message, "<task>-<round>-<run>.holdings" what the member stated to have of a round, "<task>.inner" the header of
/// a program. Each appears by rename after a sync. Calls may come from several threads.
class MessageStore {
public:
    /// Creates the directory if needed and removes unfinished files.
    static Result<std::unique_ptr<MessageStore>> open(std::filesystem::path directory);

    /// Saves a message, whose tensors have these roots, durably, in place of one with the same key.
    Status<> save(const MessageKey& key, const std::vector<Hash32>& roots, const std::vector<kernels::Tensor>& tensors);
    /// Whether all of a message is here.
    bool has(const MessageKey& key, const std::vector<Hash32>& roots) const;
    /// Roots of the tensors of each message of a round that is here whole, by ascending run.
    std::vector<std::vector<Hash32>> of_round(std::uint64_t task, std::uint32_t round) const;
    /// Reads a tensor of any message and checks it against its root. One that is absent, damaged or has another shape is
    /// an error. Nothing is removed, because a stranger may have named the root.
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record,
                                   kernels::ThreadPool& pool) const;
    /// Reads the tensor at a place of a message that was saved with that record. If its file is damaged or
    /// gone, the message is removed, so that it can be fetched again. A file that cannot be read now stays.
    Result<kernels::Tensor> tensor_of(const MessageKey& key, std::uint32_t place, const kernels::TensorRecord& record,
                                      kernels::ThreadPool& pool);
    /// Returns at most `count` bytes from `at` on of the transport forms of these tensors, one after another; fewer at
    /// their end. Nullopt: one of them is not here.
    std::optional<Bytes> piece(const std::vector<Hash32>& roots, std::uint64_t at, std::uint64_t count) const;

    /// What a member states to have of a round, in the time to fetch that it was given first, or once more.
    struct Holdings {
        bool extended = false;
        Bytes bitmap;
    };
    /// `key.run` is the member's own run.
    Status<> save_holdings(const MessageKey& key, const Holdings& holdings);
    std::optional<Holdings> holdings(const MessageKey& key) const;

    /// The header of the program `inner` of a task's plan, which each opening of a member shows. It is saved before the
    /// member commits to anything, so that states are opened without the plan.
    Status<> save_header(std::uint64_t task, const kernels::ProgramHeader& header);
    /// Nullopt: it was not saved, or its file is damaged.
    std::optional<kernels::ProgramHeader> header(std::uint64_t task) const;

    void remove(const MessageKey& key);
    /// Removes the messages and statements of a task's rounds before `round`; UINT32_MAX: of all, and its header.
    void keep_from(std::uint64_t task, std::uint32_t round);
    /// Tasks of which anything is here, ascending.
    std::vector<std::uint64_t> tasks() const;

private:
    explicit MessageStore(std::filesystem::path directory) : directory_(std::move(directory)) {}
    using Roots = std::map<std::uint32_t, Hash32>;  ///< By place.
    std::filesystem::path path_of(const MessageKey& key, std::uint32_t place, const Hash32& root) const;
    std::filesystem::path path_of_holdings(const MessageKey& key) const;
    std::filesystem::path path_of_header(std::uint64_t task) const;
    void read_header(std::uint64_t task);
    void read_name(const std::string& name);
    void remove_files(const MessageKey& key, const Roots& roots);
    std::optional<std::filesystem::path> find(const Hash32& root) const;

    std::filesystem::path directory_;
    mutable std::mutex mutex_;
    std::map<MessageKey, Roots> messages_;
    std::multimap<Hash32, std::pair<MessageKey, std::uint32_t>> places_;  ///< Root → message and place in it.
    std::set<MessageKey> stated_;                                         ///< Keys of statements.
    std::map<std::uint64_t, kernels::ProgramHeader> headers_;             ///< By task.
};

}  // namespace retrace::solver
