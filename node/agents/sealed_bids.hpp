// SPDX-License-Identifier: MIT
// Stores a solver's unrevealed bids on disk: a bid that cannot be revealed loses its deposit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "ledger/types/u256.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

struct SealedBid {
    ledger::U256 price;        ///< Price of one segment.
    std::uint64_t finish = 0;  ///< Height at which the task would be finished.
};

/// A folder with one file for each bid, readable only by its owner, because a price is secret until the bidding ends.
class SealedBids {
public:
    explicit SealedBids(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Stores the bid durably: it survives any crash after this returns.
    Status<> remember(std::uint64_t task, std::uint32_t round, const SealedBid& bid) const;
    std::optional<SealedBid> recall(std::uint64_t task, std::uint32_t round) const;
    struct Auction {
        std::uint64_t task = 0;
        std::uint32_t round = 0;
    };
    /// Deletes the bids of auctions for which `is_over` returns true; returns how many. A failed deletion is retried at
    /// the next call.
    std::size_t forget(const std::function<bool(const Auction&)>& is_over) const;
    /// Returns the auctions with a stored bid.
    std::vector<Auction> auctions() const;
    const std::filesystem::path& folder() const noexcept { return folder_; }

private:
    std::filesystem::path file(std::uint64_t task, std::uint32_t round) const;
    std::filesystem::path folder_;
};

}  // namespace retrace::node
