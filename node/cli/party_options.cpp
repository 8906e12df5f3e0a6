// SPDX-License-Identifier: MIT
#include "node/cli/party_options.hpp"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>

#include "node/units.hpp"

namespace retrace::node::cli {
namespace {

/// A loop may be inside a training step for a long time; nobody waits for that.
constexpr unsigned kPatienceSeconds = 3;

std::atomic<bool> g_stop{false};  // Signal handlers reach nothing else.

extern "C" void on_signal(int) {
    if (g_stop.exchange(true)) ::_exit(kFailed);
    ::alarm(kPatienceSeconds);
}
extern "C" void on_alarm(int) {
    ::_exit(kDone);
}

}  // namespace

void add_signer_options(CLI::App& command, SignerOptions& options) {
    add_node_option(command, options.node_url);
    options.key.add_to(command);
}

void add_agent_options(CLI::App& command, AgentFlags& flags) {
    add_signer_options(command, flags.key);
    command.add_option("--data-dir", flags.data_dir, "Folder of checkpoints and artifacts")->required();
    command.add_option("--listen", flags.listen, "Address to serve artifacts on (127.0.0.1)");
    command.add_option("--port", flags.port, "Port to serve artifacts on; 0: any free one");
    command.add_option("--endpoint", flags.endpoint, "URL under which others reach that port");
    command.add_option("--stake", flags.stake, "Coins to have bonded (the chain's minimum)");
    command.add_option("--threads", flags.threads, "Threads of the kernels; 0: all cores");
    command.add_option("--poll-ms", flags.poll_ms, "Milliseconds between looks at the chain (50)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{60'000}));
    command.add_option("--keep-blocks", flags.keep_blocks,
                       "Blocks after which what an ended task needed is deleted (5000)");
    command.add_option("--patience", flags.patience_s,
                       "Seconds to wait for a node that does not answer at the start (for ever)");
    command.add_option("--log-level", flags.log_level, "trace, debug, info, warn, error, off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
    command.add_option("--cheat", flags.cheat, "Commit a fraud; refused outside developer chains");
}

Result<PartyOptions> party_options(const AgentFlags& flags) {
    PartyOptions out;
    out.node_url = flags.key.node_url;
    out.data_dir = flags.data_dir;
    out.listen = flags.listen;
    out.port = flags.port;
    out.endpoint = flags.endpoint;
    out.threads = flags.threads;
    out.afterlife_blocks = flags.keep_blocks;
    out.poll = std::chrono::milliseconds(flags.poll_ms);
    if (flags.patience_s) out.patience = std::chrono::seconds(*flags.patience_s);
    if (!flags.stake.empty()) {
        const auto stake = parse_coins(flags.stake);
        if (!stake) return error("--stake must be coins, like 10 or 0.5");
        out.stake = *stake;
    }
    return out;
}

int run_until_signal(const std::function<void(const std::atomic<bool>& stop)>& body) {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    std::signal(SIGALRM, on_alarm);
    std::signal(SIGPIPE, SIG_IGN);
    body(g_stop);
    return kDone;
}

}  // namespace retrace::node::cli
