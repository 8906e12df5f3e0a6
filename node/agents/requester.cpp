// SPDX-License-Identifier: MIT
#include "node/agents/requester.hpp"

#include <algorithm>
#include <thread>

#include "contracts/records/auctions.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "kernels/commit/contract.hpp"
#include "kernels/program/codec.hpp"
#include "market/escrow.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/agents/call_checks.hpp"
#include "node/agents/delivered_runs.hpp"
#include "node/agents/explained_task.hpp"
#include "node/agents/group_receipt.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/run_peers.hpp"
#include "node/artifacts/peer_source.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/evaluate.hpp"
#include "node/tasks/group_task.hpp"
#include "node/tasks/initial_state.hpp"
#include "solver/artifacts/group_artifacts.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using Progress = std::function<void(const ArtifactClient::Progress&)>;

constexpr std::chrono::seconds kProofTimeout{30};  // For a node that is restarted and proves nothing yet.

Result<Hash32> put_program(Store& store, const std::filesystem::path& path, std::uint64_t* bytes) {
    const auto file = read_file(path, kProgramBytesMax);
    if (!file) return error(file.error().message);
    const auto root = store.put_program(*file);
    if (!root) return error(path.string() + ": " + root.error().message);
    if (bytes != nullptr) *bytes = file->size();
    return *root;
}

/// Stores imported weights, the initial state that the task names instead of an initialiser.
Result<Hash32> put_initial_state(Store& store, const Hash32& program_root, const TaskFile& task) {
    const auto program = store.program(program_root);
    if (!program) return error(task.program.string() + ": " + program.error().message);
    RETRACE_TRY(state, read_initial_state(*task.initial_state, *program));
    const auto root = store.put_state(program_root, state);
    if (!root) return error(task.initial_state->string() + ": " + root.error().message);
    return *root;
}

Status<Failure> upload_once(ArtifactClient& uploader, const market::TaskSpec& spec, const std::string& node_url) {
    RETRACE_CHECK(uploader.upload_program(node_url, spec.program_root));
    if (!spec.init_root.is_zero()) RETRACE_CHECK(uploader.upload_program(node_url, spec.init_root));
    if (!spec.initial_state_root.is_zero()) RETRACE_CHECK(uploader.upload_state(node_url, spec.initial_state_root));
    for (const Hash32& root : spec.data_roots) RETRACE_CHECK(uploader.upload_tensor(node_url, root));
    return Unit{};
}

}  // namespace

namespace {

/// Whether [compiled] says what follows from the file.
Status<> check_facts(const TaskFile& task, const CompiledFacts& facts, const std::filesystem::path& file) {
    if (!task.compiled || *task.compiled == facts) return Unit{};
    return error("[compiled] in task.toml is not that of " + file.string() +
                 " and this version of retrace; compile the task again");
}

/// Stores the programs and sets their roots, the steps and their cost.
Status<> put_programs(const TaskFile& task, Store& store, market::TaskSpec& spec) {
    RETRACE_TRY(program, put_program(store, task.program, &spec.program_bytes));
    spec.program_root = program;
    if (task.initialiser) {
        RETRACE_TRY(init, put_program(store, *task.initialiser, nullptr));
        spec.init_root = init;
    } else {
        RETRACE_TRY(root, put_initial_state(store, spec.program_root, task));
        spec.initial_state_root = root;
    }
    const auto stored = store.program(spec.program_root);
    if (!stored) return error(task.program.string() + ": " + stored.error().message);
    spec.step_cost = kernels::step_cost(*stored);
    RETRACE_CHECK(check_facts(task, facts_of(*stored), task.program));
    spec.steps = task.steps;
    spec.interval = task.interval;
    spec.replicas = task.replicas;
    return Unit{};
}

/// The same for a training in rounds, whose members read every program from the plan. The initialiser is stored beside
/// it, because the terms name it too.
Status<> put_plan(const TaskFile& task, Store& store, market::TaskSpec& spec) {
    const GroupTerms& terms = *task.group;
    RETRACE_TRY(plan, read_plan(terms));
    RETRACE_CHECK(check_facts(task, facts_of(plan), terms.plan));
    RETRACE_TRY(group, group_spec_of(terms, plan));
    RETRACE_TRY(root, put_program(store, terms.plan, &spec.program_bytes));
    spec.program_root = root;
    const auto init = store.put_program(kernels::encode(plan.at(kernels::Phase::init).program));
    if (!init) return error(terms.plan.string() + ": " + init.error().message);
    spec.init_root = *init;
    spec.step_cost = segment_cost(plan, terms.members);
    spec.steps = std::uint64_t{group.rounds} + 1;
    spec.interval = 1;
    spec.replicas = static_cast<std::uint8_t>(terms.members);
    return Unit{};
}

Status<> put_data(const TaskFile& task, Store& store, market::TaskSpec& spec) {
    RETRACE_TRY(data, load_dataset(task.data));
    for (const DataSet::Part& part : data.parts) {
        const auto stored = store.put_tensor(part.tensor);
        if (!stored) return error(task.data.string() + ": " + stored.error().message);
        spec.data_roots.push_back(*stored);
    }
    return Unit{};
}

}  // namespace

