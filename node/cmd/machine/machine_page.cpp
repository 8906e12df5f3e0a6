// SPDX-License-Identifier: MIT
#include "node/cmd/machine/machine_page.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <ctime>
#include <mutex>
#include <thread>

#include "node/cmd/machine/machine_json.hpp"
#include "node/cmd/machine/page_sessions.hpp"
#include "node/console/console.hpp"
#include "node/net/http_head.hpp"
#include "node/platform/permissions.hpp"
#include "node/server/http/admin_token.hpp"
#include "node/server/http/server.hpp"

namespace retrace::node::machine {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kHost = "127.0.0.1";

HttpReply answer(unsigned status, const json::object& object) {
    HttpReply out{status, "application/json", to_bytes(view(json::serialize(object)))};
    out.headers = {{"Cache-Control", "no-store"}};
    return out;
}
HttpReply refusal(unsigned status, std::string_view why) { return answer(status, {{"error", why}}); }

/// The page's entry of the console, at "/".
HttpReply answer_page(HttpRequest request) {
    if (embedded_console().files.empty())
        return {501, "text/plain; charset=utf-8",
                to_bytes(view("This is the page of a Retrace agent. It is not part of this executable: " +
                              std::string(embedded_console().failure) + "\n"))};
    request.target = "/machine";
    return answer_console(request);
}

/// The number behind "from=" in a target; 0 if there is none.
std::uint64_t from_of(std::string_view target) {
    constexpr std::string_view kName = "?from=";
    const std::size_t at = target.find(kName);
    std::uint64_t out = 0;
    if (at == std::string_view::npos) return out;
    const std::string_view digits = target.substr(at + kName.size());
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return wrong == std::errc() && end == digits.data() + digits.size() ? out : 0;
}

/// Runs the self-test on a thread of its own, one at a time and not too often: it measures the processor and the disk
/// beside the agent's work.
class SelfTest {
public:
    SelfTest(std::function<std::vector<doctor::Check>()> test, std::chrono::seconds pause)
        : test_(std::move(test)), pause_(pause) {}
    ~SelfTest() {
        if (thread_.joinable()) thread_.join();
    }

    /// False if one runs or ended less than the pause ago.
    bool start() {
        const std::lock_guard lock(mutex_);
        if (running_ || (ended_ && Clock::now() < *ended_ + pause_)) return false;
        if (thread_.joinable()) thread_.join();
        running_ = true;
        thread_ = std::thread([this] { run(); });
        return true;
    }
    json::object json() const {
        const std::lock_guard lock(mutex_);
        json::object out{{"running", running_}};
        if (result_) out["result"] = *result_;
        if (made_ != 0) out["made"] = made_;
        return out;
    }

private:
    void run() {
        json::object result;
        try {
            result = doctor::json_of(test_());
        } catch (const std::exception& failed) {  // This thread must not end an agent that has duties.
            result = {{"error", failed.what()}};
        }
        const std::lock_guard lock(mutex_);
        result_ = result;
        made_ = std::time(nullptr);
        ended_ = Clock::now();
        running_ = false;
    }

    const std::function<std::vector<doctor::Check>()> test_;
    const std::chrono::seconds pause_;
    mutable std::mutex mutex_;  // guards the members below
    std::optional<json::object> result_;
    std::int64_t made_ = 0;
    std::optional<Clock::time_point> ended_;
    bool running_ = false;
    std::thread thread_;
};

/// The agent's page has few clients, all on this machine: a browser, a script.
rpc::ServerOptions server_options(const PageOptions& options) {
    rpc::ServerOptions out;
    out.host = kHost;
    out.port = options.port;
    out.port_flag = "--console-port, or 0 for any free one";
    out.json_rpc = false;
    out.threads = 1;
    out.workers = 2;
    out.handlers.threads = 1;
    out.hosts = hosts_of(kHost, {});
    out.body_max = 0;
    out.connections = out.connections_per_address = out.connections_local = options.connections;
    out.limit_loopback = true;
    out.requests_per_second = 50;
    out.request_burst = 200;
    out.read_timeout = out.idle_timeout = options.read_timeout;
    return out;
}

}  // namespace

