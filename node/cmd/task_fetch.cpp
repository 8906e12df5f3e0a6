// SPDX-License-Identifier: MIT
// retrace task fetch
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iostream>

#include "node/agents/explained_task.hpp"
#include "node/agents/receipt_check.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/run_peers.hpp"
#include "node/agents/worker_processes.hpp"
#include "node/cmd/task_options.hpp"
#include "node/tasks/group_task.hpp"
#include "node/tasks/model_files.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

struct FetchFlags {
    ChainOptions chain;
    std::string data_dir, task_folder;
    std::uint64_t task = 0, losses = 1;
    fs::path out;
};

/// Replays the last segments of the receipt and returns the losses that the program reports at each step. A segment
/// that cannot be replayed is reported and skipped; one that ends in another state than the receipt's is an error.
Result<std::vector<StepLoss>> replayed_losses(const Receipt& receipt, const FetchFlags& flags, ChainReader& chain,
                                              Store& store) {
    std::vector<StepLoss> out;
    const auto state = flags.losses != 0 ? chain.newest() : Result<RemoteState>(error(""));
    if (!state) return out;
    std::vector<std::string> peers = endpoints_of(*state, receipt.task);
    peers.push_back(flags.chain.node.url);
    ArtifactClient fetcher(store);
    fetcher.set_progress(show_transfer);
    RETRACE_TRY(workers, WorkerProcesses::open_for_command(warn_on_standard_error));
    const std::size_t segments = receipt.states.empty() ? 0 : receipt.states.size() - 1;
    for (std::size_t i = segments - std::min<std::size_t>(segments, flags.losses); i < segments; ++i) {
        if (receipt.states[i + 1].index != receipt.states[i].index + 1) continue;
        const auto again = replay_segment(receipt, i, peers, store, fetcher, workers->runners());
        if (!again) {
            std::cerr << "metrics.csv has no losses of segment " << receipt.states[i].index << ": "
                      << again.error().message << '\n';
            continue;
        }
        if (!again->matches)
            return error(contradiction(receipt, i, *again) +
                         ". Nothing was written; --losses 0 writes the model all "
                         "the same");
        out.insert(out.end(), again->losses.begin(), again->losses.end());
    }
    return out;
}

/// Writes model.safetensors, model.pt, receipt.json and metrics.csv; adds their facts to `out`.
Status<> write_files(const Delivered& model, const std::vector<StepLoss>& losses, const std::optional<TaskFile>& task,
                     const fs::path& folder, json::object& out) {
    const std::map<std::string, std::string> metadata{{"format", "pt"},
                                                      {"retrace.task", std::to_string(model.receipt.task)}};
    RETRACE_TRY(names, write_model(model.program, model.state, metadata, task ? &*task : nullptr, folder));
    RETRACE_CHECK(store_receipt(model.receipt, folder / "receipt.json"));
    MetricTable table{{"replayed_loss", "test_loss", "accuracy"}, {}};
    for (const StepLoss& at : losses) table.rows.push_back({at.step, {at.loss, std::nullopt, std::nullopt}});
    if (task && task->evaluation) {
        kernels::ThreadPool pool;
        RETRACE_TRY(result, evaluate_task(*task, model.state, pool));
        out["loss"] = result.loss;
        table.rows.push_back({model.state.step, {std::nullopt, static_cast<float>(result.loss), std::nullopt}});
        if (result.counts_correct) {
            out["accuracy"] = result.accuracy();
            table.rows.back().values[2] = static_cast<float>(result.accuracy());
        }
    }
    RETRACE_CHECK(store_csv(table, folder / "metrics.csv"));
    names.insert(names.end(), {"receipt.json", "metrics.csv"});
    json::array files;
    for (const std::string& name : names) files.emplace_back((folder / name).string());
    out["files"] = std::move(files);
    return Unit{};
}

/// Replaces the state of a member by that of the same training on one machine, which the evaluation reads.
Status<> to_plain_model(const TaskFile& task, Delivered& model) {
    RETRACE_TRY(plain, read_program(task.program));
    RETRACE_TRY(state, model_state(model.program, model.state, plain, task.steps));
    model.program = std::move(plain);
    model.state = std::move(state);
    return Unit{};
}

/// The receipt against the ledger of now; an error while the ledger has no delivery of it.
Result<CheckedReceipt> checked_now(ChainReader& chain, const Receipt& receipt) {
    RETRACE_TRY(state, chain.newest());
    Result<CheckedReceipt> out = error("not read");
    const auto read = [&] { out = check_receipt(receipt, state); };
    state.read_ahead(read);
    state.read(read);
    if (state.failure()) return error(state.failure()->message);
    return out;
}

/// The segments of the member that delivered, and those of all that are private; nullopt: the task is no group.
struct FetchedGroup {
    GroupFacts facts;
    MemberSegments own;
};
Result<std::optional<FetchedGroup>> group_now(ChainReader& chain, const Receipt& receipt) {
    RETRACE_TRY(state, chain.newest());
    std::optional<FetchedGroup> out;
    const auto read = [&] {
        out.reset();
        auto facts = group_facts(state, receipt.task);
        const auto run = facts ? delivered_member(state, receipt.task, receipt.solver) : std::nullopt;
        if (run) out = FetchedGroup{*facts, facts->members.at(run->index)};
    };
    state.read_ahead(read);
    state.read(read);
    if (state.failure()) return error(state.failure()->message);
    return out;
}

