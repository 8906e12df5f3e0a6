// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

struct ZipMember {
    std::string name;
    Bytes data;
};
/// Returns all members of a small ZIP archive as numpy.savez writes it: stored or deflated, no encryption, every
/// checksum verified; at most 64 members with `limit` bytes in total. Uses the central directory; names are not used as
/// paths.
Result<std::vector<ZipMember>> read_zip(View file, std::uint64_t limit);

}  // namespace retrace::node
