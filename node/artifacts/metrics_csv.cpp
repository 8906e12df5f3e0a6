// SPDX-License-Identifier: MIT
#include "node/artifacts/metrics_csv.hpp"

#include <array>
#include <charconv>

#include "merkle/base/bytes.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/base/ensure.hpp"
#include "node/platform/files.hpp"

namespace retrace::node {
namespace {

std::string quoted(const std::string& name) {
    if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
    std::string out = "\"";
    for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

std::string shortest(float value) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

}  // namespace

std::string to_csv(const MetricTable& table) {
    std::string out = "step";
    for (const std::string& name : table.names) out += ',' + quoted(name);
    out += '\n';
    for (const MetricTable::Row& row : table.rows) {
        ensure(row.values.size() == table.names.size(), "a value for every column");
        out += std::to_string(row.step);
        for (const std::optional<float>& value : row.values) out += ',' + (value ? shortest(*value) : "");
        out += '\n';
    }
    return out;
}

Status<> store_csv(const MetricTable& table, const std::filesystem::path& path) {
    RETRACE_CHECK(write_durably(path, {view(to_csv(table))}));
    return Unit{};
}

}  // namespace retrace::node
