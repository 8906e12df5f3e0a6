// SPDX-License-Identifier: MIT
// --auctions, --raise-to, --by: the auctions of a task that is posted, reserved or planned.
#pragma once

#include "node/cmd/options.hpp"
#include "node/tasks/task_file.hpp"

namespace retrace::node::cli {

struct AuctionFlags {
    std::uint32_t auctions = 3;  ///< As long as too few solvers bid, the first one included.
    std::string raise_to;        ///< Coins of a segment in the last auction; empty: as in the first.
    std::string by;  ///< Block or time at which the last auction is over; empty: `auctions` of them without pauses.

    void add_to(CLI::App& command);
    /// Sets the auctions of the task, at most as many as the chain allows, and the ceiling of the last one. `chain`: none has
    /// the parameters of a new chain, and no `by`. Errors name the option.
    Status<> apply(TaskFile& task, ChainReader* chain) const;
};

/// A height in decimal digits, or a time from `height` on, such as 90s, 45m, 6h or 2d, in blocks of `block_s` seconds.
std::optional<std::uint64_t> deadline_of(const std::string& text, std::uint64_t height, double block_s);

/// The auctions of a task, and the blocks between two.
struct AuctionTimes {
    std::uint64_t auctions = 0, pause = 0;
    bool operator==(const AuctionTimes&) const = default;
};
/// The most auctions of a task that is posted after block `height` which are over by block `deadline`, spread over the time until then.
AuctionTimes auctions_by(const market::Params& params, std::uint64_t height, std::uint64_t deadline);

}  // namespace retrace::node::cli
