// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "merkle/base/durable_file.hpp"

namespace retrace::node {

/// Why an artifact could not be stored, served or fetched. Slugs are stable; numbers are never reused.
enum class Fault : std::uint8_t {
    not_found = 1,     ///< The root is unknown.
    incomplete = 2,    ///< Parts of the artifact have not arrived yet.
    not_wanted = 3,    ///< No task names this root: uploads of it are refused.
    malformed = 4,     ///< Not a valid message, path or query.
    too_large = 5,     ///< Over a limit of the message, the tensor or the program.
    wrong_root = 6,    ///< A header, program or manifest that does not hash to its root.
    wrong_proof = 7,   ///< Tiles whose proof does not lead to the tree root.
    bad_tile = 8,      ///< Nonzero padding, or a bool that is neither 0 nor 1.
    out_of_range = 9,  ///< Tiles that the tensor does not have.
    corrupt = 10,      ///< A file of the store is damaged.
    no_space = 11,     ///< The disk is full or nearly so.
    io = 12,           ///< A file operation failed.
    in_use = 13,       ///< Another process has the store open.
    unreachable = 14,  ///< No connection to the peer, or it was lost.
    timeout = 15,      ///< The peer was too slow, or the caller gave up.
    refused = 16,      ///< The peer answered with an error, or TLS failed.
    wrong_shape = 17,  ///< A tensor whose type or shape differs from that in the program.
    over_quota = 18,   ///< More than its task, its requester or the node's operator allows (quota.hpp).
    busy = 19,         ///< The server's replies hold too much, this address's most: try again later.
    no_tiles = 20,     ///< A header alone of a tensor that has tiles.
};
std::string_view slug(Fault fault) noexcept;

struct Failure {
    Fault fault{};
    std::string message;  ///< A sentence for users; begins with the object concerned, not with the slug.

    Failure() = default;
    Failure(Fault which, std::string text) : fault(which), message(std::move(text)) {}
    Failure(FileError error);
};

inline Unexpected<Failure> failure(Fault fault, std::string message) { return {Failure{fault, std::move(message)}}; }

}  // namespace retrace::node
