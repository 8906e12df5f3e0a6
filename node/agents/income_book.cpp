// SPDX-License-Identifier: MIT
#include "node/agents/income_book.hpp"

#include <algorithm>

#include "contracts/calls/encode.hpp"

namespace retrace::node {
namespace {

constexpr std::uint64_t kDaySeconds = 86'400;
constexpr int kServerError = -32000;  ///< Of JSON-RPC, also for blocks that are not kept.

void add(IncomeBook::Sum& sum, const Earnings& one, std::uint64_t height) {
    sum.earned = sum.earned + one.income();
    sum.lost = sum.lost + one.slashed;
    sum.segments += one.segment_count;
    sum.audits += one.audit_count;
    sum.last = std::max(sum.last, height);
}

void add(std::map<std::uint64_t, IncomeBook::Sum>& rows, std::uint64_t key, const Earnings& one, std::uint64_t height) {
    add(rows[key], one, height);
    if (rows.size() > IncomeBook::kRows) rows.erase(rows.begin());
}

/// Days of the blocks `heights`, which ascend, by a search for the changes of day: a reading costs a few calls a day,
/// however many payments there are.
Status<RpcFailure> find_days(const IncomeBook::Source& source, const std::vector<std::uint64_t>& heights,
                             std::map<std::uint64_t, std::uint64_t>& days) {
    const auto day_of = [&](std::uint64_t height) -> Status<RpcFailure> {
        if (days.contains(height)) return Unit{};
        RETRACE_TRY(time, source.block_time(height));
        days[height] = time / kDaySeconds;
        return Unit{};
    };
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    if (!heights.empty()) ranges.emplace_back(0, heights.size() - 1);
    while (!ranges.empty()) {
        const auto [low, high] = ranges.back();
        ranges.pop_back();
        RETRACE_CHECK(day_of(heights[low]));
        RETRACE_CHECK(day_of(heights[high]));
        if (days[heights[low]] == days[heights[high]]) {
            for (std::size_t i = low; i <= high; ++i) days[heights[i]] = days[heights[low]];
        } else if (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            ranges.emplace_back(low, middle);
            ranges.emplace_back(middle, high);
        }
    }
    return Unit{};
}

}  // namespace

Status<RpcFailure> IncomeBook::advance(const Source& source, std::uint64_t height) {
    const bool begins = last_ == 0;
    if (height > last_) RETRACE_CHECK(read_newer(source, height));
    return begins || complete_ ? Status<RpcFailure>(Unit{}) : read_older(source);
}

Result<bool, RpcFailure> IncomeBook::read_piece(const Source& source, std::uint64_t from, std::uint64_t to,
                                                std::uint64_t& piece) {
    const auto done = read(source, from, to);
    if (done) {
        piece = std::min(kBlocks, 2 * piece);
        return true;
    }
    if (done.error().code != kServerError || from == to) return Unexpected{done.error()};
    piece = (to - from + 1) / 2;
    return false;
}

Status<RpcFailure> IncomeBook::read_newer(const Source& source, std::uint64_t height) {
    const bool begins = last_ == 0;
    const std::uint64_t to = begins ? height : std::min(height, last_ + newer_piece_);
    const std::uint64_t from = !begins ? last_ + 1 : to > newer_piece_ ? to - newer_piece_ + 1 : 1;
    RETRACE_TRY(done, read_piece(source, from, to, newer_piece_));
    if (!done) return Unit{};
    last_ = to;
    if (begins) first_ = from;
    complete_ = first_ == 1 || complete_;
    return Unit{};
}

Status<RpcFailure> IncomeBook::read_older(const Source& source) {
    const std::uint64_t to = first_ - 1, from = to > older_piece_ ? to - older_piece_ + 1 : 1;
    const auto done = read_piece(source, from, to, older_piece_);
    if (!done && done.error().code != kServerError) return Unexpected{done.error()};
    complete_ = !done;  // The node does not have them.
    if (done && *done) first_ = from;
    complete_ = complete_ || first_ == 1;
    return Unit{};
}

Status<RpcFailure> IncomeBook::read(const Source& source, std::uint64_t from, std::uint64_t to) {
    std::vector<PlacedLog> all;
    std::vector<std::uint64_t> heights;
    for (const auto& topics : earning_topics(party_)) {
        RETRACE_TRY(logs, source.logs(topics, from, to));
        for (PlacedLog& log : logs) {
            heights.push_back(log.height);
            all.push_back(std::move(log));
        }
    }
    std::ranges::sort(heights);
    heights.erase(std::unique(heights.begin(), heights.end()), heights.end());
    std::map<std::uint64_t, std::uint64_t> days;
    RETRACE_CHECK(find_days(source, heights, days));
    IncomeBook next = *this;
    RETRACE_CHECK(sums_of_logs([&] {
        for (const PlacedLog& placed : all) {
            Earnings one;
            one.take(placed.log, party_);
            if (one.income().is_zero() && one.slashed.is_zero()) continue;
            add(next.total_, one, placed.height);
            add(next.days_, days[placed.height], one, placed.height);
            if (const auto paid = contracts::decode_event<contracts::SegmentsPaid>(placed.log))
                add(next.tasks_, paid->task, one, placed.height);
            else if (const auto audit = contracts::decode_event<contracts::AuditPaid>(placed.log))
                add(next.audits_, audit->audit, one, placed.height);
            else if (const auto lost = contracts::decode_event<contracts::Slashed>(placed.log))
                add(next.tasks_, lost->task, one, placed.height);
        }
    }));
    *this = std::move(next);
    return Unit{};
}

}  // namespace retrace::node
