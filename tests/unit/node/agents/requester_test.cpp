// SPDX-License-Identifier: MIT
// Requesters and agents on an untrusted chain view: a model is fetched, and records that no rule could produce crash no
// process.
#include "node/agents/requester.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "kernels/commit/contract.hpp"
#include "market/types.hpp"
#include "node/agents/solver_service.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/cmd/cli.hpp"
#include "node/server/config/params_json.hpp"
#include "node/tasks/compile.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/fake_node.hpp"
#include "tests/unit/node/small_task.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const ledger::Address kSolver{{1}};

market::SolverInfo served_at(const std::string& endpoint) {
    market::SolverInfo out;
    out.endpoint = endpoint;
    return out;
}

struct Requester : testing::Test {
    test::TemporaryFolder folder;
    test::FakeNode chain;
    RpcClient client = *RpcClient::connect(chain.url());
    ChainReader reader{client};
    std::unique_ptr<Store> there = test::open_store(folder.path() / "there");
    std::unique_ptr<Store> here = test::open_store(folder.path() / "here");
    ArtifactServer server{*there, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http = *ArtifactHttpServer::start(server, {});

    /// Two segments of a program that doubles its state; the model is available.
    market::TaskSpec spec() {
        const Bytes program = kernels::encode(test::doubling_program());
        market::TaskSpec out;
        out.name = "doubled";
        out.program_root = *there->put_program(program);
        out.program_bytes = program.size();
        out.initial_state_root = Hash32{{2}};
        out.steps = 20;
        out.interval = 10;
        out.contract_hash = kernels::contract_hash();
        out.price_ceiling = ledger::U256(1'000'000);
        out.audit_bp = 1000;
        out.auditors = out.replicas = 1;
        out.finish_blocks = 1000;
        return out;
    }
    kernels::State model() {
        kernels::State out;
        out.step = 20;
        out.tensors.push_back(test::random_tensor(kernels::DType::f32, {4, 3}, 1));
        return out;
    }
    static market::Task task() {
        market::Task out;
        out.id = 1;
        out.state = market::TaskState::delivering;
        out.posted_height = 3;
        out.runs = 1;
        out.active = {0};
        return out;
    }
    /// Publishes the task as delivered by one solver that serves at `endpoint`.
    void deliver(const market::TaskSpec& spec, const std::string& endpoint) {
        market::Run run;
        run.task = 1;
        run.solver = kSolver;
        run.state = market::RunState::running;
        run.next_state = 3;
        run.paid = 1;
        market::Checkpoint last;
        last.opened = true;
        last.open_height = 7;
        last.root = *there->put_state(spec.program_root, model());
        market::Segment segment;
        segment.state = market::SegmentState::verified;
        chain.put(keys::spec(1), spec);
        chain.put(keys::task(1), task());
        chain.put(keys::run(1, 0), run);
        chain.put(keys::checkpoint(1, 0, 2), last);
        chain.put(keys::segment(1, 0, 0), segment);
        chain.put(keys::solver(kSolver), served_at(endpoint));
        chain.put(keys::task_count(), contracts::Counter{1});
    }
    Result<Delivered> fetch() {
        return fetch_model(reader, 1, *here, [](const ArtifactClient::Progress&) {});
    }
    int command(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "retrace");
        arguments.insert(arguments.end(), {"--node", chain.url()});
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        return cli::run_main(static_cast<int>(argv.size()), argv.data());
    }
};

TEST_F(Requester, AModelArrivesWithItsReceipt) {
    const market::TaskSpec told = spec();
    deliver(told, http->url());
    const auto status = task_status(reader, 1);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->committed, 2u);
    EXPECT_EQ(status->verified, 1u);
    EXPECT_EQ(status->paid, 1u);
    const auto fetched = fetch();
    ASSERT_TRUE(fetched) << fetched.error().message;
    EXPECT_EQ(fetched->state.tensors, model().tensors);
    EXPECT_EQ(fetched->state.step, 20u);
    EXPECT_EQ(fetched->receipt.chain_id, 7298u);
    EXPECT_EQ(fetched->receipt.program, told.program_root);
    ASSERT_EQ(fetched->receipt.states.size(), 1u);
    EXPECT_EQ(fetched->receipt.states[0].height, 7u);
}

