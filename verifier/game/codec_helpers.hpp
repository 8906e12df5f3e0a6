// SPDX-License-Identifier: MIT
// Encoding helpers that games and moves share.
#pragma once

#include <vector>

#include "verifier/game/game.hpp"

namespace retrace::verifier {

void put_hashes(Writer& out, const std::vector<Hash32>& hashes);
std::vector<Hash32> get_hashes(Reader& in, std::size_t limit);
/// Writes a record as bytes of its own codec. The matching readers fail on a record that does not decode.
template <class Record>
void put_record(Writer& out, const Record& record) {
    out.bytes(kernels::encode_record(record));
}
kernels::OpRecord get_op_record(Reader& in);
kernels::TensorRecord get_tensor_record(Reader& in);

/// Limit on the siblings of one proof: 18 tiles of a tree of 2^36 leaves need fewer.
inline constexpr std::size_t kSiblingsMax = 1024;
/// Limit on the encoded bytes of one record.
inline constexpr std::size_t kRecordBytesMax = 4096;
inline constexpr std::size_t kTileBytesMax = 4096;

}  // namespace retrace::verifier
