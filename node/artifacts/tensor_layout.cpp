// SPDX-License-Identifier: MIT
#include "node/artifacts/tensor_layout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace retrace::node {
namespace {

using kernels::Geometry;

/// Padding must be zero and bools 0 or 1: a root can commit to other tiles, but no tensor hashes to it then, and the
/// party that committed it loses the dispute at once (verifier 5.1).
bool is_proper(View tile, kernels::DType dtype, const Geometry& shape, std::uint64_t index) {
    const std::uint32_t size = kernels::size_of(dtype);
    const std::uint64_t row = index / shape.tile_cols() * 32, col = index % shape.tile_cols() * 32;
    const std::uint64_t rows = std::min<std::uint64_t>(32, shape.rows - row);
    const std::uint64_t run = std::min<std::uint64_t>(32, shape.cols - col) * size;
    const std::uint64_t line = std::uint64_t{32} * size;
    const auto zero = [](std::uint8_t byte) { return byte == 0; };
    for (std::uint64_t r = 0; run < line && r < rows; ++r) {
        const View padding = tile.subspan(r * line + run, line - run);
        if (!std::all_of(padding.begin(), padding.end(), zero)) return false;
    }
    const View below = tile.subspan(rows * line);
    if (!std::all_of(below.begin(), below.end(), zero)) return false;
    return dtype != kernels::DType::boolean ||
           std::all_of(tile.begin(), tile.end(), [](std::uint8_t byte) { return byte <= 1; });
}

}  // namespace

Bytes tensor_file_head(const kernels::TensorHeader& header) {
    Writer out;
    header.encode_to(out);
    Bytes head = std::move(out).take();
    head.resize(kTensorFileHead);
    return head;
}

std::uint64_t data_bytes(const kernels::TensorHeader& header) {
    return kernels::geometry(header.dims).elements() * kernels::size_of(header.dtype);
}

Result<kernels::TensorHeader, Failure> read_tensor_file_head(View head, std::uint64_t file_size, const Hash32& root) {
    const std::string name = "tensor " + to_hex(view(root));
    if (head.size() < kTensorFileHead) return failure(Fault::corrupt, name + ": the file is cut off");
    Reader in(head);
    kernels::TensorHeader header = kernels::TensorHeader::decode_from(in);
    if (!in.ok() || header.root() != root) return failure(Fault::corrupt, name + ": the header is damaged");
    if (file_size != kTensorFileHead + data_bytes(header)) {
        return failure(Fault::corrupt, name + ": the file has the wrong length");
    }
    return header;
}

Status<Failure> check_header(const Hash32& root, const kernels::TensorHeader& header) {
    if (header.root() != root) {
        return failure(Fault::wrong_root, "the tensor header does not hash to " + to_hex(view(root)));
    }
    if (kernels::geometry(header.dims).tiles() == 0 && !header.tree_root.is_zero()) {
        return failure(Fault::wrong_proof, "a tensor without elements has a tree");
    }
    return Unit{};
}

Status<Failure> check_range(const wire::TileRange& range) {
    const Geometry shape = kernels::geometry(range.header.dims);
    const std::uint64_t size = wire::tile_bytes(range.header.dtype), count = range.count();
    if (count == 0 || range.tiles.size() % size != 0)
        return failure(Fault::malformed, "the message does not hold one or more whole tiles");
    if (count > wire::kRangeTilesMax) return failure(Fault::too_large, "too many tiles in one message");
    if (range.first >= shape.tiles() || count > shape.tiles() - range.first) {
        return failure(Fault::out_of_range, "the tensor has only " + std::to_string(shape.tiles()) + " tiles");
    }
    std::vector<merkle::IndexedLeaf> leaves(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        leaves[i] = {range.first + i, merkle::tile_leaf(View(range.tiles).subspan(i * size, size))};
    }
    if (const auto proved = merkle::verify(range.header.tree_root, shape.tiles(), leaves, range.proof); !proved) {
        return failure(Fault::wrong_proof, "tiles from " + std::to_string(range.first) +
                                               " do not lead to the root: " + std::string(slug(proved.error())));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        const View tile = View(range.tiles).subspan(i * size, size);
        if (!is_proper(tile, range.header.dtype, shape, range.first + i)) {
            return failure(Fault::bad_tile, "tile " + std::to_string(range.first + i) +
                                                " has nonzero padding or a bool other than 0 and 1");
        }
    }
    return Unit{};
}

Result<wire::TileRange, Failure> prove_range(const kernels::TensorHeader& header, const merkle::TileTree& tree,
                                             std::uint64_t first, std::uint64_t count) {
    const Geometry shape = kernels::geometry(header.dims);
    if (count == 0 || first >= shape.tiles()) {
        return failure(Fault::out_of_range, "the tensor has only " + std::to_string(shape.tiles()) + " tiles");
    }
    count = std::min({count, shape.tiles() - first, wire::kRangeTilesMax});
    wire::TileRange out{header, first, Bytes(count * wire::tile_bytes(header.dtype)), {}};
    std::vector<std::uint64_t> indices(count);
    std::iota(indices.begin(), indices.end(), first);
    out.proof = tree.prove(indices);
    return out;
}

Result<wire::TileRange, Failure> cut_range(const kernels::TensorHeader& header, const std::uint8_t* data,
                                           const merkle::TileTree& tree, std::uint64_t first, std::uint64_t count) {
    RETRACE_TRY(out, prove_range(header, tree, first, count));
    const Geometry shape = kernels::geometry(header.dims);
    const std::uint64_t size = wire::tile_bytes(header.dtype);
    for (std::uint64_t i = 0; i < out.count(); ++i) {
        kernels::gather_tile(data, kernels::size_of(header.dtype), shape, first + i, out.tiles.data() + i * size);
    }
    return out;
}

Result<Bytes, Failure> cut_leaves(const merkle::TileTree& tree, std::uint64_t first, std::uint64_t count) {
    if (count == 0 || count > kLeavesMax || first >= tree.leaf_count() || count > tree.leaf_count() - first)
        return failure(Fault::out_of_range, "no such tiles, or more than 65536");
    Bytes out;
    out.reserve(32 * count);
    for (std::uint64_t i = first; i < first + count; ++i) {
        const Hash32& leaf = tree.node(0, i);
        out.insert(out.end(), leaf.bytes.begin(), leaf.bytes.end());
    }
    return out;
}

void scatter_tile(View tile, std::uint32_t element_size, const Geometry& shape, std::uint64_t index,
                  std::uint8_t* data) {
    const std::uint64_t row = index / shape.tile_cols() * 32, col = index % shape.tile_cols() * 32;
    const std::uint64_t rows = std::min<std::uint64_t>(32, shape.rows - row);
    const std::size_t run = std::min<std::uint64_t>(32, shape.cols - col) * element_size;
    const std::size_t line = 32 * std::size_t{element_size};
    for (std::uint64_t r = 0; r < rows; ++r) {
        std::memcpy(data + ((row + r) * shape.cols + col) * element_size, tile.data() + r * line, run);
    }
}

}  // namespace retrace::node
