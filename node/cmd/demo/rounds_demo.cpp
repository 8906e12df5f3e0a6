// SPDX-License-Identifier: MIT
#include "node/cmd/demo/rounds_demo.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>
#include <thread>

#include "contracts/records/rollback_views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "node/agents/event_log.hpp"
#include "node/agents/model_follower.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/requester.hpp"
#include "node/agents/run_peers.hpp"
#include "node/agents/statement.hpp"
#include "node/agents/worker_processes.hpp"
#include "node/artifacts/peer_source.hpp"
#include "node/cmd/demo/local_network.hpp"
#include "node/cmd/demo/supply.hpp"
#include "node/platform/units.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/tasks/compile.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/group_task.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "solver/artifacts/group_artifacts.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
namespace views = contracts::views;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMembers = 8, kVerifiers = 3;
constexpr std::uint32_t kCheater = 4, kAway = 5, kLate = 8;  ///< Accounts of members.
constexpr std::uint32_t kLateRound = 3;
constexpr std::uint32_t kAwayFrom = 5, kAwayRounds = 3;
/// The terms of a group that goes back: 24 rounds are four times as many. While the member that is killed opens nothing, the
/// others get no further ahead than that, so it comes back after one round.
constexpr std::uint32_t kAhead = 6, kAwayRoundsAhead = 1;
constexpr double kAccuracyGap = 0.02;
constexpr const char* kPrice = "0.5";
constexpr const char* kLatePrice = "0.1";  ///< Below the others': it pays the fee of joining from the rest.

std::vector<Party> parties() {
    std::vector<Party> out{{Party::Kind::requester, "requester"}};
    for (std::uint32_t i = 1; i <= kMembers; ++i) out.push_back({Party::Kind::solver, "member " + std::to_string(i)});
    for (std::uint32_t i = 1; i <= kVerifiers; ++i)
        out.push_back({Party::Kind::verifier, "verifier " + std::to_string(i)});
    return out;
}

/// The first segment of a member is always audited. A message can be copied from the second round on.
std::uint32_t cheat_round(const std::string& cheat) { return cheat == "copy_message" ? 1 : 0; }

std::string wanted_outcome(const std::string& cheat) {
    if (cheat == "none") return "honest";
    if (cheat == "wrong_message") return "slashed";  // The state that it committed to cannot be opened.
    if (cheat == "hide_message") return "unpaid";
    if (cheat == "list_falsely") return "harmless";  // Two thirds of the others list what they have.
    return "convicted";
}

class RoundsDemo {
public:
    explicit RoundsDemo(const RoundsDemoOptions& options) : options_(options), start_(Clock::now()) {}
    Result<json::object> play();

private:
    Status<> set_up();
    Status<> compile();
    Status<> train_on_one_machine();
    Status<> open_purse();
    Status<> start_parties();
    Status<> start_member(std::uint32_t account);
    /// Reads the events of the next blocks and checks that all processes run.
    Status<> advance();
    Result<market::Group> group();
    Status<> await_round(std::uint32_t round);
    Status<> await_model();
    /// The requester takes in what rounds have closed. What cannot be fetched now is tried again.
    void follow_model();
    /// Whether the followed model is the delivered one, to the last bit.
    bool followed_equals(const Delivered& model) const;
    Status<> measure_model();
    Status<> measure_message();
    Result<json::object> conclude();
    json::array member_facts(const ledger::StateView& state) const;
    json::array rollback_facts(const ledger::StateView& state) const;
    const DisputeFacts* lost_by_cheater();
    std::string outcome(const ledger::StateView& state);
    /// Round and run of each message that the party sent.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> messages_of(const ledger::StateView& state,
                                                                     const ledger::Address& party) const;
    void say(const std::string& line) const;
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    bool cheats() const { return options_.cheat != "none"; }
    ledger::Address cheater() const { return network_->address(Role{kCheater}); }

    const RoundsDemoOptions& options_;
    Clock::time_point start_;
    fs::path folder_;
    std::unique_ptr<LocalNetwork> network_;
    std::optional<TaskFile> task_;
    std::unique_ptr<RpcClient> client_;
    std::unique_ptr<ChainReader> chain_;
    std::optional<ledger::SecretKey> key_;
    std::unique_ptr<Submitter> submitter_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<EventLog> event_log_;
    std::uint64_t id_ = 0, parameters_ = 0, message_bytes_ = 0;
    std::unique_ptr<WorkerProcesses> workers_;  ///< Of the follower.
    std::optional<ModelFollower> follower_;
    std::uint64_t followed_height_ = 0;
    bool followed_equal_ = false;
    double accuracy_ = 0, one_machine_accuracy_ = 0;
};

