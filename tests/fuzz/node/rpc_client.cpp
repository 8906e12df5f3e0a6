// SPDX-License-Identifier: MIT
// Responses of a node, or of an impostor, to the client: HTTP heads, JSON-RPC envelopes, results of every typed call.
// Every call ends with a value or an error message.
#include "node/rpc_client/rpc_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;

/// Answers the first request of each connection with the same arbitrary bytes.
class Impostor {
public:
    Impostor() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        require(::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 && ::listen(listener_, 16) == 0 &&
                    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) == 0,
                "a port is free");
        url = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
        std::thread([this] { serve(); }).detach();  // Runs until the process ends.
    }

    void answer_with(Bytes reply) {
        const std::lock_guard lock(mutex_);
        reply_ = std::move(reply);
    }

    std::string url;

private:
    void serve() {
        for (;;) {
            const int peer = ::accept(listener_, nullptr, nullptr);
            if (peer < 0) continue;
            const linger at_once{1, 0};  // Reset, so that no port stays in TIME_WAIT.
            ::setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            char chunk[4096];
            ssize_t got = 1;
            while (got > 0 && chunk[got - 1] != '}' && chunk[got - 1] != ']')
                got = ::recv(peer, chunk, sizeof chunk, 0);
            {
                const std::lock_guard lock(mutex_);
                (void)!::send(peer, reply_.data(), reply_.size(), MSG_NOSIGNAL);
            }
            ::shutdown(peer, SHUT_WR);
            while (::recv(peer, chunk, sizeof chunk, 0) > 0) {
            }
            ::close(peer);
        }
    }

    int listener_;
    std::mutex mutex_;
    Bytes reply_;
};

template <class T>
void check(const Result<T, RpcFailure>& result) {
    require(result.has_value() || !result.error().message.empty(), "a failure is a sentence");
}

void call(RpcClient& client, std::uint8_t which) {
    const Hash32 hash{};
    ledger::Address address;
    address.bytes.fill(7);
    switch (which % 9) {
        case 0: return check(client.call("eth_chainId", {}));
        case 1: return check(client.chain_id());
        case 2: return check(client.account(address));
        case 3: return check(client.base_fee());
        case 4: return check(client.estimate_gas(address, address, 1, {}));
        case 5: return check(client.send_raw(Bytes{1}));
        case 6: return check(client.outcome(hash));
        case 7: return check(client.logs(address, 0, 9));
        default: return check(client.known(hash));
    }
}

std::string http_reply(std::string_view body) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
}

constexpr std::uint8_t kWholeReply = 0x80;  // The input is the whole reply, not only its body.

}  // namespace

// The first byte selects the call, plus kWholeReply.
std::vector<Bytes> seeds() {
    const auto result = [](const std::string& value) { return R"({"jsonrpc":"2.0","id":1,"result":)" + value + "}"; };
    const std::string hash = '"' + to_0x(Bytes(32, 7)) + '"', address = '"' + to_0x(Bytes(20, 7)) + '"';
    const std::string log = R"({"address":)" + address + R"(,"data":"0x01","topics":[)" + hash +
                            R"(],"blockNumber":"0x5","transactionHash":)" + hash + "}";
    const std::pair<std::uint8_t, std::string> replies[] = {
        {0, R"({"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"nonce too low","data":"0x08c379a0"}})"},
        {1, result("\"0x1c82\"")},
        {2, result(R"({"nonce":"0x1","balance":"0xde0b6b3a7640000"})")},
        {3, result(R"({"number":"0x1","baseFeePerGas":"0x3b9aca00"})")},
        {4, result("\"0x5208\"")},
        {5, result(hash)},
        {6, result(R"({"status":"0x1","blockNumber":"0x5","gasUsed":"0x5208","effectiveGasPrice":"0x1","error":"why",)"
                   R"("logs":[)" +
                   log + "]}")},
        {6, result("null")},
        {7, R"([{"jsonrpc":"2.0","id":1,"result":"0x9"},{"jsonrpc":"2.0","id":2,"result":[)" + log + "," + log + "]}]"},
        {7, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}})"},
        {8, result("{}")},
        {kWholeReply, http_reply(result("\"0x1\""))},
        {kWholeReply, "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n\r\nslow down"},
        {kWholeReply, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"},
        {kWholeReply, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"},
    };
    std::vector<Bytes> out;
    for (const auto& [which, text] : replies) {
        out.push_back({which});
        out.back().insert(out.back().end(), text.begin(), text.end());
    }
    return out;
}

void run(View input) {
    static Impostor impostor;
    if (input.empty()) return;
    const View rest = input.subspan(1);
    const std::string body(rest.begin(), rest.end());
    const std::string reply = input[0] >= kWholeReply ? body : http_reply(body);
    impostor.answer_with(to_bytes(view(std::string_view(reply))));
    RpcClient::Options options;
    options.deadline = std::chrono::seconds(5);
    options.reply_limit = 1 << 20;
    auto client = RpcClient::connect(impostor.url, options);
    require(client.has_value(), "the address is one");
    call(*client, static_cast<std::uint8_t>(input[0] % kWholeReply));
}

}  // namespace retrace::fuzz