struct MachinePage::Impl {
    explicit Impl(PageOptions given)
        : options(std::move(given)),
          self_test(options.self_test, options.self_test_pause),
          dispatcher(router, {}),
          server(server_options(options), dispatcher) {}

    /// Calls `handler` for a request that shows the token, of no foreign page.
    HttpHandler guarded(std::string method, HttpHandler handler) {
        return [this, method = std::move(method), handler = std::move(handler)](const HttpRequest& request) {
            if (request.foreign) return refusal(403, "a page of another origin asks; nothing is answered to it");
            const auto shown = sessions->shown(request);
            if (!shown) return refusal(401, "the token is missing or wrong; open the link that the agent printed");
            HttpReply out = request.method == method ? handler(request) : refusal(405, "this path is for " + method);
            out.headers.emplace_back("Retrace-Proof", sessions->code_of_answer(*shown, out));
            return out;
        };
    }

    /// The agent shows that it knows the token, before the page does.
    HttpReply greet(const HttpRequest& request) {
        constexpr std::string_view kName = "/machine/hello?nonce=";
        if (request.foreign) return refusal(403, "a page of another origin asks; nothing is answered to it");
        const std::string_view target = request.target;
        const auto greeting =
            sessions->greet(target.starts_with(kName) ? target.substr(kName.size()) : std::string_view());
        if (!greeting || request.method != "GET") return refusal(400, "give a nonce of 64 hex digits");
        return answer(200, {{"session", greeting->session}, {"code", greeting->code}});
    }

    void add_routes() {
        server.page([](const HttpRequest& request) { return answer_page(request); });
        server.route({"/console/", 0, answer_console});
        server.route({"/machine/hello", 0, [this](const HttpRequest& request) { return greet(request); }});
        server.route(
            {"/machine/state", 0, guarded("GET", [this](const HttpRequest&) {
                 json::object out = state_json({options.role, options.node_url}, options.board->get(), options.facts());
                 out["self_test"] = self_test.json();
                 return answer(200, out);
             })});
        server.route({"/machine/log", 0, guarded("GET", [this](const HttpRequest& request) {
                          return answer(200, log_json(options.log->from(from_of(request.target))));
                      })});
        server.route({"/machine/self-test", 0, guarded("POST", [this](const HttpRequest&) {
                          if (self_test.start()) return answer(202, {{"running", true}});
                          return refusal(429, "a self-test runs, or one has just ended; wait a minute");
                      })});
        server.route({"/machine/stop", 0, guarded("POST", [this](const HttpRequest&) {
                          options.stop();
                          return answer(202, {{"stopping", true}});
                      })});
    }

    PageOptions options;
    std::string token;
    std::unique_ptr<PageSessions> sessions;
    SelfTest self_test;
    const rpc::Router router;  // without methods
    const rpc::Dispatcher dispatcher;
    rpc::Server server;  // last: no handler runs once it is destroyed
    std::uint16_t port = 0;
};

MachinePage::MachinePage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MachinePage::~MachinePage() = default;

Result<std::unique_ptr<MachinePage>> MachinePage::open(PageOptions options) {
    RETRACE_CHECK(make_private_folder(options.data_dir.string()));
    auto impl = std::make_unique<Impl>(std::move(options));
    // Made anew at each start: a link of an agent that has ended, which whoever took its port may have been given, opens nothing.
    const std::string kept = (impl->options.data_dir / "console-token").string();
    std::error_code failed;
    std::filesystem::remove(kept, failed);
    if (failed) return error(kept + ": cannot be replaced: " + failed.message());
    RETRACE_TRY(token, rpc::load_admin_token(kept));
    impl->token = std::move(token);
    impl->sessions = std::make_unique<PageSessions>(impl->token);
    impl->add_routes();
    RETRACE_TRY(port, impl->server.bind());
    impl->port = port;
    impl->server.serve();
    return std::unique_ptr<MachinePage>(new MachinePage(std::move(impl)));
}

std::string MachinePage::link() const {
    return "http://" + std::string(kHost) + ":" + std::to_string(impl_->port) + "/#" + impl_->token;
}

}  // namespace retrace::node::machine
