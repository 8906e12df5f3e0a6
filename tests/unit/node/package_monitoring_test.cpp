// SPDX-License-Identifier: MIT
// The dashboard and the alerts of the packages name metrics that the program exports.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "node/agents/agent_metrics.hpp"
#include "node/server/metrics.hpp"

namespace retrace::node {
namespace {

/// Words that begin with "retrace_", of letters and underscores.
std::set<std::string> metric_names(const std::string& text) {
    constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz_";
    std::set<std::string> out;
    for (std::size_t at = text.find("retrace_"); at != std::string::npos; at = text.find("retrace_", at + 1)) {
        const std::size_t end = text.find_first_not_of(kLetters, at);
        out.insert(text.substr(at, end - at));
    }
    return out;
}

std::string file_text(const std::string& name) {
    std::ifstream file(std::string(RETRACE_VECTORS) + "/../../node/package/monitoring/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> exported() {
    Metrics node;
    node.rpc_call("eth_call", false, 0.1);
    AgentFigures agent;
    agent.role = "solver";
    agent.waiting.emplace_back();
    return metric_names(node.text({}) + metrics_text(agent));
}

class Monitoring : public testing::TestWithParam<const char*> {};

TEST_P(Monitoring, NamesOnlyMetricsThatAreExported) {
    const auto names = metric_names(file_text(GetParam()));
    EXPECT_GE(names.size(), 10u);
    for (const std::string& name : names) {
        if (name == "retrace_status") continue;  // A JSON-RPC method.
        EXPECT_TRUE(exported().contains(name)) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Files, Monitoring, testing::Values("dashboard.json", "alerts.yml"));

/// Every metric of the program has its panel, so that a new one is not forgotten.
TEST(MonitoringDashboard, ShowsEveryMetric) {
    const auto shown = metric_names(file_text("dashboard.json"));
    for (const std::string& name : exported()) {
        if (name.starts_with("retrace_rpc_seconds")) continue;  // The histogram, of which the buckets are shown.
        EXPECT_TRUE(shown.contains(name)) << name;
    }
    EXPECT_TRUE(shown.contains("retrace_rpc_seconds_bucket"));
}

}  // namespace
}  // namespace retrace::node
