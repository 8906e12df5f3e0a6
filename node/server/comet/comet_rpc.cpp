// SPDX-License-Identifier: MIT
#include "node/server/comet/comet_rpc.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstring>

#include "node/platform/base64.hpp"

namespace retrace::node::engine {
namespace {

namespace json = boost::json;
namespace http = boost::beast::http;

constexpr std::size_t kReplyMax = 4U << 20;
constexpr timeval kTimeout{10, 0};

json::object call(std::size_t id, const char* method, json::object params) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

Result<json::value> parse(const std::string& text) {
    boost::system::error_code failed;
    json::value value = json::parse(text, failed);
    if (failed) return error("CometBFT's RPC answered something that is no JSON");
    return value;
}

/// The value at a path of members; nullptr if there is none.
const json::value* find(const json::value& value, std::initializer_list<const char*> path) {
    const json::value* at = &value;
    for (const char* name : path) {
        const json::object* object = at->if_object();
        at = object != nullptr ? object->if_contains(name) : nullptr;
        if (at == nullptr) return nullptr;
    }
    return at;
}

/// CometBFT writes 64-bit numbers as texts.
std::uint64_t number(const json::value* value) {
    if (value == nullptr || !value->is_string()) return 0;
    return std::strtoull(value->get_string().c_str(), nullptr, 10);
}

}  // namespace

Status<> CometRpc::connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = path_.string();
    if (path.size() >= sizeof address.sun_path) return error(path + ": too long for a UNIX socket");
    std::memcpy(address.sun_path, path.data(), path.size());
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return error("CometBFT's RPC does not answer: " + std::string(std::strerror(errno)));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
    socket_ = std::move(socket);
    return Unit{};
}

Result<std::string> CometRpc::post(const std::string& body) {
    // A kept connection may have been closed by its other end; nothing that is posted here harms when it comes twice.
    const bool kept = static_cast<bool>(socket_);
    if (!kept) RETRACE_CHECK(connect());
    const std::string request =
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kReplyMax);
    parser.eager(true);
    if (write_all(socket_.get(), view(std::string_view(request)))) {
        std::string unread;
        while (!parser.is_done()) {
            char buffer[16U << 10];
            const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
            if (got <= 0) break;
            unread.append(buffer, static_cast<std::size_t>(got));
            boost::system::error_code failed;
            const std::size_t used = parser.put(boost::asio::buffer(unread), failed);
            unread.erase(0, used);
            if (failed && failed != http::error::need_more) break;
        }
    }
    if (parser.is_done() && parser.get().keep_alive()) return std::move(parser.get().body());
    socket_ = {};
    if (parser.is_done()) return std::move(parser.get().body());
    if (kept && !parser.got_some()) return post(body);
    return error("CometBFT's RPC does not answer");
}

Result<CometStatus> CometRpc::status() {
    RETRACE_TRY(text, post(json::serialize(json::array{call(0, "status", {}), call(1, "net_info", {})})));
    RETRACE_TRY(reply, parse(text));
    const json::array* const both = reply.if_array();
    const json::value* sync =
        both != nullptr && both->size() == 2 ? find((*both)[0], {"result", "sync_info"}) : nullptr;
    if (sync == nullptr) return error("CometBFT's RPC does not tell its status");
    const json::value* catching_up = find(*sync, {"catching_up"});
    return CometStatus{number(find(*sync, {"latest_block_height"})),
                       catching_up != nullptr && catching_up->is_bool() && catching_up->get_bool(),
                       static_cast<std::size_t>(number(find((*both)[1], {"result", "n_peers"})))};
}

Result<std::optional<json::value>> CometRpc::consensus_params() {
    RETRACE_TRY(text, post(json::serialize(call(0, "consensus_params", {}))));
    RETRACE_TRY(reply, parse(text));
    const json::value* params = find(reply, {"result", "consensus_params"});
    return params != nullptr ? std::optional(*params) : std::nullopt;
}

Status<> CometRpc::broadcast(const std::vector<Bytes>& txs) {
    json::array batch;
    for (const Bytes& tx : txs) batch.push_back(call(batch.size(), "broadcast_tx_async", {{"tx", to_base64(tx)}}));
    RETRACE_CHECK(post(json::serialize(batch)));
    return Unit{};
}

}  // namespace retrace::node::engine
