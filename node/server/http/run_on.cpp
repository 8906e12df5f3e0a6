// SPDX-License-Identifier: MIT
// Runs the work of a connection on a pool and returns to its strand.
#include <poll.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "node/server/http/server_parts.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::chrono::milliseconds kLookEvery{100};  // interval of checks whether the client has hung up

using Outcome = std::atomic<Done>;

/// The pool's reference to a piece of work. It is returned to the strand, also if the pool destroys it without running
/// it, so that a pool thread never drops the last reference.
class PooledTask {
public:
    PooledTask(const Completion& completion, std::shared_ptr<Work> work, std::shared_ptr<Outcome> outcome)
        : strand_(completion.tcp.get_executor()),
          wake_(completion.wake),
          work_(std::move(work)),
          outcome_(std::move(outcome)) {}
    ~PooledTask() {
        if (work_) give_back(Done::refused);
    }
    PooledTask(const PooledTask&) = delete;

    void run() {
        work_->run();
        give_back(Done::ran);
    }
    void give_back(Done done) noexcept {
        try {
            net::post(strand_, [work = std::move(work_), outcome = outcome_, &wake = wake_, done] {
                *outcome = done;
                wake.cancel();
            });
        } catch (const std::exception&) {
            // No memory to post: the waiting coroutine polls the outcome a little later.
            work_ = nullptr;
            *outcome_ = done;
        }
    }

private:
    const beast::tcp_stream::executor_type strand_;
    net::steady_timer& wake_;  // kept alive by the work
    std::shared_ptr<Work> work_;
    const std::shared_ptr<Outcome> outcome_;
};

/// Whether the client has disconnected. A client that only closed its sending side is treated the same.
bool hung_up(beast::tcp_stream& tcp) {
    if (!tcp.socket().is_open()) return true;
    pollfd state{tcp.socket().native_handle(), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace

net::awaitable<Done> run_on(WorkPool& pool, Completion completion, std::shared_ptr<Work> work) {
    const auto outcome = std::make_shared<Outcome>(Done::waits);
    auto task = std::make_shared<PooledTask>(completion, work, outcome);
    const WorkPool::JobId job_id =
        pool.add(completion.client, [task = std::move(task)](WorkPool::JobOutcome job_outcome) {
            job_outcome == WorkPool::JobOutcome::runs ? task->run() : task->give_back(Done::refused);
        });
    if (job_id == 0) co_return Done::refused;
    for (bool waited = false; *outcome == Done::waits; waited = true) {
        if (waited ? hung_up(completion.tcp) : !completion.tcp.socket().is_open()) {
            work->hang_up();
            if (pool.withdraw(completion.client, job_id)) co_return Done::left;
        }
        boost::system::error_code woken;
        completion.wake.expires_after(kLookEvery);
        co_await completion.wake.async_wait(net::redirect_error(net::use_awaitable, woken));
    }
    co_return *outcome;
}

}  // namespace retrace::node::rpc
