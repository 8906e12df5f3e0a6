// SPDX-License-Identifier: MIT
#include "node/service/agent_metrics.hpp"

#include <spdlog/spdlog.h>

#include "node/data_dir.hpp"

namespace retrace::node {
namespace {

void add(std::string& out, const char* name, const char* help, const std::string& role, std::uint64_t value) {
    out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " gauge\n" + name + "{role=\"" + role +
           "\"} " + std::to_string(value) + "\n";
}

}  // namespace

std::string metrics_text(const AgentFigures& figures) {
    std::string out;
    add(out, "retrace_agent_height", "Newest block that was looked at.", figures.role, figures.height);
    add(out, "retrace_agent_duties", "Runs or audit seats.", figures.role, figures.duties);
    add(out, "retrace_agent_disputes", "Open disputes.", figures.role, figures.disputes);
    add(out, "retrace_agent_problems", "Problems logged since the start.", figures.role, figures.problems);
    add(out, "retrace_agent_unsent", "Calls that are in no block yet.", figures.role, figures.unsent);
    add(out, "retrace_agent_remembered", "Records kept of what is open.", figures.role, figures.remembered);
    add(out, "retrace_agent_waiting", "Works that failed and are tried again.", figures.role, figures.waiting.size());
    const auto series = [&](const char* name, const char* help, std::uint64_t solver::Waiting::*value) {
        if (figures.waiting.empty()) return;
        out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " gauge\n";
        for (const solver::Waiting& one : figures.waiting) {
            out += std::string(name) + "{task=\"" + std::to_string(one.task) + "\",run=\"" + std::to_string(one.run) +
                   "\",work=\"" + one.what + "\"} " + std::to_string(one.*value) + "\n";
        }
    };
    series("retrace_agent_waiting_attempts", "Attempts so far.", &solver::Waiting::attempts);
    series("retrace_agent_waiting_next_height", "Height of the next attempt.", &solver::Waiting::next);
    series("retrace_agent_waiting_deadline_height", "By when it is due; 0: not yet.", &solver::Waiting::deadline);
    return out;
}

void MetricsFile::write(const AgentFigures& figures) {
    constexpr std::uint64_t kEvery = 10;
    const bool changed = figures.waiting.size() != waiting_;
    if (!changed && written_height_ != 0 && figures.height < written_height_ + kEvery) return;
    written_height_ = figures.height;
    waiting_ = figures.waiting.size();
    const std::string text = metrics_text(figures);
    if (const auto written = write_file(path_.string(), view(std::string_view(text)), 0600); !written)
        spdlog::debug("no metrics: {}", written.error().message);
}

}  // namespace retrace::node
