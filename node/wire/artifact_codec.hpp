// SPDX-License-Identifier: MIT
// Messages of the artifact transfer and their encoding (artifact.proto). Decoders enforce the limits: the lengths in a
// decoded message fit together, but nothing has been compared with a root yet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/commit/commitment.hpp"

namespace retrace::wire {

inline constexpr std::uint64_t kRangeTilesMax = 1024;                      ///< Tiles in one message: at most 4 MiB.
inline constexpr std::size_t kMessageBytesMax = (4u << 20) + (64u << 10);  ///< Limit of every message.
inline constexpr std::size_t kStateTensorsMax = 1u << 16;
inline constexpr std::size_t kMissingRangesMax = 256;
inline constexpr std::size_t kRefusalTextMax = 1000;

enum class WireError : std::uint8_t {
    too_long = 1,    ///< Over the limit of a message, a list or a text.
    malformed = 2,   ///< Not a valid message of this kind.
    bad_header = 3,  ///< Unknown dtype, bad rank or extents.
    bad_length = 4,  ///< A byte sequence that is not a whole number of items.
};
std::string_view slug(WireError error) noexcept;

struct Range {
    std::uint64_t first = 0, count = 0;
    bool operator==(const Range&) const = default;
};

struct TileRange {
    kernels::TensorHeader header;
    std::uint64_t first = 0;
    Bytes tiles;               ///< count() × tile_bytes(header.dtype).
    merkle::MultiProof proof;  ///< Proof of the whole range against header.tree_root.
    bool operator==(const TileRange&) const = default;

    std::uint64_t count() const noexcept;
};
/// Bytes of one tile: 1024 elements.
std::uint64_t tile_bytes(kernels::DType dtype) noexcept;

struct StateManifest {
    Hash32 contract, program;
    std::uint64_t step = 0;
    std::vector<Hash32> tensor_roots;
    bool operator==(const StateManifest&) const = default;

    /// Returns the state root that these fields hash to.
    Hash32 root() const;
};

/// Wire-stable.
enum class Kind : std::uint8_t { unknown = 0, program = 1, tensor = 2, state = 3 };

struct Info {
    Kind kind = Kind::unknown;
    bool complete = false;
    std::uint64_t bytes = 0;
    kernels::TensorHeader header;  ///< Only for a tensor.
    std::vector<Range> missing;    ///< The first gaps of a tensor that is still arriving; ascending, not empty ranges.
    bool operator==(const Info&) const = default;
};

struct Refusal {
    std::string slug, message;
    bool operator==(const Refusal&) const = default;
};

Bytes encode(const TileRange& range);
Bytes encode(const StateManifest& manifest);
Bytes encode(const Info& info);
Bytes encode(const Refusal& refusal);
Result<TileRange, WireError> decode_tile_range(View bytes);
Result<StateManifest, WireError> decode_state_manifest(View bytes);
Result<Info, WireError> decode_info(View bytes);
Result<Refusal, WireError> decode_refusal(View bytes);

}  // namespace retrace::wire
