// SPDX-License-Identifier: MIT
#include "node/agents/task_journal.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <fstream>

#include "merkle/base/durable_file.hpp"
#include "node/platform/permissions.hpp"
#include "node/platform/strict_json.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kEnding = ".jsonl";
constexpr std::size_t kFileLinesMax = 2 * Journal::kLinesMax;
constexpr std::size_t kFileBytesMax = (kFileLinesMax + 2) * (kJournalLineMax + 1);

std::string text_of(const JournalLine& line) {
    return json::serialize(json::object{{"height", line.height}, {"run", line.run}, {"text", line.text}}) + '\n';
}

/// The text up to the next line feed, which is taken off `rest`; nullopt: none follows, or it is too long.
std::optional<std::string_view> next_line(std::string_view& rest) {
    const std::size_t end = rest.substr(0, kJournalLineMax + 1).find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
}

Result<JournalLine> line_of(std::string_view text) {
    RETRACE_TRY(parsed, parse_json(view(text), "a line of a task's log"));
    RETRACE_TRY(fields, StrictObject::open(parsed, {"height", "run", "text"}));
    RETRACE_TRY(height, fields.number("height"));
    RETRACE_TRY(run, fields.number("run"));
    RETRACE_TRY(said, fields.text("text", kJournalLineMax));
    if (run > UINT32_MAX) return error("a line of a task's log has no such run");
    JournalLine out{height, static_cast<std::uint32_t>(run), journal_text(said)};
    if (out.text.empty()) return error("a line of a task's log is empty");
    return out;
}

/// Takes the head off `rest`: a journal without lines.
Result<Journal> take_head(std::string_view& rest, std::uint64_t task) {
    const auto first = next_line(rest);
    if (!first) return error("a task's log has no head");
    RETRACE_TRY(parsed, parse_json(view(*first), "the head of a task's log"));
    RETRACE_TRY(fields, StrictObject::open(parsed, {"task", "ended", "dropped"}));
    RETRACE_TRY(of, fields.number("task"));
    if (of != task) return error("it is the log of task " + std::to_string(of));
    Journal out;
    RETRACE_TRY(ended, fields.number("ended"));
    RETRACE_TRY(dropped, fields.number("dropped"));
    out.ended = ended;
    out.dropped = dropped;
    return out;
}

/// Reads the lines of an own file. Returns whether each was whole: the others are counted as dropped.
bool read_lines(std::string_view rest, Journal& out) {
    bool whole = true;
    while (!rest.empty()) {
        const auto text = next_line(rest);
        auto line = text ? line_of(*text) : Result<JournalLine>(error("torn"));
        if (line) {
            out.lines.push_back(std::move(*line));
        } else {
            whole = false;
            ++out.dropped;
        }
        if (!text) break;
    }
    return whole;
}

}  // namespace

Bytes encode_journal(std::uint64_t task, const Journal& journal) {
    std::string out =
        json::serialize(json::object{{"task", task}, {"ended", journal.ended}, {"dropped", journal.dropped}}) + '\n';
    for (const JournalLine& line : journal.lines) out += text_of(line);
    return to_bytes(view(std::string_view(out)));
}

Result<Journal> decode_journal(View bytes, std::uint64_t task) {
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    RETRACE_TRY(out, take_head(rest, task));
    while (!rest.empty()) {
        if (out.lines.size() == Journal::kLinesMax)
            return error("a task's log has more than " + std::to_string(Journal::kLinesMax) + " lines");
        const auto text = next_line(rest);
        if (!text) return error("a line of a task's log is too long, or has no end");
        RETRACE_TRY(line, line_of(*text));
        out.lines.push_back(std::move(line));
    }
    return out;
}

std::string journal_text(std::string_view text) {
    std::string out(text.substr(0, JournalLine::kTextMax));
    for (char& c : out)
        if (c < ' ' || c > '~') c = '?';
    return out;
}

Result<std::unique_ptr<TaskJournals>> TaskJournals::open(const fs::path& folder) {
    RETRACE_CHECK(make_private_folder(folder.string()));
    std::unique_ptr<TaskJournals> out(new TaskJournals(folder));
    out->load();
    return out;
}

fs::path TaskJournals::file_of(std::uint64_t task) const {
    return folder_ / (std::to_string(task) + std::string(kEnding));
}

