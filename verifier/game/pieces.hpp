// SPDX-License-Identifier: MIT
// Parts that the encodings of games and of moves share.
#pragma once

#include <vector>

#include "verifier/game/game.hpp"

namespace retrace::verifier {

void put_hashes(Writer& out, const std::vector<Hash32>& hashes);
std::vector<Hash32> get_hashes(Reader& in, std::size_t limit);
/// A record as bytes of its own codec; one that does not decode fails the reader.
template <class Record>
void put_record(Writer& out, const Record& record) {
    out.bytes(kernels::encode_record(record));
}
kernels::OpRecord get_op_record(Reader& in);
kernels::TensorRecord get_tensor_record(Reader& in);

/// Siblings of one proof: 18 tiles of a tree of 2^36 leaves need fewer.
inline constexpr std::size_t kSiblingsMax = 1024;
/// Encoded bytes of one record.
inline constexpr std::size_t kRecordBytesMax = 4096;
inline constexpr std::size_t kTileBytesMax = 4096;

}  // namespace retrace::verifier
