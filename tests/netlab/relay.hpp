// SPDX-License-Identifier: MIT
// Lets other network namespaces reach a server that listens on 127.0.0.1 of this one.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

namespace retrace::netlab {

/// Accepts connections on `address`:`port` and passes their bytes to 127.0.0.1:`port` and back, until it is destroyed;
/// the connections end with their peers. Throws std::runtime_error if it cannot listen.
class Relay {
public:
    Relay(const std::string& address, std::uint16_t port);
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

private:
    int listener_;
    std::thread thread_;
};

}  // namespace retrace::netlab
