// SPDX-License-Identifier: MIT
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solver/agent/work.hpp"

namespace retrace::node {

/// Runs a party's work orders one after another on a separate thread. The party's loop polls it for results; while an
/// order runs, only that order may touch the task cache.
template <class Result>
class OrderThread {
public:
    void add(solver::WorkOrder<Result> order) { waiting_.push_back(std::move(order)); }
    /// Returns the result of the order that ended, if any, and starts the next.
    std::optional<Result> poll() {
        std::optional<Result> out;
        if (running_.valid() && running_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
            out = running_.get();
        }
        if (!running_.valid() && !waiting_.empty()) {
            spdlog::debug("event=work item=\"{}\"", waiting_.front().what);
            what_ = std::move(waiting_.front().what);
            running_ = std::async(std::launch::async, std::move(waiting_.front().run));
            waiting_.pop_front();
        }
        return out;
    }
    bool idle() const { return !running_.valid() && waiting_.empty(); }
    /// What the running order does and the waiting ones will do, in order.
    std::vector<std::string> items() const {
        std::vector<std::string> out;
        if (running_.valid()) out.push_back(what_);
        for (const auto& order : waiting_) out.push_back(order.what);
        return out;
    }

private:
    std::deque<solver::WorkOrder<Result>> waiting_;
    std::future<Result> running_;
    std::string what_;  ///< Of the running order.
};

}  // namespace retrace::node
