// SPDX-License-Identifier: MIT
// Real members, each in a network namespace behind a link of a given rate, paced, so that what one machine shows holds
// for faster machines on faster links: only the ratio of the time of a dense update on a link to that of a round's
// steps counts.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

#include "contracts/records/group_views.hpp"
#include "node/agents/requester.hpp"
#include "node/cmd/demo/local_network.hpp"
#include "node/platform/units.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/tasks/compile.hpp"
#include "node/tasks/open_data.hpp"
#include "tests/bench/rounds/gloo.hpp"
#include "tests/bench/rounds/in_child.hpp"
#include "tests/bench/rounds/measurements.hpp"
#include "tests/netlab/namespaces.hpp"
#include "tests/netlab/relay.hpp"

namespace retrace::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using node::Namespaces;

constexpr std::uint32_t kPacedMembers = 8, kVerifiers = 2;
/// Of a paced inner step: below the ten seconds after which a party gives up a step.
constexpr double kStepMax = 4;
constexpr std::uint64_t kBlockMs = 200;
constexpr std::uint32_t kMeasured = 3;  ///< Rounds; the first of a training is not one of them.
constexpr double kTimeout = 120;        // seconds beyond the time of the steps
constexpr std::uint64_t kWidth = 1024;  ///< Of both hidden layers: 1.9 million parameters.
constexpr std::uint32_t kHost = 254;    ///< This process on the bridge.
constexpr std::uint64_t kSamples = 2048;

template <class T, class E>
T must(Result<T, E> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}
void must(Status<> status) {
    if (!status) throw std::runtime_error(status.error().message);
}

std::uint64_t parameters() { return 784 * kWidth + kWidth + kWidth * kWidth + kWidth + kWidth * 10 + 10; }

/// The first samples of a data set.
node::DataSet first_samples(node::DataSet data) {
    for (node::DataSet::Part& part : data.parts) {
        kernels::Tensor& tensor = part.tensor;
        tensor.data.resize(tensor.data.size() / tensor.dims[0] * kSamples);
        tensor.dims[0] = kSamples;
        part = node::make_part(part.name, std::move(tensor));
    }
    return data;
}

/// Inner steps of a member in a round of so many seconds.
std::uint32_t inner_steps(double seconds) {
    return std::max(kInner, static_cast<std::uint32_t>(std::ceil(seconds / kStepMax)));
}

std::string host_of(std::uint32_t number) { return Namespaces::kPrefix + std::to_string(number); }

