// SPDX-License-Identifier: MIT
#include "node/cmd/doctor/check.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "node/net/reach.hpp"

namespace retrace::node::doctor {
namespace {

std::string bytes_text(double bytes) {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
    char text[40];
    std::snprintf(text, sizeof text, "%.*f %s", bytes < 10 && unit != 0 ? 1 : 0, bytes, kUnits[unit]);
    return text;
}
std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

Check made(std::string name, Grade grade, std::string found, std::string required, std::string why,
           std::string remedy) {
    if (grade == Grade::pass) remedy.clear();
    return {std::move(name), grade, std::move(found), std::move(required), std::move(why), std::move(remedy)};
}

/// Appends `label` and `text` to `out`, in lines of at most 79 characters.
void wrap(std::string& out, const std::string& label, const std::string& text) {
    constexpr std::size_t kWidth = 79, kIndent = 12;
    std::string line = "  " + label;
    line.resize(kIndent, ' ');
    bool empty = true;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, end - at);
        if (!empty && line.size() + 1 + word.size() > kWidth) {
            out += line + '\n';
            line.assign(kIndent, ' ');
            empty = true;
        }
        if (!empty) line += ' ';
        line += word;
        empty = false;
        at = end + 1;
    }
    out += line + '\n';
}

}  // namespace

std::string name_of(Grade grade) {
    switch (grade) {
        case Grade::pass: return "pass";
        case Grade::warn: return "warn";
        case Grade::fail: return "fail";
        case Grade::untested: return "not tested";
    }
    return "?";
}

Check judge(const Cpu& cpu) {
    char speed[60];
    std::snprintf(speed, sizeof speed, "%.3g thousand million multiply-adds a second", cpu.multiply_adds_per_s / 1e9);
    return made(
        "cpu", cpu.scalar ? Grade::warn : Grade::pass,
        cpu.level + " kernels, " + std::to_string(cpu.threads) + (cpu.threads == 1 ? " thread, " : " threads, ") +
            speed,
        "AVX2 and FMA, or more; on ARM neon, or more",
        "a task's deadlines and the price that pays depend on this speed; the results do not",
        "use a processor with AVX2 (x86-64-v3) or a 64-bit ARM, and unset RETRACE_CPU if it is set; with the scalar "
        "reference, take small tasks only");
}

Check judge(const Memory& memory) {
    const std::uint64_t usable = std::min(memory.limit, memory.left);
    const Grade grade = usable < kMemoryLeast ? Grade::fail : usable < kMemoryWanted ? Grade::warn : Grade::pass;
    return made("memory", grade,
                bytes_text(memory.left) + " free of " + bytes_text(memory.limit) + "; tasks may use " +
                    bytes_text(memory.tasks),
                bytes_text(kMemoryLeast) + ", better " + bytes_text(kMemoryWanted),
                "a solver declines tasks that need more, and a drawn verifier that cannot replay one may lose a part "
                "of its bond",
                "end other programs, raise the limit of the control group or of `ulimit -v`, or add memory");
}

Check judge_room(const Disk& disk) {
    const bool least = disk.bytes >= kDiskLeast && disk.inodes >= kInodesLeast && disk.failure.empty();
    const Grade grade = !least ? Grade::fail : disk.bytes < kDiskWanted ? Grade::warn : Grade::pass;
    std::string found = bytes_text(disk.bytes) + " free";
    if (disk.inodes != UINT64_MAX) found += " and " + std::to_string(disk.inodes) + " inodes";
    found += " at " + disk.folder;
    if (!disk.failure.empty()) found += "; " + disk.failure;
    return made(
        "disk", grade, found,
        bytes_text(kDiskLeast) + " and " + std::to_string(kInodesLeast) + " inodes, better " + bytes_text(kDiskWanted),
        "checkpoints, programs and data of tasks are kept here; a state that is lost costs the stake",
        !disk.failure.empty() ? "name a folder with --data-dir that this user may write to"
                              : "delete files, or name a folder on a larger disk with --data-dir");
}

