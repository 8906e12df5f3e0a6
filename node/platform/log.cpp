// SPDX-License-Identifier: MIT
#include "node/platform/log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <vector>

namespace retrace::node {
namespace {

class TailSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit TailSink(std::shared_ptr<LogTail> tail) : tail_(std::move(tail)) {}

private:
    void sink_it_(const spdlog::details::log_msg& entry) override {
        spdlog::memory_buf_t line;
        formatter_->format(entry, line);
        tail_->add({line.data(), line.size()});
    }
    void flush_() override {}

    const std::shared_ptr<LogTail> tail_;
};

}  // namespace

void set_up_log(const std::string& level, std::shared_ptr<LogTail> tail) {
    std::vector<spdlog::sink_ptr> sinks{std::make_shared<spdlog::sinks::stderr_sink_mt>()};
    if (tail) sinks.push_back(std::make_shared<TailSink>(std::move(tail)));
    auto logger = std::make_shared<spdlog::logger>("retrace", sinks.begin(), sinks.end());
    logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
    logger->set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace retrace::node
