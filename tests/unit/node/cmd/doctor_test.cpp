// SPDX-License-Identifier: MIT
// Verdicts of `retrace doctor`: what each check says when it fails, and which facts pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/cmd/doctor/check.hpp"
#include "node/cmd/doctor/probe.hpp"
#include "node/platform/process.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node::doctor {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

auto is(Grade grade, const std::string& found, const std::string& remedy) {
    return AllOf(Field(&Check::grade, grade), Field(&Check::found, HasSubstr(found)),
                 Field(&Check::remedy, HasSubstr(remedy)), Field(&Check::required, Not(IsEmpty())),
                 Field(&Check::why, Not(IsEmpty())));
}
auto passes(const std::string& found) {
    return AllOf(Field(&Check::grade, Grade::pass), Field(&Check::found, HasSubstr(found)),
                 Field(&Check::remedy, IsEmpty()));
}

TEST(Doctor, JudgesTheProcessor) {
    EXPECT_THAT(judge(Cpu{"avx512", false, 16, 2.5e11}), passes("avx512 kernels, 16 threads, 250 thousand million"));
    EXPECT_THAT(judge(Cpu{"scalar", true, 1, 1e8}), is(Grade::warn, "scalar kernels, 1 thread", "AVX2"));
}

TEST(Doctor, JudgesMemoryByItsScarcerPart) {
    EXPECT_THAT(judge(Memory{8ull << 30, 6ull << 30, 6ull << 30}), passes("6.0 GiB free of 8.0 GiB"));
    EXPECT_THAT(judge(Memory{8ull << 30, 1ull << 30, 6ull << 30}), is(Grade::warn, "1.0 GiB free", "end other"));
    EXPECT_THAT(judge(Memory{256ull << 20, 8ull << 30, 192ull << 20}), is(Grade::fail, "256 MiB", "control group"));
}

TEST(Doctor, JudgesTheDiskBehindTheMemory) {
    EXPECT_THAT(judge(OffloadDisk{90ull << 30, 1e9, true, {}}), passes("a state of at most 18 GiB"));
    EXPECT_THAT(judge(OffloadDisk{90ull << 30, 1e9, false, {}}), passes("through the page cache"));
    EXPECT_THAT(judge(OffloadDisk{90ull << 30, 1e6, true, {}}), is(Grade::warn, "977 KiB a second", "local disk"));
    EXPECT_THAT(judge(OffloadDisk{0, 0, false, "no file (disk_failed)"}), is(Grade::warn, "disk_failed", "local"));
}

TEST(Doctor, JudgesTheDisk) {
    const Disk good{"/data", 100ull << 30, 1'000'000, 5e8, {}};
    EXPECT_THAT(judge_room(good), passes("100 GiB free and 1000000 inodes at /data"));
    EXPECT_THAT(judge_speed(good), passes("477 MiB a second"));
    Disk full = good, slow = good, no_inodes = good, closed = good;
    full.bytes = 100 << 20;
    EXPECT_THAT(judge_room(full), is(Grade::fail, "100 MiB free", "delete files"));
    full.bytes = 1ull << 30;
    EXPECT_EQ(judge_room(full).grade, Grade::warn);
    no_inodes.inodes = 5;
    EXPECT_THAT(judge_room(no_inodes), is(Grade::fail, "5 inodes", "larger disk"));
    closed.failure = "no file can be made: Permission denied";
    EXPECT_THAT(judge_room(closed), is(Grade::fail, "Permission denied", "may write to"));
    slow.write_bytes_per_s = 500'000;
    EXPECT_THAT(judge_speed(slow), is(Grade::fail, "488 KiB a second", "local disk"));
    slow.write_bytes_per_s = 8 << 20;
    EXPECT_EQ(judge_speed(slow).grade, Grade::warn);
}