Check judge_speed(const Disk& disk) {
    const Grade grade = disk.write_bytes_per_s < kDiskSpeedLeast    ? Grade::fail
                        : disk.write_bytes_per_s < kDiskSpeedWanted ? Grade::warn
                                                                    : Grade::pass;
    return made("disk speed", grade, bytes_text(disk.write_bytes_per_s) + " a second, written and synced",
                bytes_text(kDiskSpeedLeast) + " a second, better " + bytes_text(kDiskSpeedWanted),
                "each checkpoint is on disk before the ledger has its commitment",
                "use a local disk for --data-dir, not a network folder or a memory card");
}

Check judge(const OffloadDisk& disk) {
    const bool usable = disk.failure.empty() && disk.bytes_per_s >= kOffloadSpeedLeast;
    // A state lies there three times: the present one, the next one and the committed one. A save takes it once more, and
    // once again while it replaces an older one.
    const std::string found = disk.failure.empty()
                                  ? "a state of at most " + bytes_text(disk.bytes / 5) + ", moved at " +
                                        bytes_text(disk.bytes_per_s) + " a second" +
                                        (disk.direct ? "" : ", through the page cache, so it may be slower")
                                  : disk.failure;
    return made("offload", usable ? Grade::pass : Grade::warn, found, bytes_text(kOffloadSpeedLeast) + " a second",
                "`task run --offload` trains here what does not fit the memory",
                "use a local disk for --data-dir, or train only what fits the memory");
}

Check judge(const Gpu& gpu) {
    const bool usable = gpu.why_not.empty();
    const Grade grade = usable ? Grade::pass : gpu.wanted ? Grade::fail : gpu.nvidia ? Grade::warn : Grade::pass;
    std::string found = usable
                            ? "an NVIDIA GPU that kernels run on"
                            : (gpu.nvidia ? "an NVIDIA GPU that cannot be used: " : "no GPU is used: ") + gpu.why_not;
    return made("gpu", grade, found,
                gpu.wanted ? "CUDA, because of --device cuda" : "none; with CUDA, larger tasks pay",
                "a GPU computes the same bits as the processors, faster",
                gpu.nvidia ? "install NVIDIA's driver (nvidia-smi must list the GPU) and use a build with CUDA "
                             "(-DRETRACE_CUDA=ON)"
                           : "leave out --device cuda, or use a machine with an NVIDIA GPU");
}

Check judge(const Sandbox& sandbox) {
    return made("sandbox", sandbox.supported ? Grade::pass : Grade::warn,
                sandbox.supported ? "seccomp filters" : "none: this kernel or this build has no seccomp filters",
                "seccomp filters", "programs of strangers run in processes without files, sockets and keys",
                "use a kernel with CONFIG_SECCOMP_FILTER and a build with libseccomp-dev");
}

Check judge(const NodeFacts& node) {
    constexpr const char* kRequired = "a node that answers, follows its chain, and has this program's rules";
    constexpr const char* kWhy = "an agent reads tasks and deadlines from it and sends its calls by it";
    const auto is = [&](Grade grade, const std::string& found, const std::string& remedy) {
        return made("node", grade, found, kRequired, kWhy, remedy);
    };
    if (!node.failure.empty())
        return is(Grade::fail, node.failure,
                  "start one with `retrace node --dev --data-dir DIR`, or name another with --node (and "
                  "--tls-fingerprint for "
                  "https)");
    std::string found =
        "chain " + std::to_string(node.chain_id) + " at block " + std::to_string(node.height) + " at " + node.url;
    if (node.halted)
        return is(Grade::fail, found + "; it has halted: " + node.halt_reason,
                  "tell the node's operator, or name another with --node");
    if (!node.has_contracts)
        return is(Grade::fail, found + "; it has no Retrace contracts", "name a Retrace node with --node");
    if (!node.same_numerics)
        return is(Grade::fail, found + "; its chain asks for another kernel contract than this program computes",
                  "install the version of retrace that the chain's operators name");
    if (node.folder_chain && *node.folder_chain != std::to_string(node.chain_id))
        return is(Grade::fail, found + "; the data folder belongs to chain " + *node.folder_chain,
                  "name a node of that chain with --node, or another folder with --data-dir");
    if (node.syncing || node.stalled)
        return is(Grade::warn, found + (node.syncing ? "; it is behind its chain" : "; it has had no block for long"),
                  "wait until it has caught up (`retrace_status`), or name another with --node");
    if (node.verifiers == 0)
        return is(Grade::warn, found + "; no verifiers have registered, so tasks with audits find no solver",
                  "wait for verifiers, or start one with `retrace verifier --quickstart`");
    return is(Grade::pass, found + ", " + std::to_string(node.verifiers) + " verifiers", {});
}

