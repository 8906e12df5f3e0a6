// SPDX-License-Identifier: MIT
#include "node/agents/sealed_bids.hpp"

#include <charconv>
#include <fstream>
#include <string>

#include "merkle/base/durable_file.hpp"
#include "node/platform/permissions.hpp"

namespace retrace::node {

namespace fs = std::filesystem;

fs::path SealedBids::file(std::uint64_t task, std::uint32_t round) const {
    return folder_ / (std::to_string(task) + "-" + std::to_string(round));
}

Status<> SealedBids::remember(std::uint64_t task, std::uint32_t round, const SealedBid& bid) const {
    RETRACE_CHECK(make_private_folder(folder_.string()));
    std::error_code failed;
    fs::permissions(folder_, fs::perms::owner_all, failed);  // earlier versions left it open
    if (failed) return error(folder_.string() + ": cannot close it to others: " + failed.message());
    RETRACE_CHECK(sync_folder(folder_.parent_path()));
    const std::string text = bid.price.to_decimal() + " " + std::to_string(bid.finish) + "\n";
    RETRACE_CHECK(write_durably(file(task, round), {view(std::string_view(text))}, 0600));
    return Unit{};
}

std::optional<SealedBid> SealedBids::recall(std::uint64_t task, std::uint32_t round) const {
    std::ifstream in(file(task, round));
    std::string price;
    SealedBid out;
    if (!(in >> price >> out.finish)) return std::nullopt;
    const auto amount = ledger::U256::from_decimal(price);
    if (!amount) return std::nullopt;
    out.price = *amount;
    return out;
}

std::vector<SealedBids::Auction> SealedBids::auctions() const {
    std::vector<Auction> out;
    std::error_code failed;
    for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
        const std::string name = at->path().filename().string();
        Auction auction;
        const char* const last = name.data() + name.size();
        const auto task = std::from_chars(name.data(), last, auction.task);
        if (task.ec != std::errc() || task.ptr == last || *task.ptr != '-') continue;
        const auto round = std::from_chars(task.ptr + 1, last, auction.round);
        // Other files in the folder are ignored.
        if (round.ec == std::errc() && file(auction.task, auction.round).filename() == name) out.push_back(auction);
    }
    return out;
}

std::size_t SealedBids::forget(const std::function<bool(const Auction&)>& is_over) const {
    std::size_t deleted = 0;
    for (const Auction& auction : auctions()) {
        std::error_code failed;
        if (is_over(auction) && fs::remove(file(auction.task, auction.round), failed)) ++deleted;
    }
    return deleted;
}

}  // namespace retrace::node