Result<market::TaskSpec> spec_of(const TaskFile& task, Store& store) {
    market::TaskSpec spec;
    spec.name = task.name;
    RETRACE_CHECK(task.group ? put_plan(task, store, spec) : put_programs(task, store, spec));
    if (!task.group || !task.group->private_data) {
        RETRACE_CHECK(put_data(task, store, spec));
    }
    spec.seed = task.seed;
    spec.contract_hash = kernels::contract_hash();
    spec.price_ceiling = task.price_ceiling;
    spec.last_ceiling = task.last_ceiling;
    spec.auctions = task.auctions;
    spec.pause_blocks = task.pause_blocks;
    spec.audit_bp = task.audit_bp;
    spec.auditors = task.auditors;
    spec.hardware_class = task.hardware_class;
    spec.checkpoint_blocks = task.checkpoint_blocks;
    spec.replay_blocks = task.replay_blocks;
    spec.finish_blocks = task.finish_blocks;
    spec.allow_unaudited = task.allow_unaudited;
    if (task.group && task.group->private_data && !task.allow_unaudited)
        return error(
            "[rounds] private needs allow_unaudited = true: what members do on data of their own is paid though "
            "nobody may be able to check it");
    spec.spot = task.spot;
    return spec;
}

Status<> upload_task(const market::TaskSpec& spec, Store& store, RpcClient& client, const Progress& progress) {
    constexpr int kAttempts = 5;
    ArtifactClient uploader(store);
    uploader.set_progress(progress);
    Status<Failure> done = upload_once(uploader, spec, client.url());
    for (int i = 1; i < kAttempts && !done && done.error().fault == Fault::unreachable; ++i) {
        if (const auto there = client.height(); !there) return error(there.error().message);
        done = upload_once(uploader, spec, client.url());
    }
    if (!done) return error("upload: " + done.error().message);
    return Unit{};
}

std::size_t possible_auditors(const ledger::StateView& state, const market::Params& params,
                              const market::TaskSpec& spec, const ledger::Address& requester) {
    return views::possible_auditors(state, params, {requester}, spec.auditors);
}

Status<> check_auditors(const ledger::StateView& state, const market::Params& params, const market::TaskSpec& spec,
                        const ledger::Address& requester) {
    const std::size_t there = possible_auditors(state, params, spec, requester);
    if (spec.allow_unaudited || there >= spec.auditors) return Unit{};
    return error("the task asks for " + std::to_string(spec.auditors) + " auditors and " + std::to_string(there) +
                 " could be drawn, so that its segments would wait for others; wait for verifiers, lower auditors in " +
                 "task.toml, or pay for unaudited work with --allow-unaudited");
}

