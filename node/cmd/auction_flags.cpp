// SPDX-License-Identifier: MIT
#include "node/cmd/auction_flags.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

#include "contracts/records/views.hpp"
#include "node/agents/machine_speed.hpp"
#include "node/agents/remote_state.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

/// Blocks from the one that was read to the one with the posting.
constexpr std::uint64_t kPostingBlocks = 2;
/// Contracts 12.12.7.
constexpr std::uint64_t kPauseMax = 1'000'000'000;
/// So that no sum of a height and a time overflows.
constexpr double kBlocksMax = 1e12;

std::optional<double> seconds_of(char unit) {
    switch (unit) {
        case 's': return 1;
        case 'm': return 60;
        case 'h': return 3'600;
        case 'd': return 86'400;
        default: return std::nullopt;
    }
}

struct ChainNow {
    market::Params params;
    std::uint64_t height = 0;
};

Result<ChainNow> chain_now(ChainReader& chain) {
    RETRACE_TRY(state, chain.newest());
    const auto params = contracts::views::params(state);
    if (state.failure()) return error(state.failure()->message);
    if (!params) return error("the node at " + chain.client().url() + " has no Retrace contracts");
    return ChainNow{*params, state.height()};
}

/// The auctions that are over by `by`.
Result<AuctionTimes> auctions_before(const std::string& by, const ChainNow& now, ChainReader& chain) {
    const bool is_time = !by.empty() && seconds_of(by.back()).has_value();
    const auto block_s = is_time ? block_time(chain.client(), now.height) : std::optional(1.0);
    if (!block_s) return error("the node does not tell how long a block takes yet; give --by as a block");
    const auto deadline = deadline_of(by, now.height, *block_s);
    if (!deadline) return error("--by is a block, or a time such as 90m, 6h or 2d");
    const AuctionTimes fit = auctions_by(now.params, now.height, *deadline);
    if (fit.auctions != 0) return fit;
    return error("no auction of " + std::to_string(now.params.bid_blocks + now.params.reveal_blocks) +
                 " blocks is over by block " + std::to_string(*deadline) + " (--by): block " +
                 std::to_string(now.height) + " is the newest");
}

}  // namespace

std::optional<std::uint64_t> deadline_of(const std::string& text, std::uint64_t height, double block_s) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, code] = std::from_chars(text.data(), end, number);
    if (code != std::errc() || end - rest > 1) return std::nullopt;
    if (rest == end) return number;
    const auto unit = seconds_of(*rest);
    const double blocks = unit ? *unit * static_cast<double>(number) / block_s : kBlocksMax;
    if (!(blocks < kBlocksMax)) return std::nullopt;
    return height + static_cast<std::uint64_t>(blocks);
}

AuctionTimes auctions_by(const market::Params& params, std::uint64_t height, std::uint64_t deadline) {
    const std::uint64_t posted = height + kPostingBlocks, time = deadline - std::min(deadline, posted),
                        each = params.bid_blocks + params.reveal_blocks;
    const std::uint64_t auctions = std::min({time / each, params.rounds, std::uint64_t{market::kAuctionsMax}});
    if (auctions < 2) return {auctions, 0};
    return {auctions, std::min(kPauseMax, (time - auctions * each) / (auctions - 1))};
}

Status<> AuctionFlags::apply(TaskFile& task, ChainReader* chain) const {
    ChainNow now;
    if (chain != nullptr) {
        RETRACE_TRY(read, chain_now(*chain));
        now = read;
    }
    std::uint64_t wanted = auctions;
    if (!by.empty()) {
        if (chain == nullptr) return error("--by needs a chain to count blocks on (--node)");
        RETRACE_TRY(fit, auctions_before(by, now, *chain));
        wanted = fit.auctions;
        task.pause_blocks = fit.pause;
    } else if (wanted > now.params.rounds) {
        std::cerr << "warning: a task of this chain has at most " << now.params.rounds << " auctions" << std::endl;
    }
    task.auctions =
        static_cast<std::uint8_t>(std::min({wanted, now.params.rounds, std::uint64_t{market::kAuctionsMax}}));
    if (raise_to.empty()) return Unit{};
    const auto last = parse_coins(raise_to);
    if (!last) return error("--raise-to must be coins for a segment, like 0.5, below 2^128 wei");
    if (*last < task.price_ceiling)
        return error("--raise-to is below the task's price_ceiling of " + describe_coins(task.price_ceiling));
    if (*last > task.price_ceiling && task.auctions == 1)
        return error(
            "a ceiling rises from one auction to the next (--raise-to), and the task has one (--auctions, --by)");
    task.last_ceiling = *last;
    return Unit{};
}

void AuctionFlags::add_to(CLI::App& command) {
    CLI::Option* number =
        command.add_option("--auctions", auctions, "Auctions that the task has while too few solvers bid (3)")
            ->check(CLI::Range(1u, unsigned{market::kAuctionsMax}));
    command.add_option("--raise-to", raise_to,
                       "Raise price_ceiling from one auction to the next, in equal steps, to so many coins a segment");
    command
        .add_option("--by", by,
                    "Have auctions until a block, or for a time such as 90m, 6h or 2d: as many as fit and the chain "
                    "allows, with "
                    "equal pauses between them")
        ->excludes(number);
}

}  // namespace retrace::node::cli
