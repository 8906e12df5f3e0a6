// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kernels/builder/training.hpp"
#include "node/tasks/data/idx.hpp"

namespace retrace::node {

struct DataRequest {
    std::string data = "fashion-mnist";  ///< This name, or a path (see `retrace data import`).
    std::string test_data;               ///< A path; empty: the test split where the format has one.
    double test_share = 0;               ///< Share of the samples to keep for testing, the last ones; 0: as usual.
    bool flat = false;                   ///< A sample is a vector, otherwise an image [channels, rows, cols].
    std::string label;                   ///< Column of a CSV file.
    std::uint64_t context = 128;         ///< Tokens of one sample, for raw tokens.
    std::uint32_t token_bytes = 1;
    bool raw_tokens = false;  ///< A file of an unknown kind holds raw tokens.
    std::string delimiter;    ///< Of a table: one character; empty: found in its first line.
    std::string shape;        ///< Of a sample, "1x28x28"; empty: as in the file.
};

/// Parses a delimiter: empty for "found", a character, or "tab".
Result<char> parse_delimiter(const std::string& text);
/// Parses "1x28x28"; empty: none.
Result<std::vector<std::uint64_t>> parse_shape(const std::string& text);

struct TaskData {
    DataSet train;
    std::optional<DataSet> test;  ///< For raw tokens the last tenth, for IDX files the files t10k-….
};

/// Opens the data for training and for testing. An Error says what is wrong with the request or the files, among others
/// a test share beside data that has a test split of its own.
Result<TaskData> open_data(const DataRequest& request);
/// Opens "fashion-mnist" (Debian's package), a folder of IDX files, or a folder written by `retrace data import`.
Result<DataSet> open_data(const std::string& data, Split split, bool flat);

/// Whether the samples are tokens: whole numbers with a label for each of them.
bool are_tokens(const DataSet& data);
/// Checks the requirements for building a program from a data set: parts x and y, no NaN, targets that fit the loss,
/// and at least one batch of samples.
Status<> check_data(const DataSet& data, kernels::LossKind loss, std::uint64_t batch);

}  // namespace retrace::node