namespace {

Result<TxOutcome> send_terms(const TaskFile& task, const PostedTask& posted, Submitter& submitter) {
    if (!task.group) return submitter.execute("post task", contracts::PostTask{posted.spec}, posted.escrow);
    RETRACE_TRY(plan, read_plan(*task.group));
    RETRACE_TRY(group, group_spec_of(*task.group, plan));
    return submitter.execute("post task", contracts::PostGroup{posted.spec, std::move(group)}, posted.escrow);
}

/// Places that others may take between the question for the price and the posting.
constexpr std::uint64_t kTasksAhead = 64;

/// Coins that a posting brings: the escrow, and a deposit for the rent of its place if there is one (contracts 12.8).
Result<ledger::U256> value_of(const ledger::StateView& state, const market::Params& params, const TaskFile& task,
                              const market::TaskSpec& spec) {
    const auto escrow = market::escrow_of(spec, params);
    if (!escrow) return error("price_ceiling is too large");
    std::optional<market::GroupSpec> group;
    if (task.group) {
        RETRACE_TRY(plan, read_plan(*task.group));
        RETRACE_TRY(terms, group_spec_of(*task.group, plan));
        group = std::move(terms);
    }
    const auto deposit = views::rent_deposit(state, params, spec, group ? &*group : nullptr, kTasksAhead);
    if (!deposit) return error("the chain has as many open tasks as it may have; post when some of them have ended");
    return escrow->total() + *deposit;
}

}  // namespace

Result<PostingCall> posting_call(const TaskFile& task, Store& store, ChainReader& chain) {
    RETRACE_TRY(spec, spec_of(task, store));
    RETRACE_TRY(state, chain.newest());
    const auto params = views::params(state);
    if (state.failure()) return error(state.failure()->message);
    if (!params) return error("the node at " + chain.client().url() + " has no Retrace contracts");
    if (task.group && task.group->private_data && !params->developer_chain)
        return error(
            "a private training is posted on developer chains only: what is not safe yet for members is in "
            "docs/threat-model.md, open 55");
    const auto value = value_of(state, *params, task, spec);
    if (state.failure()) return error(state.failure()->message);
    if (!value) return error(value.error().message);
    PostingCall out;
    out.value = *value;
    out.to = contracts::address_of(task.group ? contracts::PostGroup::kContract : contracts::PostTask::kContract);
    if (!task.group) {
        out.data = contracts::calldata(contracts::PostTask{spec});
        return out;
    }
    RETRACE_TRY(plan, read_plan(*task.group));
    RETRACE_TRY(group, group_spec_of(*task.group, plan));
    out.data = contracts::calldata(contracts::PostGroup{spec, std::move(group)});
    return out;
}

namespace {

/// What is said when the files of a posted task could not be uploaded.
std::string upload_failure(ChainReader& chain, std::uint64_t task, const std::string& why) {
    const std::string id = std::to_string(task);
    const auto now = explained_task(chain, task);
    if (!now || !market::is_final(now->state))
        return "task " + id + " is posted, but " + why + "; go on with `retrace task upload " + id + " FILE`";
    return "task " + id + " has ended before its files were uploaded (" + std::string(market::slug(now->state)) +
           "): " + now->why + (now->remedy.empty() ? "" : "; " + now->remedy);
}

}  // namespace

Result<std::uint64_t> admit_members(Submitter& submitter, std::uint64_t task,
                                    const std::vector<ledger::Address>& accounts) {
    std::uint64_t height = 0;
    for (std::size_t first = 0; first < accounts.size(); first += market::kNamedInCallMax) {
        const std::size_t end = std::min(accounts.size(), first + market::kNamedInCallMax);
        const contracts::AdmitMembers call{task,
                                           {accounts.begin() + static_cast<std::ptrdiff_t>(first),
                                            accounts.begin() + static_cast<std::ptrdiff_t>(end)}};
        RETRACE_TRY(outcome, submitter.execute("admit members", call));
        height = outcome.height;
    }
    return height;
}

