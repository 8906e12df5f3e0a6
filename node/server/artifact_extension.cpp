// SPDX-License-Identifier: MIT
#include "node/server/artifact_extension.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "contracts/records/views.hpp"
#include "market/escrow.hpp"
#include "node/platform/files.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace

ArtifactExtension::ArtifactExtension(std::unique_ptr<Store> store, const ledger::Chain& chain,
                                     LedgerApplication& application, const ArtifactsConfig& config,
                                     std::chrono::milliseconds garbage_interval)
    : store_(std::move(store)),
      chain_(chain),
      application_(application),
      mib_per_coin_(config.mib_per_coin),
      garbage_interval_(garbage_interval),
      quota_(limits_of(*store_, config)),
      garbage_collector_(*store_, kRetentionBlocks),
      server_(*store_, [this](const Hash32& root) { return wanted(root); }) {
    {
        const std::lock_guard lock(mutex_);
        follow();
        settle_quota();
    }
    server_.set_quota_hooks({[this](const Hash32& root, const std::vector<Hash32>& names,
                                    const ArtifactServer::Size& size) { return charge(root, names, size); },
                             [this](const Hash32& root, bool is_here) {
                                 const std::lock_guard lock(mutex_);
                                 arriving_.erase(root);
                                 if (!is_here) quota_.release(root);
                             }});
    Listener listener;
    listener.on_block = [this](const std::shared_ptr<const ledger::Block>&) {
        const std::lock_guard lock(wake_mutex_);
        has_block_ = true;
        wake_.notify_all();
    };
    token_ = application_.listen(std::move(listener));
    garbage_thread_ = std::jthread([this](const std::stop_token& stop) { run_garbage_collection(stop); });
}

ArtifactExtension::~ArtifactExtension() { application_.unlisten(token_); }

std::uint64_t ArtifactExtension::bytes_of(const ledger::U256& escrow, std::uint64_t mib_per_coin) {
    const ledger::U256 coin = ledger::U256(1000) * ledger::U256(market::kMilli);
    const auto scaled = ledger::checked_mul(escrow, ledger::U256(mib_per_coin * kMiB));
    if (!scaled) return UINT64_MAX;
    const ledger::U256 out = *scaled / coin;
    return out.fits_u64() ? out.low64() : UINT64_MAX;
}

ArtifactQuota::Limits ArtifactExtension::limits_of(const Store& store, const ArtifactsConfig& config) {
    std::uint64_t stored = 0;
    for (const auto& [root, bytes] : store.sizes()) stored += bytes;
    // Half of the free space, because the chain writes to the same disk and halts if it is full.
    ArtifactQuota::Limits out;
    out.total = config.quota_mib != 0 ? config.quota_mib * kMiB : (free_space(store.folder()).bytes + stored) / 2;
    out.requester = config.requester_quota_mib != 0 ? config.requester_quota_mib * kMiB : out.total / 4;
    return out;
}

bool ArtifactExtension::wanted(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    follow();
    return !root.is_zero() && tasks_of_.contains(root);
}

Status<Failure> ArtifactExtension::charge(const Hash32& root, const std::vector<Hash32>& names,
                                          const ArtifactServer::Size& size) {
    const std::lock_guard lock(mutex_);
    follow();
    auto owners = owners_of(names);
    // A task whose declared program size is exceeded is not charged, whatever size other tasks declare.
    const auto is_shorter = [&](const ArtifactQuota::Owner& owner) {
        const Task& task = tasks_.at(owner.task);
        return task.program_root == root && size.file_bytes > task.program_bytes;
    };
    if (std::erase_if(owners, is_shorter) != 0 && owners.empty())
        return failure(Fault::too_large, "no task declares a program of " + std::to_string(size.file_bytes) + " bytes");
    auto charged = quota_.charge(root, size.charge, owners);
    if (!charged && charged.error().fault == Fault::over_quota && make_room(root, size.charge, owners))
        charged = quota_.charge(root, size.charge, owners);
    if (charged) arriving_.insert(root);
    return charged;
}