/// A training in rounds of real processes, of which only the first rounds are played.
class PacedTraining {
public:
    PacedTraining(double ratio, double seconds, const std::string& program);
    ~PacedTraining() {
        network_.reset();
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    /// Seconds from the end of a round to that of the next, when every member makes all its steps.
    double seconds_of_a_round();

private:
    void compile(double seconds);
    void start(double seconds);
    /// Waits until all members have their first state, then limits the links: programs and data are fetched before.
    void limit_links();
    void await_round(std::uint32_t round);
    /// Prints in how many blocks the members did each part of the measured rounds.
    void print_phases();

    std::uint32_t inner_;
    std::uint64_t rate_;  ///< Bytes per second of each member's link, in each direction.
    fs::path folder_;
    std::optional<Namespaces> namespaces_;
    std::optional<node::TaskFile> task_;
    std::unique_ptr<node::LocalNetwork> network_;
    std::uint16_t node_port_ = 0;
    std::optional<netlab::Relay> relay_;  ///< A developer chain's node serves on 127.0.0.1 only.
    std::unique_ptr<node::RpcClient> client_;
    std::unique_ptr<node::ChainReader> chain_;
    std::unique_ptr<node::Store> store_;
    std::uint64_t id_ = 0;
    Clock::time_point end_;
};

void PacedTraining::compile(double seconds) {
    node::DataRequest data;
    data.data = "fashion-mnist";
    auto opened = must(node::open_data(data));
    node::CompileRequest request;
    request.model.kind = "mlp";
    request.model.hidden = {kWidth, kWidth};
    request.training.batch = 16;
    request.rounds.emplace();
    node::RoundsRequest& rounds = *request.rounds;
    rounds.spec.inner = inner_;
    rounds.terms.rounds = 64;
    rounds.terms.members = kPacedMembers;
    rounds.terms.least = kPacedMembers;
    const auto blocks = static_cast<std::uint64_t>(1000 * seconds) / kBlockMs;
    rounds.terms.round_blocks = 2 * blocks;
    rounds.terms.grace_blocks = 2 * blocks;
    rounds.terms.fetch_blocks = rounds.terms.reveal_blocks = blocks;
    rounds.terms.absence_limit = 2;
    request.task.name = "measured";
    request.task.steps = rounds.terms.rounds * inner_;
    request.task.interval = inner_;
    request.task.price_ceiling = *node::parse_coins("0.6");
    request.task.audit_bp = 500;
    request.task.auditors = kVerifiers;
    // An auditor fetches five tensors of a dense update's size on the member's link, and beside messages.
    request.task.replay_blocks = 12 * blocks;
    request.task.checkpoint_blocks = 100;
    request.task.finish_blocks = 100'000;
    request.out = folder_ / "task";
    const node::DataSet test = first_samples(*std::move(opened.test));
    task_ = must(node::compile_task(request, first_samples(std::move(opened.train)), &test));
}

PacedTraining::PacedTraining(double ratio, double seconds, const std::string& program)
    : inner_(inner_steps(seconds)),
      rate_(static_cast<std::uint64_t>(4 * static_cast<double>(parameters()) / (ratio * seconds))) {
    std::string pattern = (fs::temp_directory_path() / "retrace-rounds-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
    folder_ = pattern;
    compile(seconds);
    namespaces_.emplace(must(Namespaces::enter(kPacedMembers)));
    const fs::path script = folder_ / "in_namespace";
    std::ofstream out(script);
    out << "#!/bin/sh\nPATH=$PATH:/usr/sbin:/sbin\ncase \"$*\" in\n";
    for (std::uint32_t i = 0; i < kPacedMembers; ++i) {
        out << "*/party-" << i + 1 << "\\ *) exec ip netns exec node" << i << " \"" << program << "\" \"$@\" ;;\n";
    }
    out << "esac\nexec \"" << program << "\" \"$@\"\n";
    out.close();
    fs::permissions(script, fs::perms::owner_all);

    std::vector<node::Party> parties{{node::Party::Kind::requester, "requester"}};
    for (std::uint32_t i = 1; i <= kPacedMembers; ++i)
        parties.push_back({node::Party::Kind::solver, "member " + std::to_string(i)});
    for (std::uint32_t i = 1; i <= kVerifiers; ++i)
        parties.push_back({node::Party::Kind::verifier, "verifier " + std::to_string(i)});
    network_ = must(node::LocalNetwork::assemble(folder_ / "network", script, kBlockMs, {{"unbond_blocks", 500'000}},
                                                 false, 0, std::move(parties)));
    must(network_->start_node({"--rpc-allow-host", host_of(kHost)}));
    const std::string& url = network_->node_url();
    node_port_ = static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
    relay_.emplace(host_of(kHost), node_port_);
    start(seconds);
}

void PacedTraining::start(double seconds) {
    client_ = std::make_unique<node::RpcClient>(must(node::RpcClient::connect(network_->node_url())));
    chain_ = std::make_unique<node::ChainReader>(*client_);
    for (std::uint32_t i = 1; i <= kPacedMembers; ++i) {
        const std::string host = host_of(i);
        must(network_->start(
            node::Role{i},
            {"--price", "0.5", "--stake", "200", "--groups", "--listen", host, "--port", "9000", "--endpoint",
             "http://" + host + ":9000", "--poll-ms", "100", "--pace", std::to_string(inner_ / seconds)},
            "http://" + host_of(kHost) + ":" + std::to_string(node_port_)));
    }
    const std::string host = host_of(kHost);
    for (std::uint32_t i = 1; i <= kVerifiers; ++i) {
        const std::string port = std::to_string(9000 + i);
        must(network_->start(node::Role{kPacedMembers + i},
                             {"--listen", host, "--port", port, "--endpoint", "http://" + host + ":" + port}));
    }
    end_ = Clock::now() + std::chrono::seconds(60);
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
        const node::RemoteState state = must(chain_->newest());
        std::uint32_t there = 0;
        for (std::uint32_t i = 1; i <= kPacedMembers; ++i)
            there += contracts::views::solver(state, network_->address(node::Role{i})) ? 1 : 0;
        if (const auto ended = network_->ended_process()) throw std::runtime_error(*ended + " ended");
        if (there == kPacedMembers && contracts::views::verifiers(state).size() == kVerifiers) break;
        if (Clock::now() > end_) throw std::runtime_error("the parties did not register in time");
    }
    store_ = must(node::Store::open(folder_ / "requester"));
    const ledger::SecretKey key = network_->key(node::Role::requester);
    node::Submitter submitter(*client_, key, node::kDevChainId, chain_.get());
    id_ = must(node::post_task(*task_, *store_, submitter, *chain_, [](const node::ArtifactClient::Progress&) {})).id;
    end_ = Clock::now() +
           std::chrono::milliseconds(static_cast<std::int64_t>(1000 * (kTimeout + (kMeasured + 1) * 4 * seconds)));
}

void PacedTraining::limit_links() {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
        const auto group = contracts::views::group(must(chain_->newest()), id_);
        if (group && group->phase == market::GroupPhase::training) break;
        if (const auto ended = network_->ended_process()) throw std::runtime_error(*ended + " ended");
        if (Clock::now() > end_) throw std::runtime_error("the group did not begin in time");
    }
    for (std::uint32_t i = 0; i < kPacedMembers; ++i) must(namespaces_->limit_rate(i, rate_));
}

void PacedTraining::await_round(std::uint32_t round) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
        const node::RemoteState state = must(chain_->newest());
        const auto group = contracts::views::group(state, id_);
        if (group && group->round >= round) return;
        if (const auto ended = network_->ended_process()) throw std::runtime_error(*ended + " ended");
        if (Clock::now() > end_) throw std::runtime_error("the rounds did not end in time");
    }
}