void RoundsDemo::say(const std::string& line) const {
    if (options_.quiet) return;
    char stamp[32];
    std::snprintf(stamp, sizeof stamp, "%7.1f s  ", seconds());
    std::cerr << stamp << line << std::endl;
}

Status<> RoundsDemo::compile() {
    RETRACE_TRY(train, open_data("fashion-mnist", Split::train, true));
    RETRACE_TRY(test, open_data("fashion-mnist", Split::test, true));
    CompileRequest request;
    request.model.kind = "mlp";
    request.training.batch = 128;
    request.training.schedule = "cosine";
    request.training.learning_rate = 8e-3f;
    request.rounds.emplace();
    RoundsRequest& rounds = *request.rounds;
    rounds.spec.inner = static_cast<std::uint32_t>(options_.inner);
    rounds.terms.rounds = options_.rounds;
    rounds.terms.members = kMembers;
    rounds.terms.least = 5;
    // Blocks of 200 ms. The windows are for two cores that all parties share; a round ends earlier when all are done.
    rounds.terms.round_blocks = 60;
    rounds.terms.grace_blocks = 5;
    rounds.terms.fetch_blocks = 15;
    rounds.terms.reveal_blocks = 15;
    rounds.terms.absence_limit = 4;  // One member misses three rounds.
    if (options_.cheat == "wrong_mask") {
        rounds.spec.update = kernels::UpdateKind::masked;
        rounds.spec.kept = 512;
        rounds.terms.mask_bits = static_cast<std::uint8_t>(rounds.spec.mask_bits);
        rounds.terms.mask_blocks = 5;
        rounds.terms.round_blocks += 4 * (rounds.terms.mask_blocks + 1);
    }
    if (options_.rolls_back) {
        rounds.terms.rollbacks = 1;
        rounds.terms.ahead = kAhead;
    }
    request.task.name = "Fashion-MNIST in rounds";
    request.task.steps = options_.rounds * options_.inner;
    request.task.interval = options_.inner;
    request.task.seed = 7;
    request.task.price_ceiling = *parse_coins("0.6");
    request.task.audit_bp = cheat_round(options_.cheat) == 0 ? 1'000 : 10'000;
    request.task.auditors = 2;
    request.task.checkpoint_blocks = 100;
    request.task.replay_blocks = 20;
    request.task.finish_blocks = 5'000;
    request.out = folder_ / "task";
    if (fs::exists(request.out)) fs::remove_all(request.out);
    RETRACE_TRY(task, compile_task(request, train, &test));
    task_ = std::move(task);
    say("compiled an MLP for 60,000 images: " + std::to_string(options_.rounds) + " rounds of " +
        std::to_string(options_.inner) + " steps");
    return Unit{};
}

Status<> RoundsDemo::train_on_one_machine() {
    RETRACE_TRY(program, read_program(task_->program));
    RETRACE_TRY(data, load_dataset(task_->data));
    kernels::Inputs inputs;
    inputs.seed = task_->seed;
    for (const DataSet::Part& part : data.parts) inputs.datasets.push_back(&part.tensor);
    kernels::ThreadPool pool;
    RETRACE_TRY(state, first_state(*task_, program, pool));
    solver::ProgramRunner runner(program, inputs, pool);
    while (state.step < task_->steps) runner.step(state);
    RETRACE_TRY(result, evaluate_task(*task_, state, pool));
    one_machine_accuracy_ = result.accuracy();
    return Unit{};
}

