// SPDX-License-Identifier: MIT
#include "node/server/http/memory_quota.hpp"

#include <algorithm>

namespace retrace::node::rpc {

std::vector<MemoryQuota::Connection> MemoryQuota::add(Connection connection, const std::string& client,
                                                      std::size_t bytes) {
    std::vector<Connection> out;
    if (bytes == 0) return out;
    const std::lock_guard lock(mutex_);
    auto own = clients_.try_emplace(client).first;
    own->second.connections[connection] += bytes;
    own->second.bytes += bytes;
    if (!client.empty()) total_ += bytes;
    const std::size_t limit = client.empty() ? limits_.local : limits_.client;
    for (; own != clients_.end() && own->second.bytes > limit; own = clients_.find(client))
        out.push_back(drop_largest(own));
    while (total_ > limits_.total) out.push_back(drop_largest(largest()));
    return out;
}

void MemoryQuota::remove(Connection connection, const std::string& client, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    const auto own = clients_.find(client);
    if (own == clients_.end()) return;
    const auto held = own->second.connections.find(connection);
    // A connection that was dropped is counted with less than it holds, or not at all.
    if (held != own->second.connections.end()) remove(own, held, std::min(bytes, held->second));
}

void MemoryQuota::remove(Clients::iterator client, std::map<Connection, std::size_t>::iterator connection,
                         std::size_t bytes) {
    if (!client->first.empty()) total_ -= bytes;
    client->second.bytes -= bytes;
    if ((connection->second -= bytes) == 0) client->second.connections.erase(connection);
    if (client->second.connections.empty()) clients_.erase(client);
}

MemoryQuota::Connection MemoryQuota::drop_largest(Clients::iterator client) {
    auto& connections = client->second.connections;
    const auto most = std::max_element(connections.begin(), connections.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const Connection out = most->first;
    remove(client, most, most->second);
    return out;
}

MemoryQuota::Clients::iterator MemoryQuota::largest() {
    const auto held = [](const auto& client) { return client.first.empty() ? 0 : client.second.bytes; };
    return std::max_element(clients_.begin(), clients_.end(),
                            [&](const auto& a, const auto& b) { return held(a) < held(b); });
}

}  // namespace retrace::node::rpc