TEST_F(Requester, AStatusSaysWhichSegmentWaitsForAuditors) {
    deliver(spec(), http->url());
    market::Run run;
    run.task = 1;
    run.solver = kSolver;
    run.state = market::RunState::running;
    run.next_state = 3;
    run.unaudited_since = 10;
    run.unaudited_from = 1;
    chain.put(keys::run(1, 0), run);
    market::Params params = default_params();
    params.unaudited_blocks = 50;
    chain.put(keys::params(), params);
    const auto status = task_status(reader, 1);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->waiting, (TaskStatus::Waiting{0, 1, 60}));
}

/// A program that arrived without its state, or nothing at all: neither proves fraud of the solver.
TEST_F(Requester, WhatCannotBeFetchedIsNobodysFraud) {
    market::TaskSpec told = spec();
    deliver(told, "http://127.0.0.1:1");
    const auto nothing = fetch();
    ASSERT_FALSE(nothing);
    EXPECT_THAT(nothing.error().message, HasSubstr("the program of task 1 could not be fetched"));
    ASSERT_TRUE(here->put_program(*there->program_file(told.program_root)));
    const auto no_state = fetch();
    ASSERT_FALSE(no_state);
    EXPECT_THAT(no_state.error().message,
                AllOf(HasSubstr("the final state of task 1 could not be fetched"), Not(HasSubstr("is not one of"))));
}

TEST_F(Requester, ATaskWithoutAModelSaysHowFarItIs) {
    const market::TaskSpec told = spec();
    chain.put(keys::spec(1), told);
    chain.put(keys::task(1), task());
    const auto fetched = fetch();
    ASSERT_FALSE(fetched);
    EXPECT_THAT(fetched.error().message, HasSubstr("no model yet: it is delivering"));
    EXPECT_THAT(task_status(reader, 2).error().message, HasSubstr("there is no task 2"));
}

/// The number of segments is steps divided by the interval.
TEST_F(Requester, ATaskThatNobodyCouldPostIsNone) {
    market::TaskSpec told = spec();
    told.interval = 0;
    deliver(told, http->url());
    EXPECT_THAT(task_status(reader, 1).error().message, HasSubstr("there is no task 1"));
    EXPECT_FALSE(fetch());
}

/// A node may claim four thousand million runs, each of which is requested by its number.
TEST_F(Requester, RunsThatAreNotThereAreNotCounted) {
    deliver(spec(), http->url());
    market::Task many = task();
    many.runs = 4'000'000'000U;
    chain.put(keys::task(1), many);
    const auto status = task_status(reader, 1);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->runs.size(), 1u);
}

TEST_F(Requester, TheNameOfATaskDoesNotSteerATerminal) {
    market::TaskSpec told = spec();
    told.name =
        "\x1b]0;owned\x07 \xc2\x9b"
        "2J – ü";
    deliver(told, http->url());
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"task", "list"}, std::vector<std::string>{"task", "show", "1"}}) {
        testing::internal::CaptureStdout();
        EXPECT_EQ(command(arguments), 0);
        EXPECT_THAT(testing::internal::GetCapturedStdout(),
                    AllOf(HasSubstr("?]0;owned? ??2J – ü"), Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
    }
}

/// The node has no signed blocks, so it proves nothing.
TEST_F(Requester, CommandsThatTrustABlockSayNothingThatIsNotProved) {
    deliver(spec(), http->url());
    chain.put(keys::params(), default_params());
    const std::string account = "0x" + std::string(40, '1');
    const std::string out = (folder.path() / "model").string(), store = (folder.path() / "store").string();
    const std::vector<std::vector<std::string>> commands{
        {"task", "list"},
        {"task", "show", "1"},
        {"task", "follow", "1"},
        {"task", "fetch", "1", "--out", out, "--data-dir", store},
        {"task", "cancel", "1", "--dev-account", "0"},
        {"task", "accept", "1", "--dev-account", "0"},
        {"task", "raise", "1", "--dev-account", "0"},
        {"task", "decide", "1", "--pay", "--dev-account", "0"},
        {"wallet", "balance", account},
        {"wallet", "send", "--to", account, "--value", "1", "--dev-account", "0"},
        {"stake", "show", account},
        {"stake", "deposit", "1", "--dev-account", "0"},
        {"validator", "list"},
        {"validator", "show", account}};
    for (std::vector<std::string> arguments : commands) {
        const std::string name = arguments[0] + " " + arguments[1];
        arguments.insert(arguments.end(), {"--trust-height", "2", "--trust-hash", std::string(64, 'a')});
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        EXPECT_EQ(command(arguments), 1) << name;
        EXPECT_EQ(testing::internal::GetCapturedStdout(), "") << name;
        EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("CometBFT")) << name;
    }
    EXPECT_EQ(chain.asked_for_slots, 0);
    EXPECT_EQ(chain.sent, 0);
    EXPECT_FALSE(std::filesystem::exists(out));
}