Status<> RoundsDemo::open_purse() {
    RETRACE_TRY(client, RpcClient::connect(network_->node_url()));
    client_ = std::make_unique<RpcClient>(std::move(client));
    key_ = network_->key(Role::requester);
    chain_ = std::make_unique<ChainReader>(*client_);
    submitter_ = std::make_unique<Submitter>(*client_, *key_, kDevChainId, chain_.get());
    auto store = Store::open(folder_ / "requester");
    if (!store) return error(store.error().message);
    store_ = std::move(*store);
    std::map<ledger::Address, std::string> names;
    for (std::uint32_t i = 0; i < network_->parties().size(); ++i)
        names[network_->address(Role{i})] = network_->name(Role{i});
    event_log_ = std::make_unique<EventLog>(std::move(names),
                                            [this](std::uint64_t height, std::uint64_t task, const std::string& line) {
                                                say("block " + std::to_string(height) + "  " + with_task(task, line));
                                            });
    return Unit{};
}

Status<> RoundsDemo::start_member(std::uint32_t account) {
    std::vector<std::string> arguments{"--price", account == kLate ? kLatePrice : kPrice, "--stake", "200", "--groups"};
    if (account == kCheater && cheats())
        arguments.insert(arguments.end(),
                         {"--cheat", options_.cheat, "--cheat-segment", std::to_string(cheat_round(options_.cheat))});
    return network_->start(Role{account}, arguments);
}

