// SPDX-License-Identifier: MIT
// One JSON-RPC body on its way: answered at once where it was read, or by the handlers.
#include <poll.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "node/rpc/server_parts.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};  // for a client that has hung up
constexpr std::size_t kBytesPerToken = std::size_t{64} << 10;

/// Belongs to the connection's strand, and to a handler from when it is queued until it is `finished`.
struct RunningCall {
    RunningCall(Shared& shared, Asker a, std::string b)
        : dispatcher(shared.dispatcher),
          asker(std::move(a)),
          body(std::move(b)),
          allowance(shared.allowance_of(asker.client)),
          budget(Budget::Clock::now() + shared.options.request_timeout, shared.stopping),
          caller{asker.subscriptions, &allowance, asker.admin, asker.client, &budget} {}

    bool is_light() {
        if (body.size() > dispatcher.limits().light_bytes) return false;
        parse();
        return dispatcher.is_light(*parsed, body.size());
    }
    void parse() {
        if (!parsed) parsed = std::make_unique<RequestBody>(body, dispatcher.limits().depth);
    }
    void run() {
        try {
            parse();
            answer = dispatcher.handle(*parsed, caller);
            // Large ones are paid for however little each request of them asks for.
            const std::size_t moved = (body.size() + answer.size()) / kBytesPerToken;
            if (moved > 0) allowance.charge(static_cast<double>(moved));
        } catch (const std::exception& e) {
            spdlog::error("event=rpc_bug what=\"{}\"", e.what());
            answer = Dispatcher::refuse(nullptr, kInternalError, "internal error");
        }
    }

    void refuse() {
        answer = Dispatcher::refuse(parsed.get(), kLimitExceeded,
                                    "too many requests are waiting, try again later");
    }

    const Dispatcher& dispatcher;
    const Asker asker;
    const std::string body;
    std::unique_ptr<RequestBody> parsed;
    Allowance allowance;
    Budget budget;
    Caller caller;
    std::string answer;
    bool finished = false;  // read and written on the strand only
};

/// Also of a client that only ended its side: it may still read, but then it is like one that does not.
bool hung_up(beast::tcp_stream& tcp) {
    if (!tcp.socket().is_open()) return true;
    pollfd state{tcp.socket().native_handle(), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace

net::awaitable<std::string> answer_call(Shared& shared, Asker asker, std::string body) {
    const auto call = std::make_shared<RunningCall>(shared, std::move(asker), std::move(body));
    if (call->is_light()) {
        call->run();
        co_return std::move(call->answer);
    }
    const auto strand = call->asker.tcp.get_executor();
    const auto done = std::make_shared<net::steady_timer>(strand);
    // The handler's share goes back to the strand with the answer: it never is the last to let go.
    const bool queued = shared.handlers.add(
        call->asker.client, [handled = call, wake = done, strand, &shared](auto fate) mutable {
            if (fate == WorkPool::Fate::runs) {
                handled->run();
            } else {
                shared.count_refused();
                handled->refuse();
            }
            net::post(strand, [handled = std::move(handled), wake = std::move(wake)] {
                handled->finished = true;
                wake->cancel();
            });
        });
    if (!queued) {
        shared.count_refused();
        call->refuse();
        co_return std::move(call->answer);
    }
    while (!call->finished) {
        boost::system::error_code woken;
        done->expires_after(kLookEvery);
        co_await done->async_wait(net::redirect_error(net::use_awaitable, woken));
        if (!call->finished && hung_up(call->asker.tcp)) call->budget.hang_up();
    }
    co_return std::move(call->answer);
}

}  // namespace retrace::node::rpc
