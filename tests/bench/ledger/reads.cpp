// SPDX-License-Identifier: MIT
#include <cstdio>
#include <stdexcept>

#include "contracts/calls/addresses.hpp"
#include "ledger/crypto/keccak.hpp"
#include "tests/bench/ledger/bench_node.hpp"
#include "tests/bench/ledger/load.hpp"
#include "tests/bench/ledger/measurements.hpp"

namespace retrace::bench {
namespace {

constexpr std::size_t kConnections = 32;
constexpr std::size_t kAccounts = 10'000;
constexpr double kRate = 20'000;  // requests per second in the latency measurement

struct Reads {
    double per_second = 0;
    double p99_ms = 0;
};

/// With `rate` = 0 each connection sends its next request as soon as it has the answer. Otherwise `rate` requests are
/// due each second, and latency counts from the due time, so that a delayed client does not hide it.
Reads ask(std::uint16_t port, const std::vector<std::string>& requests, double seconds, double rate) {
    std::vector<Connection> connections;
    for (std::size_t i = 0; i < kConnections; ++i) connections.emplace_back(port);
    std::vector<double> latencies;
    std::vector<Clock::time_point> due(kConnections);
    std::size_t next = 0;
    const auto start = Clock::now();
    Load load;
    load.next = [&](std::size_t connection) -> std::string_view {
        due[connection] = Clock::now();
        if (rate > 0) {
            const std::chrono::duration<double> when(static_cast<double>(next) / rate);
            const auto planned = start + std::chrono::duration_cast<Clock::duration>(when);
            if (planned > due[connection]) return {};
            due[connection] = planned;
        }
        return requests[next++ % requests.size()];
    };
    load.done = [&](std::size_t connection, std::string_view body, Clock::time_point) {
        latencies.push_back(seconds_since(due[connection]));
        if (body.find(R"("result":"0x)") == std::string_view::npos) {
            throw std::runtime_error("a read failed: " + std::string(body.substr(0, 200)));
        }
    };
    run_load(connections, load, start + std::chrono::milliseconds(static_cast<long>(seconds * 1000)));
    return {static_cast<double>(latencies.size()) / seconds_since(start), 1000 * percentile(latencies, 0.99)};
}

/// A view call of a native contract: the stake of an account.
std::string stake_call(const ledger::Address& account) {
    const Hash32 selector = ledger::keccak256(view(std::string_view("stakeOf(address)")));
    return R"({"to":")" + ledger::to_0x(contracts::address_of(contracts::Contract::staking)) + R"(","data":")" +
           to_0x(view(selector).first(4)) + std::string(24, '0') + to_hex(account.bytes) + R"("})";
}

std::vector<std::string> requests_of(const std::string& method, const std::vector<std::string>& params) {
    std::vector<std::string> out;
    for (const std::string& one : params) {
        out.push_back(http_request(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":[)" + one +
                                   R"(,"latest"]})"));
    }
    return out;
}

}  // namespace

std::vector<Row> measure_reads(const Options& options) {
    const Folder folder;
    std::vector<ledger::Address> accounts;
    std::vector<std::string> balances, calls;
    for (std::uint64_t i = 0; i < kAccounts; ++i) {
        accounts.push_back(plain_account(i));
        balances.push_back('"' + ledger::to_0x(accounts.back()) + '"');
        calls.push_back(stake_call(accounts.back()));
    }
    const auto genesis = write_genesis(folder.path(), accounts);
    const BenchNode node(folder.path(), {"--genesis", genesis.string()});
    const double seconds = options.seconds / 12;
    std::fprintf(stderr, "reads: %.0f seconds each of balances and calls, as fast as it goes and at %.0f a second\n",
                 seconds, kRate);
    const auto balance_requests = requests_of("eth_getBalance", balances),
               call_requests = requests_of("eth_call", calls);
    const Reads balance = ask(node.port(), balance_requests, seconds, 0);
    const Reads call = ask(node.port(), call_requests, seconds, 0);
    const Reads paced_balance = ask(node.port(), balance_requests, seconds, kRate);
    const Reads paced_call = ask(node.port(), call_requests, seconds, kRate);
    return {{"eth_getBalance", "1/s", "floor", balance.per_second, kRate},
            {"eth_getBalance_p99", "ms", "limit, 20000 offered", paced_balance.p99_ms, 5},
            {"eth_call", "1/s", "floor", call.per_second, kRate},
            {"eth_call_p99", "ms", "limit, 20000 offered", paced_call.p99_ms, 5}};
}

}  // namespace retrace::bench
