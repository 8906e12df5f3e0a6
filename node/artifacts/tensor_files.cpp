// SPDX-License-Identifier: MIT
#include "node/artifacts/tensor_files.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "merkle/base/durable_file.hpp"
#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using kernels::Geometry;
using kernels::TensorHeader;

/// Closes least recently used entries while there are more than `limit`.
template <class Map>
void trim(Map& open, std::size_t limit) {
    while (open.size() > limit) {
        open.erase(std::min_element(open.begin(), open.end(),
                                    [](const auto& a, const auto& b) { return a.second->used < b.second->used; }));
    }
}

std::string name_of(const Hash32& root) { return "tensor " + to_hex(view(root)); }

/// Disk space that a sparse file takes.
std::uint64_t allocated_bytes(const fs::path& path) {
    constexpr std::uint64_t kBlock = 512;  // the unit of st_blocks, independent of the file system
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * kBlock : 0;
}

}  // namespace

struct TensorFiles::Whole {
    TensorHeader header;
    Mapping file;
    merkle::TileTree tree;
    std::uint64_t used = 0;

    const std::uint8_t* data() const { return file.bytes().data() + kTensorFileHead; }
};

struct TensorFiles::Part {
    TensorHeader header;
    Mapping file;
    Mapping have;  ///< One byte a tile: 1 when it is there.
    std::uint64_t gaps = 0;
    std::uint64_t used = 0;
};

TensorFiles::TensorFiles(fs::path folder, Limits limits, kernels::ThreadPool& pool)
    : folder_(std::move(folder)), limits_(limits), pool_(pool) {}

TensorFiles::~TensorFiles() = default;

fs::path TensorFiles::path(const Hash32& root, const char* suffix) const {
    return folder_ / (to_hex(view(root)) + suffix);
}

bool TensorFiles::complete(const Hash32& root) const {
    std::error_code code;
    return whole_.contains(root) || fs::exists(path(root, ".tensor"), code);
}

bool TensorFiles::known(const Hash32& root) const {
    std::error_code code;
    return complete(root) || fs::exists(path(root, ".part"), code);
}

Result<Hash32, Failure> TensorFiles::put(const kernels::Tensor& tensor) {
    TensorHeader header{tensor.dtype, tensor.dims, kernels::tile_tree(tensor, pool_).root()};
    const Hash32 root = header.root();
    if (complete(root)) return root;
    RETRACE_CHECK(check_space(header));
    RETRACE_CHECK(write_durably(path(root, ".tensor"), {tensor_file_head(header), tensor.data}));
    return root;
}

Result<TensorFiles::Whole*, Failure> TensorFiles::open_whole(const Hash32& root) {
    if (const auto found = whole_.find(root); found != whole_.end()) {
        found->second->used = ++clock_;
        return found->second.get();
    }
    if (!complete(root)) {
        return known(root) ? failure(Fault::incomplete, name_of(root) + " has not fully arrived")
                           : failure(Fault::not_found, name_of(root) + " is not here");
    }
    // Renames a damaged file, so that it can be fetched again; it is kept for the operator to examine.
    const auto set_aside = [&] {
        std::error_code code;
        fs::rename(path(root, ".tensor"), path(root, ".damaged"), code);
    };
    RETRACE_TRY(file, Mapping::open(path(root, ".tensor"), false));
    auto whole = std::make_unique<Whole>();
    auto header = read_tensor_file_head(file.bytes(), file.size(), root);
    if (!header) {
        set_aside();
        return Unexpected{std::move(header).error()};
    }
    whole->header = std::move(*header);
    whole->file = std::move(file);
    whole->tree = merkle::TileTree(kernels::tile_leaves(whole->data(), whole->header.dtype, whole->header.dims, pool_));
    if (whole->tree.root() != whole->header.tree_root) {
        set_aside();
        return failure(Fault::corrupt, name_of(root) + ": the elements are damaged; the file was set aside");
    }
    whole->used = ++clock_;
    Whole* const out = whole.get();
    whole_.emplace(root, std::move(whole));
    trim(whole_, limits_.open_tensors);
    return out;
}

Result<kernels::Tensor, Failure> TensorFiles::load(const Hash32& root) {
    RETRACE_TRY(whole, open_whole(root));
    const View data = whole->file.bytes().subspan(kTensorFileHead);
    return kernels::Tensor{whole->header.dtype, whole->header.dims, to_bytes(data)};
}

