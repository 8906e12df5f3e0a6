// SPDX-License-Identifier: MIT
#include "solver/checkpoints/checkpoint_store.hpp"

#include <algorithm>

#include "kernels/program/limits.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::solver {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kManifestVersion = 2, kWithoutNumbers = 1;
constexpr std::uint64_t kManifestBytesMax = 256ull << 20;

Bytes encode_manifest(const CheckpointKey& key, const kernels::StateCommitment& commitment, bool complete,
                      bool retained, const std::vector<std::uint32_t>& numbers) {
    Writer out;
    out.u32(kManifestVersion).u64(key.task).u32(key.run).u64(key.index).boolean(complete).boolean(retained);
    commitment.header.encode_to(out);
    out.u32(static_cast<std::uint32_t>(commitment.tensor_roots.size()));
    for (const Hash32& root : commitment.tensor_roots) out.hash(root);
    out.u32(static_cast<std::uint32_t>(numbers.size()));
    for (const std::uint32_t number : numbers) out.u32(number);
    out.hash(merkle::sha256(out.data()));
    return std::move(out).take();
}

std::vector<std::uint32_t> numbers_of(const kernels::State& state) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t t = 0; t < state.tensors.size(); ++t)
        if (state.tensors[t].dims.empty()) out.push_back(t);
    return out;
}

Status<> make_directory(const fs::path& path) {
    std::error_code failure;
    fs::create_directories(path, failure);
    if (failure) return error(path.string() + ": cannot create: " + failure.message());
    return Unit{};
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path directory, std::unique_ptr<Seal> seal)
    : directory_(std::move(directory)),
      seal_(std::move(seal)),
      tensors_(std::make_unique<TensorStore>(directory_ / "tensors", seal_.get())) {}

Result<std::unique_ptr<CheckpointStore>> CheckpointStore::open(fs::path directory, std::unique_ptr<Seal> seal) {
    std::unique_ptr<CheckpointStore> store(new CheckpointStore(std::move(directory), std::move(seal)));
    RETRACE_CHECK(make_directory(store->directory_ / "states"));
    RETRACE_CHECK(make_directory(store->directory_ / "tensors"));
    RETRACE_CHECK(check_key(store->directory_, store->seal_.get()));
    RETRACE_CHECK(store->tensors_->open());
    RETRACE_CHECK(store->load_index());
    return store;
}

Status<> CheckpointStore::load_index() {
    for (const fs::path& path : files_of(directory_ / "states")) {
        if (path.extension() == kUnfinished) remove_file(path);
        if (path.extension() != ".state") continue;
        auto opened = read_sealed(path, kManifestBytesMax, seal_.get());
        if (!opened && !opened.error().kind) return Unexpected{Error(opened.error())};
        const Bytes bytes = opened ? std::move(opened).value() : Bytes{};
        Reader in(bytes);
        CheckpointKey key;
        Entry entry;
        const std::uint32_t version = in.u32();
        key.task = in.u64();
        key.run = in.u32();
        key.index = in.u64();
        entry.complete = in.boolean();
        entry.retained = in.boolean();
        entry.commitment.header = kernels::StateHeader::decode_from(in);
        const std::uint32_t count = in.count(kernels::Limits{}.tensors, 32);
        for (std::uint32_t i = 0; i < count; ++i) entry.commitment.tensor_roots.push_back(in.hash());
        const std::uint32_t numbers = version == kManifestVersion ? in.count(count, 4) : 0;
        for (std::uint32_t i = 0; i < numbers; ++i) entry.numbers.push_back(in.u32());
        const Hash32 digest = in.hash();
        const bool is_named = entry.complete || !entry.numbers.empty();
        const bool whole = in.finish().has_value() && (version == kManifestVersion || version == kWithoutNumbers) &&
                           merkle::sha256(View(bytes).first(bytes.size() - 32)) == digest &&
                           std::ranges::all_of(entry.numbers, [&](std::uint32_t t) { return t < count; }) &&
                           (!is_named || entry.commitment.tree().root() == entry.commitment.header.tree_root) &&
                           path_of(key) == path;
        if (!whole) {
            std::error_code ignored;
            fs::rename(path, fs::path(path) += ".corrupt", ignored);
            continue;
        }
        entry.commitment.root = entry.commitment.header.root();
        if (!is_named) entry.commitment.tensor_roots.clear();
        entries_[key] = std::move(entry);
    }
    return collect_garbage();
}

fs::path CheckpointStore::path_of(const CheckpointKey& key) const {
    return directory_ / "states" /
           (std::to_string(key.task) + "-" + std::to_string(key.run) + "-" + std::to_string(key.index) + ".state");
}

Status<> CheckpointStore::write_entry(const CheckpointKey& key, const Entry& entry) {
    const Bytes manifest = encode_manifest(key, entry.commitment, entry.complete, entry.retained, entry.numbers);
    return write_sealed(path_of(key), {manifest}, seal_.get());
}

