// SPDX-License-Identifier: MIT
// The whole market over TLS, with real processes as documented: a node with its own certificate, parties and commands
// that trust it by file or by fingerprint, and an administrator with a token; one task is trained, audited and paid.
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <functional>
#include <thread>

#include "contracts/records/views.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/demo/local_network.hpp"
#include "node/net/http_client.hpp"
#include "tests/functional/task_fixture.hpp"

namespace retrace::testing {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;
namespace views = contracts::views;
using node::Role;
using ::testing::HasSubstr;

class TlsMarket : public TaskTest {
protected:
    void SetUp() override {
        TaskTest::SetUp();
        auto network = node::LocalNetwork::assemble(path("network"), RETRACE_PROGRAM, 100,
                                                    {{"bid_blocks", 30}, {"reveal_blocks", 20}}, true);
        ASSERT_TRUE(network.has_value()) << network.error().message;
        network_ = std::move(*network);
        const auto started = network_->start_node();
        ASSERT_TRUE(started.has_value()) << started.error().message;
        plain_url_ = network_->node_url().substr(0, network_->node_url().find('#'));
        ASSERT_EQ(plain_url_.substr(0, 8), "https://");
    }
    void TearDown() override {
        if (HasFailure() && network_) {
            for (const char* name : {"node", "honest solver", "verifier 1", "verifier 2"})
                std::cout << "--- " << name << "\n" << text_of(network_->log_of(name));
        }
        second_verifier_.reset();
        network_.reset();
        TaskTest::TearDown();
    }

    static std::string text_of(const fs::path& file) {
        std::ifstream in(file);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }
    /// The fingerprint that the node printed when it made its certificate.
    std::string fingerprint() const {
        const std::string words = "certificate SHA-256 ", said = text_of(network_->log_of("node"));
        const std::size_t at = said.find(words);
        EXPECT_NE(at, std::string::npos) << said;
        return at == std::string::npos ? "" : said.substr(at + words.size(), 64);
    }
    /// Options for the node's WebSocket URL, trusted by its fingerprint.
    std::string by_fingerprint() const {
        return " --node wss" + plain_url_.substr(5) + " --tls-fingerprint " + fingerprint();
    }
    std::string by_file() const { return " --node " + network_->node_url(); }

    json::object say(const std::string& arguments) const {
        const Ran ran = retrace(arguments + " --json");
        EXPECT_EQ(ran.status, 0) << arguments << "\n" << ran.err;
        return ran.status == 0 ? json::parse(ran.out).as_object() : json::object{};
    }
    void until(const char* what, const std::function<bool(const node::RemoteState&)>& holds) const {
        auto rpc = std::move(node::RpcClient::connect(network_->node_url())).value();
        const auto end = std::chrono::steady_clock::now() + 90s;
        for (;;) {
            const auto height = rpc.height();
            ASSERT_TRUE(height.has_value()) << height.error().message;
            const node::RemoteState state(rpc, *height);
            if (holds(state)) return;
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "never: " << what;
            std::this_thread::sleep_for(50ms);
        }
    }
    /// Starts a verifier as documented for an operator who has only the fingerprint.
    void start_second_verifier() {
        auto started = node::Process::start(RETRACE_PROGRAM,
                                            {"verifier", "--node", "wss" + plain_url_.substr(5), "--tls-fingerprint",
                                             fingerprint(), "--key", (network_->folder() / "key-4.json").string(),
                                             "--passphrase-file", (network_->folder() / "passphrase").string(),
                                             "--data-dir", (network_->folder() / "party-4").string(), "--threads", "1"},
                                            network_->log_of("verifier 2"));
        ASSERT_TRUE(started.has_value());
        second_verifier_.emplace(std::move(*started));
    }
    std::string ask_to_stop(const std::string& authorization) const {
        node::HttpConnection connection(*node::parse_url(network_->node_url()));
        node::HttpRequest request{
            "POST",
            "/",
            to_bytes(view(std::string_view(R"({"jsonrpc":"2.0","id":1,"method":"retrace_stop"})"))),
            "application/json",
            {}};
        request.authorization = authorization;
        const auto answer = connection.exchange(request, 4096, kernels::StopToken::after(5s));
        return answer ? std::string(answer->body.begin(), answer->body.end()) : "no answer";
    }

    std::unique_ptr<node::LocalNetwork> network_;
    std::optional<node::Process> second_verifier_;
    std::string plain_url_;
};

TEST_F(TlsMarket, ATaskIsTrainedAuditedAndPaid) {
    EXPECT_EQ(retrace("wallet balance 0x00000000000000000000000000000000000000bb --node " + plain_url_).status, 1)
        << "nobody vouches for the certificate";
    EXPECT_EQ(
        retrace("wallet balance 0x00000000000000000000000000000000000000bb --node http" + plain_url_.substr(5)).status,
        1)
        << "the port speaks no plain text";
    say("wallet send --dev-account 0 --to 0x00000000000000000000000000000000000000bb --value 1" + by_file());
    EXPECT_EQ(
        say("wallet balance 0x00000000000000000000000000000000000000bb" + by_fingerprint()).at("balance").as_string(),
        "1000000000000000000");

    ASSERT_TRUE(network_->start(Role::honest_solver, {"--price", "0.5", "--stake", "400000"}).has_value());
    ASSERT_TRUE(network_->start(Role::verifier_1, {}).has_value());
    start_second_verifier();
    until("everybody has registered", [&](const node::RemoteState& state) {
        return views::solver(state, network_->address(Role::honest_solver)) &&
               views::verifier(state, network_->address(Role::verifier_1)) &&
               views::verifier(state, network_->address(Role::verifier_2));
    });
    if (HasFatalFailure()) return;

    small_images(256);
    const std::string task = path("task").string(), store = " --data-dir " + path("requester").string();
    say("task compile mlp --data " + path("images").string() + " -o " + task +
        " --hidden 16 --batch 16 --price-ceiling 1 --steps 40 --checkpoint-every 10");
    const json::object posted = say("task submit " + task + " --dev-account 0" + by_file() + store);
    ASSERT_FALSE(posted.empty());
    const auto id = posted.at("task").to_number<std::uint64_t>();
    const std::string number = std::to_string(id);
    EXPECT_EQ(say("task follow " + number + by_fingerprint()).at("state").as_string(), "delivering");
    const json::object fetched = say("task fetch " + number + by_file() + store + " -o " + path("model").string());
    ASSERT_FALSE(fetched.empty());
    EXPECT_EQ(fetched.at("state_root"), say("task run " + task + " --local --threads 1").at("state_root"));
    say("task accept " + number + " --dev-account 0" + by_fingerprint());
    EXPECT_EQ(say("task show " + number + by_file()).at("state").as_string(), "settled");
    until("it is paid, and was audited", [&](const node::RemoteState& state) {
        const auto run = views::run(state, id, 0);
        const auto audit = views::audit(state, 1);
        return run && run->paid == 4 && run->solver == network_->address(Role::honest_solver) && audit &&
               audit->task == id;
    });

    EXPECT_THAT(ask_to_stop(""), HasSubstr("4100"));
    EXPECT_THAT(ask_to_stop("Bearer " + std::string(64, '0')), HasSubstr("4100"));
    EXPECT_TRUE(network_->node_running());
    // The node may exit before its answer is sent.
    ask_to_stop("Bearer " + text_of(network_->folder() / "node" / "rpc-token").substr(0, 64));
    for (int i = 0; i < 1000 && network_->node_running(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(network_->node_running());
}

}  // namespace
}  // namespace retrace::testing
