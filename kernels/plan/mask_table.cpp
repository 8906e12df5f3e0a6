// SPDX-License-Identifier: MIT
#include "kernels/plan/mask_table.hpp"

#include <algorithm>

#include "kernels/commit/commitment.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::kernels {

Tensor mask_table(const std::vector<MaskRow>& rows) {
    ensure(rows.size() <= kMaskRowsMax, "masks that fit into the table");
    Tensor out = zeros(DType::i32, kMaskTableDims);
    std::uint8_t* at = out.data.data();
    for (const MaskRow& row : rows) {
        at = std::copy(row.seed.bytes.begin(), row.seed.bytes.end(), at);
        store_u32(at, row.added ? 1 : 0);
        at += 4;
    }
    return out;
}

Hash32 mask_table_root(const std::vector<MaskRow>& rows) {
    const Tensor table = mask_table(rows);
    std::vector<Hash32> leaves;
    const std::uint64_t tiles = geometry(table.dims).tiles();
    for (std::uint64_t tile = 0; tile < tiles; ++tile) leaves.push_back(merkle::tile_leaf(tile_bytes(table, tile)));
    return TensorHeader{table.dtype, table.dims, merkle::TileTree(std::move(leaves)).root()}.root();
}

}  // namespace retrace::kernels
