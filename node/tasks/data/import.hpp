// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "node/tasks/data/idx.hpp"

namespace retrace::node {

struct ImportOptions {
    Split split = Split::train;        ///< Used for IDX folders, which have both splits.
    bool flat = true;                  ///< Images as [samples, features]; otherwise [samples, channels, rows, cols].
    std::string name;                  ///< Name of the data set; empty: from the path.
    std::string label;                 ///< Column of a CSV file that becomes y; empty: the last one.
    std::uint64_t context = 128;       ///< Tokens of one sample.
    std::uint32_t token_bytes = 1;     ///< Bytes of one token in a raw file: 1, 2 or 4, little endian.
    bool raw_tokens = false;           ///< A file of an unknown kind holds raw tokens.
    char delimiter = 0;                ///< Between the fields of a table; 0: found in its first line.
    std::vector<std::uint64_t> shape;  ///< Of a sample of x; empty: as in the file.
};

/// Imports a data set from `path`: "fashion-mnist", a folder of IDX files, a folder with one subfolder of PNG or JPEG
/// files for each class, or a file recognised by its suffix: .csv and .tsv (also packed: .csv.gz), .npz, .npy,
/// .safetensors, and raw tokens in .txt, .bin and .tokens. Another file is refused, unless it is said to hold raw tokens.
/// Nothing in a file is executed. Errors name the file and what is wrong with it.
Result<DataSet> import_dataset(const std::string& path, const ImportOptions& options);

/// Decodes a table of numbers with or without a line of column names. Its fields are separated by `delimiter`, or by the
/// first of tab, semicolon and comma that the first line has; fields in double quotes may hold it, line breaks and
/// doubled quotes (RFC 4180). x f32 [rows, columns - 1]; y u8 or i32 [rows] when all labels are whole numbers from 0 or
/// one of them is no number, f32 otherwise. Labels that are texts are numbered in the order of their bytes and named in
/// `class_names`. NaN, infinities, empty fields, other texts and rows of different lengths are errors; subnormals become
/// zero (contract 1).
Result<DataSet> decode_csv(View file, const std::string& label, char delimiter = 0);
/// Decodes the arrays x and (if present) y of a NumPy archive; see npy.hpp for the element types. They may be named
/// X_train and y_train; those with _test are taken for the other split.
Result<DataSet> decode_npz(View file, Split split = Split::train);
/// Decodes the tensors x and (if present) y of a safetensors file, named as in an archive.
Result<DataSet> decode_safetensors_data(View file, Split split = Split::train);
/// Decodes raw tokens: x has samples of `context` tokens and y the token that follows each, both [samples, context], u8
/// for bytes, i32 otherwise. A last incomplete sample is dropped.
Result<DataSet> decode_tokens(View file, const ImportOptions& options);
/// Loads a folder of images; its subfolders, sorted by name, are the classes.
Result<DataSet> load_image_folder(const std::filesystem::path& folder, bool flat);

/// Cleans a tensor from outside, data or weights (contract 1): a NaN or infinite f32 is refused with `name` and its
/// index, a subnormal becomes the zero of its sign.
Status<> clean(kernels::Tensor& tensor, const std::string& name);

/// Makes a data set of x and y from outside: NaN and infinity are refused, subnormals flushed, int64 narrowed, classes
/// counted.
Result<DataSet> make_xy(kernels::Tensor x, const kernels::Tensor* y);

}  // namespace retrace::node
