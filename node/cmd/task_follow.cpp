// SPDX-License-Identifier: MIT
#include "node/cmd/task_follow.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <iostream>

#include "node/agents/event_log.hpp"
#include "node/agents/explained_task.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/printable.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kReminder{
    60};  // A person is told that nothing changed when nothing was told for so long.
constexpr std::uint64_t kBlocksTimed = 50;

/// Mean seconds between the last blocks, of which the node tells the times; 0 if it does not.
double block_seconds(RpcClient& client, std::uint64_t height) {
    const auto time_of = [&](std::uint64_t at) -> std::optional<std::uint64_t> {
        const auto block = client.call("eth_getBlockByNumber", {rpc::quantity(at), false});
        const json::object* object = block ? block->if_object() : nullptr;
        const json::value* time = object != nullptr ? object->if_contains("timestamp") : nullptr;
        const auto parsed = rpc::parse_u64(time != nullptr ? *time : json::value());
        return parsed ? std::optional(*parsed) : std::nullopt;
    };
    const std::uint64_t from = height > kBlocksTimed ? height - kBlocksTimed : 1;
    const auto first = time_of(from), last = time_of(height);
    if (height <= from || !first || !last || *last < *first) return 0;
    return static_cast<double>(*last - *first) / static_cast<double>(height - from);
}

std::string duration(double seconds) {
    if (seconds < 90) return std::to_string(static_cast<long long>(seconds + 0.5)) + " s";
    if (seconds < 5400) return std::to_string(static_cast<long long>(seconds / 60 + 0.5)) + " min";
    return std::to_string(static_cast<long long>(seconds / 3600 + 0.5)) + " h";
}

/// Whether the line is the name of a state whose explanation is told too.
bool is_explained(const std::string& line) {
    using market::TaskState;
    for (const TaskState state : {TaskState::bidding, TaskState::assigned, TaskState::running, TaskState::delivering})
        if (line == market::slug(state)) return true;
    return false;
}

/// Tells the events and explanations of one task.
class Narrator {
public:
    Narrator(const Program& program, ChainSession& at, std::uint64_t task, std::uint64_t after, TaskLog* log)
        : program_(program),
          at_(at),
          task_(task),
          log_(log),
          events_(
              {}, [this](std::uint64_t height, std::uint64_t of, const std::string& line) { event(height, of, line); },
              after) {}

    void block(const TaskStatus& status) {
        if (!at_.chain.proves()) {
            // The status is read without the events; they are asked for again with the next block.
            const auto read = events_.advance(at_.client, {}, status.height);
            unread_ = read ? std::string() : read.error().message;
        }
        const bool changed = !told_ || told_->why.state != status.task.state || told_->round != status.task.round;
        if (!changed && Clock::now() < next_look_) return;
        next_look_ = Clock::now() + std::chrono::seconds(1);
        if (market::is_final(status.task.state) && status.task.state != market::TaskState::settled)
            return;  // The command's error says why it ended.
        const auto why = explained_task(at_.chain, task_);
        if (!why) return;
        const Told now{*why, status.task.round, status.spec.price_ceiling};
        if (!told_ || !is_told(*told_, now)) return tell(now);
        if (Clock::now() < last_told_ + kReminder || told_->why.height == why->height) return;
        std::cerr << reminder_text(*why, block_seconds(at_.client, why->height)) << std::endl;
        last_told_ = Clock::now();
    }

    /// Says which events are missing at the end.
    void end() const {
        if (!unread_.empty())
            std::cerr << "note: the node does not tell the events after block " << events_.height() << " ("
                      << printable(unread_) << "); `retrace task log " << task_ << "` reads them again" << std::endl;
    }

private:
    void event(std::uint64_t height, std::uint64_t of, const std::string& line) {
        if (of != task_) return;
        const std::string text = printable(line);
        if (log_ != nullptr)
            if (const auto kept = log_->add(height, text); !kept || log_->is_full()) {
                std::cerr << "warning: " << (kept ? log_->full_note() : kept.error().message) << std::endl;
                log_ = nullptr;
            }
        if (is_explained(line)) return;
        std::cerr << "block " << height << "  " << text << std::endl;
        if (program_.json)
            std::cout << json::serialize(json::object{{"task", task_}, {"height", height}, {"event", text}})
                      << std::endl;
        last_told_ = Clock::now();
    }

