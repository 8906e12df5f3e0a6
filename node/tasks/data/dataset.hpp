// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/runtime/tensor.hpp"

namespace retrace::node {

/// Limit in bytes of one tensor of a data set, and of an imported file.
inline constexpr std::uint64_t kDataBytesMax = std::uint64_t{8} << 30;

/// Tensors under their roots, in the order in which a program takes them. For a classifier: "x" [samples, …]
/// and "y" [samples].
struct DataSet {
    struct Part {
        std::string name;  ///< [a-z][a-z0-9_]*, ≤ 32 bytes; also the name of its file.
        kernels::Tensor tensor;
        Hash32 root;  ///< Tensor root.
    };
    std::string name;           ///< Display name, ≤ 64 bytes.
    std::string source;         ///< Which files it came from, ≤ 300 bytes.
    std::uint32_t classes = 0;  ///< Labels in "y" are below this; 0: no classes.
    std::vector<Part> parts;
    /// What the numbers of "y" stood for in the file, if its labels were texts; told to people and not stored.
    std::vector<std::string> class_names = {};

    /// Returns the first extent of "x", or of the first part.
    std::uint64_t samples() const noexcept;
    std::vector<Hash32> roots() const;
    const kernels::Tensor* find(std::string_view part) const noexcept;
};

/// Computes the root. `name` as above (asserted).
DataSet::Part make_part(std::string name, kernels::Tensor tensor);
/// Checks names, sizes, the common extent of samples in x and y, and that labels are below `classes`. The importers and
/// `load_dataset` call it last.
Status<> check(const DataSet& data);

/// "f32", "i8", "u8", "i32", "bool".
std::string_view dtype_name(kernels::DType dtype) noexcept;

/// Writes `folder`/manifest.json and one <part>.bin of row-major little-endian elements for each part. The folder
/// appears complete or not at all; an existing non-empty folder is refused.
Status<> save_dataset(const DataSet& data, const std::filesystem::path& folder);
/// Reads a saved data set; every root is recomputed and compared.
Result<DataSet> load_dataset(const std::filesystem::path& folder);
/// Returns the text of manifest.json.
std::string manifest_json(const DataSet& data);

}  // namespace retrace::node
