// SPDX-License-Identifier: MIT
// Network namespaces for the nodes of a test, whose links it can cut.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "merkle/base/result.hpp"

namespace retrace::node {

/// One network namespace for each node, all on one bridge, on which this process has an address too. They end with this
/// process and its children: they and the names in /run/netns are in namespaces of its own.
class Namespaces {
public:
    /// Moves the calling thread into new namespaces, once in a process. An Error says what is missing on this machine.
    static Result<Namespaces> enter(std::size_t nodes);

    /// Prefix of the nodes' addresses: node i has this and i + 1.
    static constexpr const char* kPrefix = "10.77.0.";

    /// Writes a script that runs `program` in the namespace of the node whose folder "node0", … is in its arguments.
    std::filesystem::path write_program(const std::filesystem::path& folder,
                                        const std::filesystem::path& program) const;
    /// Drops all packets between two nodes.
    Status<> cut(std::size_t a, std::size_t b);
    Status<> join(std::size_t a, std::size_t b);
    /// Limits what a node sends, and what it receives, to so many bytes a second each.
    Status<> limit_rate(std::size_t node, std::uint64_t bytes_per_second);

private:
    explicit Namespaces(std::size_t nodes) : nodes_(nodes) {}
    std::size_t nodes_;
};

}  // namespace retrace::node
