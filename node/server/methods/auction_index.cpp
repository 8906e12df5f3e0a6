// SPDX-License-Identifier: MIT
#include "node/server/methods/auction_index.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "contracts/scheduler.hpp"
#include "market/record.hpp"
#include "merkle/base/non_fatal.hpp"

namespace retrace::node::rpc {
namespace {

/// Raised when the shape of the records changes; the old ones are not read then.
constexpr std::uint8_t kVersion = 1;

/// Solvers that are examined in one block, in all auctions together: nobody slows the node by ending many at once.
constexpr std::size_t kSolversABlock = 1024;

/// The last block whose state was examined.
struct Position {
    std::uint64_t height = 0;
    Hash32 block;
    static auto tie(auto& p) { return std::tie(p.height, p.block); }
};

Bytes position_key() { return {kVersion, 'p'}; }
Bytes task_key(std::uint64_t task) {
    Writer out;
    out.u8(kVersion);
    out.u8('t');
    out.u64(task);
    return std::move(out).take();
}

}  // namespace

AuctionIndex::AuctionIndex(ledger::Store& store, const ledger::Chain& chain) : store_(store), chain_(chain) {
    forget_other_chain();
}

AuctionIndex::~AuctionIndex() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

void AuctionIndex::begin() {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
}

void AuctionIndex::wake() {
    const std::lock_guard lock(mutex_);
    new_block_ = true;
    woken_.notify_one();
}

void AuctionIndex::loop(const std::stop_token& stop) {
    while (!stop.stop_requested() && !failed_) {
        {
            std::unique_lock lock(mutex_);
            if (!woken_.wait(lock, stop, [this] { return new_block_; })) return;
            new_block_ = false;
        }
        catch_up(stop);
    }
}

void AuctionIndex::catch_up(const std::stop_token& stop) {
    while (!failed_ && examined_ < chain_.height() && !stop.stop_requested()) {
        const std::uint64_t height = std::max(examined_ + 1, chain_.oldest_state());
        examine(height);
        examined_ = height;
    }
}

void AuctionIndex::examine(std::uint64_t height) {
    ledger::Batch batch;
    const auto state = chain_.view_at(height);
    const auto header = chain_.header(height);
    if (!state || !header) return;  // Pruned meanwhile.
    try {
        const NonFatalScope scope;
        const auto tasks = contracts::ending_auctions(**state, height + 1);
        for (const std::uint64_t task : tasks) {
            const auto record =
                examine_auction(**state, task, height, true, std::min(kSolversExamined, kSolversABlock / tasks.size()));
            if (record) batch.put(task_key(task), market::encode_record(*record));
        }
    } catch (const BrokenInvariant& broken) {
        // A state that is pruned during the read mixes records of several blocks.
        spdlog::warn("event=auction_not_recorded height={} reason=\"{}\"", height, broken.what());
        return;
    }
    if (batch.ops.empty() || chain_.oldest_state() > height) return;
    batch.put(position_key(), market::encode_record(Position{height, ledger::block_hash(*header)}));
    if (const auto written = store_.write(batch, true); !written) {
        failed_ = true;
        spdlog::error(
            "event=auctions_not_recorded height={} reason=\"{}\" action=\"make room and start the node again; "
            "the auctions of the kept states are examined then\"",
            height, written.error().message);
    }
}

void AuctionIndex::forget_other_chain() {
    const auto bytes = store_.get(position_key());
    if (!bytes) return;
    if (const auto position = market::decode_record<Position>(*bytes)) {
        const auto header = chain_.header(position->height);
        if (position->height <= chain_.height() && (!header || ledger::block_hash(*header) == position->block)) {
            examined_ = position->height;
            return;
        }
    }
    spdlog::warn("event=auctions_forgotten reason=\"they are not of this chain\"");
    ledger::Batch batch;
    store_.scan({}, {}, ~std::size_t{0}, [&](View key, View) {
        batch.erase(to_bytes(key));
        return true;
    });
    if (!store_.write(batch, true)) failed_ = true;
}

std::optional<AuctionRecord> AuctionIndex::find(std::uint64_t task) const {
    const auto bytes = store_.get(task_key(task));
    if (!bytes) return std::nullopt;
    auto record = market::decode_record<AuctionRecord>(*bytes);
    if (!record) return std::nullopt;
    return std::move(*record);
}

}  // namespace retrace::node::rpc