Result<PostedTask> post_task(const TaskFile& task, Store& store, Submitter& submitter, ChainReader& chain,
                             const Progress& progress, const std::vector<ledger::Address>& admitted) {
    PostedTask out;
    RpcClient& client = chain.client();
    RETRACE_TRY(spec, spec_of(task, store));
    out.spec = std::move(spec);
    RETRACE_TRY(state, chain.newest());
    const auto params = views::params(state);
    if (state.failure()) return error(state.failure()->message);
    if (!params) return error("the node at " + client.url() + " has no Retrace contracts");
    if (params->contract_hash != out.spec.contract_hash) {
        return error("the chain follows another kernel contract than this program; use a matching version");
    }
    const auto auditors = check_auditors(state, *params, out.spec, submitter.address());
    const ledger::U256 balance = state.account(submitter.address()).balance;
    const auto value = value_of(state, *params, task, out.spec);
    if (state.failure()) return error(state.failure()->message);
    RETRACE_CHECK(auditors);
    RETRACE_CHECK(value);
    out.escrow = *value;
    if (balance < out.escrow) {
        return error("the task needs " + describe_coins_needed(out.escrow) + " in escrow and the account has " +
                     describe_coins(balance) + "; lower price_ceiling or steps, or fund the account");
    }
    RETRACE_TRY(outcome, send_terms(task, out, submitter));
    for (const ledger::Log& log : outcome.logs) {
        if (const auto event = contracts::decode_event<contracts::TaskPosted>(log)) out.id = event->task;
    }
    if (out.id == 0) return error("the task was posted without an event; is the node of another version?");
    // At once: until then nobody may bid, and the time for bids runs.
    if (const auto done = admit_members(submitter, out.id, admitted); !done)
        return error("task " + std::to_string(out.id) + " is posted, but " + done.error().message +
                     "; go on with `retrace task admit` and `retrace task upload`");
    if (const auto uploaded = upload_task(out.spec, store, client, progress); !uploaded)
        return error(upload_failure(chain, out.id, uploaded.error().message));
    return out;
}

Result<ledger::U256> raise_replicas(Submitter& submitter, ChainReader& chain, std::uint64_t id, std::uint8_t replicas) {
    RETRACE_TRY(state, chain.newest());
    const auto task = views::task(state, id);
    const auto spec = views::spec(state, id);
    const auto params = views::params(state);
    const std::uint64_t start = task ? views::joining_state(state, *task).index : 0;
    if (state.failure()) return error(state.failure()->message);
    if (!task || !spec || !params) return error("there is no task " + std::to_string(id));
    RETRACE_CHECK(check_task_state(*task, "be given more replicas", {market::TaskState::running}));
    if (task->active.size() >= replicas)
        return error("task " + std::to_string(id) + " has " + std::to_string(task->active.size()) +
                     " replicas already");
    const auto more = static_cast<std::uint8_t>(replicas - task->active.size());
    const ledger::U256 price = market::escrow_of_more(*spec, *params, start, more).total();
    RETRACE_CHECK(submitter.execute("raise replicas", contracts::RaiseReplicas{id, replicas}, price));
    return price;
}

namespace {

/// Adds the segments of a run.
void count_segments(const ledger::StateView& state, const market::Run& run, const market::TaskSpec& spec,
                    TaskStatus& out) {
    const std::uint64_t most = market::most_segments(spec, out.group ? &out.group->terms : nullptr);
    const std::uint64_t committed = run.next_state == 0 ? 0 : std::min(run.next_state - 1, most);
    for (std::uint64_t i = 0; i < committed; ++i) {
        const auto segment = views::segment(state, run.task, run.index, i);
        // Auditors by a member's consent may be its own.
        const bool matched = segment && segment->state == market::SegmentState::verified;
        if (!views::is_private(state, run.task, run.index, i))
            out.verified += matched ? 1 : 0;
        else
            ++(matched ? out.consented : out.unverified);
    }
    out.committed += committed;
    out.paid += run.paid;
}

/// Returns nothing if there is no such task, or if its terms break the rules for posting.
std::optional<TaskStatus> read_status(const ledger::StateView& state, std::uint64_t id) {
    const auto task = views::task(state, id);
    Immutable immutable;
    const auto spec = immutable.spec(state, id);
    if (!task || !spec) return std::nullopt;
    TaskStatus out;
    out.task = *task;
    out.spec = *spec;
    out.auctions = views::auctions_or_one(state, id, *spec);
    out.next_auction = views::next_auction(state, id);
    for (std::uint32_t i = 0; i < task->runs; ++i) {
        auto run = views::run(state, id, i);
        if (!run) break;  // Otherwise a node could claim any number of runs, and each would be requested.
        out.runs.push_back(std::move(*run));
    }
    if (const auto terms = immutable.group(state, id)) {
        const auto group = views::group(state, id);
        if (!group) return std::nullopt;
        out.group = TaskStatus::Group{*terms, *group};
    }
    if (out.runs.empty()) return out;
    const market::Run& run = out.runs.back();
    const auto params = views::params(state);
    for (const market::Run& active : out.runs)
        if (params && active.state == market::RunState::running && active.unaudited_since != 0)
            out.waiting = {active.index, active.unaudited_from, active.unaudited_since + params->unaudited_blocks};
    for (const market::Run& counted : out.runs)
        if (out.group || counted.index == run.index) count_segments(state, counted, *spec, out);
    return out;
}

Result<TaskStatus> status_in(const RemoteState& state, std::uint64_t id) {
    std::optional<TaskStatus> out;
    state.read([&] { out = read_status(state, id); });
    if (state.failure()) return error(state.failure()->message);
    if (!out) return error("there is no task " + std::to_string(id));
    out->height = state.height();
    return std::move(*out);
}

}  // namespace

