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

/// PNG or JPEG, told by their first bytes. `channels` 0: as the file has it; transparency is dropped onto
/// black. Over kImageSideMax, damaged or cut files are errors. One decoder, one result: data sets are
/// committed after decoding.
Result<Image> decode_image(View file, std::uint32_t channels);

}  // namespace retrace::node