/// Adds what only whom its member chose, or nobody, has checked; a member's private segments count in no other number.
void add_private(const FetchedGroup& group, json::object& out) {
    out["segments"] = out.at("segments").to_number<std::uint64_t>() - group.own.consented - group.own.unverified;
    out["private_data"] = true;
    out["consented_segments"] = group.own.consented;
    out["unverified_segments"] = group.own.unverified;
}

/// Says whether the model is audited and final, and what its requester does next.
std::string standing(const TaskExplanation& now, const CheckedReceipt& checked,
                     const std::optional<FetchedGroup>& group) {
    std::string out = not_audited(checked);
    if (!out.empty() && !group) out += "; `retrace receipt verify FILE --replay N` replays segments here";
    if (!out.empty()) out += '\n';
    if (group && group->facts.private_data) out += private_part(group->facts) + '\n';
    const std::string id = std::to_string(now.task), by = now.next_height ? std::to_string(*now.next_height) : "";
    if (now.state == market::TaskState::delivering)
        return out + "the model is not accepted yet; next: `retrace task accept " + id +
               " --key K`, or it counts as accepted at block " + by + '\n';
    if (now.state != market::TaskState::settled)
        return out + "PROVISIONAL: segments of this model can still be challenged (" + now.why +
               "); next: `retrace task follow " + id + "`, then fetch again\n";
    return out;
}

int fetch(const Program& program, const FetchFlags& flags) {
    auto store = open_store(flags.data_dir);
    if (!store) return fail(program, store.error().message);
    const auto at = flags.chain.open();
    if (!at) return fail(program, at.error().message);
    auto model = fetch_model((*at)->chain, flags.task, **store, show_transfer);
    if (!model) return fail(program, model.error().message);
    json::object out{{"task", flags.task},
                     {"model", (flags.out / "model.safetensors").string()},
                     {"receipt", (flags.out / "receipt.json").string()},
                     {"state_root", to_0x(view(model->receipt.states.back().root))}};
    std::uint64_t verdicts = 0;
    for (const Receipt::Audit& audit : model->receipt.audits) verdicts += audit.auditors.size();
    const std::uint64_t segments = model->receipt.states.back().index, audited = model->receipt.audits.size();
    out["segments"] = segments;
    out["audited_segments"] = audited;
    out["matching_verdicts"] = verdicts;
    const auto group =
        model->in_rounds ? group_now((*at)->chain, model->receipt) : Result<std::optional<FetchedGroup>>(std::nullopt);
    if (!group) return fail(program, group.error().message);
    if (*group && (*group)->facts.private_data) add_private(**group, out);
    const auto task = compiled_task(flags.task_folder, flags.data_dir, model->receipt.chain_id, flags.task);
    if (!task && !flags.task_folder.empty()) return fail(program, flags.task_folder + " is no compiled task");
    if (const auto plain = task && task->group ? to_plain_model(*task, *model) : Status<>(Unit{}); !plain)
        return fail(program, plain.error().message);
    // A receipt has not the messages that a replay of a member's segment takes in.
    const auto losses = model->in_rounds ? Result<std::vector<StepLoss>>(std::vector<StepLoss>())
                                         : replayed_losses(model->receipt, flags, (*at)->chain, **store);
    if (!losses) return fail(program, losses.error().message);
    const auto now = explained_task((*at)->chain, flags.task);
    if (!now) return fail(program, now.error().message);
    out["state"] = std::string(market::slug(now->state));
    out["provisional"] = now->state != market::TaskState::settled;
    // Of a model that is not delivered yet the ledger confirms no receipt; its audits are those that the receipt names.
    CheckedReceipt named;
    named.verified = audited;
    const auto on_ledger = checked_now((*at)->chain, model->receipt);
    const CheckedReceipt& checked = on_ledger ? *on_ledger : named;
    out["unaudited_segments"] = checked.unaudited;
    if (const auto written = write_files(*model, *losses, task, flags.out, out); !written)
        return fail(program, written.error().message);
    (*at)->add_proven(out);
    if (program.json) {
        std::cout << json::serialize(out) << '\n';
    } else {
        for (const json::value& file : out["files"].as_array())
            std::cout << "wrote " << file.as_string().c_str() << '\n';
        std::cout << audited << " of " << out["segments"].to_number<std::uint64_t>() << " segments were audited, with "
                  << verdicts << " verdicts equal to the last bit\n";
        if (out.contains("accuracy")) std::cout << "accuracy " << 100 * out["accuracy"].as_double() << " %\n";
        std::cout << standing(*now, checked, *group) << (*at)->proven_line();
    }
    return kDone;
}

}  // namespace

void add_task_fetch(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("fetch", "Fetch a trained model and its receipt");
    auto flags = std::make_shared<FetchFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    command->add_option("-o,--out", flags->out, "Folder to write")->required();
    flags->chain.add_to(*command);
    command->add_option("--data-dir", flags->data_dir, "The requester's store (~/.retrace/requester)");
    command->add_option("--evaluate", flags->task_folder,
                        "Folder of the compiled task (the one it was submitted from)");
    command->add_option("--losses", flags->losses,
                        "Replay so many of the last segments for the losses in metrics.csv (1; 0: none)");
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return fetch(program, *flags); }; });
}

}  // namespace retrace::node::cli
