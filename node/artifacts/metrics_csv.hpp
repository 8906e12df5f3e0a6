// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node {

/// Metrics that a run reported at each step, as a table.
struct MetricTable {
    std::vector<std::string> names;  ///< Columns after "step": "loss", …
    struct Row {
        std::uint64_t step = 0;
        std::vector<std::optional<float>> values;  ///< One for each name (asserted); nullopt: an empty field.
    };
    std::vector<Row> rows;
};

/// Writes the shortest decimals that read back as the same bits; names with commas, quotes or line ends are quoted (RFC
/// 4180).
std::string to_csv(const MetricTable& table);
Status<> store_csv(const MetricTable& table, const std::filesystem::path& path);

}  // namespace retrace::node
