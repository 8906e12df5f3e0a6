// SPDX-License-Identifier: MIT
// Creates small files for the importers.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::node::test {

inline void write_file(const std::filesystem::path& path, View bytes) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// An IDX file of unsigned bytes.
inline Bytes idx(const std::vector<std::uint32_t>& extents, View data) {
    Bytes out{0, 0, 8, static_cast<std::uint8_t>(extents.size())};
    for (const std::uint32_t extent : extents) {
        for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
    out.insert(out.end(), data.begin(), data.end());
    return out;
}

}  // namespace retrace::node::test
