// SPDX-License-Identifier: MIT
#include "ledger/chain/log_search.hpp"

#include <algorithm>

#include "ledger/crypto/keccak.hpp"

namespace retrace::ledger {
namespace {

/// The filter's items, hashed once for a search through many blooms.
struct HashedFilter {
    std::vector<std::vector<Hash32>> groups;  // a match needs one item of each group

    explicit HashedFilter(const LogFilter& filter) {
        if (!filter.addresses.empty()) {
            auto& group = groups.emplace_back();
            for (const Address& address : filter.addresses) group.push_back(keccak256(view(address)));
        }
        for (const auto& position : filter.topics) {
            if (position.empty()) continue;
            auto& group = groups.emplace_back();
            for (const Hash32& topic : position) group.push_back(keccak256(view(topic)));
        }
    }

    bool may_match(const Bloom& bloom) const {
        return std::all_of(groups.begin(), groups.end(), [&](const std::vector<Hash32>& group) {
            return std::any_of(group.begin(), group.end(),
                               [&](const Hash32& hash) { return may_contain_hash(bloom, hash); });
        });
    }
};

}  // namespace

LogMatcher::LogMatcher(LogFilter filter) : sorted_(std::move(filter)) {
    std::ranges::sort(sorted_.addresses);
    for (auto& position : sorted_.topics) std::ranges::sort(position);
}

bool LogMatcher::operator()(const Log& log) const {
    const auto has = [](const auto& list, const auto& item) {
        return list.empty() || std::ranges::binary_search(list, item);
    };
    if (!has(sorted_.addresses, log.address) || log.topics.size() < sorted_.topics.size()) return false;
    for (std::size_t i = 0; i < sorted_.topics.size(); ++i) {
        if (!has(sorted_.topics[i], log.topics[i])) return false;
    }
    return true;
}

bool may_match(const LogFilter& filter, const Bloom& bloom) { return HashedFilter(filter).may_match(bloom); }

std::vector<LogEntry> logs_of(const Block& block, const LogMatcher& wanted) {
    std::vector<LogEntry> out;
    std::uint64_t log_index = 0;
    const auto take = [&](const Log& log, const Hash32& tx_hash, std::uint32_t tx_index) {
        if (wanted(log)) {
            out.push_back({.log = log,
                           .height = block.header.height,
                           .block_hash = block.hash,
                           .time_s = block.header.time_s(),
                           .tx_hash = tx_hash,
                           .tx_index = tx_index,
                           .log_index = log_index});
        }
        ++log_index;
    };
    for (const Log& log : block.system_logs) take(log, block.hash, static_cast<std::uint32_t>(block.txs.size()));
    for (std::uint32_t i = 0; i < block.receipts.size(); ++i) {
        for (const Log& log : block.receipts[i].logs) take(log, block.txs[i].hash, i);
    }
    return out;
}

FoundLogs search_logs(const Chain& chain, std::uint64_t first, std::uint64_t last, const LogFilter& filter,
                      std::size_t limit, const WorkMeter& meter) {
    const HashedFilter hashed(filter);
    const LogMatcher wanted(filter);
    const auto stopped = [&meter](std::size_t work) { return meter && !meter(work); };
    FoundLogs out;
    last = std::min(last, chain.height());
    for (out.next = first; out.next <= last; ++out.next) {
        if (stopped(1)) {
            out.end = FoundLogs::End::stopped;
            return out;
        }
        const auto bloom = chain.bloom(out.next);
        if (!bloom) {
            out.end = FoundLogs::End::missing;
            return out;
        }
        // Most blocks of a quiet chain have no logs, and a filter without items would load each of them.
        if (*bloom == Bloom{} || !hashed.may_match(*bloom)) continue;
        if (stopped(chain.block_work(out.next))) {
            out.end = FoundLogs::End::stopped;
            return out;
        }
        const auto block = chain.block(out.next);
        if (!block) {  // pruned meanwhile
            out.end = FoundLogs::End::missing;
            return out;
        }
        auto found = logs_of(*block, wanted);
        const bool full = out.logs.size() + found.size() > limit;
        if (full) out.end = FoundLogs::End::full;
        if (full && !out.logs.empty()) return out;
        std::move(found.begin(), found.end(), std::back_inserter(out.logs));
        if (full) {
            ++out.next;
            return out;
        }
    }
    return out;
}

}  // namespace retrace::ledger
