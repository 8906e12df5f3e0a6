// SPDX-License-Identifier: MIT
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "contracts/records/views.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/demo/local_network.hpp"
#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/market/measurements.hpp"

namespace retrace::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBlockMs = 1'000;  // As a chain has by default.
constexpr double kLimit = 120;             // Seconds, then it is given up.

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
}

void run(const std::string& arguments, const std::filesystem::path& log) {
    const std::string command = std::string(RETRACE_PROGRAM) + " " + arguments + " >> " + log.string() + " 2>&1";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: retrace " + arguments);
}

/// Posts a small training whose auction stays open, from numbers that need no data set.
void post_task(const std::filesystem::path& folder, const std::string& url) {
    std::ofstream table(folder / "table.csv");
    table << "a,b,c,d,label\n";
    for (int row = 0; row < 256; ++row)
        table << row % 7 << ',' << row % 5 << ',' << row % 3 << ",1," << row % 2 << '\n';
    table.close();
    const std::filesystem::path log = folder / "post.log";
    run("task compile mlp --data " + (folder / "table.csv").string() + " -o " + (folder / "task").string() +
            " --hidden 16 --batch 16 --price-ceiling 1 --steps 60 --checkpoint-every 10",
        log);
    run("task submit " + (folder / "task").string() + " --node " + url + " --dev-account 0 --data-dir " +
            (folder / "requester").string() + " --allow-unaudited",
        log);
}

bool has_bid(node::RpcClient& client) {
    const auto height = client.height();
    if (!height) return false;
    const node::RemoteState state(client, *height);
    const auto task = contracts::views::task(state, 1);
    return task && !task->bidders.empty();
}

double seconds_to_bid() {
    const Folder folder;
    const auto network =
        must(node::LocalNetwork::assemble(folder.path() / "network", RETRACE_PROGRAM, kBlockMs, {{"bid_blocks", 600}}));
    if (const auto started = network->start_node(); !started) throw std::runtime_error(started.error().message);
    post_task(folder.path(), network->node_url());
    std::ofstream(folder.path() / "pass") << "secret\n";
    std::filesystem::permissions(folder.path() / "pass", std::filesystem::perms(0600));
    std::filesystem::create_directory(folder.path() / "home");
    auto client = must(node::RpcClient::connect(network->node_url()));
    const auto begun = Clock::now();
    const auto solver = must(node::Process::start(
        RETRACE_PROGRAM,
        {"solver", "--quickstart", "--node", network->node_url(), "--words-file", (folder.path() / "words").string(),
         "--passphrase-file", (folder.path() / "pass").string()},
        folder.path() / "solver.log", {"HOME=" + (folder.path() / "home").string()}));
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
    while (!has_bid(client)) {
        if (seconds() > kLimit) throw std::runtime_error("no bid came in time");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return seconds();
}

}  // namespace

std::vector<Row> measure_quickstart() {
    // The package of `./dev package` is measured where it is installed; this is the built executable.
    try {
        return {{"quickstart", "s", "", seconds_to_bid(), 0}};
    } catch (const std::runtime_error& failed) {
        return {{"quickstart", "s", failed.what(), 0, 0}};
    }
}

}  // namespace retrace::bench
