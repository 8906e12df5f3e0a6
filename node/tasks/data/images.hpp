// SPDX-License-Identifier: MIT
#pragma once

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// Rows of pixels, channels interleaved.
struct Image {
    std::uint32_t width = 0, height = 0, channels = 0;  ///< 1 (grey) or 3 (RGB).
    Bytes pixels;
};
inline constexpr std::uint32_t kImageSideMax = 4096;

/// Decodes PNG or JPEG, recognised by the first bytes. `channels` 0: as the file has it; transparent pixels are
/// composed onto black. Sides above kImageSideMax and damaged or truncated files are errors. Each format has one
/// decoder, because data sets are committed after decoding.
Result<Image> decode_image(View file, std::uint32_t channels);

}  // namespace retrace::node
