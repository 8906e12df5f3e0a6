// SPDX-License-Identifier: MIT
#include "solver/checkpoints/tensor_store.hpp"

#include <algorithm>

#include "kernels/program/limits.hpp"

namespace retrace::solver {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTensorBytesMax = (1ull << 38) + 64;
constexpr std::string_view kWhole = ".tensor", kDelta = ".delta";
constexpr std::size_t kRootDigits = 64;
constexpr std::uint32_t kTileSide = 32;

std::optional<Hash32> root_in(std::string_view digits) {
    const auto bytes = from_hex(digits);
    if (!bytes || bytes->size() != 32) return std::nullopt;
    Hash32 root;
    std::copy(bytes->begin(), bytes->end(), root.bytes.begin());
    return root;
}

Bytes encode_header(const kernels::Tensor& tensor) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(tensor.dtype)).u8(static_cast<std::uint8_t>(tensor.dims.size()));
    for (const std::uint64_t extent : tensor.dims) out.u64(extent);
    return std::move(out).take();
}

/// Writes a tile into the tensor; the inverse of kernels::tile_bytes.
void put_tile(kernels::Tensor& tensor, std::uint64_t index, View tile) {
    const kernels::Geometry shape = kernels::geometry(tensor.dims);
    const std::uint32_t size = kernels::size_of(tensor.dtype);
    const std::uint64_t row = index / shape.tile_cols() * kTileSide, col = index % shape.tile_cols() * kTileSide;
    const std::uint64_t rows = std::min<std::uint64_t>(kTileSide, shape.rows - row);
    const std::uint64_t cols = std::min<std::uint64_t>(kTileSide, shape.cols - col);
    for (std::uint64_t i = 0; i < rows; ++i) {
        const View line = tile.subspan(i * kTileSide * size, cols * size);
        std::copy(line.begin(), line.end(),
                  tensor.data.begin() + static_cast<std::ptrdiff_t>(((row + i) * shape.cols + col) * size));
    }
}

/// The tiles that differ from `last`; nullopt if they are at least half of all, or no delta is possible.
std::optional<std::vector<std::uint64_t>> changes(const TensorVersion& last, const TensorVersion& now) {
    if (last.dtype != now.dtype || last.dims != now.dims || last.tiles.empty()) return std::nullopt;
    std::vector<std::uint64_t> changed;
    for (std::uint64_t i = 0; i < now.tiles.size(); ++i)
        if (last.tiles[i] != now.tiles[i]) changed.push_back(i);
    if (changed.size() * 2 >= now.tiles.size()) return std::nullopt;
    return changed;
}

}  // namespace

kernels::Tensor read_tensor_head(Reader& in) {
    kernels::Tensor tensor;
    tensor.dtype = static_cast<kernels::DType>(in.u8());
    tensor.dims.resize(in.enumerated(0, kernels::kRankMax));
    for (std::uint64_t& extent : tensor.dims) extent = in.u64();
    if (!kernels::is_dtype(tensor.dtype) || !kernels::check_dims(tensor.dims)) in.fail(CodecError::not_canonical);
    return tensor;
}

std::vector<fs::path> files_of(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code failure;
    for (fs::directory_iterator it(directory, failure), end; !failure && it != end; it.increment(failure))
        files.push_back(it->path());
    std::sort(files.begin(), files.end());
    return files;
}

void remove_file(const fs::path& path) {
    std::error_code ignored;
    fs::remove(path, ignored);
}

Status<> TensorStore::open() {
    for (const fs::path& path : files_of(directory_)) {
        const std::string name = path.filename().string();
        const std::string_view text = name;
        const auto root = root_in(text.substr(0, kRootDigits));
        const std::string_view rest = text.substr(std::min(text.size(), kRootDigits));
        if (root && rest == kWhole) {
            files_[*root] = std::nullopt;
        } else if (root && rest.size() == 1 + kRootDigits + kDelta.size() && rest.ends_with(kDelta)) {
            const auto base = root_in(rest.substr(1, kRootDigits));
            if (base) files_.emplace(*root, *base);
        } else if (path.extension() == kUnfinished) {
            remove_file(path);
        }
    }
    return Unit{};
}

fs::path TensorStore::path_of(const Hash32& root) const {
    const auto found = files_.find(root);
    return path_of(root, found == files_.end() ? std::nullopt : found->second);
}

fs::path TensorStore::path_of(const Hash32& root, const std::optional<Hash32>& base) const {
    const std::string name = to_hex(view(root));
    if (!base) return directory_ / (name + std::string(kWhole));
    return directory_ / (name + "." + to_hex(view(*base)) + std::string(kDelta));
}

bool TensorStore::can_be_base_of(const Hash32& base, const Hash32& root) const {
    auto at = files_.find(base);
    for (std::uint32_t count = 0; at != files_.end() && at->first != root && count < kDeltasMax; ++count) {
        if (!at->second) return true;
        at = files_.find(*at->second);
    }
    return false;
}

std::vector<fs::path> TensorStore::chain(const Hash32& root) const {
    std::vector<fs::path> out;
    for (auto at = files_.find(root); at != files_.end() && out.size() <= kDeltasMax; at = files_.find(*at->second)) {
        out.push_back(path_of(at->first, at->second));
        if (!at->second) return out;
    }
    return {};
}

void TensorStore::recall(TensorVersion& last) {
    if (!last.tiles.empty() || files_.count(last.root) == 0) return;
    const auto tensor = read(last.root, pool_);
    if (!tensor) return;
    last.dtype = tensor->dtype;
    last.dims = tensor->dims;
    last.tiles = kernels::tile_leaves(tensor->data.data(), tensor->dtype, tensor->dims, pool_);
}

