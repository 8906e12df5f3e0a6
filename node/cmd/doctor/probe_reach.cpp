// SPDX-License-Identifier: MIT
// Has the node connect back to this machine, by the answer of an agent to a nonce (node/net/reach.hpp).
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <cstdio>
#include <thread>

#include "ledger/crypto/secret.hpp"
#include "node/cmd/doctor/probe.hpp"
#include "node/cmd/doctor/sockets.hpp"
#include "node/net/http_client.hpp"
#include "node/net/reach.hpp"
#include "node/platform/printable.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node::doctor {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kMost{15};            // for an attempt that waits for others at the node
constexpr std::chrono::milliseconds kAskEvery{500};  // the node for its outcome
constexpr std::chrono::milliseconds kHead{1000};     // for a request to arrive
constexpr int kMethodNotFound = -32601, kInvalidParams = -32602, kLimitExceeded = -32005;

/// Stands at the port in place of the agent and gives its answer, until it is destroyed.
class Answerer {
public:
    explicit Answerer(FileDescriptor listener) : listener_(std::move(listener)) {
        if (listener_)
            thread_ = std::jthread([this](const std::stop_token& stop) {
                while (!stop.stop_requested()) answer_one();
            });
    }

private:
    void answer_one() const {
        if (!becomes(listener_.get(), POLLIN, std::chrono::milliseconds(100))) return;
        const FileDescriptor in(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!in) return;
        const std::string target = target_of(head_of(in.get()));
        const std::string answer = reach_answer_to(target);
        if (answer.empty()) return;
        const std::string reply =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(answer.size()) +
            "\r\nConnection: close\r\n\r\n" + answer;
        // A reply of less than 200 bytes fits the socket's buffer.
        if (::send(in.get(), reply.data(), reply.size(), MSG_NOSIGNAL) > 0) ::shutdown(in.get(), SHUT_WR);
    }
    /// The head of a request, at most 4 KiB of it.
    static std::string head_of(int socket) {
        std::string out;
        std::array<char, 1024> part{};
        const auto end = Clock::now() + kHead;
        while (out.find("\r\n\r\n") == std::string::npos && out.size() < 4096) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
            if (left.count() <= 0 || !becomes(socket, POLLIN, left)) break;
            const ssize_t size = ::recv(socket, part.data(), part.size(), 0);
            if (size <= 0) break;
            out.append(part.data(), static_cast<std::size_t>(size));
        }
        return out;
    }
    static std::string target_of(const std::string& head) {
        constexpr std::string_view kGet = "GET ";
        if (!head.starts_with(kGet)) return {};
        return head.substr(kGet.size(), head.find(' ', kGet.size()) - kGet.size());
    }

    FileDescriptor listener_;
    std::jthread thread_;  ///< Last member: it stops before the listener is closed.
};

std::string text_in(const json::value& value, std::string_view name) {
    const json::object* const object = value.if_object();
    const json::value* const found = object != nullptr ? object->if_contains(name) : nullptr;
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

/// Asks the node until it knows the outcome.
void ask(RpcClient& client, Reachability& out) {
    Hash32 nonce;
    ledger::random_bytes(nonce.bytes);
    char digits[8];
    std::snprintf(digits, sizeof digits, "0x%x", out.port);
    json::array params{digits, to_0x(view(nonce))};
    if (!out.endpoint.empty()) params.emplace_back(out.endpoint);
    for (const auto end = Clock::now() + kMost; Clock::now() < end; std::this_thread::sleep_for(kAskEvery)) {
        const auto answer = client.call("retrace_dialBack", params);
        if (!answer) {
            // An older node takes two arguments; a newer one may refuse this endpoint ("invalid argument 2").
            const bool knows_no_endpoint =
                answer.error().code == kInvalidParams && answer.error().message.starts_with("too many arguments");
            if (knows_no_endpoint && !out.tls && params.size() > 2) {
                params.pop_back();
                continue;
            }
            out.too_old = answer.error().code == kMethodNotFound || knows_no_endpoint;
            out.busy = answer.error().code == kLimitExceeded;
            out.why_not = printable(answer.error().message);
            return;
        }
        out.address = printable(text_in(*answer, "address"));
        const std::string outcome = text_in(*answer, "outcome");
        if (outcome == "reached" || outcome == "not_reached") {
            out.reached = outcome == "reached";
            return;
        }
    }
    out.busy = true;
    out.why_not = "the node had not connected back after " + std::to_string(kMost.count()) + " seconds";
}

}  // namespace

Reachability unasked(const Question& question, const std::string& why) {
    Reachability out;
    out.why_not = why;
    const auto node = parse_url(question.node_url);
    out.node_is_here = node && is_own(node->host);
    const std::string listen = question.listen + ":" + std::to_string(question.port);
    out.endpoint = question.endpoint.empty() ? "http://" + listen : question.endpoint;
    const auto url = parse_url(out.endpoint);
    if (!url) return out;
    out.tls = url->tls;
    std::uint64_t port = 0;
    const auto [end, code] = std::from_chars(url->port.data(), url->port.data() + url->port.size(), port);
    if (code == std::errc{} && port <= 65'535) out.port = static_cast<std::uint16_t>(port);
    const Addresses there = resolve(url->host, url->port, 0);
    for (const addrinfo* one = there.get(); one != nullptr; one = one->ai_next)
        out.named.push_back(text_of_address(*one));
    out.reach = out.named.empty() ? Reach::unknown : reach_of(out.named.front());
    return out;
}

namespace {

/// Has the node dial, while this process answers in place of an agent that does not run.
void dial(const Question& question, Reachability& out) {
    FileDescriptor listener;
    if (!question.agent_runs) {
        const Addresses here = resolve(question.listen, std::to_string(question.port), AI_PASSIVE | AI_NUMERICHOST);
        int ignored = 0;  // Where the port is in use, perhaps the agent itself answers.
        if (here) listener = bound(*here, ignored);
    }
    const Answerer answerer(std::move(listener));
    RpcClient::Options options;
    options.deadline = std::chrono::seconds(5);
    auto client = RpcClient::connect(question.node_url, options);
    if (client)
        ask(*client, out);
    else
        out.why_not = client.error().message;
}

}  // namespace

Reachability probe_reach(const Question& question) {
    if (question.answered) return *question.answered;
    Reachability out = unasked(question, {});
    if (!is_reach_port(out.port, out.tls) || out.reach == Reach::loopback || out.reach == Reach::unknown) return out;
    dial(question, out);
    return out;
}

Reachability find_endpoint(const Question& question) {
    Reachability out;
    out.port = question.port;
    dial(question, out);
    // The node may say anything.
    std::string address = reach_of(out.address) == Reach::open ? out.address : std::string();
    const auto node = parse_url(question.node_url);
    if (address.empty() && node) {
        address = source_address(node->host, node->port);
        if (reach_of(address) != Reach::local) address.clear();
    }
    if (address.empty()) return out;
    out.endpoint = endpoint_at(address, question.port);
    out.named = {address};
    out.reach = reach_of(address);
    return out;
}

}  // namespace retrace::node::doctor