void TaskJournals::load() {
    std::error_code ignored;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) files.push_back(entry.path());
    for (const fs::path& file : files) {
        const std::string name = file.filename().string();
        std::uint64_t task = 0;
        const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), task);
        const auto bytes = read_file(file, kFileBytesMax);
        std::string_view rest =
            bytes ? std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : std::string_view();
        const auto head = next_line(rest);
        const auto requester = head ? ledger::parse_address(*head) : std::nullopt;
        auto journal = requester && code == std::errc{} && std::string_view(end) == kEnding
                           ? take_head(rest, task)
                           : Result<Journal>(error("no journal"));
        if (!journal) {
            fs::remove(file, ignored);
            continue;
        }
        Kept& kept = tasks_[task];
        kept.journal = std::move(*journal);
        kept.journal.requester = *requester;
        const bool whole = read_lines(rest, kept.journal);
        kept.written = kept.journal.lines.size();
        for (; kept.journal.lines.size() > Journal::kLinesMax; ++kept.journal.dropped) kept.journal.lines.pop_front();
        if (!whole) write(task, kept);  // Otherwise the next line would follow a torn one.
    }
}

void TaskJournals::write(std::uint64_t task, Kept& kept) const {
    const std::string head = ledger::to_0x(kept.journal.requester) + '\n';
    const Bytes bytes = encode_journal(task, kept.journal);
    const auto done = write_durably(file_of(task), {view(std::string_view(head)), View(bytes)}, 0600);
    kept.written = done ? kept.journal.lines.size() : kRewrite;
    if (!done) spdlog::debug("event=task_log_not_written reason=\"{}\"", done.error().message);
}

void TaskJournals::begin(std::uint64_t task, const ledger::Address& requester) {
    const std::lock_guard lock(mutex_);
    const auto known = tasks_.find(task);
    if (known != tasks_.end()) {
        if (known->second.journal.ended == 0) return;
        known->second.journal.ended = 0;
        return write(task, known->second);
    }
    if (tasks_.size() == kTasksMax) {
        auto oldest = tasks_.end();
        for (auto one = tasks_.begin(); one != tasks_.end(); ++one)
            if (one->second.journal.ended != 0 &&
                (oldest == tasks_.end() || one->second.journal.ended < oldest->second.journal.ended))
                oldest = one;
        if (oldest == tasks_.end()) return;
        std::error_code ignored;
        fs::remove(file_of(oldest->first), ignored);
        tasks_.erase(oldest);
    }
    Kept& kept = tasks_[task];
    kept.journal.requester = requester;
    write(task, kept);
}

bool TaskJournals::knows(std::uint64_t task) const {
    const std::lock_guard lock(mutex_);
    const auto known = tasks_.find(task);
    return known != tasks_.end() && known->second.journal.ended == 0;
}

void TaskJournals::add(std::uint64_t task, JournalLine line) {
    line.text = journal_text(line.text);
    const std::lock_guard lock(mutex_);
    const auto known = tasks_.find(task);
    if (known == tasks_.end() || line.text.empty()) return;
    Kept& kept = known->second;
    Journal& journal = kept.journal;
    if (!journal.lines.empty() && journal.lines.back() == line) return;
    journal.lines.push_back(line);
    for (; journal.lines.size() > Journal::kLinesMax; ++journal.dropped) journal.lines.pop_front();
    if (kept.written >= kFileLinesMax) return write(task, kept);
    std::ofstream out(file_of(task), std::ios::app);
    out << text_of(line);
    kept.written = out.flush() ? kept.written + 1 : kRewrite;
}

void TaskJournals::update(std::uint64_t height, const std::set<std::uint64_t>& tasks, std::uint64_t keep) {
    const std::lock_guard lock(mutex_);
    for (auto one = tasks_.begin(); one != tasks_.end();) {
        auto& [task, kept] = *one;
        std::uint64_t& ended = kept.journal.ended;
        if (ended == 0 && !tasks.contains(task)) {
            ended = std::max<std::uint64_t>(height, 1);
            write(task, kept);
        }
        if (ended != 0 && height > ended && height - ended > keep) {
            std::error_code ignored;
            fs::remove(file_of(task), ignored);
            one = tasks_.erase(one);
        } else {
            ++one;
        }
    }
}

std::optional<ledger::Address> TaskJournals::requester_of(std::uint64_t task) const {
    const std::lock_guard lock(mutex_);
    const auto known = tasks_.find(task);
    return known == tasks_.end() ? std::nullopt : std::optional(known->second.journal.requester);
}

std::optional<Journal> TaskJournals::of(std::uint64_t task) const {
    const std::lock_guard lock(mutex_);
    const auto known = tasks_.find(task);
    return known == tasks_.end() ? std::nullopt : std::optional(known->second.journal);
}

}  // namespace retrace::node
