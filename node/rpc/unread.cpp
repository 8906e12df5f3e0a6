// SPDX-License-Identifier: MIT
#include "node/rpc/unread.hpp"

namespace retrace::node::rpc {

Unread::Verdict Unread::add(const std::string& client, std::size_t of_connection, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    total_ += bytes;
    std::size_t& own = of_client_[client];
    own += bytes;
    if (!client.empty() && own > limits_.client) return Verdict::client_full;
    if (total_ > limits_.total) return Verdict::server_full;
    return of_connection > limits_.connection ? Verdict::connection_full : Verdict::fits;
}

void Unread::remove(const std::string& client, std::size_t bytes) {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    total_ -= bytes;
    const auto own = of_client_.find(client);
    if ((own->second -= bytes) == 0) of_client_.erase(own);
}

}  // namespace retrace::node::rpc
