// SPDX-License-Identifier: MIT
#include "node/agents/agent_metrics.hpp"

#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include "merkle/base/durable_file.hpp"
#include "node/platform/data_dir.hpp"

namespace retrace::node {

std::string metrics_text(const AgentFigures& figures) {
    prometheus::Registry registry;
    const auto set = [&](const char* name, const char* help, std::uint64_t value) {
        prometheus::BuildGauge()
            .Name(name)
            .Help(help)
            .Register(registry)
            .Add({{"role", figures.role}})
            .Set(static_cast<double>(value));
    };
    set("retrace_agent_height", "Newest block that was looked at", figures.height);
    set("retrace_agent_duties", "Runs or audit seats", figures.duties);
    set("retrace_agent_disputes", "Open disputes", figures.disputes);
    set("retrace_agent_problems", "Problems logged since the start", figures.problems);
    set("retrace_agent_unsent", "Calls that are in no block yet", figures.unsent);
    set("retrace_agent_remembered", "Records kept of what is open", figures.remembered);
    set("retrace_agent_waiting", "Works that failed and are tried again", figures.waiting.size());
    set("retrace_agent_worker_starts", "Worker processes started", figures.workers.starts);
    set("retrace_agent_worker_deaths", "Worker processes that ended by themselves", figures.workers.deaths);
    set("retrace_agent_worker_put_off", "Tasks put off, as they ended their workers", figures.workers.tasks_put_off);
    const auto set_each = [&](const char* name, const char* help, std::uint64_t solver::Waiting::*value) {
        auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(registry);
        for (const solver::Waiting& one : figures.waiting) {
            family.Add({{"task", std::to_string(one.task)}, {"run", std::to_string(one.run)}, {"work", one.what}})
                .Set(static_cast<double>(one.*value));
        }
    };
    set_each("retrace_agent_waiting_attempts", "Attempts so far", &solver::Waiting::attempts);
    set_each("retrace_agent_waiting_next_height", "Height of the next attempt", &solver::Waiting::next);
    set_each("retrace_agent_waiting_deadline_height", "By when it is due; 0: not yet", &solver::Waiting::deadline);
    return prometheus::TextSerializer().Serialize(registry.Collect());
}

void MetricsFile::write(const AgentFigures& figures) {
    constexpr std::uint64_t kEvery = 10;
    const bool changed = figures.waiting.size() != waiting_;
    if (!changed && written_height_ != 0 && figures.height < written_height_ + kEvery) return;
    written_height_ = figures.height;
    waiting_ = figures.waiting.size();
    const std::string text = metrics_text(figures);
    if (const auto written = write_durably(path_, {view(std::string_view(text))}, 0600); !written)
        spdlog::debug("event=metrics_not_written reason=\"{}\"", written.error().message);
}

}  // namespace retrace::node