Check judge(const Clock& clock) {
    const auto is = [&](Grade grade, const std::string& found, const std::string& remedy) {
        return made(
            "clock", grade, found,
            "within " + std::to_string(kClockWanted) + " seconds of the node's, at most " + std::to_string(kClockMost),
            "certificates and the warning of old blocks depend on it; deadlines count blocks", remedy);
    };
    if (!clock.offset_s)
        return is(Grade::warn, "not compared: the node did not tell its time", "see the check of the node");
    const std::int64_t size = std::abs(*clock.offset_s);
    std::string found =
        size <= 1 ? "as the node's, within a second"
                  : std::to_string(size) + " seconds " + (*clock.offset_s > 0 ? "ahead of" : "behind") + " the node's";
    found += "; its newest block is " + std::to_string(clock.block_age_s) + " seconds old";
    return is(size > kClockMost     ? Grade::fail
              : size > kClockWanted ? Grade::warn
                                    : Grade::pass,
              found,
              "set the clock by NTP (`timedatectl set-ntp true`), or tell the node's operator if yours is right");
}

Check judge(const Port& port) {
    const auto is = [&](Grade grade, const std::string& found, const std::string& required, const std::string& remedy) {
        return made("port", grade, found, required,
                    "verifiers, requesters and opponents fetch checkpoints from it; a solver that does not serve a "
                    "state loses its stake",
                    remedy);
    };
    constexpr const char* kOpen = "an address that every other party reaches";
    constexpr const char* kRemedy =
        "open the port in the firewall, forward it in the router, and start with --listen 0.0.0.0 --port N --endpoint "
        "http://PUBLIC_ADDRESS:N";
    if (!port.bind_failure.empty())
        return is(Grade::fail, port.listen + " cannot be listened on: " + port.bind_failure, "a port of this machine",
                  "name an address of this machine with --listen, and a free port above 1023 with --port");
    const std::string used = port.in_use ? port.listen + " is in use, perhaps by the agent itself; " : std::string();
    if (port.reach == Reach::unknown)
        return is(Grade::fail, used + port.endpoint + " does not resolve", kOpen,
                  "name an address or a public host name with --endpoint");
    if (port.reach == Reach::loopback) {
        const std::string found = used + "loopback: only processes of this machine reach it";
        return port.node_is_here
                   ? is(port.in_use ? Grade::warn : Grade::pass, found + ", and the node is one of them",
                        "enough while all parties are on this machine", "stop what uses it, or choose another --port")
                   : is(Grade::fail, found + ", and the node is on another one", kOpen, kRemedy);
    }
    const std::string self = port.reached ? "this machine reaches itself by " + port.endpoint
                                          : "this machine does not reach itself by " + port.endpoint +
                                                (port.in_use ? "" : ", as behind some routers");
    if (port.reach == Reach::local)
        return is(Grade::warn, used + self + ", an address of a private network", kOpen, kRemedy);
    // Routers may lead this machine's own packets back, or not: whether strangers reach it is for the node to say.
    return is(Grade::pass, used + self + "; whether others reach it is the next check", kOpen, {});
}