Result<TensorHeader, Failure> TensorFiles::header(const Hash32& root) {
    if (complete(root)) {
        RETRACE_TRY(whole, open_whole(root));
        return whole->header;
    }
    RETRACE_TRY(part, open_part(root));
    return part->header;
}

Result<wire::TileRange, Failure> TensorFiles::tiles(const Hash32& root, std::uint64_t first, std::uint64_t count) {
    RETRACE_TRY(whole, open_whole(root));
    return cut_range(whole->header, whole->data(), whole->tree, first, count);
}

Result<Bytes, Failure> TensorFiles::leaves(const Hash32& root, std::uint64_t first, std::uint64_t count) {
    RETRACE_TRY(whole, open_whole(root));
    return cut_leaves(whole->tree, first, count);
}

Status<Failure> TensorFiles::check_space(const TensorHeader& header) const {
    const std::uint64_t size = data_bytes(header);
    if (size > limits_.tensor_bytes) {
        return failure(Fault::too_large, "a tensor of " + std::to_string(size) + " bytes; at most " +
                                             std::to_string(limits_.tensor_bytes) + " are stored");
    }
    return check_disk(folder_, limits_.left_free, size, "a tensor");
}

Status<Failure> TensorFiles::begin(const Hash32& root, const TensorHeader& header) {
    RETRACE_CHECK(check_header(root, header));
    if (known(root)) return Unit{};
    RETRACE_CHECK(check_space(header));
    const std::uint64_t tiles = kernels::geometry(header.dims).tiles();
    if (tiles == 0) {
        RETRACE_CHECK(write_durably(path(root, ".tensor"), {tensor_file_head(header)}));
        return Unit{};
    }
    // The part file is written last, because it makes the tensor known.
    RETRACE_CHECK(create_sparse(path(root, ".have"), {}, tiles));
    RETRACE_CHECK(reserve(path(root, ".have"), 0, tiles));
    return create_sparse(path(root, ".part"), tensor_file_head(header), kTensorFileHead + data_bytes(header));
}

Result<TensorFiles::Part*, Failure> TensorFiles::open_part(const Hash32& root) {
    if (const auto found = parts_.find(root); found != parts_.end()) {
        found->second->used = ++clock_;
        return found->second.get();
    }
    if (!known(root)) return failure(Fault::not_found, name_of(root) + " is not here");
    auto read = read_part(root);
    if (!read && (read.error().fault == Fault::corrupt || read.error().fault == Fault::not_found)) {
        // After a power failure the two files may exist without their contents.
        remove(root);
        return failure(Fault::not_found,
                       name_of(root) + ": the part that had arrived is damaged and was deleted; the transfer restarts");
    }
    RETRACE_TRY(part, std::move(read));
    part->used = ++clock_;
    Part* const out = part.get();
    parts_.emplace(root, std::move(part));
    trim(parts_, limits_.open_tensors);
    return out;
}

Result<std::unique_ptr<TensorFiles::Part>, Failure> TensorFiles::read_part(const Hash32& root) const {
    RETRACE_TRY(file, Mapping::open(path(root, ".part"), true));
    RETRACE_TRY(have, Mapping::open(path(root, ".have"), true));
    auto part = std::make_unique<Part>();
    RETRACE_TRY(header, read_tensor_file_head(file.bytes(), file.size(), root));
    part->header = std::move(header);
    part->file = std::move(file);
    part->have = std::move(have);
    const View flags = part->have.bytes();
    if (flags.size() != kernels::geometry(part->header.dims).tiles()) {
        return failure(Fault::corrupt, name_of(root) + ": the list of tiles has the wrong length");
    }
    part->gaps = static_cast<std::uint64_t>(std::count(flags.begin(), flags.end(), 0));
    if (part->gaps == 0) {
        // The process died between the last tile and the check of the whole tensor: no tile is trusted.
        std::fill_n(part->have.data(), part->have.size(), std::uint8_t{0});
        part->gaps = part->have.size();
    }
    return part;
}

