// SPDX-License-Identifier: MIT
#include "node/cmd/demo/demo.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>
#include <thread>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/event_log.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/requester.hpp"
#include "node/cmd/demo/local_network.hpp"
#include "node/cmd/demo/referee_time.hpp"
#include "node/cmd/demo/supply.hpp"
#include "node/platform/units.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/tasks/compile.hpp"
#include "node/tasks/evaluate.hpp"
#include "solver/attacks/compute_attacks.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kHonestPrice = "0.5";
constexpr const char* kCheaterPrice = "0.3";
constexpr double kAccuracyWanted = 0.85;

/// One run of the demo.
class Demo {
public:
    explicit Demo(const DemoOptions& options) : options_(options), start_(Clock::now()) {}
    Result<json::object> play();

private:
    Status<> set_up();
    Status<> compile();
    Status<> open_purse();
    Result<std::uint64_t> post();
    enum class Until { first_verdict, trained };
    /// Follows the chain until an auditor of the task got the solver's bits, if that is asked for, or until the task is
    /// delivering or over.
    Status<> follow(std::uint64_t task, Until until);
    Status<> settle(std::uint64_t task);
    Status<> measure_model(std::uint64_t task);
    Status<> first_task();
    Status<> second_task();
    bool has_second_solver() const;
    /// Waits until a capability challenge of that solver is over.
    Status<> await_measurement(Role role);
    Result<json::object> conclude();
    // With validators:
    /// Kills one of them; it comes back when the task is over.
    void kill_validator();
    Status<> restart_validator();
    /// Whether all validators have the same state at the newest block that all of them have.
    Result<bool> equal_app_hashes();
    /// Median time from sending a payment to its receipt.
    Result<double> finality_ms();
    json::object cheater_facts();
    const DisputeFacts* decisive();
    std::string outcome();
    void say(const std::string& line) const;
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

    const DemoOptions& options_;
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
    std::uint64_t honest_task_ = 0, cheated_task_ = 0;
    double accuracy_ = 0;
};

void Demo::say(const std::string& line) const {
    if (options_.quiet) return;
    char stamp[32];
    std::snprintf(stamp, sizeof stamp, "%7.1f s  ", seconds());
    std::cerr << stamp << line << std::endl;
}

