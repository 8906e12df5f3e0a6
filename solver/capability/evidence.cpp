// SPDX-License-Identifier: MIT
#include "solver/capability/evidence.hpp"

#include <cstring>

#include "kernels/commit/commitment.hpp"
#include "merkle/tree/append_tree.hpp"
#include "merkle/tree/proof_codec.hpp"

namespace retrace::solver {
namespace {

constexpr std::uint64_t kTileBytes = 4096, kRowBytes = 4 * kCapabilityExtent, kTileRows = kTileBytes / kRowBytes;
constexpr std::uint64_t kTiles = kCapabilityExtent / kTileRows;
constexpr std::size_t kTileSiblings = 6, kHistorySiblings = 48;
static_assert(std::uint64_t{1} << kTileSiblings == kTiles);

const kernels::Dims& state_dims() {
    static const kernels::Dims dims = {kCapabilityElements / 32, 32};
    return dims;
}

void put(Writer& out, const OpenedRows& rows) {
    out.bytes(rows.tile);
    merkle::encode_to(out, rows.proof);
}
OpenedRows get_rows(Reader& in) {
    OpenedRows out;
    out.tile = to_bytes(in.bytes(kTileBytes));
    out.proof = merkle::decode_multi_proof(in, kTileSiblings);
    return out;
}

/// Root of the state whose tile `row` / 4 is opened by `rows`.
Result<Hash32> state_root_of(const OpenedRows& rows, std::uint32_t row) {
    if (rows.tile.size() != kTileBytes) return error("a tile has 4096 bytes");
    const merkle::IndexedLeaf leaf{row / kTileRows, merkle::tile_leaf(rows.tile)};
    const auto tree = merkle::root_of(kTiles, {&leaf, 1}, rows.proof);
    if (!tree) return error("a tile's proof is malformed");
    return kernels::TensorHeader{kernels::DType::f32, state_dims(), *tree}.root();
}

/// Bits of element (`row`, `column`) of the state, from the tile that holds the row. Elements are little endian.
std::uint32_t bits_in(const OpenedRows& rows, std::uint32_t row, std::uint32_t column) {
    const std::uint8_t* at = rows.tile.data() + row % kTileRows * kRowBytes + column * 4u;
    return std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24;
}
CapabilityRow row_in(const OpenedRows& rows, std::uint32_t row) {
    CapabilityRow out;
    for (std::uint32_t k = 0; k < kCapabilityExtent; ++k) out[k] = kernels::from_bits(bits_in(rows, row, k));
    return out;
}

Status<> verify_item(const CapabilityItem& item, const CapabilityRules& rules, std::uint64_t rounds, const Hash32& root,
                     const CapabilityDraw& draw) {
    if (item.input.has_value() != (draw.round != 0)) return error("the first state follows from the seed, no other");
    std::vector<merkle::IndexedLeaf> leaves;
    CapabilityRow input;
    if (item.input) {
        // The second operand is transposed, so column `column` of the product depends on row `column` of the input.
        RETRACE_TRY(before, state_root_of(*item.input, draw.column));
        leaves.push_back({draw.round - 1, capability_leaf(before)});
        input = row_in(*item.input, draw.column);
    } else {
        input = rules.first_row(draw.column);
    }
    RETRACE_TRY(after, state_root_of(item.output, draw.row));
    leaves.push_back({draw.round, capability_leaf(after)});
    if (!merkle::verify(root, rounds, leaves, item.history)) return error("the states are not those of the run");
    if (rules.element(draw.round, draw.row, input) != bits_in(item.output, draw.row, draw.column))
        return error("the element does not follow from the state before");
    return Unit{};
}

}  // namespace

Bytes encode(const CapabilityProof& proof) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(proof.items.size()));
    for (const CapabilityItem& item : proof.items) {
        out.boolean(item.input.has_value());
        if (item.input) put(out, *item.input);
        put(out, item.output);
        merkle::encode_to(out, item.history);
    }
    return std::move(out).take();
}

Result<CapabilityProof, CodecError> decode_capability_proof(View bytes) {
    if (bytes.size() > kCapabilityProofBytesMax) return Unexpected{CodecError::too_long};
    Reader in(bytes);
    CapabilityProof proof;
    const std::uint8_t count = in.u8();
    if (count > kCapabilityDrawsMax) in.fail(CodecError::too_long);
    for (std::uint8_t i = 0; i < count && in.ok(); ++i) {
        CapabilityItem& item = proof.items.emplace_back();
        if (in.boolean()) item.input = get_rows(in);
        item.output = get_rows(in);
        item.history = merkle::decode_multi_proof(in, kHistorySiblings);
    }
    RETRACE_CHECK(in.finish());
    return proof;
}

merkle::TileTree capability_state_tree(const std::vector<float>& state, kernels::ThreadPool& pool) {
    return merkle::TileTree(kernels::tile_leaves(reinterpret_cast<const std::uint8_t*>(state.data()),
                                                 kernels::DType::f32, state_dims(), pool));
}

Hash32 capability_state_root(const std::vector<float>& state, kernels::ThreadPool& pool) {
    return kernels::tensor_root(reinterpret_cast<const std::uint8_t*>(state.data()), kernels::DType::f32, state_dims(),
                                pool);
}

Hash32 capability_leaf(const Hash32& state_root) { return merkle::append_leaf(view(state_root)); }

Hash32 capability_root(const std::vector<Hash32>& leaves) {
    merkle::AppendTree run;
    for (const Hash32& leaf : leaves) run.append(leaf);
    return run.root();
}

Status<> verify_capability(const CapabilityProof& proof, std::uint64_t seed, std::uint64_t rounds, const Hash32& root,
                           const std::vector<CapabilityDraw>& draws) {
    if (proof.items.size() != draws.size())
        return error(std::to_string(draws.size()) + " elements were drawn, " + std::to_string(proof.items.size()) +
                     " are opened");
    const CapabilityRules rules(seed);
    for (std::size_t i = 0; i < draws.size(); ++i) {
        const auto right = verify_item(proof.items[i], rules, rounds, root, draws[i]);
        if (!right) return error("draw " + std::to_string(i) + ": " + right.error().message);
    }
    return Unit{};
}

OpenedRows open_rows(const std::vector<float>& state, std::uint32_t row, kernels::ThreadPool& pool) {
    const std::uint64_t tile = row / kTileRows;
    OpenedRows out;
    out.tile.resize(kTileBytes);
    std::memcpy(out.tile.data(), state.data() + tile * kTileBytes / 4, kTileBytes);
    out.proof = capability_state_tree(state, pool).prove({&tile, 1});
    return out;
}

}  // namespace retrace::solver
