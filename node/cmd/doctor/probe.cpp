// SPDX-License-Identifier: MIT
#include "node/cmd/doctor/probe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <thread>

#include "contracts/records/views.hpp"
#include "kernels/commit/contract.hpp"
#include "kernels/offload/disk_speed.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "node/agents/machine_speed.hpp"
#include "node/agents/remote_state.hpp"
#include "node/platform/files.hpp"
#include "node/platform/machine_memory.hpp"
#include "node/platform/printable.hpp"
#include "solver/run/device.hpp"
#include "solver/sandbox/sandbox.hpp"

namespace retrace::node::doctor {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Steady = std::chrono::steady_clock;

/// The nearest folder that exists, from `path` upwards.
fs::path existing(fs::path path) {
    std::error_code ignored;
    path = fs::absolute(path, ignored).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    while (!fs::is_directory(path, ignored) && path.has_parent_path() && path != path.parent_path())
        path = path.parent_path();
    return path;
}

/// Writes and syncs pieces of a nameless file for at most two seconds. Returns bytes per second, or the system's error.
Result<double> write_speed(const fs::path& folder, std::uint64_t most) {
    constexpr std::size_t kPiece = 4 << 20;
    std::string name = (folder / "retrace-doctor-XXXXXX").string();
    const FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (file.get() < 0) return error(std::string("no file can be made: ") + std::strerror(errno));
    ::unlink(name.c_str());
    std::vector<char> piece(kPiece);
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<char>(i * 2'654'435'761u >> 13);
    const auto start = Steady::now();
    std::uint64_t written = 0;
    std::chrono::duration<double> took{};
    do {
        const ssize_t size = ::write(file.get(), piece.data(), piece.size());
        if (size <= 0 || ::fdatasync(file.get()) != 0)
            return error(std::string("writing failed: ") + std::strerror(errno));
        written += static_cast<std::uint64_t>(size);
        took = Steady::now() - start;
    } while (written < most && took < std::chrono::seconds(2));
    return static_cast<double>(written) / std::max(took.count(), 1e-6);
}

/// Whether a PCI device of NVIDIA is there that displays or computes (classes 0x03 and 0x12).
bool has_nvidia() {
    std::error_code ignored;
    for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices", ignored)) {
        std::string vendor, kind;
        std::ifstream(device.path() / "vendor") >> vendor;
        std::ifstream(device.path() / "class") >> kind;
        if (vendor == "0x10de" && (kind.starts_with("0x03") || kind.starts_with("0x12"))) return true;
    }
    return false;
}

Result<json::object> health_of(const std::string& url) {
    const auto parsed = parse_url(url);
    if (!parsed) return error(parsed.error().message);
    HttpConnection connection(*parsed);
    const auto reply =
        connection.exchange({"GET", "/health", {}}, 4096, kernels::StopToken::after(std::chrono::seconds(5)));
    if (!reply) return error(reply.error().message);
    std::error_code wrong;
    const json::value value = json::parse(std::string(reply->body.begin(), reply->body.end()), wrong);
    if (wrong || !value.is_object()) return error("no JSON at /health");
    return value.as_object();
}

bool flag(const json::object& object, std::string_view name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr && value->is_bool() && value->as_bool();
}
/// Seconds or a height that the node names; sums of a few of them do not overflow.
std::optional<std::int64_t> number(const json::object& object, std::string_view name) {
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    const json::value* const value = object.if_contains(name);
    if (value == nullptr || !value->is_int64() || value->as_int64() < 0 || value->as_int64() > kMost)
        return std::nullopt;
    return value->as_int64();
}

std::optional<json::object> status_of(RpcClient& client) {
    auto value = client.call("retrace_status", {});
    if (!value || !value->is_object()) return std::nullopt;
    return value->as_object();
}

Result<RpcClient> quick(const std::string& url) {
    RpcClient::Options options;
    options.deadline = std::chrono::seconds(5);
    return RpcClient::connect(url, options);
}

}  // namespace

Cpu probe_cpu(unsigned threads) {
    kernels::ThreadPool pool(threads);
    return {std::string(kernels::name_of(kernels::cpu_level())), kernels::cpu_level() == kernels::CpuLevel::scalar,
            pool.threads(), multiply_adds_per_second(pool, std::chrono::seconds(1))};
}

Memory probe_memory(std::uint64_t tasks) {
    return {memory_limit(), memory_left(), tasks != 0 ? tasks : default_memory()};
}

