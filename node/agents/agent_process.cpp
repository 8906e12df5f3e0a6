// SPDX-License-Identifier: MIT
#include "node/agents/agent_process.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "kernels/offload/disk_speed.hpp"
#include "kernels/offload/scratch_file.hpp"
#include "ledger/crypto/eip55.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/task_journal_wire.hpp"
#include "node/artifacts/aes_gcm_seal.hpp"
#include "node/net/http_client.hpp"
#include "node/net/http_head.hpp"
#include "node/platform/disk_memory.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/machine_memory.hpp"
#include "node/platform/memory_dumps.hpp"
#include "node/platform/permissions.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/data/dataset.hpp"

namespace retrace::node {

namespace fs = std::filesystem;

namespace {

/// Bytes per second of a state from a party that has to serve it; half of what an artifact server sends at least. The
/// height until which the work waits for peers bounds the time, so who serves nothing is reported in time.
constexpr std::uint64_t kStateFloorRate = 8 << 10;

}  // namespace

Result<std::uint64_t> wait_for_node(RpcClient& client, const std::optional<std::chrono::seconds>& timeout) {
    const auto start = std::chrono::steady_clock::now();
    for (bool logged = false;; logged = true) {
        const auto chain_id = client.chain_id();
        if (chain_id) return *chain_id;
        if (!chain_id.error().no_answer) return error(chain_id.error().message);
        if (timeout && std::chrono::steady_clock::now() - start >= *timeout) {
            return error(chain_id.error().message +
                         "; start one with `retrace node --dev --data-dir DIR` or name another with --node");
        }
        if (!logged)
            spdlog::warn("event=waiting_for_node reason=\"{}\" remedy=\"retrace node --dev starts one\"",
                         chain_id.error().message);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

namespace {

/// The hash of the chain's first block as the node says. It is noted in the folder, because nodes may drop old blocks.
std::optional<Hash32> first_block_hash(RpcClient& client, const fs::path& folder) {
    const fs::path path = folder / "first-block";
    const auto block = client.call("eth_getBlockByNumber", {rpc::quantity(0), false});
    const auto* const hash = block && block->is_object() ? block->as_object().if_contains("hash") : nullptr;
    if (const auto told = hash != nullptr ? rpc::parse_hash(*hash) : rpc::parse_hash(nullptr)) {
        (void)write_durably(path, {view(*told)}, 0600);  // Not needed while the node tells it.
        return *told;
    }
    const auto noted = read_file(path, 32);
    if (!noted || noted->size() != 32) return std::nullopt;
    Hash32 out;
    std::copy(noted->begin(), noted->end(), out.bytes.begin());
    return out;
}

}  // namespace

Status<> bind_to_chain(const fs::path& folder, std::uint64_t chain_id) {
    RETRACE_CHECK(make_private_folder(folder.string()));
    const fs::path path = folder / "chain-id";
    const std::string text = std::to_string(chain_id);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
        RETRACE_CHECK(write_durably(path, {view(std::string_view(text))}, 0600));
        return Unit{};
    }
    const auto kept = read_file(path, 20);
    if (kept && *kept == to_bytes(view(std::string_view(text)))) return Unit{};
    return error(folder.string() + " belongs to chain " + (kept ? std::string(kept->begin(), kept->end()) : "?") +
                 " and the node is of chain " + text + "; use a --node of that chain, or another --data-dir");
}

Status<> check_reachable(const std::string& endpoint, const std::string& node_url) {
    const auto own = parse_url(endpoint), node = parse_url(node_url);
    if (!own)
        return error("the endpoint " + endpoint +
                     " is no URL: give --endpoint http://HOST:PORT at which others reach "
                     "this agent");
    if (!node) return Unit{};
    // Nobody reaches a machine by the address that stands for all of its own.
    const bool names_none = own->host == "0.0.0.0" || own->host == "::";
    if (!names_none && (!is_loopback(own->host) || is_loopback(node->host))) return Unit{};
    return error("the endpoint " + endpoint +
                 (names_none ? std::string(" names no machine")
                             : " is reached from this machine only, and the node is at " + node_url) +
                 ": others could not fetch what this agent has to serve, and it would lose stake; give --listen "
                 "0.0.0.0 and --port, and with --endpoint the URL at which others reach that port");
}

Status<> check_public_endpoint(const AgentOptions& options) {
    if (options.listen_chosen || !options.endpoint.empty() || !is_loopback(options.listen)) return Unit{};
    return error(
        "it would listen on " + options.listen +
        " only, because its node is on this machine: others could not fetch what it has to serve, and it would "
        "lose stake; give --listen 0.0.0.0, --port, and with --endpoint the URL at which others reach that port "
        "(or --listen " +
        options.listen + " if all parties of this chain are on this machine)");
}

Status<> check_node_of_data(const std::string& node_url, bool proves) {
    const auto node = parse_url(node_url);
    if (proves || (node && is_loopback(node->host))) return Unit{};
    return error(
        "--data is refused: the node at " + node_url +
        " is on another machine and its answers are not proved, so it chooses which programs read the data; run a "
        "node on this machine, or give --trust-height and --trust-hash");
}

std::uint64_t default_memory() { return memory_limit() / 4 * 3; }

namespace {

/// Puts large memory of this process on the disk of `folder`; returns its speed in bytes a second.
Result<double> open_disk_memory(const std::filesystem::path& folder) {
    const auto speed = kernels::measure_disk(folder);
    if (!speed) return error("--offload: " + speed.error().message);
    if (kernels::is_in_memory(folder))
        return error("--offload: " + folder.string() + " is in memory (tmpfs); name a folder on a disk");
    const double slower = std::min(speed->read, speed->written);
    if (slower < kernels::kSlowestDisk)
        return error("--offload: the disk in " + folder.string() + " moves " +
                     std::to_string(static_cast<std::uint64_t>(slower / 1e6)) + " MB a second; at least " +
                     std::to_string(static_cast<std::uint64_t>(kernels::kSlowestDisk / 1e6)) +
                     " are asked for (disk_slow)");
    if (const auto put = put_large_memory_on_disk(folder); !put) return error("--offload: " + put.error().message);
    return slower;
}

}  // namespace

AgentProcess::AgentProcess(const AgentOptions& options, ledger::SecretKey key, RpcClient client)
    : options_(options),
      key_(std::move(key)),
      client_(std::move(client)),
      chain_(client_, options.trust),
      pool_(options.threads) {}

Result<std::unique_ptr<AgentProcess>> AgentProcess::open(const AgentOptions& options, ledger::SecretKey key) {
    RETRACE_TRY(client, RpcClient::connect(options.node_url));
    std::unique_ptr<AgentProcess> process(new AgentProcess(options, std::move(key), std::move(client)));
    RETRACE_CHECK(wait_for_node(process->client_, options.timeout));
    process->chain_.on_old_block([](const std::string& why) { spdlog::warn("event=old_block reason=\"{}\"", why); });
    const auto chain_id = process->chain_.chain_id();
    if (!chain_id) return error(chain_id.error().message);
    RETRACE_CHECK(bind_to_chain(options.data_dir, *chain_id));
    process->submitter_ = std::make_unique<Submitter>(process->client_, process->key_, *chain_id);
    process->chain_id_ = *chain_id;
    process->genesis_ = first_block_hash(process->client_, options.data_dir);
    const auto height = process->chain_.height();
    if (!height) return error(height.error().message);
    const RemoteState state = process->chain_.state(*height);
    const auto params = process->immutable_.params(state);
    if (!params) return error("the node at " + options.node_url + " has no Retrace contracts");
    process->developer_chain_ = params->developer_chain;
    if (!process->developer_chain_) RETRACE_CHECK(check_public_endpoint(options));
    if (!options.private_data.empty() && !options.offload.empty())
        return error("--data is refused beside --offload, which would write the data to the disk as they are");
    if (!options.private_data.empty()) {
        RETRACE_CHECK(check_node_of_data(options.node_url, options.trust.has_value()));
        if (!process->developer_chain_)
            return error("--data is refused: the chain at " + options.node_url +
                         " is not a developer chain, and private trainings are not safe for members yet "
                         "(docs/threat-model.md, open 55)");
    }
    if (!options.offload.empty()) {
        RETRACE_TRY(speed, open_disk_memory(options.offload));
        process->disk_speed_ = speed;
    }
    process->earnings_.last = *height;
    RETRACE_CHECK(process->load_private_data());
    RETRACE_CHECK(process->open_stores());
    spdlog::info("event=started address={} chain={} endpoint={}", ledger::to_checksum(process->address()), *chain_id,
                 process->endpoint());
    return process;
}

Status<> AgentProcess::load_private_data() {
    // Before any of it is in memory: a core file would be on this machine's disk, or go to whoever collects them.
    if (!options_.private_data.empty()) RETRACE_CHECK(forbid_memory_dumps());
    for (const auto& [folder, task, member] : options_.private_data) {
        auto data = load_dataset(folder);
        if (!data) return error("--data " + folder.string() + ": " + data.error().message);
        if (task == 0) {
            own_data_ = data->roots();
        } else {
            audited_data_.push_back({task, member, data->roots()});
        }
        for (DataSet::Part& part : data->parts) {
            private_roots_.insert(part.root);
            private_data_.add(part.root, std::move(part.tensor));
        }
    }
    return Unit{};
}

Status<> AgentProcess::open_stores() {
    auto artifacts = Store::open(options_.data_dir / "artifacts");
    if (!artifacts) return error(artifacts.error().message);
    artifacts_ = std::move(*artifacts);
    garbage_collector_ = std::make_unique<GarbageCollector>(*artifacts_, options_.retention_blocks);
    RETRACE_TRY(checkpoints, solver::CheckpointStore::open(options_.data_dir / "checkpoints",
                                                           std::make_unique<AesGcmSeal>(secret())));
    checkpoints_ = std::move(checkpoints);
    ArtifactClient::Options fetching;
    fetching.stop = [this] { return fetching_is_over(); };
    fetcher_ = std::make_unique<ArtifactClient>(*artifacts_, fetching);
    source_ = std::make_unique<PeerSource>(*artifacts_, *fetcher_, [this] { return peers_to_ask(); });
    source_->add_own(*checkpoints_);
    RETRACE_TRY(messages, solver::MessageStore::open(options_.data_dir / "messages"));
    messages_ = std::move(messages);
    source_->add_messages(*messages_);
    source_->ask_authors([this](const solver::RunKey& author) { return peers_for_message(author); });
    server_ = std::make_unique<ArtifactServer>(*artifacts_, [](const Hash32&) { return false; });
    provider_ = std::make_unique<CheckpointProvider>(*checkpoints_);
    if (!audited_data_.empty()) provider_->withhold_all();
    server_->add_provider(*provider_);
    server_->add_messages(*messages_);
    server_->refuse(private_roots_);
    ledger::random_bytes(instance_.bytes);
    server_->answer_party([secret = secret(), instance = instance_](std::string_view challenge) {
        return party_answer(secret, instance, challenge);
    });
    RETRACE_TRY(journals, TaskJournals::open(options_.data_dir / "task-logs"));
    journals_ = std::move(journals);
    server_->answer_more(std::string(kJournalPath),
                         [this, at = JournalPlace{chain_id_, address()}](std::string_view target) {
                             return answer_journal(*journals_, at, height_, target);
                         });
    if (options_.tamper) server_->tamper_with_answers(options_.tamper);
    ArtifactHttpServer::Options serving{.address = options_.listen, .port = options_.port};
    // A proxy in front of a loopback port may pass on the host name by which it was reached.
    const auto own = parse_url(options_.endpoint);
    if (is_loopback(options_.listen))
        serving.hosts = hosts_of(options_.listen, own ? std::vector{own->host} : std::vector<std::string>());
    serving.any_page = !is_loopback(options_.listen) || own;
    auto http = ArtifactHttpServer::start(*server_, serving);
    if (!http) return error(http.error().message);
    http_ = std::move(*http);
    return Unit{};
}

Hash32 AgentProcess::secret() const {
    return merkle::sha256({view(std::string_view("retrace/party-secret/1")), key_.bytes()});
}

std::string AgentProcess::endpoint() const { return options_.endpoint.empty() ? http_->url() : options_.endpoint; }

void AgentProcess::set_peers(RunPeers peers) {
    const std::lock_guard lock(peers_mutex_);
    peers_ = std::move(peers);
}

PeerList AgentProcess::peers_to_ask() {
    const std::lock_guard lock(peers_mutex_);
    PeerList out = peers_.of(fetching_.of, endpoint());
    out.first.insert(out.first.begin(), options_.node_url);
    return out;
}

PeerList AgentProcess::peers_for_message(const solver::RunKey& author) {
    const std::lock_guard lock(peers_mutex_);
    PeerList out = peers_.of(author, endpoint());
    for (const std::string& peer : peers_.of(fetching_.of, endpoint()).first) {
        if (std::find(out.first.begin(), out.first.end(), peer) == out.first.end()) out.first.push_back(peer);
        std::erase(out.others, peer);
    }
    return out;
}

void AgentProcess::begin_fetching(const solver::RunKey& of, const std::string& what, std::uint64_t fetch_by,
                                  const kernels::StopToken& stop) {
    const std::uint64_t height = height_;
    fetching_ = {of, what, fetch_by > height ? height + (fetch_by - height) / 2 : height, fetch_by, false, stop};
    // Without a block at which it is over, a peer that sends slowly on purpose would hold the fetch for ever.
    fetcher_->set_slow_rate(fetch_by == 0 ? std::nullopt : std::optional(kStateFloorRate));
    fetcher_->ask_again(peers_to_ask().first);
}

bool AgentProcess::fetching_is_over() {
    if (stopping_ || fetching_.stop.stop_requested()) return true;
    if (fetching_.by == 0) return false;
    const std::uint64_t height = height_;
    if (!fetching_.logged && height > fetching_.slow_from) {
        fetching_.logged = true;
        spdlog::warn("event=slow_fetch work=\"{}\" height={} until={}", fetching_.what, height, fetching_.by);
        journals_->add(fetching_.of.first, {height, fetching_.of.second,
                                            fetching_.what + ": still waits for files of others, until block " +
                                                std::to_string(fetching_.by)});
    }
    return height >= fetching_.by;
}

Status<> AgentProcess::check_endpoint() const { return check_reachable(endpoint(), options_.node_url); }

Status<> AgentProcess::check_alone(const std::string& registered) const {
    // An endpoint that is equal to this one may be given by hand, while another process answers there.
    if (registered.empty()) return Unit{};
    const auto other = ask_party(registered, secret());
    if (!other || *other == instance_) return Unit{};
    return error(already_runs(ledger::to_checksum(submitter_->address()), registered));
}

Status<> AgentProcess::check_not_replaced(const std::string& registered) {
    if (!guard_) guard_.emplace(endpoint());
    if (!guard_->is_replaced(registered)) return Unit{};
    return error(already_runs(ledger::to_checksum(address()), registered));
}

const Earnings& AgentProcess::earnings() {
    if (const auto read = earnings_.advance(client_, address(), height_); !read)
        spdlog::debug("event=earnings_not_read reason=\"{}\"", read.error().message);
    return earnings_;
}

void AgentProcess::report_earnings() { spdlog::info("event=earned total=\"{}\"", text_of(earnings())); }

Status<> AgentProcess::bond(const ledger::U256& minimum) {
    const auto height = chain_.height();
    if (!height) return error(height.error().message);
    const RemoteState state = chain_.state(*height);
    const ledger::U256 bonded = contracts::views::stake(state, address()).bonded;
    const ledger::U256 wanted = ledger::max(options_.stake, minimum);
    if (state.failure()) return error(state.failure()->message);
    if (bonded >= wanted) return Unit{};
    RETRACE_CHECK(submitter_->execute("deposit stake", contracts::Deposit{}, wanted - bonded));
    spdlog::info("event=bonded stake={}", format_coins(wanted));
    return Unit{};
}

std::optional<std::uint64_t> AgentProcess::new_height() {
    // What is proved is a block behind: the first view is not older than what the agent sent before.
    if (options_.trust && first_height_ == 0) first_height_ = client_.height().value_or(0);
    const auto height = chain_.height();
    if (!height) {
        if (!lost_node_) spdlog::warn("event=node_unreachable reason=\"{}\"", height.error().message);
        lost_node_ = true;
        return std::nullopt;
    }
    if (lost_node_) spdlog::info("event=node_reachable height={}", *height);
    lost_node_ = false;
    if (*height == height_ || *height < first_height_) return std::nullopt;
    height_ = *height;
    return *height;
}

void AgentProcess::report_outcomes() {
    for (const Finished& finished : submitter_->poll()) {
        earnings_.add_fees(finished.outcome);
        if (finished.outcome.ok)
            spdlog::debug("event=included call=\"{}\" height={}", finished.what, finished.outcome.height);
        else
            spdlog::warn("event=refused call=\"{}\" height={} reason=\"{}\"", finished.what, finished.outcome.height,
                         finished.outcome.reason);
    }
}

void AgentProcess::collect_garbage(std::uint64_t height, const std::map<std::uint64_t, solver::TaskTerms>& tasks) {
    constexpr std::uint64_t kEvery = 100;  // Blocks. A collection reads the folders of the store.
    if (collected_height_ != 0 && height < collected_height_ + kEvery) return;
    collected_height_ = height;
    std::set<Hash32> named;
    for (const auto& [id, terms] : tasks) {
        named.insert({terms.program_root, terms.init_root, terms.initial_state_root});
        named.insert(terms.data_roots.begin(), terms.data_roots.end());
    }
    if (const std::size_t deleted = garbage_collector_->collect(height, named); deleted != 0)
        spdlog::info("event=deleted artifacts={} height={}", deleted, height);
}

}  // namespace retrace::node