    void tell(const Told& now) {
        const TaskExplanation& why = now.why;
        std::cerr << "block " << why.height << "  " << market::slug(why.state) << ": " << why.why;
        if (!why.next.empty() && why.next_height && *why.next_height > why.height) {
            const std::uint64_t blocks = *why.next_height - why.height;
            const double seconds = block_seconds(at_.client, why.height) * static_cast<double>(blocks);
            std::cerr << "; by block " << *why.next_height << " (" << blocks << (blocks == 1 ? " block" : " blocks")
                      << (seconds > 0 ? ", about " + duration(seconds) : std::string()) << ") " << why.next;
        }
        std::cerr << std::endl;
        if (!why.remedy.empty()) std::cerr << "  remedy: " << why.remedy << std::endl;
        if (program_.json) std::cout << json::serialize(explanation_json(why)) << std::endl;
        told_ = now;
        last_told_ = Clock::now();
    }

    const Program& program_;
    ChainSession& at_;
    std::uint64_t task_;
    TaskLog* log_;
    EventLog events_;
    std::string unread_;  ///< Why the newest events could not be read; empty: they were.
    std::optional<Told> told_;
    Clock::time_point last_told_, next_look_;
};

}  // namespace

bool is_told(const Told& before, const Told& now) {
    return before.why.reason == now.why.reason && before.why.remedy == now.why.remedy && before.round == now.round &&
           before.ceiling == now.ceiling && before.why.next_height.has_value() == now.why.next_height.has_value();
}

json::object explanation_json(const TaskExplanation& why) {
    return {{"task", why.task},
            {"height", why.height},
            {"state", std::string(market::slug(why.state))},
            {"reason", std::string(slug(why.reason))},
            {"why", why.why},
            {"remedy", why.remedy},
            {"next", why.next},
            {"next_height", why.next_height ? json::value(*why.next_height) : json::value(nullptr)}};
}

std::string reminder_text(const TaskExplanation& why, double block_seconds) {
    std::string out = "block " + std::to_string(why.height) + "  still " + std::string(market::slug(why.state));
    if (!why.next_height || *why.next_height <= why.height) return out;
    const std::uint64_t blocks = *why.next_height - why.height;
    out += "; " + std::to_string(blocks) + (blocks == 1 ? " block" : " blocks");
    if (block_seconds > 0) out += ", about " + duration(block_seconds * static_cast<double>(blocks)) + ",";
    return out + " to block " + std::to_string(*why.next_height);
}

std::string explanation_text(const TaskExplanation& why) {
    std::string out = "task " + std::to_string(why.task) + " is " + std::string(market::slug(why.state)) +
                      " at height " + std::to_string(why.height) + " (" + std::string(slug(why.reason)) +
                      "): " + why.why;
    if (!why.remedy.empty()) out += "\nremedy: " + why.remedy;
    if (!why.next.empty()) out += "\nnext: " + why.next;
    if (!why.next.empty() && why.next_height) out += ", at the latest at height " + std::to_string(*why.next_height);
    return out;
}

Result<TaskExplanation> follow_task(const Program& program, ChainSession& at, std::uint64_t task,
                                    const std::function<void(const TaskStatus&)>& on_block, TaskLog* log) {
    RETRACE_TRY(first, task_status(at.chain, task));
    Narrator narrator(program, at, task, first.task.posted_height == 0 ? 0 : first.task.posted_height - 1, log);
    const auto waited = wait_for_delivery(at.chain, task, [&](const TaskStatus& now) {
        narrator.block(now);
        if (on_block) on_block(now);
    });
    narrator.end();
    RETRACE_CHECK(waited);
    return explained_task(at.chain, task);
}

}  // namespace retrace::node::cli