Result<TaskStatus> task_status(ChainReader& chain, std::uint64_t id) {
    RETRACE_TRY(state, chain.newest());
    return status_in(state, id);
}

Result<TaskStatus> wait_for_delivery(ChainReader& chain, std::uint64_t id,
                                     const std::function<void(const TaskStatus&)>& on_block) {
    using Clock = std::chrono::steady_clock;
    bool before = false;
    std::uint64_t read_height = 0;
    std::optional<Clock::time_point> failing_since;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
        const auto height = chain.height();
        if (height && before && *height == read_height) continue;
        auto status = height ? status_in(chain.state(*height), id) : Result<TaskStatus>(error(height.error().message));
        if (!status) {
            if (!failing_since) failing_since = Clock::now();
            if (!chain.proves() || !before || Clock::now() > *failing_since + kProofTimeout) return status;
            continue;
        }
        failing_since.reset();
        read_height = *height;
        on_block(*status);
        if (market::is_final(status->task.state) || status->task.state == market::TaskState::delivering) return status;
        before = true;
    }
}

namespace {

/// Heights that are in logs only.
struct LoggedHeights {
    std::uint64_t settled = 0;
    std::map<std::uint64_t, std::uint64_t> verified;  // Audit → height.
};

Result<LoggedHeights> logged_heights(RpcClient& client, const market::Task& task) {
    LoggedHeights out;
    const auto height = client.height();
    if (!height) return error(height.error().message);
    const auto logs = client.logs(contracts::address_of(contracts::Contract::market), task.posted_height, *height);
    if (!logs) return error(logs.error().message);
    for (const PlacedLog& placed : *logs) {
        if (const auto event = contracts::decode_event<contracts::SegmentVerified>(placed.log)) {
            out.verified[event->audit] = placed.height;
        } else if (const auto moved = contracts::decode_event<contracts::TaskStateChanged>(placed.log)) {
            const bool settled =
                moved->task == task.id && moved->to == static_cast<std::uint8_t>(market::TaskState::settled);
            if (settled) out.settled = placed.height;
        }
    }
    return out;
}

/// `runs`: the runs that produced the model.
Result<Receipt> make_receipt(ChainReader& chain, const ledger::StateView& view, const TaskStatus& status,
                             const std::vector<market::Run>& runs) {
    Receipt out;
    const auto chain_id = chain.chain_id();
    if (!chain_id) return error(chain_id.error().message);
    out.chain_id = *chain_id;
    out.task = status.task.id;
    out.requester = ledger::to_0x(status.task.requester);
    out.solver = ledger::to_0x(runs.front().solver);
    out.contract = status.spec.contract_hash;
    out.program = status.spec.program_root;
    out.init = status.spec.init_root;
    out.data = status.spec.data_roots;
    out.seed = status.spec.seed;
    out.steps = status.spec.steps;
    out.interval = status.spec.interval;
    out.posted_height = status.task.posted_height;
    LoggedHeights heights;
    if (!chain.proves()) {
        RETRACE_TRY(logged, logged_heights(chain.client(), status.task));
        heights = std::move(logged);
    }
    out.settled_height = heights.settled;
    const std::uint64_t most = market::most_segments(status.spec, status.group ? &status.group->terms : nullptr);
    for (std::uint64_t index = 0; index <= most; ++index) {
        const market::Run* const run = run_of_segment(runs, index);
        const auto checkpoint = run != nullptr ? views::checkpoint(view, out.task, run->index, index) : std::nullopt;
        if (!checkpoint || !checkpoint->opened) continue;
        out.states.push_back({index, checkpoint->open_height, checkpoint->root});
        const market::Run* const before = index != 0 ? run_of_segment(runs, index - 1) : nullptr;
        // Auditors by a member's consent may be its own: a receipt names none of them.
        if (before == nullptr || views::is_private(view, out.task, before->index, index - 1)) continue;
        const auto segment = views::segment(view, out.task, before->index, index - 1);
        const auto audit = segment && segment->audit != 0 ? views::audit(view, segment->audit) : std::nullopt;
        if (!audit || segment->state != market::SegmentState::verified) continue;
        Receipt::Audit entry{index - 1, heights.verified[audit->id], {}};
        for (const market::Seat& seat : audit->seats) {
            if (seat.state == market::SeatState::matched) entry.auditors.push_back(ledger::to_0x(seat.auditor));
        }
        out.audits.push_back(std::move(entry));
    }
    return out;
}

/// The message accuses nobody; `why` says whether a peer sent wrong bytes, no peer answered, or this disk is full.
Unexpected<Error> not_fetched(const char* what, std::uint64_t id, const std::string& why) {
    return error("the " + std::string(what) + " of task " + std::to_string(id) +
                 " could not be fetched from those who keep it: " + printable(why));
}

}  // namespace