TEST(Doctor, AGpuIsRequiredOnlyIfItIsAskedFor) {
    EXPECT_THAT(judge(Gpu{true, {}, false}), passes("an NVIDIA GPU that kernels run on"));
    EXPECT_THAT(judge(Gpu{false, "no CUDA in this build", false}), passes("no GPU is used: no CUDA in this build"));
    EXPECT_THAT(judge(Gpu{true, "no driver", false}), is(Grade::warn, "cannot be used: no driver", "nvidia-smi"));
    EXPECT_THAT(judge(Gpu{false, "no CUDA", true}), is(Grade::fail, "no CUDA", "leave out --device cuda"));
}

TEST(Doctor, WarnsWithoutASandbox) {
    EXPECT_THAT(judge(Sandbox{true}), passes("seccomp"));
    EXPECT_THAT(judge(Sandbox{false}), is(Grade::warn, "none", "CONFIG_SECCOMP_FILTER"));
}

NodeFacts good_node() {
    NodeFacts out;
    out.url = "http://node:8545";
    out.chain_id = 7298;
    out.height = 12;
    out.has_contracts = out.same_numerics = true;
    out.verifiers = 3;
    return out;
}

TEST(Doctor, JudgesTheNode) {
    EXPECT_THAT(judge(good_node()), passes("chain 7298 at block 12 at http://node:8545, 3 verifiers"));
    const auto with = [](const std::function<void(NodeFacts&)>& change) {
        NodeFacts node = good_node();
        change(node);
        return judge(node);
    };
    EXPECT_THAT(with([](auto& node) { node.failure = "no answer"; }),
                is(Grade::fail, "no answer", "retrace node --dev"));
    EXPECT_THAT(with([](auto& node) { node.halted = true, node.halt_reason = "disk full"; }),
                is(Grade::fail, "has halted: disk full", "operator"));
    EXPECT_THAT(with([](auto& node) { node.has_contracts = false; }),
                is(Grade::fail, "no Retrace contracts", "--node"));
    EXPECT_THAT(with([](auto& node) { node.same_numerics = false; }), is(Grade::fail, "kernel contract", "install"));
    EXPECT_THAT(with([](auto& node) { node.folder_chain = "1"; }), is(Grade::fail, "belongs to chain 1", "--data-dir"));
    EXPECT_THAT(with([](auto& node) { node.folder_chain = "7298"; }), passes("chain 7298"));
    EXPECT_THAT(with([](auto& node) { node.syncing = true; }), is(Grade::warn, "behind its chain", "wait"));
    EXPECT_THAT(with([](auto& node) { node.stalled = true; }), is(Grade::warn, "no block for long", "wait"));
    EXPECT_THAT(with([](auto& node) { node.verifiers = 0; }), is(Grade::warn, "no verifiers", "retrace verifier"));
}