Status<> TensorStore::write(std::span<const Hash32> roots, std::span<const kernels::Tensor> tensors,
                            std::vector<TensorVersion>& last) {
    FileBatch batch(directory_, roots.size());
    Files added;
    // If writing fails, `last` names absent versions, so the next version is written whole.
    last.resize(roots.size());
    for (std::size_t i = 0; i < roots.size(); ++i) RETRACE_CHECK(add(batch, roots[i], tensors[i], last[i], added));
    const auto finished = batch.finish();
    syncs_ += batch.syncs();
    if (finished) files_.merge(added);
    return finished;
}

Status<> TensorStore::add(FileBatch& batch, const Hash32& root, const kernels::Tensor& tensor, TensorVersion& last,
                          Files& added) {
    if (files_.count(root) != 0 || added.count(root) != 0) {
        if (last.root != root) last = {root, {}, {}, {}};
        return Unit{};
    }
    TensorVersion now{root, tensor.dtype, tensor.dims,
                      kernels::tile_leaves(tensor.data.data(), tensor.dtype, tensor.dims, pool_)};
    recall(last);
    const auto changed = can_be_base_of(last.root, root) ? changes(last, now) : std::nullopt;
    const Bytes header = encode_header(tensor);
    const std::optional<Hash32> base = changed ? std::optional(last.root) : std::nullopt;
    Bytes tiles;
    if (changed) {
        Writer out;
        out.u64(changed->size());
        for (const std::uint64_t tile : *changed) out.u64(tile).raw(kernels::tile_bytes(tensor, tile));
        tiles = std::move(out).take();
    }
    const Bytes& body = changed ? tiles : tensor.data;
    RETRACE_CHECK(add_sealed(batch, path_of(root, base).filename().string(), {header, body}, seal_));
    added[root] = base;
    written_ += header.size() + body.size();
    last = std::move(now);
    return Unit{};
}

Result<kernels::Tensor, StoreProblem> TensorStore::assemble(const Hash32& root, std::uint32_t depth) const {
    const auto found = files_.find(root);
    const fs::path path = path_of(root);
    std::error_code failure;
    const bool there = found != files_.end() && fs::exists(path, failure);
    if (failure) return Unexpected{StoreProblem{std::nullopt, path.string() + ": " + failure.message()}};
    if (!there) return fault(path, StoreFault::missing, "this tensor is not here");
    if (depth > kDeltasMax) return fault(path, StoreFault::damaged, "it rests on too many versions");
    RETRACE_TRY(bytes, read_sealed(path, kTensorBytesMax, seal_));
    Reader in(bytes);
    kernels::Tensor tensor = read_tensor_head(in);
    const std::uint32_t size = in.ok() ? kernels::size_of(tensor.dtype) : 1;
    if (!found->second) {
        if (!in.ok() || in.left() != tensor.elements() * size)
            return fault(path, StoreFault::damaged, "its length is not that of its shape");
        tensor.data = to_bytes(in.raw(in.left()));
        return tensor;
    }
    RETRACE_TRY(base, assemble(*found->second, depth + 1));
    const std::uint64_t tiles = kernels::geometry(base.dims).tiles(), tile_size = std::uint64_t{1024} * size;
    const std::uint64_t count = in.u64();
    if (!in.ok() || base.dtype != tensor.dtype || base.dims != tensor.dims || count > tiles ||
        in.left() != count * (8 + tile_size))
        return fault(path, StoreFault::damaged, "it is no change of the version before");
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t tile = in.u64();
        if (tile >= tiles) return fault(path, StoreFault::damaged, "it changes a tile that is not there");
        put_tile(base, tile, in.raw(tile_size));
    }
    return base;
}

Result<kernels::Tensor> TensorStore::read(const Hash32& root, kernels::ThreadPool& pool, merkle::TileTree* tree) {
    auto tensor = assemble(root);
    if (tensor) {
        merkle::TileTree made = kernels::tile_tree(*tensor, pool);
        if (kernels::TensorHeader{tensor->dtype, tensor->dims, made.root()}.root() == root) {
            if (tree != nullptr) *tree = std::move(made);
            return std::move(tensor).value();
        }
    }
    if (!tensor && !tensor.error().kind) return Unexpected{tensor.error()};  // A system error, possibly transient.
    const fs::path path = path_of(root);
    const auto found = files_.find(root);
    const std::optional<Hash32> base = found == files_.end() ? std::nullopt : found->second;
    remove(root);
    if (base) (void)read(*base, pool);  // The base may be the damaged file; then it is removed as well.
    if (!tensor) return Unexpected{tensor.error()};
    return fault(path, StoreFault::damaged, "its content does not hash to its name");
}

void TensorStore::remove(const Hash32& root) {
    remove_file(path_of(root));
    files_.erase(root);
}

void TensorStore::keep_only(const std::set<Hash32>& needed) {
    std::set<Hash32> kept;
    for (Hash32 root : needed) {
        for (auto at = files_.find(root); at != files_.end() && kept.insert(root).second && at->second;) {
            root = *at->second;
            at = files_.find(root);
        }
    }
    std::vector<Hash32> gone;
    for (const auto& [root, base] : files_)
        if (kept.count(root) == 0) gone.push_back(root);
    for (const Hash32& root : gone) remove(root);
}

}  // namespace retrace::solver
