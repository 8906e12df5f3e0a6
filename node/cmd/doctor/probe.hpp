// SPDX-License-Identifier: MIT
// Measures what the checks of `retrace doctor` judge. Each probe takes a few seconds at most and changes nothing.
#pragma once

#include <filesystem>

#include "node/agents/agent_process.hpp"
#include "node/cmd/doctor/check.hpp"

namespace retrace::node::doctor {

struct Question {
    std::string node_url;
    std::filesystem::path data_dir;  ///< It need not exist: then its nearest parent is tested.
    std::string listen = "127.0.0.1";
    std::uint16_t port = 0;
    std::string endpoint;      ///< Empty: http://listen:port.
    unsigned threads = 0;      ///< 0: all.
    std::uint64_t memory = 0;  ///< 0: default_memory().
    bool wants_gpu = false;
    bool agent_runs = false;  ///< The agent has the port: it is asked at its endpoint, and the port is not bound.
    std::optional<Reachability> answered;  ///< What the node has found: it is not asked again.
};
/// The question that an agent with these options has.
Question question_of(const AgentOptions& options, bool wants_gpu);

Cpu probe_cpu(unsigned threads);
Memory probe_memory(std::uint64_t tasks);
Disk probe_disk(const std::filesystem::path& folder);
Gpu probe_gpu(bool wanted);
NodeFacts probe_node(const std::string& url, const std::filesystem::path& data_dir);
/// `url` as for parse_url, of a node that answers.
Clock probe_clock(const std::string& url);
Port probe_port(const Question& question);
/// Has the node dial the endpoint, for 15 seconds at most. Without a running agent this process answers in its place.
Reachability probe_reach(const Question& question);
/// As `probe_reach`, for an agent whose operator names no endpoint: it becomes the address that the node sees this machine
/// at or, where the node is in the same private network, the one that this machine has there. `endpoint` is empty in the
/// result if neither is known.
Reachability find_endpoint(const Question& question);
/// What is known without asking the node, which was not asked for this reason.
Reachability unasked(const Question& question, const std::string& why);
/// The IPv4 or IPv6 address in text form; `unknown` for anything else.
Reach reach_of(const std::string& address);

/// All checks, in the order of their names in check.hpp.
std::vector<Check> examine(const Question& question);

}  // namespace retrace::node::doctor
