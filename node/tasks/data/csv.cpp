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

/// Takes records off a table, RFC 4180: fields in double quotes may hold delimiters, line breaks and doubled quotes.
class RecordReader {
public:
    RecordReader(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

    std::size_t line() const { return record_line_; }
    /// Fills `fields`; false at the end. Lines without anything are skipped.
    Result<bool> next(std::vector<std::string>& fields) {
        fields.clear();
        for (;;) {
            if (text_.empty()) return false;
            record_line_ = line_;
            const auto end = text_.find('\n');
            if (!trimmed(text_.substr(0, end)).empty()) break;
            skip_line(end);
        }
        for (;;) {
            RETRACE_TRY(more, take_field(fields));
            if (fields.size() > kColumnsMax)
                return error("line " + std::to_string(record_line_) + " has more than 100000 fields");
            if (!more) return true;
        }
    }

private:
    void skip_line(std::size_t end) {
        text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
        ++line_;
    }
    /// Returns whether another field follows in the record.
    Result<bool> take_field(std::vector<std::string>& fields) {
        while (!text_.empty() && (text_.front() == ' ' || (text_.front() == '\t' && delimiter_ != '\t')))
            text_.remove_prefix(1);
        if (!text_.empty() && text_.front() == '"') {
            RETRACE_TRY(quoted, take_quoted());
            fields.push_back(std::move(quoted));
        } else {
            const std::size_t end = std::min(text_.find(delimiter_), text_.find('\n'));
            fields.emplace_back(trimmed(text_.substr(0, end)));
            text_.remove_prefix(std::min(end, text_.size()));
        }
        while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\r')) text_.remove_prefix(1);
        if (text_.empty()) return false;
        if (text_.front() == '\n') {
            skip_line(0);
            return false;
        }
        if (text_.front() != delimiter_)
            return error("line " + std::to_string(line_) + ": a field in quotes is followed by other text");
        text_.remove_prefix(1);
        return true;
    }
    Result<std::string> take_quoted() {
        const std::size_t first = line_;
        text_.remove_prefix(1);
        std::string out;
        for (;; text_.remove_prefix(1)) {
            if (text_.empty()) return error("line " + std::to_string(first) + ": a quote is not closed");
            if (text_.starts_with("\"\"")) {
                text_.remove_prefix(1);
            } else if (text_.front() == '"') {
                text_.remove_prefix(1);
                return out;
            }
            if (text_.front() == '\n') ++line_;
            out += text_.front();
        }
    }

    std::string_view text_;
    char delimiter_;
    std::size_t line_ = 1, record_line_ = 1;
};

/// The first of tab, semicolon and comma in the first line: a comma may also be a decimal point of some countries, which
/// is refused later.
char delimiter_of(std::string_view text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    return line.find('\t') != std::string_view::npos ? '\t' : line.find(';') != std::string_view::npos ? ';' : ',';
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

/// Whether a text that is no finite number was meant as one: nan, inf, 1e999 and the like.
bool looks_like_number(std::string_view field) {
    double value = 0;
    if (field.starts_with('+')) field.remove_prefix(1);
    const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
    return code != std::errc::invalid_argument && end == field.data() + field.size();
}

struct Table {
    std::size_t columns = 0;
    std::vector<std::string> names;  ///< Empty without a line of names.
    std::size_t target = 0;          ///< The column of labels.
    std::vector<float> values;       ///< Row after row; 0 in the column of labels if `labels` has these.
    std::vector<std::string> labels;
};

Result<std::size_t> label_column(const Table& table, const std::string& label) {
    if (label.empty()) return table.columns - 1;
    const auto found = std::find(table.names.begin(), table.names.end(), label);
    if (found == table.names.end()) return error("no column is named " + label);
    return static_cast<std::size_t>(found - table.names.begin());
}

Unexpected<Error> not_a_number(const Table& table, std::size_t line, std::size_t column, const std::string& field) {
    const std::string name = column < table.names.size() ? " in column " + table.names[column].substr(0, 40) : "";
    return error("line " + std::to_string(line) + ": \"" + field.substr(0, 40) + "\"" + name +
                 " is not a finite number" +
                 (field.empty() ? "" : "; only the column of labels (--label) may hold texts"));
}

/// Appends a row. Labels are kept as texts beside the numbers, until it is known whether all are numbers.
Status<> add_row(const std::vector<std::string>& fields, std::size_t line, Table& out) {
    if (fields.size() != out.columns)
        return error("line " + std::to_string(line) + " has " + std::to_string(fields.size()) + " fields instead of " +
                     std::to_string(out.columns));
    for (std::size_t column = 0; column < fields.size(); ++column) {
        const auto value = csv_number(fields[column]);
        const bool is_label = column == out.target;
        // A number that is not finite is a mistake in the data, and no name of a class.
        const bool is_text = is_label && !fields[column].empty() && !looks_like_number(fields[column]);
        if (!value && !is_text) return not_a_number(out, line, column, fields[column]);
        out.values.push_back(value.value_or(0.0f));
        if (is_label) out.labels.push_back(fields[column]);
    }
    return Unit{};
}

Result<Table> read_table(std::string_view text, const std::string& label, char delimiter) {
    Table out;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the byte order mark of spreadsheets
    RecordReader records(text, delimiter != 0 ? delimiter : delimiter_of(text));
    std::vector<std::string> fields;
    for (;;) {
        RETRACE_TRY(more, records.next(fields));
        if (!more) break;
        if (out.columns == 0) {
            out.columns = fields.size();
            // A first line in which nothing is a number holds the names of the columns.
            const bool names = std::none_of(fields.begin(), fields.end(),
                                            [](const auto& field) { return csv_number(field).has_value(); });
            if (names) out.names = fields;
            RETRACE_TRY(target, label_column(out, label));
            out.target = target;
            if (names) continue;
        }
        RETRACE_CHECK(add_row(fields, records.line(), out));
    }
    if (out.values.empty()) return error("no rows");
    return out;
}

/// Replaces labels that are texts by their places among all labels; returns these in order, or nothing if all are
/// numbers.
std::vector<std::string> number_labels(Table& table) {
    if (std::all_of(table.labels.begin(), table.labels.end(),
                    [](const std::string& label) { return csv_number(label).has_value(); }))
        return {};
    std::vector<std::string> names = table.labels;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (std::size_t row = 0; row < table.labels.size(); ++row) {
        const auto place = std::lower_bound(names.begin(), names.end(), table.labels[row]) - names.begin();
        table.values[row * table.columns + table.target] = static_cast<float>(place);
    }
    return names;
}

}  // namespace

Result<DataSet> decode_csv(View file, const std::string& label, char delimiter) {
    RETRACE_TRY(table, read_table({reinterpret_cast<const char*>(file.data()), file.size()}, label, delimiter));
    if (table.columns < 2)
        return error("one column only: there is nothing to learn from; name what separates fields with --delimiter");
    std::vector<std::string> names = number_labels(table);
    const std::size_t target = table.target;
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
    RETRACE_TRY(out, make_xy(std::move(x), &y));
    out.class_names = std::move(names);
    return out;
}

}  // namespace retrace::node
