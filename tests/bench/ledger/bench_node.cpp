// SPDX-License-Identifier: MIT
#include "tests/bench/ledger/bench_node.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "ledger/crypto/keccak.hpp"
#include "tests/bench/ledger/load.hpp"

namespace retrace::bench {
namespace {

constexpr double kTimeout = 60;  // seconds within which a node must answer

long resident_kib(int pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return 0;
}

NodeProgram retrace_node(const std::filesystem::path& folder, const std::vector<std::string>& arguments) {
    NodeProgram out{RETRACE_PROGRAM, {}, free_port()};
    out.arguments = {"node",        "--data-dir", (folder / "data").string(), "--rpc-port", std::to_string(out.port),
                     "--log-level", "warn"};
    out.arguments.insert(out.arguments.end(), arguments.begin(), arguments.end());
    return out;
}

}  // namespace

Folder::Folder() {
    static int counter = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("retrace_bench_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
    std::filesystem::create_directories(path_);
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::uint16_t free_port() {
    const auto port = node::free_port();
    if (!port) throw std::runtime_error(port.error().message);
    return *port;
}

BenchNode::BenchNode(const std::filesystem::path& folder, const std::vector<std::string>& arguments)
    : BenchNode(retrace_node(folder, arguments), folder) {}

BenchNode::BenchNode(const NodeProgram& program, const std::filesystem::path& folder)
    : folder_(folder), port_(program.port) {
    const auto start = Clock::now();
    auto process = node::Process::start(program.program, program.arguments, folder / "node.log");
    if (!process) throw std::runtime_error(process.error().message);
    process_ = std::move(process).value();
    const std::string ask = http_request(R"({"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]})");
    for (;;) {
        try {
            Connection(port_).exchange(ask);
            break;
        } catch (const std::runtime_error&) {
            if (!process_->running() || seconds_since(start) > kTimeout) {
                throw std::runtime_error("the node does not answer; see " + (folder / "node.log").string());
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    seconds_to_answer_ = seconds_since(start);
}

double BenchNode::resident_mib() const { return static_cast<double>(resident_kib(process_->pid())) / 1024; }

double BenchNode::cpu_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(process_->pid()) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string field;
    double ticks = 0;
    for (int i = 3; i <= 15 && fields >> field; ++i) {
        if (i >= 14) ticks += std::stod(field);  // fields 14 and 15 are utime and stime
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::vector<ledger::SecretKey> make_keys(std::size_t count) {
    std::vector<ledger::SecretKey> keys;
    keys.reserve(count);
    for (std::uint64_t i = 1; i <= count; ++i) {
        std::array<std::uint8_t, 32> bytes{};
        store_u64(bytes.data(), i);
        std::reverse(bytes.begin(), bytes.end());
        keys.push_back(*ledger::SecretKey::from_bytes(bytes));
    }
    return keys;
}

ledger::Address plain_account(std::uint64_t number) {
    std::array<std::uint8_t, 8> bytes{};
    store_u64(bytes.data(), number);
    const Hash32 digest = ledger::keccak256(bytes);
    ledger::Address out;
    std::copy_n(digest.bytes.begin(), out.bytes.size(), out.bytes.begin());
    return out;
}

std::filesystem::path write_genesis(const std::filesystem::path& folder, const std::vector<ledger::Address>& accounts) {
    const auto path = folder / "genesis.json";
    std::ofstream out(path);
    out << R"({"chainId":)" << kChainId << R"(,"timestamp":1767225600,"alloc":{)";
    const char* separator = "";
    for (const ledger::Address& account : accounts) {
        out << separator << '"' << ledger::to_0x(account) << R"(":{"balance":"1000000000000000000000000"})";
        separator = ",";
    }
    out << "}}";
    return path;
}

}  // namespace retrace::bench
