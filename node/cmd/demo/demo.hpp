// SPDX-License-Identifier: MIT
// `retrace demo`: trains, audits and settles tasks with real processes on this machine.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "merkle/base/result.hpp"

namespace retrace::node {

struct DemoOptions {
    std::string cheat = "ulp";         ///< ulp, skip_steps, wrong_data, stale_checkpoint, silent, none, false_accuser.
    std::filesystem::path folder;      ///< Folder for all files; empty: a temporary one, removed on success.
    std::filesystem::path executable;  ///< Path of the retrace executable.
    std::uint64_t steps = 900, interval = 100, batch = 128;
    std::uint64_t block_ms = 200;
    std::uint32_t validators = 0;   ///< 0: one node with the embedded engine; else nodes with CometBFT.
    std::uint64_t timeout_s = 300;  ///< The demo fails after this time.
    bool quiet = false;             ///< Suppresses the line for each event.
    /// Called at the end with the facts, while the network still runs; empty: nothing is.
    std::function<void(const boost::json::object& facts)> at_end;
};

/// Runs the demo and returns the facts that --json prints. Events are printed on standard error as they happen. An
/// error says which step failed and names the folder, which is then kept.
Result<boost::json::object> run_demo(const DemoOptions& options);
/// Formats the closing table.
std::string demo_table(const boost::json::object& facts);

}  // namespace retrace::node
