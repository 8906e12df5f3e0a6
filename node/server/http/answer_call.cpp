// SPDX-License-Identifier: MIT
// Answers a JSON-RPC body: at once on the I/O thread if it is light, otherwise on the handlers.
#include <spdlog/spdlog.h>

#include "node/server/http/server_parts.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::size_t kBytesPerToken = std::size_t{64} << 10;

/// The address of the other end; an IPv4 address in IPv6 form as itself.
std::string text_of(net::ip::address address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        address = net::ip::make_address_v4(net::ip::v4_mapped, address.to_v6());
    return address.to_string();
}
/// Those of the two ends of a connection; empty: it is closed.
std::string peer_of(beast::tcp_stream& tcp) {
    boost::system::error_code code;
    const auto end = tcp.socket().remote_endpoint(code);
    return code ? std::string() : text_of(end.address());
}
std::string local_of(beast::tcp_stream& tcp) {
    boost::system::error_code code;
    const auto end = tcp.socket().local_endpoint(code);
    return code ? std::string() : text_of(end.address());
}

/// Accessed only on the connection's strand, and by a handler while it runs there.
struct RunningCall final : Work {
    RunningCall(Shared& shared, RequestContext a, std::string b)
        : dispatcher(shared.dispatcher),
          context(std::move(a)),
          body(std::move(b)),
          allowance(shared.allowance_of(context.completion.client)),
          budget(Budget::Clock::now() + shared.options.request_timeout, shared.stopping),
          caller{context.subscriptions,
                 &allowance,
                 context.admin,
                 context.completion.client,
                 &budget,
                 peer_of(context.completion.tcp),
                 context.proxied,
                 peer_of(context.completion.tcp) == local_of(context.completion.tcp)} {}

    bool is_light() {
        if (body.size() > dispatcher.limits().light_bytes) return false;
        parse();
        return dispatcher.is_light(*parsed, body.size());
    }
    void parse() {
        if (!parsed) parsed = std::make_unique<RequestBody>(body, dispatcher.limits().body);
    }
    void run() noexcept override {
        try {
            parse();
            answer = dispatcher.handle(*parsed, caller);
            // Large bodies and answers cost tokens by their size, however cheap their requests are.
            const std::size_t moved = (body.size() + answer.size()) / kBytesPerToken;
            if (moved > 0) allowance.charge(static_cast<double>(moved));
        } catch (const std::exception& e) {
            spdlog::error("event=rpc_bug what=\"{}\"", e.what());
            failed = true;
        }
    }
    void hang_up() noexcept override { budget.hang_up(); }

    /// Called on the strand.
    void refuse() {
        answer = Dispatcher::refuse(parsed.get(), kLimitExceeded, "too many requests are waiting, try again later");
    }

    const Dispatcher& dispatcher;
    const RequestContext context;
    const std::string body;
    std::unique_ptr<RequestBody> parsed;
    Allowance allowance;
    Budget budget;
    Caller caller;
    std::string answer;
    bool failed = false;
};

}  // namespace

net::awaitable<std::string> answer_call(Shared& shared, RequestContext context, std::string body) {
    const auto call = std::make_shared<RunningCall>(shared, std::move(context), std::move(body));
    if (call->is_light()) {
        call->run();
    } else {
        const Done done = co_await run_on(shared.handlers, call->context.completion, call);
        if (done == Done::refused) {
            shared.count_refused();
            call->refuse();
        }
    }
    if (call->failed) co_return Dispatcher::refuse(nullptr, kInternalError, "internal error");
    co_return std::move(call->answer);
}

}  // namespace retrace::node::rpc
