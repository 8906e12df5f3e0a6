// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "node/tasks/data/dataset.hpp"

namespace retrace::node {

/// Decodes the IDX format of MNIST and its relatives (yann.lecun.com/exdb/mnist): two zero bytes, a type, a rank,
/// big-endian u32 extents, the elements. Elements of type 0x08 (u8), rank 1 to 4; the file must have exactly the length
/// that its extents say.
Result<kernels::Tensor> decode_idx(View file);
/// Decodes a file, which may be gzipped.
Result<kernels::Tensor> load_idx(const std::filesystem::path& path);

enum class Split : std::uint8_t { train = 1, test = 2 };

/// Loads the files <prefix>-images-idx3-ubyte[.gz] and <prefix>-labels-idx1-ubyte[.gz] of a folder, prefix "train" or
/// "t10k": x u8 [samples, rows × cols] (or [samples, 1, rows, cols]) and y u8 [samples].
Result<DataSet> load_idx_folder(const std::filesystem::path& folder, Split split, bool flat);
/// Whether the folder holds such files.
bool is_idx_folder(const std::filesystem::path& folder);

/// Returns the folder where Debian's package puts Fashion-MNIST; the error names the package to install.
Result<std::filesystem::path> fashion_mnist_folder();

}  // namespace retrace::node
