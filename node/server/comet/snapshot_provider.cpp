// SPDX-License-Identifier: MIT
#include "node/server/comet/snapshot_provider.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "ledger/snapshot/snapshot_file.hpp"

namespace retrace::node::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSpareBytes = 256U << 20;

/// The height that a folder is named after; 0: it is no snapshot.
std::uint64_t height_of(const fs::path& folder) {
    const std::string name = folder.filename().string();
    std::uint64_t height = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), height);
    return read.ec == std::errc() && read.ptr == name.data() + name.size() ? height : 0;
}

std::uint64_t height_of(const ledger::SnapshotManifest& manifest) { return manifest.header.height; }

bool can_be_sent(const ledger::SnapshotManifest& manifest) {
    const auto fits = [](const ledger::SnapshotFile& file) { return file.bytes <= kPartMax; };
    return ledger::encode(manifest).size() <= kManifestMax && fits(manifest.block) &&
           std::ranges::all_of(manifest.chunks, fits);
}

}  // namespace

SnapshotProvider::SnapshotProvider(const ledger::Store& store, ledger::Genesis genesis, fs::path folder,
                                   std::uint64_t every, std::uint64_t tip)
    : store_(store), genesis_(std::move(genesis)), folder_(std::move(folder)), every_(every), tip_(tip) {
    find_kept();
    thread_ = std::thread([this] { run(); });
}

SnapshotProvider::~SnapshotProvider() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void SnapshotProvider::find_kept() {
    std::error_code failed;
    std::vector<fs::path> found;
    for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed))
        found.push_back(at->path());
    for (const fs::path& path : found) {
        const auto manifest = ledger::read_manifest(path);
        const std::uint64_t height = height_of(path);
        if (manifest && height == height_of(*manifest) && manifest->genesis == ledger::genesis_hash(genesis_))
            keep(*manifest);
        else if (height != 0 || path.extension() == ".partial")  // damaged, of another chain, or never finished
            fs::remove_all(path, failed);
    }
}

void SnapshotProvider::on_commit(std::uint64_t height) {
    {
        const std::lock_guard lock(mutex_);
        tip_ = height;
        if (height % every_ != 0) return;
        if (order_) spdlog::warn("event=snapshot_skipped height={} why=\"one is still being made\"", order_->height);
        order_ = Order{height, store_.frozen()};
    }
    changed_.notify_all();
}

void SnapshotProvider::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || order_; });
        if (stopping_) return;
        const Order order = *std::exchange(order_, std::nullopt);
        lock.unlock();
        make(order);
        lock.lock();
    }
}

void SnapshotProvider::make(const Order& order) {
    const fs::path folder = folder_of(order.height);
    std::error_code failed;
    try {
        export_to(folder, order);
    } catch (const std::exception& e) {  // of the file system's functions
        spdlog::error("event=snapshot_failed height={} why=\"{}\"", order.height, e.what());
    }
    fs::remove_all(folder.string() + ".partial", failed);
}

void SnapshotProvider::export_to(const fs::path& folder, const Order& order) {
    const auto start = std::chrono::steady_clock::now();
    fs::create_directories(folder_);
    fs::remove_all(folder);  // of a run before a restart, at the same height
    const std::uint64_t needed = kSpareBytes + 2 * newest_bytes();
    if (fs::space(folder_).available < needed) {
        spdlog::warn("event=snapshot_skipped height={} why=\"the disk has less than {} MiB left\"", order.height,
                     needed >> 20);
        return;
    }
    ledger::ExportOptions options;
    options.stop = [this] {
        const std::lock_guard lock(mutex_);
        return stopping_;
    };
    auto manifest = ledger::export_snapshot(*order.store, genesis_, order.height, folder, options);
    if (!manifest) {
        if (manifest.error().code != ledger::ChainError::stopped)
            spdlog::error("event=snapshot_failed height={} why=\"{}\"", order.height, manifest.error().message);
        return;
    }
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
    spdlog::info("event=snapshot height={} chunks={} ms={}", order.height, manifest->chunks.size(), took);
    keep(*std::move(manifest));
}

std::uint64_t SnapshotProvider::newest_bytes() const {
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) return 0;
    std::uint64_t sum = kept_.front().block.bytes;
    for (const ledger::SnapshotFile& chunk : kept_.front().chunks) sum += chunk.bytes;
    return sum;
}

void SnapshotProvider::keep(ledger::SnapshotManifest manifest) {
    const std::uint64_t height = height_of(manifest);
    std::error_code ignored;
    if (!can_be_sent(manifest)) {
        spdlog::warn("event=snapshot_not_offered height={} why=\"larger than CometBFT's messages\"", height);
        fs::remove_all(folder_of(height), ignored);
        return;
    }
    std::vector<std::uint64_t> old;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(kept_, [height](const auto& one) { return height_of(one) == height; });
        kept_.push_back(std::move(manifest));
        std::ranges::sort(kept_, std::greater{}, [](const auto& one) { return height_of(one); });
        for (; kept_.size() > kKept; kept_.pop_back()) old.push_back(height_of(kept_.back()));
    }
    // Without the lock, which a block's commit takes.
    for (const std::uint64_t one : old) fs::remove_all(folder_of(one), ignored);
}

std::vector<ledger::SnapshotManifest> SnapshotProvider::list() const {
    const std::lock_guard lock(mutex_);
    std::vector<ledger::SnapshotManifest> out;
    std::ranges::copy_if(kept_, std::back_inserter(out),
                         [this](const auto& one) { return height_of(one) + 3 <= tip_; });
    return out;
}

std::optional<Bytes> SnapshotProvider::load(std::uint64_t height, std::uint32_t part) const {
    ledger::SnapshotFile file;
    {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(kept_, height, [](const auto& one) { return height_of(one); });
        if (found == kept_.end() || part > found->chunks.size()) return std::nullopt;
        file = part == 0 ? found->block : found->chunks[part - 1];
    }
    // Without the lock: a snapshot that is removed meanwhile is missing then.
    auto bytes = ledger::read_snapshot_file(
        folder_of(height) / (part == 0 ? std::string(ledger::kBlockFile) : ledger::chunk_name(part - 1)), file);
    if (!bytes) return std::nullopt;
    return std::move(*bytes);
}

}  // namespace retrace::node::engine
