// SPDX-License-Identifier: MIT
// `retrace demo`: the product's main job with real processes on this machine.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>

#include "merkle/base/result.hpp"

namespace retrace::node {

struct DemoOptions {
    std::string cheat =
        "ulp";  ///< ulp, skip_steps, wrong_data, stale_checkpoint, silent, none, false_accuser.
    std::filesystem::path folder;  ///< Where everything is kept; empty: a temporary one, removed on success.
    std::filesystem::path executable;  ///< retrace.
    std::uint64_t steps = 900, interval = 100, batch = 128;
    std::uint64_t block_ms = 200;
    std::uint64_t timeout_s = 300;  ///< The demo fails after it.
    bool quiet = false;              ///< No line for each event.
};

/// Plays the demo and returns the facts that --json prints. Events are told on standard error as they happen.
/// An error says what did not happen; the folder is then kept and named.
Result<boost::json::object> run_demo(const DemoOptions& options);
/// The closing table.
std::string demo_table(const boost::json::object& facts);

}  // namespace retrace::node
