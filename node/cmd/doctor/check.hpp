// SPDX-License-Identifier: MIT
// Verdicts of `retrace doctor`: pure functions from what was found on a machine to what an operator reads.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/offload/disk_speed.hpp"

namespace retrace::node::doctor {

enum class Grade : std::uint8_t {
    pass = 1,
    untested = 2,  ///< Nothing is known, and an agent that only this machine uses would notice nothing.
    warn = 3,      ///< An agent can start, but earns less or risks something.
    fail = 4,      ///< An agent cannot work here, or would lose stake.
};
std::string name_of(Grade grade);

struct Check {
    std::string
        name;  ///< Stable: "cpu", "memory", "disk", "disk speed", "offload", "gpu", "sandbox", "node", "clock", "port",
               ///< "reachability".
    Grade grade = Grade::pass;
    std::string found, required;
    std::string why;     ///< What the requirement is for.
    std::string remedy;  ///< Empty if it passes.
};

struct Cpu {
    std::string level;  ///< As kernels::name_of says.
    bool scalar = false;
    unsigned threads = 1;
    double multiply_adds_per_s = 0;
};
Check judge(const Cpu& cpu);

struct Memory {
    std::uint64_t limit = 0, left = 0;  ///< Bytes.
    std::uint64_t tasks = 0;            ///< Bytes that tasks may use.
};
Check judge(const Memory& memory);

/// Bytes that an agent needs before any task: its worker process has 256 MiB of its own, and the agent as much.
inline constexpr std::uint64_t kMemoryLeast = std::uint64_t{512} << 20;
/// Below it only small models fit.
inline constexpr std::uint64_t kMemoryWanted = std::uint64_t{2} << 30;

struct Disk {
    std::string folder;
    std::uint64_t bytes = 0, inodes = 0;  ///< Free.
    double write_bytes_per_s = 0;         ///< Written and synced.
    std::string failure;                  ///< Why nothing could be written; empty: it could.
};
Check judge_room(const Disk& disk);
Check judge_speed(const Disk& disk);

/// Below this the store refuses artifacts (node/artifacts/tensor_files.hpp).
inline constexpr std::uint64_t kDiskLeast = std::uint64_t{256} << 20, kInodesLeast = 16'384;
inline constexpr std::uint64_t kDiskWanted = std::uint64_t{4} << 30;
/// Peers give a server up that sends less than a mebibyte in a second (node/artifacts/client).
inline constexpr double kDiskSpeedLeast = 1 << 20, kDiskSpeedWanted = 16 << 20;

/// The disk behind the memory of `task run --offload`.
struct OffloadDisk {
    std::uint64_t bytes = 0;  ///< Free.
    double bytes_per_s = 0;   ///< Read or written, whichever is slower.
    bool direct = false;      ///< Past the page cache.
    std::string failure;      ///< Why it cannot be used; empty: it can.
};
Check judge(const OffloadDisk& disk);
/// Slower disks are refused (kernels::OffloadOptions).
inline constexpr double kOffloadSpeedLeast = kernels::kSlowestDisk;

struct Gpu {
    bool nvidia = false;  ///< The machine has an NVIDIA device on its PCI bus.
    std::string why_not;  ///< Why kernels cannot run on a GPU; empty: they can.
    bool wanted = false;  ///< --device cuda was given.
};
Check judge(const Gpu& gpu);

struct Sandbox {
    bool supported = false;
};
Check judge(const Sandbox& sandbox);

struct NodeFacts {
    std::string url;
    std::string failure;  ///< Why it does not answer; empty: it does.
    std::uint64_t chain_id = 0, height = 0;
    bool syncing = false, stalled = false, halted = false;
    std::string halt_reason;
    bool has_contracts = false;
    bool same_numerics = false;  ///< Its chain asks for the kernel contract of this program.
    std::uint64_t verifiers = 0;
    /// Of the data folder, if an agent has used it before.
    std::optional<std::string> folder_chain;
};
Check judge(const NodeFacts& node);

struct Clock {
    /// This machine's clock minus the node's, in seconds, within one; nullopt: the node did not tell.
    std::optional<std::int64_t> offset_s;
    std::uint64_t block_age_s = 0;  ///< By the node's clock.
};
Check judge(const Clock& clock);
inline constexpr std::int64_t kClockWanted = 5, kClockMost = 120;

/// Where an endpoint leads.
enum class Reach : std::uint8_t {
    loopback = 1,  ///< This machine only.
    local = 2,     ///< A private network (RFC 1918, RFC 4193, link-local, RFC 6598).
    open = 3,      ///< A public address.
    unknown = 4,   ///< The name does not resolve.
};

struct Port {
    std::string listen, endpoint;  ///< The address that it binds, and the URL for others.
    std::string bind_failure;      ///< Why the port cannot be bound; empty: it can, or it is not known.
    bool in_use = false;           ///< Another process has the port.
    Reach reach = Reach::loopback;
    bool node_is_here = false;  ///< The node is on this machine.
    bool reached = false;       ///< This machine reached its own port by the endpoint.
};
Check judge(const Port& port);

/// What the node found when it connected back to this machine.
struct Reachability {
    std::string endpoint;            ///< The URL for others.
    std::uint16_t port = 0;          ///< That of the endpoint; 0: the agent takes another one at each start.
    bool tls = false;                ///< The endpoint is https.
    Reach reach = Reach::loopback;   ///< Of the endpoint.
    bool node_is_here = false;       ///< The node is on this machine.
    std::vector<std::string> named;  ///< Addresses of the endpoint's host.
    std::string address;             ///< This machine's, as the node sees it; empty: it was not told.
    std::optional<bool> reached;     ///< Whether the answer came back; nullopt: not tested.
    bool too_old = false;            ///< The node does not connect back.
    bool busy = false;               ///< It does so later.
    std::string why_not;             ///< What it said instead.
};
Check judge(const Reachability& facts);

/// The worst grade.
Grade grade_of(const std::vector<Check>& checks);
/// Lines for a terminal of 80 columns.
std::string text_of(const Check& check);
/// {"grade", "checks": [{"name", "grade", "found", "required", "why", "remedy"}]}
boost::json::object json_of(const std::vector<Check>& checks);

}  // namespace retrace::node::doctor
