// SPDX-License-Identifier: MIT
// What bench_rounds measures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/rounds/trainings.hpp"
#include "tests/bench/rows.hpp"

namespace retrace::bench {

inline constexpr std::uint32_t kInner = 10;  ///< Steps of a member in a round.

struct RoundsOptions {
    std::uint64_t steps = 1000;  ///< Of each training but those of dp_accuracy.
    std::uint64_t seeds = 2;     ///< Trainings of each kind, averaged.
    std::optional<float> outer_rate;
    double round_seconds = 30;  ///< Of the steps of a member in a round, where members are real processes.
};

using Wants = std::function<bool(const std::string& row)>;

/// Loss or accuracy of groups beside one machine: the rows rounds_quality (1 and 2 bits), rounds_lossy,
/// rounds_quality_image, gradient_quality; dp_accuracy: with differential privacy (ε = 5.5) beside none. `wants` says whether a row is asked for.
std::vector<Row> measure_quality(const RoundsOptions& options, const Wants& wants);
/// Bytes of a dense fp32 update over those of a message with its HTTP exchange: rounds_ratio_1bit, rounds_ratio_2bit.
std::vector<Row> measure_ratio();
/// What a member downloads in a round of 64 members whose messages are merged in eight regions, over what it downloads
/// without regions: rounds_regions (the median: most members list one message or none), rounds_regions_mean, and
/// rounds_regions_most of those that list the messages of their region.
std::vector<Row> measure_regions();
/// Milliseconds of the block that closes a round of the largest group, and of the one after it, which looks at its
/// payments: rounds_ledger, rounds_ledger_payments. States are in memory; a round's calls come before.
std::vector<Row> measure_ledger();
/// Secure aggregation, 64 members, 2^20 values of ten bits: the bytes that a member sends (message, keys, shares, and what
/// it reveals) over those of plain values, and the time that each part takes a member: mask_bytes, mask_keys, mask_deal,
/// mask_message, mask_unmask; mask_terms: the time to get the masks of the sum from what was revealed. Fails unless the sum
/// is exact.
std::vector<Row> measure_masks();
/// The share of begin, add, end and press in a round: rounds_outer. What auditors replay of 400 rounds over what they replay
/// of one solver with as many segments of as many steps: rounds_audit. The time of a round of members that compute all by
/// themselves, over that of a local group, which computes once what they have in common: rounds_local_gpt and _mlp.
std::vector<Row> measure_outer();

/// Eight real members behind slow links: rounds_utilisation, rounds_slow10, rounds_scale, and the first two of the peer
/// that sums dense updates, gloo_utilisation and gloo_slow10; rounds_network is all of them, which share their trainings. Needs network namespaces and minutes for each row.
std::vector<Row> measure_network(const RoundsOptions& options, const Wants& wants);

}  // namespace retrace::bench