TEST(Doctor, JudgesTheClockAgainstTheNodes) {
    EXPECT_THAT(judge(Clock{-1, 0}), passes("as the node's"));
    EXPECT_THAT(judge(Clock{-30, 2}), is(Grade::warn, "30 seconds behind the node's", "NTP"));
    EXPECT_THAT(judge(Clock{86'400, 2}), is(Grade::fail, "86400 seconds ahead of the node's", "NTP"));
    EXPECT_THAT(judge(Clock{}), is(Grade::warn, "not compared", "the check of the node"));
}

TEST(Doctor, JudgesThePortByWhatCanBeKnown) {
    Port port{"127.0.0.1:9000", "http://127.0.0.1:9000", {}, false, Reach::loopback, true, true};
    EXPECT_THAT(judge(port), passes("loopback"));
    port.node_is_here = false;
    EXPECT_THAT(judge(port), is(Grade::fail, "loopback", "--listen 0.0.0.0 --port N --endpoint"));
    port.reach = Reach::local;
    port.endpoint = "http://10.0.0.7:9000";
    EXPECT_THAT(judge(port), is(Grade::warn, "a private network", "forward it"));
    port.reach = Reach::open;
    port.endpoint = "http://198.51.100.7:9000";
    EXPECT_THAT(judge(port), passes("whether others reach it is the next check"));
    port.reached = false;
    EXPECT_THAT(judge(port), passes("does not reach itself by http://198.51.100.7:9000"));
    port.reach = Reach::unknown;
    EXPECT_THAT(judge(port), is(Grade::fail, "does not resolve", "--endpoint"));
    port.bind_failure = "Permission denied";
    EXPECT_THAT(judge(port), is(Grade::fail, "Permission denied", "above 1023"));
    const Port used{"127.0.0.1:9000", "http://127.0.0.1:9000", {}, true, Reach::loopback, true, false};
    EXPECT_THAT(judge(used), is(Grade::warn, "is in use, perhaps by the agent itself", "another --port"));
}

Reachability reachable() {
    Reachability out;
    out.endpoint = "http://agent.example:9000";
    out.port = 9000;
    out.reach = Reach::open;
    out.named = {"198.51.100.7"};
    out.address = "198.51.100.7";
    out.reached = true;
    return out;
}

TEST(Doctor, JudgesReachabilityByWhatTheNodeFound) {
    EXPECT_THAT(judge(reachable()), passes("the node reached this machine at 198.51.100.7:9000"));
    const auto with = [](const std::function<void(Reachability&)>& change) {
        Reachability facts = reachable();
        change(facts);
        return judge(facts);
    };
    EXPECT_THAT(with([](auto& facts) { facts.reached = false; }),
                is(Grade::fail, "the node dialled 198.51.100.7:9000, and no agent's answer came back",
                   "open TCP port 9000 in the firewall"));
    EXPECT_THAT(with([](auto& facts) { facts.named = {"203.0.113.1"}; }),
                is(Grade::warn, "others are sent to http://agent.example:9000, which is another address",
                   "--endpoint http://198.51.100.7:9000"));
    EXPECT_THAT(with([](auto& facts) { facts.tls = true, facts.port = 443; }),
                passes("the node reached this machine at 198.51.100.7:443"));
    EXPECT_THAT(with([](auto& facts) { facts.tls = true, facts.reached = false; }),
                is(Grade::fail, "no agent's answer came back", "certificate must be valid"));
    EXPECT_THAT(with([](auto& facts) { facts.tls = true, facts.named = {"203.0.113.1"}; }),
                is(Grade::warn, "another address", "resolve to 198.51.100.7"));
    EXPECT_THAT(with([](auto& facts) { facts.reach = Reach::local; }),
                is(Grade::warn, "an address of a private network", "the check of the port"));
    EXPECT_THAT(
        with([](auto& facts) { facts.reach = Reach::local, facts.address.clear(); }),
        is(Grade::warn, "the node reached this machine at a private address, port 9000", "the check of the port"));
    EXPECT_THAT(with([](auto& facts) { facts.reach = Reach::local, facts.address.clear(), facts.reached = false; }),
                is(Grade::fail, "the node dialled a private address, port 9000", "open TCP port 9000"));
    EXPECT_THAT(with([](auto& facts) { facts.address.clear(); }),
                is(Grade::warn, "others are sent to http://agent.example:9000", "curl -v"));
}

TEST(Doctor, SaysWhyReachabilityWasNotTested) {
    const auto untested = [](const std::function<void(Reachability&)>& change) {
        Reachability facts = reachable();
        facts.reached.reset();
        facts.why_not = "no answer";
        change(facts);
        return judge(facts);
    };
    EXPECT_THAT(untested([](auto&) {}), is(Grade::warn, "not tested: no answer", "a node on another machine"));
    EXPECT_THAT(untested([](auto& facts) { facts.too_old = true; }), is(Grade::warn, "not tested", "a newer node"));
    EXPECT_THAT(untested([](auto& facts) { facts.busy = true; }), is(Grade::warn, "not tested", "in a minute"));
    EXPECT_THAT(untested([](auto& facts) { facts.port = 25; }), is(Grade::warn, "80 (443 for https)", "--port"));
    EXPECT_THAT(untested([](auto& facts) { facts.port = 443; }), is(Grade::warn, "80 (443 for https)", "--port"));
    EXPECT_THAT(untested([](auto& facts) { facts.port = 0; }), is(Grade::warn, "no port is named", "--port"));
    EXPECT_THAT(untested([](auto& facts) { facts.reach = Reach::unknown; }),
                is(Grade::warn, "names no address that others know", "the check of the port"));
    EXPECT_THAT(untested([](auto& facts) { facts.reach = Reach::loopback; }),
                is(Grade::warn, "names no address that others know", "the check of the port"));
    EXPECT_THAT(untested([](auto& facts) { facts.reach = Reach::loopback, facts.node_is_here = true; }),
                is(Grade::untested, "of this machine alone", "a node on another machine"));
    EXPECT_THAT(untested([](auto& facts) { facts.port = 0, facts.node_is_here = true; }),
                is(Grade::untested, "no port is named", "--port"));
    EXPECT_EQ(grade_of({judge(reachable()), untested([](auto& facts) { facts.port = 0, facts.node_is_here = true; })}),
              Grade::untested)
        << "what nobody tested does not pass";
}

TEST(Doctor, TellsPrivateAddressesFromPublicOnes) {
    for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::"})
        EXPECT_EQ(reach_of(address), Reach::loopback) << address;
    for (const char* address : {"10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.0.1", "100.64.0.1",
                                "fe80::1%eth0", "fd00::1"})
        EXPECT_EQ(reach_of(address), Reach::local) << address;
    for (const char* address : {"11.0.0.1", "172.32.0.1", "192.169.0.1", "100.128.0.1", "2001:db8::1"})
        EXPECT_EQ(reach_of(address), Reach::open) << address;
    EXPECT_EQ(reach_of("example"), Reach::unknown);
}

TEST(Doctor, FindsAPortInUseAndReachesAFreeOne) {
    Question question;
    question.node_url = "http://127.0.0.1:1";
    question.port = free_port().value();
    const Port free = probe_port(question);
    EXPECT_TRUE(free.reached);
    EXPECT_TRUE(free.node_is_here);
    EXPECT_FALSE(free.in_use);
    const test::HostilePeer other([](const std::string&, const test::HostilePeer::Send&) {});
    question.port = static_cast<std::uint16_t>(std::stoul(other.url().substr(other.url().rfind(':') + 1)));
    const Port used = probe_port(question);
    EXPECT_TRUE(used.in_use);
    EXPECT_FALSE(used.reached);
    question.listen = "198.51.100.1";
    EXPECT_THAT(probe_port(question).bind_failure, HasSubstr("assign"));
    question.listen = "nowhere";
    EXPECT_EQ(probe_port(question).bind_failure, "it is no address");
}

TEST(Doctor, ProbesTheDiskOfAFolderThatDoesNotExistYet) {
    const test::TemporaryFolder folder;
    const Disk disk = probe_disk(folder.path() / "new" / "agent");
    EXPECT_EQ(disk.folder, folder.path().string());
    EXPECT_GT(disk.write_bytes_per_s, 0);
    EXPECT_EQ(disk.failure, "");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Doctor, PrintsLinesForATerminalAndJson) {
    std::vector<Check> checks{judge(Sandbox{true}), judge(Clock{86'400, 2})};
    const std::string text = text_of(checks[1]);
    EXPECT_THAT(text, ::testing::StartsWith("fail  clock\n  found     86400 seconds"));
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = text.find('\n', at);
        EXPECT_LT(end - at, 80u) << text.substr(at, end - at);
    }
    const auto json = json_of(checks);
    EXPECT_EQ(json.at("grade").as_string(), "fail");
    EXPECT_EQ(json.at("checks").at(0).at("remedy").as_string(), "");
    EXPECT_EQ(json.at("checks").at(1).at("name").as_string(), "clock");
}

}  // namespace
}  // namespace retrace::node::doctor
