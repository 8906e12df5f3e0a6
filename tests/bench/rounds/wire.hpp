// SPDX-License-Identifier: MIT
// Counts what messages take on the wire.
#pragma once

#include "merkle/base/bytes.hpp"

namespace retrace::bench {

/// Serves `bodies`, one after the other on one kept connection, with the head that artifact servers send, to the HTTP
/// client of nodes. Returns the bytes of all requests and replies with their heads; those of TCP/IP are not counted.
std::uint64_t exchanged_bytes(const std::vector<Bytes>& bodies);

}  // namespace retrace::bench
