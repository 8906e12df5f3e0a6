// SPDX-License-Identifier: MIT
// What a solver has bid: a bid that cannot be revealed costs its deposit.
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
    ledger::U256 price;        ///< For each segment.
    std::uint64_t finish = 0;  ///< Height.
};

/// A folder of one file for each bid, which nobody but its owner can read: until the bidding ends a price is a
/// secret.
class SealedBids {
public:
    explicit SealedBids(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// After it returned the bid survives any crash.
    Status<> remember(std::uint64_t task, std::uint32_t round, const SealedBid& bid) const;
    std::optional<SealedBid> recall(std::uint64_t task, std::uint32_t round) const;
    struct Auction {
        std::uint64_t task = 0;
        std::uint32_t round = 0;
    };
    /// Deletes the bids of auctions that are over, by the word of `is_over`; returns how many. What cannot be deleted
    /// now is tried again the next time.
    std::size_t forget(const std::function<bool(const Auction&)>& is_over) const;
    /// Whose bids are here.
    std::vector<Auction> auctions() const;
    const std::filesystem::path& folder() const noexcept { return folder_; }

private:
    std::filesystem::path file(std::uint64_t task, std::uint32_t round) const;
    std::filesystem::path folder_;
};

}  // namespace retrace::node