Status<Failure> TensorFiles::add(const Hash32& root, const wire::TileRange& range) {
    RETRACE_CHECK(check_header(root, range.header));
    if (range.tiles.empty()) {
        // A header costs its sender nothing: it can name a tree root that no tile leads to.
        if (kernels::geometry(range.header.dims).tiles() != 0)
            return failure(Fault::no_tiles, name_of(root) + ": its first tiles have to come with the header");
        return begin(root, range.header);
    }
    RETRACE_CHECK(check_range(range));
    if (complete(root)) return Unit{};
    RETRACE_CHECK(begin(root, range.header));
    auto opened = open_part(root);
    if (!opened && opened.error().fault == Fault::not_found) {
        RETRACE_CHECK(begin(root, range.header));
        opened = open_part(root);
    }
    RETRACE_TRY(part, std::move(opened));
    const Geometry shape = kernels::geometry(part->header.dims);
    const std::uint32_t element = kernels::size_of(part->header.dtype);
    // Reserves the rows of tiles that the range touches, so that no write to the mapping can meet a full disk.
    const std::uint64_t line = shape.cols * element;
    const std::uint64_t begin_row = range.first / shape.tile_cols() * 32;
    const std::uint64_t last = range.first + range.count() - 1;
    const std::uint64_t end_row = std::min(shape.rows, (last / shape.tile_cols() + 1) * 32);
    const std::uint64_t room = (end_row - begin_row) * line;
    // Each tensor that is being received was compared with the free disk space on its own. Earlier ranges may have
    // reserved some of this tensor's rows or, for a single row of tiles, all of them; they are not counted again.
    const std::uint64_t size_whole = part->file.size(), there = allocated_bytes(path(root, ".part"));
    const std::uint64_t wanted = std::min(room, size_whole > there ? size_whole - there : 0);
    // Its files exist, so it needs no more inodes.
    const DiskSpace rest{limits_.left_free.bytes, 0};
    if (wanted != 0) RETRACE_CHECK(check_disk(folder_, rest, wanted, "a part of " + name_of(root)));
    RETRACE_CHECK(reserve(path(root, ".part"), kTensorFileHead + begin_row * line, room));
    const std::uint64_t size = wire::tile_bytes(part->header.dtype);
    for (std::uint64_t i = 0; i < range.count(); ++i) {
        std::uint8_t& flag = part->have.data()[range.first + i];
        if (flag != 0) continue;
        scatter_tile(View(range.tiles).subspan(i * size, size), element, shape, range.first + i,
                     part->file.data() + kTensorFileHead);
        flag = 1;
        --part->gaps;
    }
    return part->gaps == 0 ? finish(root, *part) : Status<Failure>(Unit{});
}

Status<Failure> TensorFiles::finish(const Hash32& root, Part& part) {
    const auto leaves =
        kernels::tile_leaves(part.file.bytes().data() + kTensorFileHead, part.header.dtype, part.header.dims, pool_);
    merkle::TileTree tree(leaves);
    if (tree.root() != part.header.tree_root) {
        parts_.erase(root);
        remove(root);
        return failure(
            Fault::corrupt,
            name_of(root) + ": the stored tiles do not hash to the root and were deleted; the transfer restarts");
    }
    RETRACE_CHECK(part.file.sync());
    auto whole = std::make_unique<Whole>();
    whole->header = part.header;
    whole->file = std::move(part.file);
    whole->tree = std::move(tree);
    whole->used = ++clock_;
    parts_.erase(root);
    std::error_code code;
    fs::rename(path(root, ".part"), path(root, ".tensor"), code);
    if (code) return failure(Fault::io, name_of(root) + ": cannot rename: " + code.message());
    fs::remove(path(root, ".have"), code);
    RETRACE_CHECK(sync_folder(folder_));
    whole_.emplace(root, std::move(whole));
    trim(whole_, limits_.open_tensors);
    return Unit{};
}

Result<std::vector<wire::Range>, Failure> TensorFiles::missing(const Hash32& root) {
    std::vector<wire::Range> out;
    if (complete(root)) return out;
    RETRACE_TRY(part, open_part(root));
    const View have = part->have.bytes();
    for (std::uint64_t i = 0; i < have.size() && out.size() < wire::kMissingRangesMax;) {
        if (have[i] != 0) {
            ++i;
            continue;
        }
        const auto end = std::find_if(have.begin() + static_cast<std::ptrdiff_t>(i), have.end(),
                                      [](std::uint8_t flag) { return flag != 0; });
        const auto next = static_cast<std::uint64_t>(end - have.begin());
        out.push_back({i, next - i});
        i = next;
    }
    return out;
}

void TensorFiles::remove(const Hash32& root) {
    whole_.erase(root);
    parts_.erase(root);
    std::error_code code;
    for (const char* const suffix : {".tensor", ".part", ".have", ".damaged"}) fs::remove(path(root, suffix), code);
}

std::set<Hash32> TensorFiles::roots() const {
    std::set<Hash32> out;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder_, code)) {
        const auto name = from_hex(entry.path().stem().string());
        if (name && name->size() == 32) out.insert(to_hash32(*name));
    }
    return out;
}

}  // namespace retrace::node
