// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "verifier/agent/agent_context.hpp"

namespace retrace::verifier {

/// Work of one agent that failed and waits for its retry, by name. Used for work whose result has no audit deadline.
class FailedWork {
public:
    /// `context` outlives the object.
    explicit FailedWork(AgentContext& context) : context_(context) {}

    /// Reports the problem. The work is retried after `resend_blocks`.
    void add(const std::string& name, const std::string& problem) {
        context_.problems.push_back(name + ": " + problem);
        retry_height_[name] = context_.height + context_.config.resend_blocks;
    }
    bool contains(const std::string& name) const { return retry_height_.count(name) != 0; }
    /// Removes the work whose retry is due. Called with each view.
    void sweep() {
        std::erase_if(retry_height_, [&](const auto& item) { return item.second < context_.height; });
    }

private:
    AgentContext& context_;
    std::map<std::string, std::uint64_t> retry_height_;
};

}  // namespace retrace::verifier