Result<Delivered> fetch_model(ChainReader& chain, std::uint64_t id, Store& store, const Progress& progress) {
    RETRACE_TRY(view, chain.newest());
    RETRACE_TRY(status, status_in(view, id));
    std::vector<market::Run> runs;
    std::optional<market::Checkpoint> last;
    std::uint64_t last_step = status.spec.steps;
    std::vector<std::string> peers;
    // Made before the state is fetched, because a node makes proofs for its newest blocks only.
    Result<Receipt> receipt = error("");
    view.read([&] {
        std::uint64_t index = status.spec.segments();
        if (status.group) {
            if (const auto run = delivered_member(view, id, "")) runs = {*run};
            if (!runs.empty()) index = runs.front().finalised;
            if (!runs.empty()) last_step = contracts::header_step_of(view, id, runs.front().index, index).value_or(0);
        } else {
            runs = delivered_runs(view, status.task, index, "");
        }
        if (!runs.empty()) last = views::checkpoint(view, id, runs.front().index, index);
        if (last) receipt = make_receipt(chain, view, status, runs);
        peers = endpoints_of(view, id);
    });
    if (view.failure()) return error(view.failure()->message);
    if (!last) {
        return error("task " + std::to_string(id) + " has no model yet: it is " +
                     std::string(market::slug(status.task.state)));
    }
    if (!receipt) return error(receipt.error().message);
    peers.push_back(chain.client().url());
    ArtifactClient fetcher(store);
    fetcher.set_progress(progress);
    PeerSource source(store, fetcher, [&peers] { return peers; });
    kernels::ThreadPool pool;
    if (status.group) {
        const auto plan = solver::fetch_plan(source, status.spec.program_root, status.spec.program_bytes);
        if (!plan) return not_fetched("plan", id, plan.error().message);
        const kernels::Program& states = (*plan)->states();
        auto state = solver::fetch_state(source, (*plan)->root(), states, last->root, last_step, pool);
        if (!state) return not_fetched("final state", id, state.error().message);
        return Delivered{states, std::move(*state), std::move(*receipt), true};
    }
    const auto program = solver::fetch_program(source, status.spec.program_root, status.spec.program_bytes);
    if (!program) return not_fetched("program", id, program.error().message);
    auto state = solver::fetch_state(source, **program, last->root, last_step, pool);
    if (!state) return not_fetched("final state", id, state.error().message);
    return Delivered{(*program)->program(), std::move(*state), std::move(*receipt), false};
}

}  // namespace retrace::node
