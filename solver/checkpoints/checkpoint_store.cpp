// SPDX-License-Identifier: MIT
#include "solver/checkpoints/checkpoint_store.hpp"

#include <algorithm>

#include "kernels/program/limits.hpp"
#include "merkle/hash/sha256.hpp"
#include "solver/checkpoints/durable_file.hpp"

namespace retrace::solver {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kManifestVersion = 1;
constexpr std::uint64_t kManifestBytesMax = 256ull << 20;
constexpr std::uint64_t kTensorBytesMax = (1ull << 38) + 64;

Bytes encode_manifest(const CheckpointKey& key, const kernels::StateCommitment& commitment, bool complete,
                      bool retained) {
    Writer out;
    out.u32(kManifestVersion).u64(key.task).u32(key.run).u64(key.index).boolean(complete).boolean(retained);
    commitment.header.encode_to(out);
    out.u32(static_cast<std::uint32_t>(commitment.tensor_roots.size()));
    for (const Hash32& root : commitment.tensor_roots) out.hash(root);
    out.hash(merkle::sha256(out.data()));
    return std::move(out).take();
}

Bytes encode_header(const kernels::Tensor& tensor) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(tensor.dtype)).u8(static_cast<std::uint8_t>(tensor.dims.size()));
    for (const std::uint64_t extent : tensor.dims) out.u64(extent);
    return std::move(out).take();
}

Status<> make_directory(const fs::path& path) {
    std::error_code failure;
    fs::create_directories(path, failure);
    if (failure) return error(path.string() + ": cannot create: " + failure.message());
    return Unit{};
}

std::vector<fs::path> files_of(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code failure;
    for (fs::directory_iterator it(directory, failure), end; !failure && it != end; it.increment(failure)) {
        files.push_back(it->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

void remove_file(const fs::path& path) {
    std::error_code ignored;  // What cannot be removed is removed at the next start.
    fs::remove(path, ignored);
}

}  // namespace

Result<std::unique_ptr<CheckpointStore>> CheckpointStore::open(fs::path directory) {
    std::unique_ptr<CheckpointStore> store(new CheckpointStore(std::move(directory)));
    RETRACE_CHECK(make_directory(store->directory_ / "states"));
    RETRACE_CHECK(make_directory(store->directory_ / "tensors"));
    RETRACE_CHECK(store->load_index());
    return store;
}

Status<> CheckpointStore::load_index() {
    for (const fs::path& path : files_of(directory_ / "tensors")) {
        if (path.extension() == kUnfinished) remove_file(path);
    }
    for (const fs::path& path : files_of(directory_ / "states")) {
        if (path.extension() == kUnfinished) remove_file(path);
        if (path.extension() != ".state") continue;
        RETRACE_TRY(bytes, read_file(path, kManifestBytesMax));
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
        const Hash32 digest = in.hash();
        const bool whole = in.finish().has_value() && version == kManifestVersion &&
                           merkle::sha256(View(bytes).first(bytes.size() - 32)) == digest &&
                           entry.commitment.tree().root() == entry.commitment.header.tree_root &&
                           path_of(key) == path;
        if (!whole) {
            std::error_code ignored;
            fs::rename(path, fs::path(path) += ".corrupt", ignored);
            continue;
        }
        entry.commitment.root = entry.commitment.header.root();
        entries_[key] = std::move(entry);
    }
    return collect_garbage();
}

fs::path CheckpointStore::path_of(const CheckpointKey& key) const {
    return directory_ / "states" /
           (std::to_string(key.task) + "-" + std::to_string(key.run) + "-" + std::to_string(key.index) +
            ".state");
}

fs::path CheckpointStore::path_of(const Hash32& tensor) const {
    return directory_ / "tensors" / (to_hex(view(tensor)) + ".tensor");
}

Status<> CheckpointStore::write_entry(const CheckpointKey& key, const Entry& entry) {
    const Bytes manifest = encode_manifest(key, entry.commitment, entry.complete, entry.retained);
    return write_durably(path_of(key), {manifest});
}

Status<> CheckpointStore::save(const CheckpointKey& key, const kernels::StateCommitment& commitment,
                               const kernels::State& state) {
    const std::lock_guard lock(mutex_);
    ensure(state.tensors.size() == commitment.tensor_roots.size(), "the commitment of this state");
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.commitment.root != commitment.root) {
        return error("checkpoint " + std::to_string(key.index) + " was saved with another root before");
    }
    for (std::size_t i = 0; i < state.tensors.size(); ++i) {
        const fs::path path = path_of(commitment.tensor_roots[i]);
        std::error_code ignored;
        if (fs::exists(path, ignored)) continue;  // The name is the content.
        const Bytes header = encode_header(state.tensors[i]);
        RETRACE_CHECK(write_durably(path, {header, state.tensors[i].data}));
    }
    Entry entry{commitment, true, found != entries_.end() && found->second.retained};
    RETRACE_CHECK(write_entry(key, entry));  // Last: a manifest never names a tensor that is not there.
    entries_[key] = std::move(entry);
    return Unit{};
}

std::optional<kernels::StateCommitment> CheckpointStore::commitment(const CheckpointKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return found->second.commitment;
}

Result<kernels::Tensor> CheckpointStore::read_tensor(const Hash32& root, kernels::ThreadPool& pool) const {
    RETRACE_TRY(bytes, read_file(path_of(root), kTensorBytesMax));
    Reader in(bytes);
    kernels::Tensor tensor;
    tensor.dtype = static_cast<kernels::DType>(in.u8());
    tensor.dims.resize(in.enumerated(0, kernels::kRankMax));
    for (std::uint64_t& extent : tensor.dims) extent = in.u64();
    const bool valid = in.ok() && kernels::is_dtype(tensor.dtype) &&
                       kernels::check_dims(tensor.dims).has_value() &&
                       in.left() == tensor.elements() * kernels::size_of(tensor.dtype);
    if (valid) {
        tensor.data = to_bytes(in.raw(in.left()));
        if (kernels::tensor_root(tensor, pool) == root) return tensor;
    }
    remove_file(path_of(root));  // So that saving the same tensor again writes it anew.
    return error(path_of(root).string() + ": damaged, its content does not hash to its name");
}

Result<kernels::State> CheckpointStore::load(const CheckpointKey& key, kernels::ThreadPool& pool) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.complete) return error("no such checkpoint");
    kernels::State state;
    state.step = found->second.commitment.header.step;
    std::optional<Error> problem;
    for (const Hash32& root : found->second.commitment.tensor_roots) {
        auto tensor = read_tensor(root, pool);
        // All are read even so: each damaged one is removed, and what computes the state again writes it
        // anew.
        if (!tensor)
            problem = tensor.error();
        else
            state.tensors.push_back(std::move(tensor).value());
    }
    if (problem) return Unexpected{*problem};
    return state;
}

