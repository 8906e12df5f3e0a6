// SPDX-License-Identifier: MIT
// What bench_market measures.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/bench/rows.hpp"

namespace retrace::bench {

struct LoadOptions {
    std::uint64_t tasks = 10'000;
    std::uint64_t bids_each = 10;  ///< Sealed bids of every task's auction, all open at once.
};

/// A market of so many open bids, on a state in memory, with the checks that a chain makes after each call:
/// `commit_bid`, `reveal_bid` and `post_task` in that market; `block_time_loaded`: the slowest of the blocks that close
/// auctions, with as many reveals as a block's gas allows.
std::vector<Row> measure_load(const LoadOptions& options);
/// `match`: clearing one auction of 64 bids for 5 replicas; `match_group`: one of 512 bids for 255 seats.
std::vector<Row> measure_match();
/// `welfare`: what the agents' own choices and the auctions bring of the optimum, summed over `instances` small ones;
/// `welfare_worst`: the least of them.
std::vector<Row> measure_welfare(std::uint64_t instances);
/// The same with one agent, so that tasks compete for it, and where a third of the tasks is urgent: worth a tenth more, which
/// their requesters pay. `welfare_scarce`: as a higher ceiling; `welfare_scarce_classes`: for a class that agents take
/// first, the payment counted as neither won nor lost. `urgent_solved`, `others_solved`: the shares that are solved, and
/// `…_classes` with classes; `urgent_solved_by_price`: of the urgent ones that are not, the share that is when it alone
/// pays twice as much.
std::vector<Row> measure_classes(std::uint64_t instances);
/// What solvers that wait for the end of a rising ceiling (contracts 12.12) bring about, in the markets of `welfare` with
/// four auctions. `curve_welfare_…`: of the optimum; `curve_paid_…`: price of the solved tasks, of their worth, which is their
/// last ceiling; `flat`: the ceiling is the worth from the start, otherwise 0.4 of it in the first auction.
/// `curve_gain_…`: what one that waits earns, of what it earns if it does not, while nobody else waits or all others do.
std::vector<Row> measure_waiting(std::uint64_t instances);
/// `quickstart`: from the start of `retrace solver --quickstart` to its first bid in a block, on a chain of its own.
std::vector<Row> measure_quickstart();
/// `first_paint`, `transferred`, `live_delay`, `scroll_frame`, `scroll_work` of the console (node/BENCHMARKS.md), each with the
/// most that is allowed; a row has failed if it is more. Without npm or Chromium they are not measured, and say so.
std::vector<Row> measure_console();

}  // namespace retrace::bench
