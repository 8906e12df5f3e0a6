// SPDX-License-Identifier: MIT
// The console's page in a headless Chromium, measured by its functional test.
#include <algorithm>

#include "tests/bench/market/measurements.hpp"

namespace retrace::bench {
namespace {

constexpr std::string_view kSkip = "SKIP: ";

}  // namespace

std::vector<Row> measure_console() {
    const std::vector<std::string> names{"first_paint", "transferred", "live_delay", "scroll_frame", "scroll_work"};
    std::vector<Row> printed = child_rows(RETRACE_CONSOLE_TEST " " RETRACE_PROGRAM " figures", names);
    const auto skipped =
        std::find_if(printed.begin(), printed.end(), [](const Row& row) { return row.name.starts_with(kSkip); });
    std::vector<Row> rows;
    if (skipped != printed.end()) {
        for (const std::string& name : names) rows.push_back({name, "", skipped->name.substr(kSkip.size()), 0, 0});
        return rows;
    }
    for (Row& row : printed) {
        // Here the peer is the most that is allowed.
        if (row.peer_value != 0 && row.value > row.peer_value)
            row.peer = std::string(kFailed) + "more than " + row.peer;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace retrace::bench
