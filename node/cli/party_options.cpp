// SPDX-License-Identifier: MIT
#include "node/cli/party_options.hpp"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "node/units.hpp"
#include "node/wallet/keystore.hpp"

namespace retrace::node::cli {
namespace {

constexpr std::size_t kKeystoreBytesMax = 64 * 1024;

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

void add_key_options(CLI::App& command, KeyOptions& options) {
    command.add_option("--node", options.node_url, "JSON-RPC address of a node (http://127.0.0.1:8545)");
    command
        .add_option("--key", options.key_file,
                    "Keystore file of the account (`retrace wallet new` makes one)")
        ->required();
    command.add_option("--passphrase-file", options.passphrase_file,
                       "File with the keystore's passphrase; asked for otherwise");
}

Result<ledger::SecretKey> unlock(const KeyOptions& options) {
    std::ifstream in(options.key_file, std::ios::binary);
    if (!in) return error(options.key_file + ": cannot be read; `retrace wallet new` makes a keystore");
    std::string text(kKeystoreBytesMax + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > kKeystoreBytesMax) return error(options.key_file + ": too large for a keystore");
    RETRACE_TRY(passphrase, read_passphrase(options.passphrase_file, "passphrase of " + options.key_file));
    auto key = wallet::decrypt_keystore(text, passphrase);
    if (!key) return error(options.key_file + ": " + key.error().message);
    return std::move(*key);
}

void add_agent_options(CLI::App& command, AgentFlags& flags) {
    add_key_options(command, flags.key);
    command.add_option("--data-dir", flags.data_dir, "Folder of checkpoints and artifacts")->required();
    command.add_option("--listen", flags.listen, "Address to serve artifacts on (127.0.0.1)");
    command.add_option("--port", flags.port, "Port to serve artifacts on; 0: any free one");
    command.add_option("--endpoint", flags.endpoint, "URL under which others reach that port");
    command.add_option("--stake", flags.stake, "Coins to have bonded (the chain's minimum)");
    command.add_option("--threads", flags.threads, "Threads of the kernels; 0: all cores");
    command.add_option("--poll-ms", flags.poll_ms, "Milliseconds between looks at the chain (50)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{60'000}));
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
    out.poll = std::chrono::milliseconds(flags.poll_ms);
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
