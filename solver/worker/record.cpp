// SPDX-License-Identifier: MIT
#include "solver/worker/record.hpp"

#include <algorithm>

namespace retrace::solver {

void WorkerRecord::started() {
    const std::lock_guard lock(mutex_);
    ++starts_;
}

void WorkerRecord::died(std::uint64_t task, const std::string& how, const std::string& where, unsigned weight) {
    constexpr unsigned kDoublings = 6;  // At most 64 s, because deadlines are not much longer.
    std::string text = "task " + std::to_string(task) + ": its worker process " + how + " at " + where;
    {
        const std::lock_guard lock(mutex_);
        ++deaths_;
        Deaths& deaths = tasks_[task];
        deaths.count = deaths.where == where ? deaths.count + weight : weight;
        deaths.how = how;
        deaths.where = where;
        deaths.next = Clock::now();
        if (deaths.count >= kDeathsMost)
            deaths.next += std::chrono::seconds(1u << std::min(deaths.count - kDeathsMost, kDoublings));
        if (deaths.count > weight) text += ", " + std::to_string(deaths.count) + " times there";
    }
    report_(text);
}

void WorkerRecord::worked(std::uint64_t task) {
    const std::lock_guard lock(mutex_);
    tasks_.erase(task);
}

std::optional<std::string> WorkerRecord::backoff(std::uint64_t task) const {
    const std::lock_guard lock(mutex_);
    const auto found = tasks_.find(task);
    if (found == tasks_.end()) return std::nullopt;
    const auto left = found->second.next - Clock::now();
    if (left.count() <= 0) return std::nullopt;
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
    return "in backoff for " + std::to_string(seconds) + " s: its worker process " + found->second.how + " at " +
           found->second.where + ", " + std::to_string(found->second.count) + " times";
}

WorkerRecord::Figures WorkerRecord::figures() const {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    const auto in_backoff =
        std::count_if(tasks_.begin(), tasks_.end(), [&](const auto& item) { return item.second.next > now; });
    return {starts_, deaths_, static_cast<std::uint64_t>(in_backoff)};
}

}  // namespace retrace::solver