/// A probability of detection follows from the rules, but there is none where no verifier can be drawn.
TEST_F(Requester, WhereNobodyIsBondedNoChanceIsTold) {
    CompileRequest request = test::small_request(folder.path() / "words");
    request.task.name = "words";
    request.task.steps = 20;
    request.task.price_ceiling = ledger::U256(market::kMilli);
    ASSERT_TRUE(compile_task(request, test::eight_zeros(), nullptr));
    chain.put(keys::params(), default_params());
    const auto said = [&](const std::string& what) {
        testing::internal::CaptureStdout();
        EXPECT_EQ(command({"task", what, request.out.string()}), 0);
        return testing::internal::GetCapturedStdout();
    };
    for (const char* what : {"plan", "odds"}) {
        EXPECT_THAT(said(what), AllOf(HasSubstr("nobody is bonded who could audit"), HasSubstr("detected is unknown"),
                                      Not(HasSubstr("always audited")), Not(HasSubstr("found with")),
                                      Not(HasSubstr("detected with"))))
            << what;
    }
    contracts::ListOf<ledger::Address> members;
    for (const std::uint8_t id : {20, 21}) {
        const ledger::Address member{{id}};
        members.items.push_back(member);
        market::VerifierInfo info;
        info.member = true;
        market::Stake stake;
        stake.bonded = ledger::U256(1'000) * ledger::U256(market::kMilli);
        chain.put(keys::verifier(member), info);
        chain.put(keys::stake(member), stake);
    }
    chain.put(keys::verifiers(), members);
    ++chain.height;
    EXPECT_THAT(said("plan"), AllOf(HasSubstr("found with"), HasSubstr("always audited"), HasSubstr("all 2 auditors")));
    EXPECT_THAT(said("odds"),
                AllOf(HasSubstr("detected with"), HasSubstr("always audited"), HasSubstr("all 2 auditors")));
}

/// All records that a solver reads to enrol, and an auction whose quote subtracts more stake than there is.
TEST_F(Requester, ASolverOutlivesAStateThatNoRuleMakes) {
    market::Params params = default_params();
    params.contract_hash = kernels::contract_hash();
    const auto key = ledger::SecretKey::random();
    market::Task open = task();
    open.state = market::TaskState::bidding;
    open.wanted = 1;
    open.bid_end = 1'000'000;
    open.reveal_end = 2'000'000;
    chain.put(keys::params(), params);
    chain.put(keys::spec(1), spec());
    chain.put(keys::task(1), open);
    chain.put(keys::active_tasks(), contracts::ListOf<std::uint64_t>{{1}});
    const std::string endpoint = "http://solver.example:1";
    chain.put(keys::solver(key.address()), served_at(endpoint));
    market::Stake stake;
    stake.bonded = params.min_solver_stake;
    stake.locked = stake.bonded + ledger::U256(1);
    chain.put(keys::stake(key.address()), stake);

    SolverOptions options;
    options.agent.node_url = chain.url();
    options.agent.data_dir = folder.path() / "solver";
    options.agent.endpoint = endpoint;
    options.agent.threads = 1;
    options.agent.poll = std::chrono::milliseconds(5);
    auto copy = ledger::SecretKey::from_bytes(key.bytes());
    const auto service = SolverService::open(options, std::move(*copy));
    ASSERT_TRUE(service) << service.error().message;
    std::atomic<bool> stop{false}, drain{false};
    std::thread running([&] { EXPECT_TRUE((*service)->run(stop, drain)); });
    for (int block = 0; block < 3; ++block) {  // Each block is read anew.
        const int before = chain.asked_for_slots;
        ++chain.height;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (chain.asked_for_slots == before && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        EXPECT_GT(chain.asked_for_slots, before);
    }
    stop = true;
    running.join();
}

}  // namespace
}  // namespace retrace::node