void ArtifactExtension::follow() {
    const std::uint64_t height = chain_.height();
    if (height_ == height) return;
    const auto state = chain_.view();
    const std::vector<std::uint64_t> active = views::active_tasks(*state);
    for (auto task = tasks_.begin(); task != tasks_.end();) {
        const auto here = task++;
        if (std::binary_search(active.begin(), active.end(), here->first)) continue;
        end_task(*state, here->first, here->second);
        tasks_.erase(here);
    }
    const auto params = views::params(*state);
    for (const std::uint64_t id : active) {
        if (params && !tasks_.contains(id)) begin_task(*state, *params, id);
    }
    height_ = height;
}

void ArtifactExtension::begin_task(const ledger::StateView& state, const market::Params& params, std::uint64_t id) {
    const auto spec = views::spec(state, id);
    const auto record = views::task(state, id);
    if (!spec || !record) return;
    const auto escrow = market::escrow_of(*spec, params);
    Task task;
    task.owner = {id, ledger::to_0x(record->requester),
                  escrow ? bytes_of(escrow->total(), mib_per_coin_) : std::uint64_t{0}};
    task.program_root = spec->program_root;
    task.program_bytes = spec->program_bytes;
    task.roots = {spec->program_root, spec->init_root, spec->initial_state_root};
    task.roots.insert(spec->data_roots.begin(), spec->data_roots.end());
    task.roots.erase(Hash32{});
    for (const Hash32& root : task.roots) {
        tasks_of_[root].insert(id);
        due_.erase(root);
    }
    tasks_.emplace(id, std::move(task));
}

void ArtifactExtension::end_task(const ledger::StateView& state, std::uint64_t id, const Task& task) {
    const auto record = views::task(state, id);
    const bool is_settled = record && record->state == market::TaskState::settled;
    for (const Hash32& root : task.roots) {
        const auto tasks = tasks_of_.find(root);
        tasks->second.erase(id);
        if (is_settled) settled_[root] = chain_.height();
        if (!tasks->second.empty()) continue;
        tasks_of_.erase(tasks);
        if (!settled_.contains(root)) due_.insert(root);
    }
}

std::vector<ArtifactQuota::Owner> ArtifactExtension::owners_of(const std::vector<Hash32>& names) const {
    std::set<std::uint64_t> ids;
    for (const Hash32& name : names) {
        const auto tasks = tasks_of_.find(name);
        if (tasks != tasks_of_.end()) ids.insert(tasks->second.begin(), tasks->second.end());
    }
    std::vector<ArtifactQuota::Owner> out;
    for (const std::uint64_t id : ids) out.push_back(tasks_.at(id).owner);
    return out;
}

std::set<Hash32> ArtifactExtension::named() const {
    std::set<Hash32> out;
    for (const auto& [root, tasks] : tasks_of_) out.insert(root);
    return out;
}

void ArtifactExtension::settle_quota() {
    std::map<Hash32, std::vector<Hash32>> names;
    for (const Hash32& state : store_->states()) {
        const auto manifest = store_->manifest(state);
        if (!manifest) continue;
        for (const Hash32& tensor : manifest->tensor_roots) names[tensor].push_back(state);
    }
    const auto unpaid = quota_.settle(
        store_->sizes(),
        [&](const Hash32& root) {
            std::vector<Hash32> of_root = names[root];
            of_root.push_back(root);
            return owners_of(of_root);
        },
        arriving_);
    // Otherwise a requester could name the data of a large cancelled task in a small one, get the escrow of the large
    // one back, and keep the data stored.
    const std::set<Hash32> alive = unpaid.empty() ? std::set<Hash32>() : named();
    for (const Hash32& root : unpaid) {
        const std::vector<Hash32>& states = names[root];
        const auto is_settled = [&](const Hash32& name) { return settled_.contains(name); };
        if (is_settled(root) || std::any_of(states.begin(), states.end(), is_settled)) continue;  // its work was paid
        spdlog::info("event=artifact_dropped root={} reason=\"no escrow stands for it\"", to_hex(view(root)));
        for (const Hash32& state : states) drop(state, alive);
        drop(root, alive);
    }
}

