// SPDX-License-Identifier: MIT
#include "node/artifacts/provider.hpp"

#include <algorithm>

#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {
namespace {

/// The store's own message names a local path.
Unexpected<Failure> no_tensor(const Hash32& root) {
    return failure(Fault::not_found, "no checkpoint here has tensor " + to_hex(view(root)));
}

}  // namespace

CheckpointProvider::CheckpointProvider(const solver::CheckpointStore& checkpoints, std::uint64_t bytes_max)
    : checkpoints_(checkpoints), bytes_max_(bytes_max) {}

CheckpointProvider::~CheckpointProvider() = default;

void CheckpointProvider::withhold(std::set<Hash32> roots) {
    const std::lock_guard lock(mutex_);
    withheld_ = std::move(roots);
}

void CheckpointProvider::withhold_programs(std::set<Hash32> roots) {
    const std::lock_guard lock(mutex_);
    withheld_programs_ = std::move(roots);
    withholds_all_ = false;
}

void CheckpointProvider::withhold_all() {
    const std::lock_guard lock(mutex_);
    withholds_all_ = true;
}

bool CheckpointProvider::is_withheld(const Hash32& tensor) const {
    std::set<Hash32> programs;
    {
        const std::lock_guard lock(mutex_);
        if (withholds_all_) return true;
        programs = withheld_programs_;
    }
    return !programs.empty() && !checkpoints_.has_beside(programs, tensor);
}

std::optional<wire::StateManifest> CheckpointProvider::state(const Hash32& root) const {
    std::set<Hash32> programs;
    {
        const std::lock_guard lock(mutex_);
        if (withholds_all_ || withheld_.contains(root)) return std::nullopt;
        programs = withheld_programs_;
    }
    auto found = checkpoints_.state(root);
    if (!found || programs.contains(found->header.program)) return std::nullopt;
    return wire::StateManifest{found->header.contract, found->header.program, found->header.step,
                               std::move(found->tensor_roots)};
}

bool CheckpointProvider::is_open(const Hash32& root) const {
    const std::lock_guard lock(mutex_);
    return slots_.contains(root);
}

std::size_t CheckpointProvider::kept() const {
    const std::lock_guard lock(mutex_);
    return slots_.size();
}

CheckpointProvider::Open CheckpointProvider::find(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    const auto found = slots_.find(root);
    if (found == slots_.end()) return nullptr;
    found->second.used = ++clock_;
    return found->second.tensor;
}

Result<CheckpointProvider::Open, Failure> CheckpointProvider::open(const Hash32& root, const std::string& client) {
    if (Open here = find(root)) return here;
    const std::lock_guard one_at_a_time(loading_);
    if (Open here = find(root)) return here;  // Another thread has read it meanwhile.
    if (is_withheld(root)) return no_tensor(root);
    auto parts = checkpoints_.parts(root);
    if (!parts) return no_tensor(root);
    const auto tensor = std::make_shared<const solver::TensorParts>(std::move(*parts));
    keep(root, tensor, client);
    return Open(tensor);
}

void CheckpointProvider::keep(const Hash32& root, const Open& tensor, const std::string& client) {
    const std::lock_guard lock(mutex_);
    slots_[root] = {tensor, ++clock_, client};
    bytes_ += tensor->bytes();
    bytes_of_[client] += tensor->bytes();
    trim();
}

void CheckpointProvider::evict(std::map<Hash32, Slot>::iterator slot) {
    const std::uint64_t bytes = slot->second.tensor->bytes();
    const auto client = bytes_of_.find(slot->second.client);
    bytes_ -= bytes;
    if ((client->second -= bytes) == 0) bytes_of_.erase(client);
    slots_.erase(slot);
}

void CheckpointProvider::trim() {
    while (bytes_ > bytes_max_ && slots_.size() > 1) {
        const auto most = std::max_element(bytes_of_.begin(), bytes_of_.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        auto oldest = slots_.end();
        for (auto at = slots_.begin(); at != slots_.end(); ++at) {
            if (at->second.client != most->first) continue;
            if (oldest == slots_.end() || at->second.used < oldest->second.used) oldest = at;
        }
        evict(oldest);
    }
}

void CheckpointProvider::forget(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    if (const auto found = slots_.find(root); found != slots_.end()) evict(found);
}

Result<wire::TileRange, Failure> CheckpointProvider::tiles(const Hash32& root, std::uint64_t first, std::uint64_t count,
                                                           const std::string& client) {
    RETRACE_TRY(tensor, open(root, client));
    RETRACE_TRY(range, prove_range(tensor->header(), tensor->tree(), first, count));
    auto read = tensor->tiles(first, range.count());
    if (!read) {
        forget(root);
        return no_tensor(root);
    }
    range.tiles = std::move(*read);
    return range;
}

Result<Bytes, Failure> CheckpointProvider::leaves(const Hash32& root, std::uint64_t first, std::uint64_t count,
                                                  const std::string& client) {
    RETRACE_TRY(tensor, open(root, client));
    return cut_leaves(tensor->tree(), first, count);
}

Result<wire::Info, Failure> CheckpointProvider::info(const Hash32& root, const std::string& client) {
    // First in memory: the store of checkpoints may be busy for long.
    Open tensor = find(root);
    if (tensor == nullptr) {
        if (const auto manifest = state(root)) {
            return wire::Info{wire::Kind::state, true, 32 * manifest->tensor_roots.size(), {}, {}};
        }
        RETRACE_TRY(opened, open(root, client));
        tensor = std::move(opened);
    }
    return wire::Info{wire::Kind::tensor, true, data_bytes(tensor->header()), tensor->header(), {}};
}

}  // namespace retrace::node