Status<> Demo::set_up() {
    folder_ = options_.folder;
    if (folder_.empty()) {
        std::string pattern = (fs::temp_directory_path() / "retrace-demo-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) return error("no temporary folder can be made: " + pattern);
        folder_ = pattern;
    }
    RETRACE_CHECK(compile());
    RETRACE_TRY(network, LocalNetwork::assemble(folder_ / "network", options_.executable, options_.block_ms, {}, false,
                                                options_.validators));
    network_ = std::move(network);
    RETRACE_CHECK(network_->start_node());
    say("console at " + network_->node_url() + "/, logs in " + network_->folder().string());
    RETRACE_CHECK(open_purse());
    RETRACE_CHECK(network_->start(Role::honest_solver, {"--price", kHonestPrice, "--stake", "200"}));
    for (const Role role : {Role::verifier_1, Role::verifier_2, Role::verifier_3})
        RETRACE_CHECK(network_->start(role, {}));
    // A verifier takes part in the beacon from its second epoch on; bids need the solver's registration.
    const auto end = Clock::now() + std::chrono::seconds(60);
    for (;;) {
        if (const auto ended = network_->ended_process())
            return error(*ended + " ended; its log is " + network_->log_of(*ended).string());
        RETRACE_TRY(state, chain_->newest());
        if (contracts::views::verifiers(state).size() == 3 &&
            contracts::views::solver(state, network_->address(Role::honest_solver)))
            break;
        if (Clock::now() > end) return error("the parties did not register in time");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    say("one solver and three verifiers have bonded and registered");
    return Unit{};
}

Status<> Demo::compile() {
    RETRACE_TRY(train, open_data("fashion-mnist", Split::train, true));
    RETRACE_TRY(test, open_data("fashion-mnist", Split::test, true));
    CompileRequest request;
    request.model.kind = "mlp";
    request.training.batch = options_.batch;
    request.training.schedule = "cosine";
    request.training.learning_rate = 8e-3f;
    request.task.name = "Fashion-MNIST classifier";
    request.task.steps = options_.steps;
    request.task.interval = options_.interval;
    request.task.seed = 7;
    request.task.price_ceiling = *parse_coins("1");
    request.task.audit_bp = 2'000;
    request.task.auditors = options_.cheat == "false_accuser" ? 3 : 2;
    request.task.checkpoint_blocks = 100;
    // 4 s for a segment that takes under a second; the challenge window of the first segment holds it twice.
    request.task.replay_blocks = 20;
    request.task.finish_blocks = 5'000;
    request.out = folder_ / "task";
    if (fs::exists(request.out)) fs::remove_all(request.out);
    RETRACE_TRY(task, compile_task(request, train, &test));
    task_ = std::move(task);
    say("compiled an MLP for 60,000 images into " + request.out.string());
    return Unit{};
}

Status<> Demo::open_purse() {
    RETRACE_TRY(client, RpcClient::connect(network_->node_url()));
    client_ = std::make_unique<RpcClient>(std::move(client));
    key_ = network_->key(Role::requester);
    const auto chain_id = client_->chain_id();
    if (!chain_id) return error(chain_id.error().message);
    chain_ = std::make_unique<ChainReader>(*client_, network_->trusted());
    submitter_ = std::make_unique<Submitter>(*client_, *key_, *chain_id, chain_.get());
    auto store = Store::open(folder_ / "requester");
    if (!store) return error(store.error().message);
    store_ = std::move(*store);
    std::map<ledger::Address, std::string> names;
    for (std::uint32_t i = 0; i < kRoles; ++i) names[network_->address(Role{i})] = std::string(name_of(Role{i}));
    event_log_ = std::make_unique<EventLog>(std::move(names),
                                            [this](std::uint64_t height, std::uint64_t task, const std::string& line) {
                                                say("block " + std::to_string(height) + "  " + with_task(task, line));
                                            });
    return Unit{};
}

Result<std::uint64_t> Demo::post() {
    RETRACE_TRY(posted, post_task(*task_, *store_, *submitter_, *chain_, [](const ArtifactClient::Progress&) {}));
    return posted.id;
}

Status<> Demo::follow(std::uint64_t task, Until until) {
    for (;;) {
        RETRACE_CHECK(event_log_->advance(*client_));
        const auto state = event_log_->state_of(task);
        if (state && (market::is_final(*state) || *state == market::TaskState::delivering)) return Unit{};
        if (until == Until::first_verdict && event_log_->verdicts_equal(task) > 0) return Unit{};
        if (const auto ended = network_->ended_process())
            return error(*ended + " ended; its log is " + network_->log_of(*ended).string());
        if (seconds() > static_cast<double>(options_.timeout_s)) {
            return error("task " + std::to_string(task) + " is not finished after " +
                         std::to_string(options_.timeout_s) + " s");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

Status<> Demo::settle(std::uint64_t task) {
    RETRACE_CHECK(submitter_->execute("accept the model", contracts::AcceptModel{task}));
    RETRACE_CHECK(event_log_->advance(*client_));
    if (event_log_->state_of(task) != market::TaskState::settled)
        return error("task " + std::to_string(task) + " did not settle");
    return Unit{};
}

Status<> Demo::measure_model(std::uint64_t task) {
    // What is proved is a block behind the events.
    RETRACE_CHECK(wait_for_delivery(*chain_, task, [](const TaskStatus&) {}));
    RETRACE_TRY(model, fetch_model(*chain_, task, *store_, [](const ArtifactClient::Progress&) {}));
    RETRACE_CHECK(store_receipt(model.receipt, folder_ / ("receipt-" + std::to_string(task) + ".json")));
    RETRACE_TRY(test, load_dataset(*task_->test_data));
    std::vector<kernels::Tensor> data;
    for (DataSet::Part& part : test.parts) data.push_back(std::move(part.tensor));
    RETRACE_TRY(eval_file, read_program(*task_->evaluation));
    kernels::ThreadPool pool;
    RETRACE_TRY(result, evaluate(eval_file, model.state, data, pool));
    accuracy_ = result.accuracy();
    char line[96];
    std::snprintf(line, sizeof line, "task %llu: the fetched model classifies %.2f %% of %llu test images",
                  static_cast<unsigned long long>(task), 100 * accuracy_,
                  static_cast<unsigned long long>(result.samples));
    say(line);
    return Unit{};
}

Status<> Demo::first_task() {
    RETRACE_TRY(task, post());
    honest_task_ = task;
    // The next bidder joins while the first task is audited: its machine is measured when the second is posted.
    if (has_second_solver()) {
        RETRACE_CHECK(follow(task, Until::first_verdict));
        RETRACE_CHECK(network_->start(Role::cheating_solver,
                                      {"--price", kCheaterPrice, "--stake", "200", "--cheat", options_.cheat}));
        say("a second solver comes: it asks less, and commits the fraud \"" + options_.cheat + "\"");
    }
    RETRACE_CHECK(follow(task, Until::trained));
    RETRACE_CHECK(measure_model(task));
    return settle(task);
}

bool Demo::has_second_solver() const { return options_.cheat != "none" && options_.cheat != "false_accuser"; }

Status<> Demo::await_measurement(Role role) {
    const auto end = Clock::now() + std::chrono::seconds(30);
    for (;;) {
        RETRACE_CHECK(event_log_->advance(*client_));
        if (event_log_->capability().contains(network_->address(role))) return Unit{};
        if (Clock::now() > end) return error("the second solver was not measured in time");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

Status<> Demo::second_task() {
    if (has_second_solver()) {
        RETRACE_CHECK(await_measurement(Role::cheating_solver));
    } else {
        network_->stop(Role::verifier_3);
        RETRACE_CHECK(network_->start(Role::verifier_3, {"--cheat", "false_accuser"}));
        say("verifier 3 accuses whatever it sees from now on");
    }
    RETRACE_TRY(task, post());
    cheated_task_ = task;
    if (network_->validators() != nullptr) {
        RETRACE_CHECK(follow(task, Until::first_verdict));
        kill_validator();
    }
    RETRACE_CHECK(follow(task, Until::trained));
    if (network_->validators() != nullptr) RETRACE_CHECK(restart_validator());
    RETRACE_CHECK(measure_model(task));
    return settle(task);
}

void Demo::kill_validator() {
    TestnetProcesses& validators = *network_->validators();
    validators.node(validators.size() - 1).kill();
    say("the last of " + std::to_string(validators.size()) + " validators is killed; the chain goes on");
}

Status<> Demo::restart_validator() {
    TestnetProcesses& validators = *network_->validators();
    RETRACE_CHECK(validators.restart(validators.size() - 1));
    RETRACE_CHECK(validators.await(validators.size() - 1, std::chrono::seconds(60)));
    say("it is back");
    return Unit{};
}

Result<bool> Demo::equal_app_hashes() {
    const std::uint64_t height = event_log_->height();
    std::set<std::string> roots;
    for (const std::string& url : network_->validators()->urls()) {
        RETRACE_TRY(client, RpcClient::connect(url));
        const auto end = Clock::now() + std::chrono::seconds(60);
        for (;;) {
            const auto now = client.height();
            if (now && *now >= height) break;
            if (Clock::now() > end)
                return error("the validator at " + url + " does not reach block " + std::to_string(height));
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        char number[32];
        std::snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(height));
        const auto block = client.call("eth_getBlockByNumber", {number, false});
        if (!block) return error(block.error().message);
        roots.insert(std::string(block->at("stateRoot").as_string()));
    }
    return roots.size() == 1;
}

Result<double> Demo::finality_ms() {
    constexpr std::size_t kSamples = 9;
    std::vector<double> times;
    // Measured without proofs, which take another block.
    Submitter payer(*client_, *key_, kDevChainId);
    for (std::size_t i = 0; i < kSamples; ++i) {
        const auto start = Clock::now();
        RETRACE_TRY(hash, payer.send("pay itself", payer.address(), ledger::U256{}, {}));
        for (;;) {
            const auto outcome = client_->outcome(hash);
            if (!outcome) return error(outcome.error().message);
            if (outcome->has_value()) break;
            if (Clock::now() - start > std::chrono::seconds(30)) return error("a payment is in no block after 30 s");
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        payer.poll();
    }
    std::sort(times.begin(), times.end());
    return times[kSamples / 2];
}

const DisputeFacts* Demo::decisive() {
    for (auto& [id, facts] : event_log_->disputes()) {
        if (facts.decided && !facts.decided->loser.is_zero()) return &facts;
    }
    return nullptr;
}

std::string Demo::outcome() {
    if (options_.cheat == "none") return "honest";
    const DisputeFacts* facts = decisive();
    const ledger::Address cheater = network_->address(Role::cheating_solver);
    if (options_.cheat == "false_accuser") {
        return facts != nullptr && facts->decided->loser == network_->address(Role::verifier_3) ? "accuser_punished"
                                                                                                : "undecided";
    }
    if (facts != nullptr && facts->decided->loser == cheater) return "convicted";
    const auto& runs = event_log_->runs(cheated_task_);
    return runs.size() > 1 && runs.front().solver == cheater ? "replaced" : "undecided";
}

json::object Demo::cheater_facts() {
    const ledger::Address address = network_->address(Role::cheating_solver);
    json::object out{{"address", ledger::to_checksum(address)},
                     {"task", cheated_task_},
                     {"slashed", event_log_->slashed(address).to_decimal()}};
    if (const DisputeFacts* facts = decisive()) {
        const auto& decided = *facts->decided;
        out["segment"] = facts->opened.segment;
        out["step"] = decided.step;
        out["op"] = decided.op;
        out["tile"] = decided.tile;
        out["link"] = decided.link;
        out["element"] = decided.element;
        out["ending"] = std::string(verifier::slug(static_cast<verifier::Ending>(decided.ending)));
        out["claimed_bits"] = decided.claimed_bits;
        out["referee_bits"] = decided.referee_bits;
    }
    return out;
}

Result<json::object> Demo::conclude() {
    RETRACE_CHECK(event_log_->advance(*client_));
    const RemoteState state(*client_, event_log_->height());
    json::object balances;
    ledger::U256 honest_slashed;
    std::vector<ledger::Address> accounts;
    for (std::uint32_t i = 0; i < kDevAccounts; ++i) {
        const ledger::Address address = network_->address(Role{i});
        accounts.push_back(address);
        if (i >= kRoles) continue;
        const ledger::U256 balance = state.account(address).balance;
        const ledger::U256 bonded = contracts::views::stake(state, address).bonded;
        const Role role{i};
        const bool cheats = (role == Role::cheating_solver && options_.cheat != "none") ||
                            (role == Role::verifier_3 && options_.cheat == "false_accuser");
        if (!cheats) honest_slashed += event_log_->slashed(address);
        balances[name_of(role)] = json::object{{"address", ledger::to_checksum(address)},
                                               {"balance", balance.to_decimal()},
                                               {"bonded", bonded.to_decimal()},
                                               {"slashed", event_log_->slashed(address).to_decimal()}};
        const auto measured = event_log_->capability().find(address);
        if (measured != event_log_->capability().end())
            balances[name_of(role)].as_object()["capability"] = measured->second;
    }
    const Supply supply = supply_of(state, accounts);
    if (state.failure()) return error(state.failure()->message);

    const std::uint64_t task = cheated_task_ != 0 ? cheated_task_ : honest_task_;
    json::object out{
        {"cheat", options_.cheat},
        {"outcome", outcome()},
        {"model_accuracy", accuracy_},
        {"segments", (options_.steps + options_.interval - 1) / options_.interval},
        {"audits", event_log_->audits(honest_task_) + (cheated_task_ != 0 ? event_log_->audits(cheated_task_) : 0)},
        {"verdicts_equal", event_log_->verdicts_equal(honest_task_) +
                               (cheated_task_ != 0 ? event_log_->verdicts_equal(cheated_task_) : 0)},
        {"honest_slashed", json::value(nullptr)},
        {"supply_conserved", supply.conserved()}};
    if (honest_slashed.is_zero())
        out["honest_slashed"] = 0;
    else
        out["honest_slashed"] = honest_slashed.to_decimal();
    if (options_.cheat != "none" && options_.cheat != "false_accuser") out["cheater"] = cheater_facts();
    if (options_.cheat == "false_accuser") {
        const ledger::Address accuser = network_->address(Role::verifier_3);
        out["accuser"] = json::object{{"address", ledger::to_checksum(accuser)},
                                      {"slashed", event_log_->slashed(accuser).to_decimal()}};
    }
    if (const DisputeFacts* facts = decisive()) {
        json::object dispute{{"rounds", facts->decided->rounds}, {"evidence_bytes", facts->decided->evidence_bytes}};
        const auto time = referee_time(*client_, *facts);
        dispute["referee_us"] = time ? json::value(*time) : json::value(nullptr);
        out["dispute"] = std::move(dispute);
    }
    json::object paid;
    for (const auto& [address, facts] : event_log_->paid(task)) {
        paid[event_log_->name(address)] =
            json::object{{"segments", facts.segments}, {"amount", facts.amount.to_decimal()}};
    }
    out["paid"] = std::move(paid);
    out["engine"] = network_->validators() == nullptr ? "solo" : "comet";
    if (network_->validators() != nullptr) {
        out["validators"] = network_->validators()->size();
        RETRACE_TRY(equal, equal_app_hashes());
        out["app_hashes_equal"] = equal;
        RETRACE_TRY(finality, finality_ms());
        out["finality_ms"] = finality;
    }
    out["balances"] = std::move(balances);
    out["burned"] = supply.burned.to_decimal();
    out["minted"] = supply.minted.to_decimal();
    out["seconds"] = seconds();
    return out;
}

Result<json::object> Demo::play() {
    RETRACE_CHECK(set_up());
    RETRACE_CHECK(first_task());
    if (options_.cheat != "none") RETRACE_CHECK(second_task());
    RETRACE_TRY(facts, conclude());
    const auto refuse = [&](const std::string& what) {
        return error(what + "; everything is kept in " + folder_.string());
    };
    const std::string outcome(facts["outcome"].as_string());
    const std::string wanted = options_.cheat == "none"            ? "honest"
                               : options_.cheat == "false_accuser" ? "accuser_punished"
                               : options_.cheat == "silent"        ? "replaced"
                                                                   : "convicted";
    if (outcome != wanted) return refuse("the outcome is \"" + outcome + "\" and not \"" + wanted + "\"");
    if (accuracy_ < kAccuracyWanted) return refuse("the model's accuracy is below 85 %");
    if (facts.contains("app_hashes_equal") && !facts["app_hashes_equal"].as_bool())
        return refuse("the validators have different states");
    if (!facts["supply_conserved"].as_bool()) return refuse("the supply was not conserved");
    if (facts["honest_slashed"] != 0) return refuse("an honest party was slashed");
    if (options_.at_end) options_.at_end(facts);
    if (options_.folder.empty()) {
        network_.reset();
        store_.reset();
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    return facts;
}

}  // namespace

Result<json::object> run_demo(const DemoOptions& options) {
    static constexpr std::string_view kOthers[] = {"none", "false_accuser"};
    if (std::find(std::begin(kOthers), std::end(kOthers), options.cheat) == std::end(kOthers) &&
        !solver::parse_compute_attack(options.cheat)) {
        return error("unknown fraud \"" + options.cheat +
                     "\": ulp, skip_steps, wrong_data, stale_checkpoint, silent, none or false_accuser");
    }
    Demo demo(options);
    return demo.play();
}

}  // namespace retrace::node
