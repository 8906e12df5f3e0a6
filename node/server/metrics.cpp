// SPDX-License-Identifier: MIT
#include "node/server/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace retrace::node {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

struct Metrics::Impl {
    prometheus::Registry registry;
    prometheus::Family<prometheus::Counter>& calls =
        BuildCounter().Name("retrace_rpc_calls_total").Help("JSON-RPC calls").Register(registry);
    prometheus::Histogram& seconds =
        BuildHistogram()
            .Name("retrace_rpc_seconds")
            .Help("Time in JSON-RPC handlers")
            .Register(registry)
            .Add({}, prometheus::Histogram::BucketBoundaries{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0});
    prometheus::Gauge& height =
        BuildGauge().Name("retrace_height").Help("Height of the last block").Register(registry).Add({});
    prometheus::Counter& txs =
        BuildCounter().Name("retrace_transactions_total").Help("Transactions in blocks").Register(registry).Add({});
    prometheus::Counter& gas =
        BuildCounter().Name("retrace_gas_total").Help("Gas used in blocks").Register(registry).Add({});
    prometheus::Family<prometheus::Gauge>& pool =
        BuildGauge().Name("retrace_pool").Help("Transactions that wait").Register(registry);
    prometheus::Family<prometheus::Gauge>& connections =
        BuildGauge().Name("retrace_connections").Help("Open connections").Register(registry);
    prometheus::Gauge& refused = BuildGauge()
                                     .Name("retrace_refused")
                                     .Help("Connections and requests refused by a limit")
                                     .Register(registry)
                                     .Add({});
    prometheus::Gauge& broken = BuildGauge()
                                    .Name("retrace_broken_invariants")
                                    .Help("Transactions and scheduled items undone by a fault of the rules")
                                    .Register(registry)
                                    .Add({});

    std::shared_mutex counters_mutex;
    std::map<std::pair<std::string, bool>, prometheus::Counter*> counters;  // by (method, failed)

    prometheus::Counter& counter(const std::string& method, bool failed);
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

// Caches the counters: the library looks a counter up by its labels under a lock, which costs more than many RPC calls.
prometheus::Counter& Metrics::Impl::counter(const std::string& method, bool failed) {
    const std::pair key(method, failed);
    {
        const std::shared_lock lock(counters_mutex);
        if (const auto found = counters.find(key); found != counters.end()) return *found->second;
    }
    prometheus::Counter& made = calls.Add({{"method", method}, {"outcome", failed ? "error" : "ok"}});
    const std::unique_lock lock(counters_mutex);
    counters.emplace(key, &made);
    return made;
}

void Metrics::rpc_call(const std::string& method, bool failed, double seconds) {
    impl_->counter(method, failed).Increment();
    impl_->seconds.Observe(seconds);
}

void Metrics::block(std::uint64_t height, std::size_t txs, std::uint64_t gas_used) {
    impl_->height.Set(static_cast<double>(height));
    impl_->txs.Increment(static_cast<double>(txs));
    impl_->gas.Increment(static_cast<double>(gas_used));
}

std::string Metrics::text(const Gauges& gauges) const {
    impl_->pool.Add({{"state", "pending"}}).Set(static_cast<double>(gauges.pool_pending));
    impl_->pool.Add({{"state", "queued"}}).Set(static_cast<double>(gauges.pool_queued));
    impl_->connections.Add({{"kind", "http"}}).Set(static_cast<double>(gauges.http_connections));
    impl_->connections.Add({{"kind", "websocket"}}).Set(static_cast<double>(gauges.ws_connections));
    impl_->refused.Set(static_cast<double>(gauges.refused));
    impl_->broken.Set(static_cast<double>(gauges.broken_invariants));
    return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace retrace::node
