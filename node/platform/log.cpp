// SPDX-License-Identifier: MIT
#include "node/platform/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace retrace::node {

void set_up_log(const std::string& level) {
    auto logger = std::make_shared<spdlog::logger>("retrace", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
    logger->set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace retrace::node