Check judge(const Reachability& facts) {
    const auto is = [&](Grade grade, const std::string& found, const std::string& remedy) {
        return made("reachability", grade, found, "an answer at the endpoint, to a node on another machine",
                    "who cannot be reached serves nothing, and loses stake for it", remedy);
    };
    const std::string by_hand = "try it from another network while the agent runs: curl -v " +
                                facts.endpoint.substr(0, facts.endpoint.find('#')) + "/ must connect";
    if (facts.reach == Reach::loopback && facts.node_is_here && facts.port != 0)
        return is(Grade::untested, "the endpoint and the node are of this machine alone",
                  "name a node on another machine with --node before others rely on this one");
    if (facts.port == 0)
        return is(facts.node_is_here ? Grade::untested : Grade::warn,
                  std::string(facts.node_is_here ? "" : "not tested: ") +
                      "no port is named, so the agent takes another one at each start",
                  "name one with --port, and with --endpoint the URL at which others reach it");
    if (!is_reach_port(facts.port, facts.tls))
        return is(Grade::warn, "not tested: nodes connect back to ports " + std::string(kReachPorts),
                  "use one of these by --port and --endpoint, or " + by_hand);
    if (facts.reach == Reach::loopback || facts.reach == Reach::unknown)
        return is(Grade::warn, "not tested: " + facts.endpoint + " names no address that others know",
                  "see the check of the port");
    // A private address is not told. Where the endpoint's is private too, both are of the same network.
    const std::string from = facts.address.empty() ? "a private address" : facts.address;
    const std::string dialled =
        facts.address.empty() ? from + ", port " + std::to_string(facts.port) : from + ":" + std::to_string(facts.port);
    if (!facts.reached)
        return is(Grade::warn, "not tested: " + facts.why_not,
                  facts.too_old ? "name a newer node with --node, or " + by_hand
                  : facts.busy
                      ? "repeat it in a minute"
                      : "name a node on another machine with --node, without a proxy before it, or " + by_hand);
    const bool is_named = facts.address.empty()
                              ? facts.reach == Reach::local
                              : std::find(facts.named.begin(), facts.named.end(), facts.address) != facts.named.end();
    if (!*facts.reached && !is_named)
        return is(Grade::warn,
                  "not tested: the node dialled " + dialled +
                      ", from where this machine asked, and others are sent to " + facts.endpoint,
                  by_hand);
    if (!*facts.reached)
        return is(Grade::fail, "the node dialled " + dialled + ", and no agent's answer came back",
                  "open TCP port " + std::to_string(facts.port) + " in the firewall of this machine and of its " +
                      "network, forward it in the router to this machine, and listen on all addresses (--listen " +
                      "0.0.0.0); a provider that shares one address among customers cannot forward it: use another "
                      "machine, or a tunnel to one, and name that with --endpoint. " +
                      (facts.tls ? "Its certificate must be valid for the endpoint's name, or have the fingerprint of "
                                   "#sha256= at the URL's end. "
                                 : "") +
                      "If " + from + " is a proxy's, " + by_hand);
    if (!is_named)
        return is(Grade::warn,
                  "the node reached this machine at " + dialled + ", but others are sent to " + facts.endpoint +
                      ", which is another address",
                  facts.address.empty() ? by_hand
                  : facts.tls
                      ? "let the endpoint's name resolve to " + facts.address + ", unless it leads here too"
                      : "name it by --endpoint http://" + dialled + ", unless the other address leads here too");
    return is(facts.reach == Reach::local ? Grade::warn : Grade::pass,
              "the node reached this machine at " + dialled +
                  (facts.reach == Reach::local && !facts.address.empty() ? ", an address of a private network" : ""),
              "enough if all parties are in that network; for others, see the check of the port");
}

Grade grade_of(const std::vector<Check>& checks) {
    Grade out = Grade::pass;
    for (const Check& check : checks) out = std::max(out, check.grade);
    return out;
}

std::string text_of(const Check& check) {
    std::string out = name_of(check.grade) + "  " + check.name + '\n';
    wrap(out, "found", check.found);
    wrap(out, "required", check.required);
    wrap(out, "why", check.why);
    if (!check.remedy.empty()) wrap(out, "remedy", check.remedy);
    return out;
}

boost::json::object json_of(const std::vector<Check>& checks) {
    boost::json::array list;
    for (const Check& check : checks)
        list.push_back(boost::json::object{{"name", check.name},
                                           {"grade", name_of(check.grade)},
                                           {"found", check.found},
                                           {"required", check.required},
                                           {"why", check.why},
                                           {"remedy", check.remedy}});
    return {{"grade", name_of(grade_of(checks))}, {"checks", std::move(list)}};
}

}  // namespace retrace::node::doctor