Status<> CheckpointStore::save(const CheckpointKey& key, const kernels::StateCommitment& commitment,
                               const kernels::State& state) {
    const std::lock_guard lock(mutex_);
    ensure(state.tensors.size() == commitment.tensor_roots.size(), "the commitment of this state");
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.commitment.root != commitment.root) {
        return error("checkpoint " + std::to_string(key.index) + " was saved with another root before");
    }
    std::vector<TensorVersion>& last = last_[{key.task, key.run}];
    if (last.empty()) last = versions_before(key);
    RETRACE_CHECK(tensors_->write(commitment.tensor_roots, state.tensors, last));
    Entry entry{commitment, true, found != entries_.end() && found->second.retained, numbers_of(state)};
    RETRACE_CHECK(write_entry(key, entry));  // Written last, so that a manifest never names a missing tensor.
    entries_[key] = std::move(entry);
    return Unit{};
}

std::vector<TensorVersion> CheckpointStore::versions_before(const CheckpointKey& key) const {
    std::vector<TensorVersion> out;
    const Entry* before = nullptr;
    for (auto it = entries_.lower_bound({key.task, key.run, 0}); it != entries_.end() && it->first < key; ++it)
        if (it->second.complete) before = &it->second;
    if (before == nullptr) return out;
    for (const Hash32& root : before->commitment.tensor_roots) out.push_back({root, {}, {}, {}});
    return out;
}

std::optional<kernels::StateCommitment> CheckpointStore::commitment(const CheckpointKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    kernels::StateCommitment out = found->second.commitment;
    if (!found->second.complete) out.tensor_roots.clear();
    return out;
}

Result<kernels::State> CheckpointStore::load(const CheckpointKey& key, kernels::ThreadPool& pool) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.complete) return error("no such checkpoint");
    kernels::State state;
    state.step = found->second.commitment.header.step;
    std::optional<Error> problem;
    for (const Hash32& root : found->second.commitment.tensor_roots) {
        auto tensor = tensors_->read(root, pool);
        // Continue after an error: read removes each damaged tensor, so that recomputing the state writes all of them.
        if (!tensor)
            problem = tensor.error();
        else
            state.tensors.push_back(std::move(tensor).value());
    }
    if (problem) return Unexpected{*problem};
    return state;
}

Result<kernels::Tensor> CheckpointStore::tensor(const Hash32& root, kernels::ThreadPool& pool,
                                                merkle::TileTree* tree) const {
    const std::lock_guard lock(mutex_);
    return tensors_->read(root, pool, tree);
}

Result<TensorParts, StoreProblem> CheckpointStore::parts(const Hash32& root) const {
    std::vector<fs::path> chain;
    {
        const std::lock_guard lock(mutex_);
        chain = tensors_->chain(root);
    }
    if (chain.empty()) return fault(directory_ / to_hex(view(root)), StoreFault::missing, "this tensor is not here");
    auto parts = TensorParts::open(root, chain, seal_.get());
    if (!parts && parts.error().kind == StoreFault::damaged) {
        kernels::ThreadPool pool(1);
        (void)tensor(root, pool);  // It looks again under the lock and removes what is damaged.
    }
    return parts;
}

std::optional<StateRoots> CheckpointStore::state(const Hash32& root) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : entries_) {
        const bool is_named = entry.complete || !entry.commitment.tensor_roots.empty();
        if (is_named && entry.commitment.root == root) {
            return StateRoots{entry.commitment.header, entry.commitment.tensor_roots};
        }
    }
    return std::nullopt;
}

bool CheckpointStore::has_beside(const std::set<Hash32>& programs, const Hash32& tensor) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(entries_.begin(), entries_.end(), [&](const auto& item) {
        const kernels::StateCommitment& known = item.second.commitment;
        return !programs.contains(known.header.program) &&
               std::find(known.tensor_roots.begin(), known.tensor_roots.end(), tensor) != known.tensor_roots.end();
    });
}

std::optional<CheckpointKey> CheckpointStore::newest(std::uint64_t task, std::uint32_t run, std::uint64_t index) const {
    const std::lock_guard lock(mutex_);
    std::optional<CheckpointKey> best;
    const CheckpointKey last{task, run, index};
    for (auto it = entries_.lower_bound({task, run, 0}); it != entries_.end() && it->first <= last; ++it) {
        if (it->second.complete) best = it->first;
    }
    return best;
}

Status<> CheckpointStore::retain(const CheckpointKey& key, bool keep) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return error("no such checkpoint");
    if (found->second.retained == keep) return Unit{};
    Entry entry = found->second;
    entry.retained = keep;
    RETRACE_CHECK(write_entry(key, entry));
    found->second = std::move(entry);
    return Unit{};
}