void ArtifactExtension::drop(const Hash32& root, const std::set<Hash32>& alive) {
    for (const Hash32& gone : store_->remove(root, alive)) {
        // A tensor that is arriving may be written after its removal; its upload releases the charge if it is not.
        if (!arriving_.contains(gone)) quota_.release(gone);
    }
}

std::vector<Hash32> ArtifactExtension::evictable_for(const std::vector<ArtifactQuota::Owner>& owners) const {
    std::vector<std::pair<std::uint64_t, Hash32>> found;
    for (const auto& [root, settled] : settled_) {
        if (tasks_of_.contains(root) || arriving_.contains(root)) continue;
        const bool own = std::any_of(owners.begin(), owners.end(), [&](const ArtifactQuota::Owner& owner) {
            return quota_.is_of(root, owner.requester);
        });
        if (own || settled + kRetentionBlocks < chain_.height()) found.emplace_back(settled, root);
    }
    std::sort(found.begin(), found.end());
    std::vector<Hash32> out;
    for (const auto& [settled, root] : found) out.push_back(root);
    return out;
}

bool ArtifactExtension::make_room(const Hash32& root, std::uint64_t bytes,
                                  const std::vector<ArtifactQuota::Owner>& owners) {
    const std::vector<Hash32> candidates = evictable_for(owners);
    if (candidates.empty()) return false;
    const std::set<Hash32> alive = named();
    std::map<Hash32, std::set<Hash32>> states_of;  // tensor → stored states that contain it
    for (const Hash32& state : store_->states()) {
        const auto manifest = store_->manifest(state);
        if (!manifest) continue;
        for (const Hash32& tensor : manifest->tensor_roots) states_of[tensor].insert(state);
    }
    // Tried on a copy first, so that nothing is deleted if the room would still not suffice.
    ArtifactQuota after = quota_;
    std::vector<Hash32> going;
    bool fits = false;
    for (auto at = candidates.begin(); at != candidates.end() && !fits; ++at) {
        const auto holders = states_of.find(*at);
        if (holders != states_of.end() && !holders->second.empty()) continue;  // a stored state still contains it
        after.release(*at);
        for (auto& [tensor, states] : states_of) {
            if (states.erase(*at) != 0 && states.empty() && !alive.contains(tensor)) after.release(tensor);
        }
        going.push_back(*at);
        fits = after.charge(root, bytes, owners).has_value();
    }
    if (!fits) return false;
    for (const Hash32& gone : going) {
        spdlog::info("event=artifact_evicted root={}", to_hex(view(gone)));
        drop(gone, alive);
    }
    return true;
}

void ArtifactExtension::collect_garbage(bool all) {
    const std::lock_guard lock(mutex_);
    follow();
    const std::set<Hash32> alive = named();
    for (const Hash32& root : due_) {
        if (store_->known(root)) spdlog::info("event=artifact_dropped root={}", to_hex(view(root)));
        drop(root, alive);
    }
    due_.clear();
    if (!all) return;
    // Also moves what an ended task was charged for to another task that names it.
    settle_quota();
    garbage_collector_.collect(chain_.height(), alive);
    std::erase_if(settled_, [&](const auto& root) { return root.second + kRetentionBlocks < chain_.height(); });
}

void ArtifactExtension::run_garbage_collection(const std::stop_token& stop) {
    auto next = std::chrono::steady_clock::now() + garbage_interval_;
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(wake_mutex_);
            wake_.wait_until(lock, stop, next, [&] { return has_block_; });
            has_block_ = false;
        }
        if (stop.stop_requested()) return;
        const bool all = std::chrono::steady_clock::now() >= next;
        if (all) next = std::chrono::steady_clock::now() + garbage_interval_;
        collect_garbage(all);
        if (all) server_.forget_gone_states();  // Not under `mutex_`, which the server takes while it holds its own.
    }
}

}  // namespace retrace::node
