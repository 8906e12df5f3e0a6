// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "node/tasks/data/import.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kColumnsMax = 100'000;

std::string_view trimmed(std::string_view text) {
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> out;
    while (out.size() <= kColumnsMax) {
        const auto at = line.find(',');
        out.push_back(trimmed(line.substr(0, at)));
        if (at == std::string_view::npos) break;
        line.remove_prefix(at + 1);
    }
    return out;
}

/// Finite numbers only; what is too small for fp32 is zero.
std::optional<float> csv_number(std::string_view field) {
    double value = 0;
    if (field.starts_with('+')) field.remove_prefix(1);
    const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (field.empty() || code != std::errc{} || end != field.data() + field.size()) return std::nullopt;
    const float out = static_cast<float>(value);
    if (!std::isfinite(out)) return std::nullopt;
    return out;
}

struct Table {
    std::size_t columns = 0;
    std::vector<std::string> names;  ///< Empty without a line of names.
    std::vector<float> values;       ///< Row after row.
};

Result<Table> read_table(std::string_view text) {
    Table out;
    for (std::size_t line_number = 1; !text.empty(); ++line_number) {
        const auto at = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, at));
        text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
        if (line.empty()) continue;
        const auto fields = fields_of(line);
        const std::string where = "line " + std::to_string(line_number);
        if (fields.size() > kColumnsMax) return error(where + " has more than 100000 fields");
        if (out.columns == 0) {
            out.columns = fields.size();
            // A first line in which nothing is a number holds the names of the columns.
            if (std::none_of(fields.begin(), fields.end(), [](auto field) { return csv_number(field).has_value(); })) {
                out.names.assign(fields.begin(), fields.end());
                continue;
            }
        }
        if (fields.size() != out.columns) {
            return error(where + " has " + std::to_string(fields.size()) + " fields instead of " +
                         std::to_string(out.columns));
        }
        for (const std::string_view field : fields) {
            const auto value = csv_number(field);
            if (!value) {
                return error(where + ": \"" + std::string(field.substr(0, 40)) + "\" is not a finite number");
            }
            out.values.push_back(*value);
        }
    }
    if (out.values.empty()) return error("no rows");
    return out;
}

Result<std::size_t> label_column(const Table& table, const std::string& label) {
    if (label.empty()) return table.columns - 1;
    const auto found = std::find(table.names.begin(), table.names.end(), label);
    if (found == table.names.end()) return error("no column is named " + label);
    return static_cast<std::size_t>(found - table.names.begin());
}

}  // namespace

Result<DataSet> decode_csv(View file, const std::string& label) {
    RETRACE_TRY(table, read_table({reinterpret_cast<const char*>(file.data()), file.size()}));
    if (table.columns < 2) return error("one column only: there is nothing to learn from");
    RETRACE_TRY(target, label_column(table, label));
    const std::uint64_t rows = table.values.size() / table.columns, features = table.columns - 1;
    kernels::Tensor x = kernels::zeros(kernels::DType::f32, {rows, features});
    kernels::Tensor y = kernels::zeros(kernels::DType::f32, {rows});
    for (std::uint64_t row = 0; row < rows; ++row) {
        std::uint64_t at = row * features;
        for (std::size_t column = 0; column < table.columns; ++column) {
            const std::uint32_t bits = std::bit_cast<std::uint32_t>(table.values[row * table.columns + column]);
            store_u32(column == target ? y.data.data() + 4 * row : x.data.data() + 4 * at++, bits);
        }
    }
    return make_xy(std::move(x), &y);
}

}  // namespace retrace::node