Status<> RoundsDemo::start_parties() {
    for (std::uint32_t account = 1; account <= kMembers; ++account)
        if (account != kLate) RETRACE_CHECK(start_member(account));
    for (std::uint32_t i = 1; i <= kVerifiers; ++i) RETRACE_CHECK(network_->start(Role{kMembers + i}, {}));
    const auto end = Clock::now() + std::chrono::seconds(60);
    for (;;) {
        RETRACE_CHECK(advance());
        RETRACE_TRY(state, chain_->newest());
        std::uint32_t there = 0;
        for (std::uint32_t account = 1; account <= kMembers; ++account)
            there += views::solver(state, network_->address(Role{account})) ? 1 : 0;
        if (views::verifiers(state).size() == kVerifiers && there == kMembers - 1) break;
        if (Clock::now() > end) return error("the parties did not register in time");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    say("seven solvers and three verifiers have bonded and registered");
    return Unit{};
}

Status<> RoundsDemo::set_up() {
    folder_ = options_.folder;
    if (folder_.empty()) {
        std::string pattern = (fs::temp_directory_path() / "retrace-demo-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) return error("no temporary folder can be made: " + pattern);
        folder_ = pattern;
    }
    RETRACE_CHECK(compile());
    RETRACE_CHECK(train_on_one_machine());
    RETRACE_TRY(network, LocalNetwork::assemble(folder_ / "network", options_.executable, options_.block_ms,
                                                {{"unbond_blocks", 50'000}}, false, options_.validators, parties()));
    network_ = std::move(network);
    RETRACE_CHECK(network_->start_node());
    say("node at " + network_->node_url() + ", logs in " + network_->folder().string());
    RETRACE_CHECK(open_purse());
    return start_parties();
}

Status<> RoundsDemo::advance() {
    RETRACE_CHECK(event_log_->advance(*client_));
    follow_model();
    if (const auto ended = network_->ended_process())
        return error(*ended + " ended; its log is " + network_->log_of(*ended).string());
    if (seconds() > static_cast<double>(options_.timeout_s))
        return error("the training is not finished after " + std::to_string(options_.timeout_s) + " s");
    const auto state = event_log_->state_of(id_);
    if (state && market::is_final(*state) && *state != market::TaskState::settled)
        return error("the task ended as " + std::string(market::slug(*state)));
    return Unit{};
}

Result<market::Group> RoundsDemo::group() {
    RETRACE_TRY(state, chain_->newest());
    const auto found = views::group(state, id_);
    if (state.failure()) return error(state.failure()->message);
    if (!found) return error("the task has no group");
    return *found;
}

Status<> RoundsDemo::await_round(std::uint32_t round) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
        RETRACE_CHECK(advance());
        RETRACE_TRY(now, group());
        if (now.round >= round && now.phase != market::GroupPhase::starting) return Unit{};
    }
}

Status<> RoundsDemo::await_model() {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
        RETRACE_CHECK(advance());
        if (event_log_->state_of(id_) == market::TaskState::delivering) return Unit{};
    }
}

void RoundsDemo::follow_model() {
    if (id_ == 0 || followed_height_ == event_log_->height()) return;
    followed_height_ = event_log_->height();
    if (!follower_) {
        auto opened = WorkerProcesses::open_for_command([this](const std::string& what) { say(what); });
        if (!opened) return say("the model is not followed: " + opened.error().message);
        workers_ = std::move(*opened);
        follower_.emplace(*chain_, id_, workers_->runners());
    }
    const auto open_store = [this]() -> Result<std::unique_ptr<Store>> {
        auto store = Store::open(folder_ / "followed");
        if (!store) return error(store.error().message);
        return std::move(*store);
    };
    const std::uint32_t before = follower_->rounds();
    const auto taken_in = follower_->advance(open_store);
    if (!taken_in) return say("the model is not followed now: " + taken_in.error().message);
    if (follower_->rounds() != before)
        say("the requester has the model after round " + std::to_string(follower_->rounds()));
}

bool RoundsDemo::followed_equals(const Delivered& model) const {
    if (!follower_ || follower_->rounds() != options_.rounds) return false;
    const auto delivered = model_tensors(model.program, model.state);
    const auto followed = model_tensors(follower_->program(), follower_->state());
    return std::ranges::equal(delivered, followed, [](const auto& a, const auto& b) {
        return a.name == b.name && a.tensor.data == b.tensor.data;
    });
}

Status<> RoundsDemo::measure_model() {
    RETRACE_TRY(model, fetch_model(*chain_, id_, *store_, [](const ArtifactClient::Progress&) {}));
    followed_height_ = 0;
    follow_model();
    followed_equal_ = followed_equals(model);
    RETRACE_TRY(plain, read_program(task_->program));
    RETRACE_TRY(state, model_state(model.program, model.state, plain, task_->steps));
    kernels::ThreadPool pool;
    RETRACE_TRY(result, evaluate_task(*task_, state, pool));
    accuracy_ = result.accuracy();
    char line[128];
    std::snprintf(line, sizeof line, "the fetched model classifies %.2f %% of the test images, one machine %.2f %%",
                  100 * accuracy_, 100 * one_machine_accuracy_);
    say(line);
    return Unit{};
}

/// Fetches a message of the last round that has one, and computes the bytes of its transport form.
Status<> RoundsDemo::measure_message() {
    RETRACE_TRY(state, chain_->newest());
    const auto spec = views::spec(state, id_);
    std::optional<market::RoundMessage> message;
    std::uint32_t author = 0;
    for (std::uint32_t round = static_cast<std::uint32_t>(options_.rounds); round-- > 0 && !message;) {
        const auto record = views::round(state, id_, round);
        if (!record || record->entries.empty()) continue;
        author = record->entries.front().run;
        message = views::round_message(state, id_, round, author);
    }
    const std::vector<std::string> peers = endpoints_of(state, id_);
    RunPeers authors;
    authors.add_authors(state, {{id_, author}});
    if (state.failure()) return error(state.failure()->message);
    if (!spec || !message) return error("no round has a message");
    ArtifactClient fetcher(*store_);
    PeerSource source(*store_, fetcher, [&] { return PeerList{peers, {}}; });
    source.ask_authors([&](const solver::RunKey& run) { return authors.of(run, ""); });
    kernels::ThreadPool pool;
    const auto plan = solver::fetch_plan(source, spec->program_root, spec->program_bytes);
    if (!plan) return error(plan.error().message);
    const auto tensors = solver::fetch_message(source, **plan, {message->tensors, id_, author}, pool);
    if (!tensors) return error("a message cannot be fetched: " + tensors.error().message);
    for (const kernels::Tensor& tensor : *tensors) message_bytes_ += solver::transport_form(tensor).size();
    RETRACE_TRY(program, read_program(task_->program));
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const kernels::TensorRecord& record = program.tensors[i];
        const bool is_moment = record.name.ends_with(".m") || record.name.ends_with(".v");
        if (!is_moment) parameters_ += kernels::geometry(record.dims).elements();
    }
    return Unit{};
}

const DisputeFacts* RoundsDemo::lost_by_cheater() {
    for (auto& [id, facts] : event_log_->disputes())
        if (facts.decided && facts.decided->loser == cheater()) return &facts;
    return nullptr;
}

std::string RoundsDemo::outcome(const ledger::StateView& state) {
    if (!cheats()) return "honest";
    if (lost_by_cheater() != nullptr) return "convicted";
    if (!event_log_->slashed(cheater()).is_zero()) return "slashed";
    for (const auto& [round, run] : messages_of(state, cheater()))
        if (!views::round_message(state, id_, round, run)->recorded) return "unpaid";
    return "harmless";
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> RoundsDemo::messages_of(const ledger::StateView& state,
                                                                             const ledger::Address& party) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    const auto task = views::task(state, id_);
    for (std::uint32_t index = 0; task && index < task->runs; ++index) {
        const auto run = views::run(state, id_, index);
        for (std::uint32_t round = 0; run && run->solver == party && round < options_.rounds; ++round)
            if (views::round_message(state, id_, round, index)) out.emplace_back(round, index);
    }
    return out;
}

json::array RoundsDemo::member_facts(const ledger::StateView& state) const {
    json::array out;
    const auto task = views::task(state, id_);
    for (std::uint32_t index = 0; task && index < task->runs; ++index) {
        const auto run = views::run(state, id_, index);
        const auto member = views::member(state, id_, index);
        if (!run || !member) continue;
        std::uint64_t recorded = 0;
        for (std::uint32_t round = 0; round < options_.rounds; ++round) {
            const auto message = views::round_message(state, id_, round, index);
            recorded += message && message->recorded ? 1 : 0;
        }
        out.push_back(json::object{{"run", index},
                                   {"name", event_log_->name(run->solver)},
                                   {"state", std::string(market::slug(run->state))},
                                   {"entered", member->entered},
                                   {"messages", member->messages},
                                   {"recorded", recorded},
                                   {"earned", run->earned.to_decimal()}});
    }
    return out;
}

json::array RoundsDemo::rollback_facts(const ledger::StateView& state) const {
    json::array out;
    for (const market::Rollback& rollback : views::rollbacks(state, id_).noted)
        out.push_back(json::object{{"run", rollback.run}, {"first", rollback.first}, {"last", rollback.last}});
    return out;
}

Result<json::object> RoundsDemo::conclude() {
    RETRACE_CHECK(event_log_->advance(*client_));
    const RemoteState state(*client_, event_log_->height());
    ledger::U256 honest_slashed;
    std::set<ledger::Address> accounts;
    for (std::uint32_t i = 0; i < std::max<std::size_t>(kDevAccounts, network_->parties().size()); ++i) {
        const ledger::Address address = network_->address(Role{i});
        accounts.insert(address);
        if (!cheats() || address != cheater()) honest_slashed += event_log_->slashed(address);
    }
    RETRACE_TRY(statement, task_statement(*client_, id_));
    const Supply supply = supply_of(state, {accounts.begin(), accounts.end()});
    json::object out{
        {"cheat", options_.cheat},
        {"members", kMembers},
        {"rounds", options_.rounds},
        {"engine", network_->validators() == nullptr ? "solo" : "comet"},
        {"outcome", outcome(state)},
        {"model_accuracy", accuracy_},
        {"one_machine_accuracy", one_machine_accuracy_},
        {"followed_rounds", follower_ ? follower_->rounds() : 0},
        {"followed_equal", followed_equal_},
        {"message_bytes", message_bytes_},
        {"message_ratio", 4.0 * static_cast<double>(parameters_) / static_cast<double>(message_bytes_)},
        {"rollbacks", rollback_facts(state)},
        {"audits", event_log_->audits(id_)},
        {"verdicts_equal", event_log_->verdicts_equal(id_)},
        {"honest_slashed", honest_slashed.is_zero() ? json::value(0) : json::value(honest_slashed.to_decimal())},
        {"supply_conserved", supply.conserved()},
        {"statement_adds_up", statement.adds_up()},
        {"burned", supply.burned.to_decimal()},
        {"minted", supply.minted.to_decimal()},
        {"paid", member_facts(state)}};
    if (state.failure()) return error(state.failure()->message);
    if (cheats()) {
        json::object facts{{"address", ledger::to_checksum(cheater())},
                           {"round", cheat_round(options_.cheat)},
                           {"slashed", event_log_->slashed(cheater()).to_decimal()}};
        if (const DisputeFacts* dispute = lost_by_cheater()) {
            const auto& decided = *dispute->decided;
            facts["segment"] = dispute->opened.segment;
            facts["position"] = decided.step;
            facts["op"] = decided.op;
            facts["tile"] = decided.tile;
            facts["link"] = decided.link;
            facts["element"] = decided.element;
            facts["ending"] = std::string(verifier::slug(static_cast<verifier::Ending>(decided.ending)));
            facts["claimed_bits"] = decided.claimed_bits;
            facts["referee_bits"] = decided.referee_bits;
        }
        out["cheater"] = std::move(facts);
    }
    out["seconds"] = seconds();
    return out;
}

Result<json::object> RoundsDemo::play() {
    RETRACE_CHECK(set_up());
    RETRACE_TRY(posted, post_task(*task_, *store_, *submitter_, *chain_, [](const ArtifactClient::Progress&) {}));
    id_ = posted.id;
    RETRACE_CHECK(await_round(kLateRound));
    RETRACE_CHECK(start_member(kLate));
    say("an eighth solver comes and looks for a seat");
    RETRACE_CHECK(await_round(kAwayFrom));
    network_->kill(Role{kAway});
    say(network_->name(Role{kAway}) + " is killed");
    RETRACE_CHECK(await_round(kAwayFrom + (options_.rolls_back ? kAwayRoundsAhead : kAwayRounds)));
    RETRACE_CHECK(start_member(kAway));
    say(network_->name(Role{kAway}) + " is back, and takes in the rounds that it missed");
    RETRACE_CHECK(await_model());
    RETRACE_CHECK(measure_model());
    RETRACE_CHECK(measure_message());
    RETRACE_CHECK(submitter_->execute("accept the model", contracts::AcceptModel{id_}));
    RETRACE_TRY(facts, conclude());
    const auto refuse = [&](const std::string& what) {
        return error(what + "; everything is kept in " + folder_.string());
    };
    if (accuracy_ < one_machine_accuracy_ - kAccuracyGap)
        return refuse("the model is more than two points below that of one machine");
    if (!followed_equal_) return refuse("the model that follows from the messages is not the delivered one");
    if (!facts["supply_conserved"].as_bool()) return refuse("the supply was not conserved");
    if (!facts["statement_adds_up"].as_bool()) return refuse("the task's statement does not add up");
    if (facts["honest_slashed"] != 0) return refuse("an honest party was slashed");
    const std::string ended(facts["outcome"].as_string()), wanted = wanted_outcome(options_.cheat);
    if (ended != wanted) return refuse("the outcome is \"" + ended + "\" and not \"" + wanted + "\"");
    if (options_.folder.empty()) {
        network_.reset();
        store_.reset();
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    return facts;
}

}  // namespace

const std::vector<std::string>& rounds_demo_cheats() {
    static const std::vector<std::string> all{"ulp",           "skip_steps",   "wrong_data",   "stale_checkpoint",
                                              "wrong_message", "hide_message", "list_falsely", "wrong_mask",
                                              "poison_nan",    "poison_norm",  "copy_message", "none"};
    return all;
}

Result<json::object> run_rounds_demo(const RoundsDemoOptions& options) {
    RoundsDemo demo(options);
    return demo.play();
}

}  // namespace retrace::node
