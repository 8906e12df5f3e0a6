// SPDX-License-Identifier: MIT
#include "node/agents/agent_metrics.hpp"

#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include "merkle/base/durable_file.hpp"
#include "node/agents/work_choice.hpp"

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
    set("retrace_agent_pending_calls", "Calls that were sent and are in no block yet", figures.pending_calls);
    set("retrace_agent_remembered", "Records kept of what is open", figures.remembered);
    const auto set_coins = [&](const char* name, const char* help, const ledger::U256& amount) {
        prometheus::BuildGauge()
            .Name(name)
            .Help(help)
            .Register(registry)
            .Add({{"role", figures.role}})
            .Set(coins_of(amount));
    };
    set_coins("retrace_agent_earned_coins", "Paid for segments and audits since the start", figures.earnings.income());
    set_coins("retrace_agent_fees_coins", "Fees of calls since the start", figures.earnings.fees);
    set_coins("retrace_agent_slashed_coins", "Stake lost since the start", figures.earnings.slashed);
    set("retrace_agent_waiting", "Work orders that failed and will be retried", figures.waiting.size());
    set("retrace_agent_worker_starts", "Worker processes started", figures.workers.starts);
    set("retrace_agent_worker_deaths", "Worker processes that ended by themselves", figures.workers.deaths);
    set("retrace_agent_worker_deferred", "Tasks in backoff because their program ended its workers",
        figures.workers.tasks_in_backoff);
    const auto set_each = [&](const char* name, const char* help, std::uint64_t solver::FailedWork::*value) {
        auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(registry);
        for (const solver::FailedWork& one : figures.waiting) {
            family.Add({{"task", std::to_string(one.task)}, {"run", std::to_string(one.run)}, {"work", one.what}})
                .Set(static_cast<double>(one.*value));
        }
    };
    set_each("retrace_agent_waiting_attempts", "Attempts so far", &solver::FailedWork::attempts);
    set_each("retrace_agent_waiting_next_height", "Height of the next attempt", &solver::FailedWork::next);
    set_each("retrace_agent_waiting_deadline_height", "Height by which it is due; 0: no deadline yet",
             &solver::FailedWork::deadline);
    return prometheus::TextSerializer().Serialize(registry.Collect());
}

void MetricsFile::write(const AgentFigures& figures) {
    const bool changed = figures.waiting.size() != waiting_;
    if (!changed && !is_due(figures.height)) return;
    written_height_ = figures.height;
    waiting_ = figures.waiting.size();
    const std::string text = metrics_text(figures);
    if (const auto written = write_durably(path_, {view(std::string_view(text))}, 0600); !written)
        spdlog::debug("event=metrics_not_written reason=\"{}\"", written.error().message);
}

}  // namespace retrace::node
