// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node {

/// What a run reported step by step, as a table.
struct MetricTable {
    std::vector<std::string> names;  ///< Columns after "step": "loss", …
    struct Row {
        std::uint64_t step = 0;
        std::vector<std::optional<float>> values;  ///< As many as names (asserted); nothing: an empty field.
    };
    std::vector<Row> rows;
};

/// Shortest decimals that read back as the same bits; names with commas, quotes or line ends are quoted (RFC
/// 4180).
std::string to_csv(const MetricTable& table);
Status<> store_csv(const MetricTable& table, const std::filesystem::path& path);

}  // namespace retrace::node