std::vector<std::pair<std::uint64_t, std::uint32_t>> CheckpointStore::runs() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> out;
    for (const auto& [key, entry] : entries_) {
        const std::pair run{key.task, key.run};
        if (out.empty() || out.back() != run) out.push_back(run);
    }
    return out;
}

std::vector<CheckpointKey> CheckpointStore::retained() const {
    const std::lock_guard lock(mutex_);
    std::vector<CheckpointKey> keys;
    for (const auto& [key, entry] : entries_) {
        if (entry.retained) keys.push_back(key);
    }
    return keys;
}

Status<> CheckpointStore::prune(std::uint64_t task, std::uint32_t run, std::size_t keep) {
    const std::lock_guard lock(mutex_);
    std::vector<CheckpointKey> complete;
    for (auto it = entries_.lower_bound({task, run, 0}); it != entries_.end(); ++it) {
        if (it->first.task != task || it->first.run != run) break;
        if (it->second.complete) complete.push_back(it->first);
    }
    for (std::size_t i = 0; i + keep < complete.size(); ++i) {
        Entry& entry = entries_[complete[i]];
        if (!entry.retained) RETRACE_CHECK(drop(complete[i], entry, true));
    }
    RETRACE_CHECK(limit_numbers(task, run));
    return collect_garbage();
}

Status<> CheckpointStore::limit_numbers(std::uint64_t task, std::uint32_t run) {
    std::vector<CheckpointKey> left;
    for (auto it = entries_.lower_bound({task, run, 0}); it != entries_.end(); ++it) {
        if (it->first.task != task || it->first.run != run) break;
        if (!it->second.complete && !it->second.numbers.empty()) left.push_back(it->first);
    }
    for (std::size_t i = 0; i + kNumbersMax < left.size(); ++i) RETRACE_CHECK(drop(left[i], entries_[left[i]]));
    return Unit{};
}

Status<> CheckpointStore::discard(const CheckpointKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return Unit{};
    RETRACE_CHECK(drop(key, found->second));
    return collect_garbage();
}

Status<> CheckpointStore::withdraw(const CheckpointKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return Unit{};
    last_.erase({key.task, key.run});
    remove_file(path_of(key));
    entries_.erase(found);
    return collect_garbage();
}

Status<> CheckpointStore::rollback(const CheckpointKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.complete) return error("no such checkpoint to go back to");
    for (auto it = std::next(found); it != entries_.end(); ++it) {
        if (it->first.task != key.task || it->first.run != key.run) break;
        if (it->second.complete && !it->second.retained) RETRACE_CHECK(drop(it->first, it->second));
    }
    last_.erase({key.task, key.run});
    return collect_garbage();
}

std::optional<Hash32> CheckpointStore::newest_version(const Hash32& program, std::size_t number) const {
    const std::lock_guard lock(mutex_);
    const Entry* best = nullptr;
    for (const auto& [key, entry] : entries_) {
        const kernels::StateHeader& header = entry.commitment.header;
        if (!entry.complete || header.program != program || number >= entry.commitment.tensor_roots.size()) continue;
        if (best == nullptr || header.step > best->commitment.header.step) best = &entry;
    }
    return best == nullptr ? std::nullopt : std::optional(best->commitment.tensor_roots[number]);
}

std::uint64_t CheckpointStore::tensor_syncs() const {
    const std::lock_guard lock(mutex_);
    return tensors_->syncs();
}

std::uint64_t CheckpointStore::tensor_bytes_written() const {
    const std::lock_guard lock(mutex_);
    return tensors_->bytes_written();
}

Status<> CheckpointStore::drop(const CheckpointKey& key, Entry& entry, bool numbers) {
    Entry dropped = entry;
    dropped.complete = false;
    if (!numbers) dropped.numbers = {};
    if (dropped.numbers.empty()) dropped.commitment.tensor_roots = {};  // There may be many roots for each segment.
    RETRACE_CHECK(write_entry(key, dropped));
    entry = std::move(dropped);
    return Unit{};
}

Status<> CheckpointStore::forget(std::uint64_t task, std::uint32_t run) {
    const std::lock_guard lock(mutex_);
    last_.erase({task, run});
    for (auto it = entries_.lower_bound({task, run, 0}); it != entries_.end();) {
        if (it->first.task != task || it->first.run != run) break;
        remove_file(path_of(it->first));
        it = entries_.erase(it);
    }
    return collect_garbage();
}

Status<> CheckpointStore::collect_garbage() {
    std::set<Hash32> needed;
    for (const auto& [key, entry] : entries_) {
        const std::vector<Hash32>& roots = entry.commitment.tensor_roots;
        if (entry.complete) needed.insert(roots.begin(), roots.end());
        if (entry.complete || roots.empty()) continue;
        for (const std::uint32_t number : entry.numbers) needed.insert(roots.at(number));
    }
    tensors_->keep_only(needed);
    return Unit{};
}

}  // namespace retrace::solver
