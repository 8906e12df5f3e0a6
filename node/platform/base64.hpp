// SPDX-License-Identifier: MIT
// Base 64 (RFC 4648 section 4), in which CometBFT's files and RPC have bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"

namespace retrace::node {

std::string to_base64(View bytes);
/// nullopt unless `text` is what `size` bytes are encoded to.
std::optional<Bytes> from_base64(std::string_view text, std::size_t size);

}  // namespace retrace::node
