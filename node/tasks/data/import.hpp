// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "node/tasks/data/idx.hpp"

namespace retrace::node {

struct ImportOptions {
    Split split = Split::train;  ///< IDX folders have two.
    bool flat = true;   ///< Images as [samples, features]; otherwise [samples, channels, rows, cols].
    std::string name;   ///< Of the data set; empty: from the path.
    std::string label;  ///< Column of a CSV file that becomes y; empty: the last one.
    std::uint64_t context = 128;    ///< Tokens of one sample.
    std::uint32_t token_bytes = 1;  ///< 1, 2 or 4, little endian, of one token in a raw file.
};

/// One data set out of `path`: "fashion-mnist", a folder of IDX files, a folder with one subfolder of PNG or
/// JPEG files for each class, or a file whose suffix says what it is: .csv, .npz, .safetensors, .png, .jpg,
/// otherwise raw tokens
/// (.txt, .bin, .tokens). Nothing that a file says is executed. Errors name the file and what is wrong with
/// it.
Result<DataSet> import_dataset(const std::string& path, const ImportOptions& options);

/// Numbers with or without a line of column names, separated by commas. x f32 [rows, columns - 1]; y u8 or
/// i32 [rows] when all labels are whole numbers from 0, f32 otherwise. NaN, infinities, quoted or empty
/// fields and ragged lines are errors; subnormals become zero (contract 1).
Result<DataSet> decode_csv(View file, const std::string& label);
/// The arrays x and (if there) y of a NumPy archive; see npy.hpp for the element types.
Result<DataSet> decode_npz(View file);
/// Tensors x and (if there) y.
Result<DataSet> decode_safetensors_data(View file);
/// Samples of `context` tokens and, as y, the token that follows each: x and y [samples, context], u8 for
/// bytes, i32 otherwise. A last incomplete sample is dropped.
Result<DataSet> decode_tokens(View file, const ImportOptions& options);
/// Subfolders in order of their names are the classes.
Result<DataSet> load_image_folder(const std::filesystem::path& folder, bool flat);

/// What every tensor from outside, data or weights, has to be (contract 1): an f32 that is NaN or infinite is refused
/// with `name` and its index, a subnormal becomes the zero of its sign.
Status<> clean(kernels::Tensor& tensor, const std::string& name);

/// x and y from outside: NaN and infinity are refused, subnormals flushed, int64 narrowed, classes counted.
Result<DataSet> make_xy(kernels::Tensor x, const kernels::Tensor* y);

}  // namespace retrace::node
