// SPDX-License-Identifier: MIT
// What a solver did for each of its tasks, kept for the task's requester: times of segments, retries, reasons of delay.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ledger/types/address.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// A line of a journal. Its text has 1 to kTextMax bytes, all of them printable ASCII.
struct JournalLine {
    static constexpr std::size_t kTextMax = 200;
    std::uint64_t height = 0;  ///< Of the chain, as the solver saw it.
    std::uint32_t run = 0;
    std::string text;
    bool operator==(const JournalLine&) const = default;
};

/// A task's journal. Of many lines the newest kLinesMax are kept.
struct Journal {
    static constexpr std::size_t kLinesMax = 1'000;
    ledger::Address requester;
    std::uint64_t ended = 0;    ///< Height at which the solver had no run of the task any more; 0: it has one.
    std::uint64_t dropped = 0;  ///< Older lines that are not kept.
    std::deque<JournalLine> lines;
    bool operator==(const Journal&) const = default;
};

/// JSON lines: the head {"task","ended","dropped"}, then {"height","run","text"} of each line.
Bytes encode_journal(std::uint64_t task, const Journal& journal);
/// Of a stranger: at most kLinesMax lines of at most kJournalLineMax bytes, whose texts are made fit. Its requester is
/// zero.
Result<Journal> decode_journal(View bytes, std::uint64_t task);
inline constexpr std::size_t kJournalLineMax = 512;
/// More than any journal has.
inline constexpr std::size_t kJournalBytesMax = (Journal::kLinesMax + 1) * (kJournalLineMax + 1);

/// Makes text fit for a line: other bytes than printable ASCII become question marks, and what is too long is cut.
std::string journal_text(std::string_view text);

/// The journals of a solver, each in a file of `folder`. Thread-safe. A failing disk loses lines, and nothing else.
class TaskJournals {
public:
    static constexpr std::size_t kTasksMax = 128;

    /// Reads what an earlier process kept. A line that is damaged, as the last one is where the disk was full, is left out
    /// and counted as dropped; a file without a head is deleted. An Error if the folder cannot be made.
    static Result<std::unique_ptr<TaskJournals>> open(const std::filesystem::path& folder);

    /// Begins the journal of a task, or goes on with it. Beyond kTasksMax the one that ended first is deleted; if none has
    /// ended, this one is not kept.
    void begin(std::uint64_t task, const ledger::Address& requester);
    bool knows(std::uint64_t task) const;
    /// Adds a line to a journal that was begun; else nothing. A line that equals the newest one is left out.
    void add(std::uint64_t task, JournalLine line);
    /// Notes that the solver has runs of `tasks` alone, and deletes what ended more than `keep` blocks ago.
    void update(std::uint64_t height, const std::set<std::uint64_t>& tasks, std::uint64_t keep);
    std::optional<Journal> of(std::uint64_t task) const;
    /// Of a task that has a journal.
    std::optional<ledger::Address> requester_of(std::uint64_t task) const;

private:
    static constexpr std::size_t kRewrite = ~std::size_t{0};
    struct Kept {
        Journal journal;
        std::size_t written = 0;  ///< Lines in the file; kRewrite: it is not as it should be.
    };
    explicit TaskJournals(std::filesystem::path folder) : folder_(std::move(folder)) {}
    std::filesystem::path file_of(std::uint64_t task) const;
    void load();
    void write(std::uint64_t task, Kept& kept) const;

    std::filesystem::path folder_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, Kept> tasks_;
};

}  // namespace retrace::node
