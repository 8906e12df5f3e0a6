// SPDX-License-Identifier: MIT
// Whether the port of artifacts can be listened on, and what can be known from here about who reaches it.
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "ledger/crypto/secret.hpp"
#include "node/cmd/doctor/probe.hpp"
#include "node/cmd/doctor/sockets.hpp"
#include "node/net/address_scope.hpp"
#include "node/net/http_client.hpp"
#include "node/platform/files.hpp"

namespace retrace::node::doctor {
namespace {

constexpr std::chrono::milliseconds kSelf{2000};  // for what this machine sends itself

/// Connects to `to` and sends 16 random bytes; whether they arrive at `listener`. A stranger's process at that address
/// does not send them.
bool arrives(int listener, const addrinfo& to) {
    const FileDescriptor out(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (out.get() < 0) return false;
    if (::connect(out.get(), to.ai_addr, to.ai_addrlen) != 0 &&
        (errno != EINPROGRESS || !becomes(out.get(), POLLOUT, kSelf)))
        return false;
    std::array<std::uint8_t, 16> sent{}, received{};
    ledger::random_bytes(sent);
    if (::send(out.get(), sent.data(), sent.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(sent.size())) return false;
    if (!becomes(listener, POLLIN, kSelf)) return false;
    const FileDescriptor in(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (in.get() < 0 || !becomes(in.get(), POLLIN, kSelf)) return false;
    return ::recv(in.get(), received.data(), received.size(), 0) == static_cast<ssize_t>(sent.size()) &&
           sent == received;
}

/// Whether an HTTP server is there.
bool answers(const Url& url) {
    HttpConnection connection(url);
    return connection.exchange({"GET", "/", {}}, 1 << 20, kernels::StopToken::after(std::chrono::seconds(3)))
        .has_value();
}

}  // namespace

Reach reach_of(const std::string& address) {
    switch (scope_of(address)) {
        case AddressScope::loopback: return Reach::loopback;
        case AddressScope::local: return Reach::local;
        case AddressScope::open: return Reach::open;
        case AddressScope::none: break;
    }
    // An endpoint of all addresses leads others to themselves.
    return address == "0.0.0.0" || address == "::" ? Reach::loopback : Reach::unknown;
}

Port probe_port(const Question& question) {
    Port out;
    out.listen = question.listen + ":" + std::to_string(question.port);
    out.endpoint = question.endpoint.empty() ? "http://" + out.listen : question.endpoint;
    if (const auto node = parse_url(question.node_url)) out.node_is_here = is_own(node->host);
    const auto url = parse_url(out.endpoint);
    const Addresses there = url ? resolve(url->host, url->port, 0) : Addresses(nullptr, &::freeaddrinfo);
    out.reach = there ? reach_of(text_of_address(*there)) : Reach::unknown;
    if (question.agent_runs) {
        out.reached = there && answers(*url);
        return out;
    }
    const Addresses here = resolve(question.listen, std::to_string(question.port), AI_PASSIVE | AI_NUMERICHOST);
    int problem = 0;
    FileDescriptor listener;
    if (here) listener = bound(*here, problem);
    if (!here) out.bind_failure = "it is no address";
    if (problem == EADDRINUSE) out.in_use = true;
    if (problem != 0 && !out.in_use) out.bind_failure = std::strerror(problem);

    // With port 0 and no endpoint the agent's port is another one at each start: there is nothing to connect to.
    const bool named = question.port != 0 || !question.endpoint.empty();
    if (there && named && problem == 0) out.reached = arrives(listener.get(), *there);
    return out;
}

}  // namespace retrace::node::doctor