Disk probe_disk(const fs::path& folder) {
    Disk out;
    const fs::path where = existing(folder);
    out.folder = where.string();
    const DiskSpace space = free_space(where);
    out.bytes = space.bytes;
    out.inodes = space.inodes;
    constexpr std::uint64_t kMost = 64 << 20;
    const auto speed = write_speed(where, std::min<std::uint64_t>(kMost, space.bytes / 2));
    if (speed)
        out.write_bytes_per_s = *speed;
    else
        out.failure = speed.error().message;
    return out;
}

Gpu probe_gpu(bool wanted) {
    const auto usable = solver::check_device(solver::DeviceChoice::cuda);
    return {has_nvidia(), usable ? std::string() : usable.error().message, wanted};
}

NodeFacts probe_node(const std::string& url, const fs::path& data_dir) {
    NodeFacts out;
    out.url = url.substr(0, url.find('#'));
    auto client = quick(url);
    const auto chain_id = client ? client->chain_id() : Unexpected{RpcFailure{0, client.error().message, {}}};
    if (!chain_id) {
        out.failure = printable(chain_id.error().message);
        return out;
    }
    out.chain_id = *chain_id;
    if (const auto status = status_of(*client)) {
        out.syncing = flag(*status, "syncing");
        out.stalled = flag(*status, "stalled");
        out.halted = flag(*status, "halted");
        if (const auto* reason = status->if_contains("reason"); reason != nullptr && reason->is_string())
            out.halt_reason = printable(std::string(reason->as_string()));
    }
    const auto height = client->height();
    if (!height) {
        out.failure = printable(height.error().message);
        return out;
    }
    out.height = *height;
    const RemoteState state(*client, *height);
    state.read([&] {
        const auto params = contracts::views::params(state);
        out.has_contracts = params.has_value();
        out.same_numerics = params && params->contract_hash == kernels::contract_hash();
        out.verifiers = contracts::views::verifiers(state).size();
    });
    if (state.failure()) out.failure = printable(state.failure()->message);
    if (const auto kept = read_file(data_dir / "chain-id", 20))
        out.folder_chain = std::string(kept->begin(), kept->end());
    return out;
}

Clock probe_clock(const std::string& url) {
    Clock out;
    auto client = quick(url);
    if (!client) return out;
    // The node gives the age of its newest block by its own clock; the difference to the age by ours is the offset. A
    // block may come between the two answers: then they are asked for again.
    for (int attempt = 0; attempt < 5; ++attempt) {
        const auto status = status_of(*client);
        const auto health = health_of(url);
        const std::int64_t now = std::time(nullptr);
        if (!status || !health) return out;
        const auto made = number(*status, "block_time"), height = number(*status, "height");
        const auto age = number(*health, "block_age_s"), same = number(*health, "height");
        if (!made || !height || !age || !same) return out;
        out.block_age_s = static_cast<std::uint64_t>(*age);
        if (*height != *same) continue;
        out.offset_s = now - *made - *age;
        return out;
    }
    return out;
}

/// Measures the disk as steps use it, with a file that has no name.
OffloadDisk probe_offload(const Disk& disk) {
    OffloadDisk out;
    out.bytes = disk.bytes;
    const auto speed = kernels::measure_disk(disk.folder);
    if (!speed) {
        out.failure = speed.error().message;
    } else {
        out.bytes_per_s = std::min(speed->read, speed->written);
        out.direct = speed->direct;
    }
    return out;
}

Question question_of(const AgentOptions& options, bool wants_gpu) {
    Question out;
    out.node_url = options.node_url;
    out.data_dir = options.data_dir;
    out.listen = options.listen;
    out.port = options.port;
    out.endpoint = options.endpoint;
    out.threads = options.threads;
    out.memory = options.memory;
    out.wants_gpu = wants_gpu;
    return out;
}

std::vector<Check> examine(const Question& question) {
    std::vector<Check> out{judge(probe_cpu(question.threads)), judge(probe_memory(question.memory))};
    const Disk disk = probe_disk(question.data_dir);
    out.push_back(judge_room(disk));
    if (disk.failure.empty()) {
        out.push_back(judge_speed(disk));
        out.push_back(judge(probe_offload(disk)));
    }
    out.push_back(judge(probe_gpu(question.wants_gpu)));
    out.push_back(judge(Sandbox{solver::sandbox_is_supported()}));
    const NodeFacts node = probe_node(question.node_url, question.data_dir);
    out.push_back(judge(node));
    out.push_back(judge(node.failure.empty() ? probe_clock(question.node_url) : Clock{}));
    out.push_back(judge(probe_port(question)));
    out.push_back(judge(node.failure.empty() ? probe_reach(question) : unasked(question, "the node does not answer")));
    return out;
}

}  // namespace retrace::node::doctor