Result<kernels::Tensor> CheckpointStore::tensor(const Hash32& root, kernels::ThreadPool& pool) const {
    const std::lock_guard lock(mutex_);
    return read_tensor(root, pool);
}

std::optional<StateRoots> CheckpointStore::state(const Hash32& root) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : entries_) {
        if (entry.complete && entry.commitment.root == root) {
            return StateRoots{entry.commitment.header, entry.commitment.tensor_roots};
        }
    }
    return std::nullopt;
}

std::optional<CheckpointKey> CheckpointStore::newest(std::uint64_t task, std::uint32_t run,
                                                     std::uint64_t index) const {
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
        if (entry.retained) continue;
        entry.complete = false;
        RETRACE_CHECK(write_entry(complete[i], entry));
    }
    return collect_garbage();
}

Status<> CheckpointStore::discard(const CheckpointKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return Unit{};
    found->second.complete = false;
    RETRACE_CHECK(write_entry(key, found->second));
    return collect_garbage();
}

Status<> CheckpointStore::forget(std::uint64_t task, std::uint32_t run) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.lower_bound({task, run, 0}); it != entries_.end();) {
        if (it->first.task != task || it->first.run != run) break;
        remove_file(path_of(it->first));
        it = entries_.erase(it);
    }
    return collect_garbage();
}

Status<> CheckpointStore::collect_garbage() {
    std::set<fs::path> needed;
    for (const auto& [key, entry] : entries_) {
        if (!entry.complete) continue;
        for (const Hash32& root : entry.commitment.tensor_roots) needed.insert(path_of(root));
    }
    for (const fs::path& path : files_of(directory_ / "tensors")) {
        if (needed.count(path) == 0) remove_file(path);
    }
    return Unit{};
}

}  // namespace retrace::solver