/// Bytes that a member has received, headers of all layers included.
std::uint64_t bytes_received(std::uint32_t member) {
    std::ifstream devices("/proc/self/net/dev");
    const std::string name = "port" + std::to_string(member) + ":";
    for (std::string word; devices >> word;) {
        if (word != name) continue;
        for (int column = 0; column < 9; ++column) devices >> word;  // What the bridge sends to it is the ninth.
        return std::stoull(word);
    }
    throw std::runtime_error("/proc/net/dev has no " + name);
}

void PacedTraining::print_phases() {
    const std::uint64_t height = must(client_->height());
    std::uint64_t begin = 0, first = 0, spread = 0, reveal = 0;
    for (const node::PlacedLog& placed :
         must(client_->logs(contracts::address_of(contracts::Contract::groups), 1, height))) {
        if (contracts::decode_event<contracts::SegmentCommitted>(placed.log)) {
            first = first == 0 ? placed.height : first;
        } else if (const auto phase = contracts::decode_event<contracts::RoundPhaseChanged>(placed.log)) {
            switch (static_cast<market::GroupPhase>(phase->phase)) {
                case market::GroupPhase::training:
                    begin = placed.height;
                    first = 0;
                    break;
                case market::GroupPhase::spreading: spread = placed.height; break;
                case market::GroupPhase::revealing: reveal = placed.height; break;
                default: break;
            }
        } else if (const auto closed = contracts::decode_event<contracts::RoundClosed>(placed.log)) {
            std::fprintf(stderr,
                         "round %u: blocks until the first message %lld, the last %lld, the lists %lld, the record "
                         "%lld\n",
                         closed->round, static_cast<long long>(first - begin), static_cast<long long>(spread - first),
                         static_cast<long long>(reveal - spread), static_cast<long long>(placed.height - reveal));
        }
    }
}

double PacedTraining::seconds_of_a_round() {
    limit_links();
    await_round(1);
    const std::uint64_t received = bytes_received(0);
    const Clock::time_point from = Clock::now();
    await_round(1 + kMeasured);
    const double seconds = std::chrono::duration<double>(Clock::now() - from).count() / kMeasured;
    std::fprintf(stderr, "a member received %.0f bytes a round; a dense update has %llu\n",
                 static_cast<double>(bytes_received(0) - received) / kMeasured,
                 static_cast<unsigned long long>(4 * parameters()));
    print_phases();
    const node::RemoteState state = must(chain_->newest());
    for (std::uint32_t round = 1; round <= kMeasured; ++round) {
        const auto record = contracts::views::round(state, id_, round);
        std::uint32_t steps = 0;
        if (record)
            for (const auto& entry : record->entries) steps += entry.steps;
        if (steps != kPacedMembers * inner_)
            throw std::runtime_error("round " + std::to_string(round) + " has " + std::to_string(steps) + " steps of " +
                                     std::to_string(kPacedMembers * inner_));
    }
    return seconds;
}

/// Time of a round over that of its steps.
double stretch(double ratio, double seconds, const std::string& program) {
    const double round = in_child([&] { return PacedTraining(ratio, seconds, program).seconds_of_a_round(); });
    std::fprintf(stderr, "ratio %.2f: a round takes %.2f s, its steps %.2f s\n", ratio, round, seconds);
    return round / seconds;
}

}  // namespace

std::vector<Row> measure_network(const RoundsOptions& options, const Wants& wants) {
    std::vector<Row> rows;
    const std::string program = program_beside("retrace");
    const auto add = [&](const char* name, const char* peer, const std::function<double()>& value, double peer_value) {
        if (!wants(name) && !wants("rounds_network")) return;
        try {
            rows.push_back({name, "", peer, value(), peer_value});
        } catch (const std::exception& e) {
            rows.push_back({name, "", std::string(kFailed) + e.what()});
        }
    };
    std::map<double, double> known, known_of_gloo;
    const auto stretched = [&](double ratio) {
        if (!known.contains(ratio)) known[ratio] = stretch(ratio, options.round_seconds, program);
        return known.at(ratio);
    };
    const auto stretched_gloo = [&](double ratio) {
        if (!known_of_gloo.contains(ratio)) known_of_gloo[ratio] = gloo_stretch(ratio, parameters(), kPacedMembers);
        return known_of_gloo.at(ratio);
    };
    add(
        "rounds_utilisation", "share of the steps in a round, goal", [&] { return 1 / stretched(1); }, 0.945);
    add(
        "rounds_slow10", "speed on a link ten times as fast, goal", [&] { return stretched(0.1) / stretched(1); }, 0.8);
    add(
        "rounds_scale", "eight times one member, goal", [&] { return 1 / stretched(0.5); }, 0.93);
    add(
        "gloo_utilisation", "nothing: a peer that sums dense updates", [&] { return 1 / stretched_gloo(1); }, 0);
    add(
        "gloo_slow10", "nothing: a peer that sums dense updates",
        [&] { return stretched_gloo(0.1) / stretched_gloo(1); }, 0);
    return rows;
}

}  // namespace retrace::bench
