// SPDX-License-Identifier: MIT
// retrace task submit, upload, follow
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iostream>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/explained_task.hpp"
#include "node/agents/worker_processes.hpp"
#include "node/cmd/auction_flags.hpp"
#include "node/cmd/task_follow.hpp"
#include "node/cmd/task_follow_model.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

struct TaskSubmitFlags {
    SignerOptions signer;
    AuctionFlags auctions;
    std::string data_dir, file, budget;
    std::uint64_t task = 0;
    std::vector<std::string> admit;
    bool wait = false, allow_unaudited = false;
    std::uint32_t again = 0;   ///< How often it is posted again if too few solvers bid.
    std::uint32_t repeat = 1;  ///< How many models are wanted, one after another.
    std::string model;         ///< Where `follow` keeps the newest model; empty: nowhere.
};

/// Records the task's folder for convenience: `task fetch` finds test data and the TorchScript file there.
void note_folder(const TaskSubmitFlags& flags, std::uint64_t chain_id, std::uint64_t task) {
    const fs::path note = task_note(flags.data_dir, chain_id, task);
    std::error_code ignored;
    fs::create_directories(note.parent_path(), ignored);
    std::ofstream out(note);
    out << fs::absolute(flags.file, ignored).lexically_normal().string() << '\n';
    if (!out.flush())
        std::cerr << "warning: " << note.string() << " cannot be written, so `task fetch` needs --evaluate "
                  << flags.file << " to find the test data\n";
}

/// Waits until the model is ready or the task has ended, also across restarts of the node.
Result<TaskExplanation> wait_for_end(const Program& program, const TaskSubmitFlags& flags, ChainSession& at,
                                     std::uint64_t task, json::object& out,
                                     const std::function<void(const TaskStatus&)>& on_block = {}) {
    flags.signer.chain.node.wait_longer(at.client);
    const auto chain_id = at.chain.chain_id();
    std::optional<TaskLog> log;
    if (chain_id) log.emplace(task_log(flags.data_dir, *chain_id, task));
    RETRACE_TRY(end, follow_task(program, at, task, on_block, log ? &*log : nullptr));
    out["state"] = std::string(market::slug(end.state));
    at.add_proven(out);
    return end;
}

/// An error if the task ended without a model.
Status<> has_model(const TaskExplanation& end) {
    if (end.state == market::TaskState::delivering || end.state == market::TaskState::settled) return Unit{};
    return error("the task ended without a model. " + explanation_text(end));
}

bool had_too_few_bids(const TaskExplanation& end) {
    return end.reason == TaskReason::no_bids || end.reason == TaskReason::too_few_bids ||
           end.reason == TaskReason::no_winner;
}

int print(const Program& program, const json::object& out, std::uint64_t task) {
    if (program.json)
        std::cout << json::serialize(out) << '\n';
    else
        std::cout << task << '\n';
    return kDone;
}

/// What a posting says of its auctions.
std::string auctions_text(const market::TaskSpec& spec) {
    if (spec.auctions == 1) return {};
    std::string out = ", in up to " + std::to_string(spec.auctions) + " auctions";
    if (spec.last_ceiling > spec.price_ceiling)
        out += " whose ceiling rises from " + describe_coins(spec.price_ceiling) + " to " +
               describe_coins(spec.last_ceiling) + " a segment";
    if (spec.pause_blocks != 0) out += ", with " + std::to_string(spec.pause_blocks) + " blocks between two";
    return out;
}

/// A task that was posted, and what the command says of it.
struct Posted {
    std::uint64_t id = 0;
    ledger::U256 escrow;
    json::object out;
    std::string over_budget;  ///< Why it was not posted; empty: it was.
};

/// Posts the task unless that puts more than `left` in escrow.
Result<Posted> post_once(const TaskSubmitFlags& flags, const TaskFile& task, const ledger::U256& left,
                         Session& session) {
    RETRACE_TRY(store, open_store(flags.data_dir));
    if (!flags.budget.empty()) {
        RETRACE_TRY(call, posting_call(task, *store, session.at->chain));
        if (call.value > left)
            return Posted{0,
                          {},
                          {},
                          "the next task puts " + describe_coins(call.value) + " in escrow, and --budget has " +
                              describe_coins(left) + " left"};
    }
    RETRACE_TRY(admitted, parse_accounts(flags.admit));
    RETRACE_TRY(posted, post_task(task, *store, session.submitter, session.at->chain, show_transfer, admitted));
    note_folder(flags, session.chain_id, posted.id);
    std::cerr << "task " << posted.id << " posted, " << describe_coins(posted.escrow) << " in escrow"
              << auctions_text(posted.spec) << std::endl;
    Posted out{posted.id,
               posted.escrow,
               {{"task", posted.id}, {"escrow", posted.escrow.to_decimal()}, {"auctions", posted.spec.auctions}},
               {}};
    session.at->add_proven(out.out);
    return out;
}

/// Posts a task, again with --again, until its model is ready; without --wait it only posts. It is posted again at the
/// ceiling for which nobody was found.
Result<Posted> post_until_ready(const Program& program, const TaskSubmitFlags& flags, TaskFile task,
                                const ledger::U256& left, Session& session) {
    for (std::uint32_t times = 0;; ++times) {
        RETRACE_TRY(posted, post_once(flags, task, left, session));  // From here on other commands can use the store.
        if (!flags.wait || !posted.over_budget.empty()) return posted;
        RETRACE_TRY(end, wait_for_end(program, flags, *session.at, posted.id, posted.out));
        const auto ready = has_model(end);
        if (ready) return posted;
        if (times == flags.again || !had_too_few_bids(end)) return error(ready.error().message);
        task.price_ceiling = std::max(task.price_ceiling, std::exchange(task.last_ceiling, ledger::U256()));
        std::cerr << "too few solvers bid; posting it again (" << times + 1 << " of " << flags.again
                  << "), for at most " << describe_coins(task.price_ceiling) << " a segment" << std::endl;
    }
}

/// Posts what the folder then has, --repeat times in all, each time when the model before is ready.
int submit(const Program& program, const TaskSubmitFlags& flags) {
    auto left = flags.budget.empty() ? ledger::U256::max() : parse_coins(flags.budget);
    if (!left) throw CLI::ValidationError("--budget must be coins, like 20");
    std::unique_ptr<Session> session;
    json::array models;
    // The models that are there already are told with what kept the next one from being made.
    const auto stop = [&](const std::string& why) {
        if (!program.json || models.empty()) return fail(program, why);
        std::cerr << "error: " << printable_lines(why) << std::endl;
        std::cout << json::serialize(json::object{{"tasks", std::move(models)}, {"error", why}}) << '\n';
        return kFailed;
    };
    for (std::uint32_t times = 1; times <= flags.repeat; ++times) {
        auto task = load_task_file(flags.file);
        if (!task) return stop(task.error().message);
        task->allow_unaudited = task->allow_unaudited || flags.allow_unaudited;
        if (!session) {
            auto opened = Session::open(flags.signer);
            if (!opened) return stop(opened.error().message);
            session = std::move(*opened);
        }
        if (const auto set = flags.auctions.apply(*task, &session->at->chain); !set) return stop(set.error().message);
        auto posted = post_until_ready(program, flags, std::move(*task), *left, *session);
        if (!posted) return stop(posted.error().message);
        if (!posted->over_budget.empty()) {
            if (models.empty()) return fail(program, posted->over_budget);
            std::cerr << posted->over_budget << std::endl;
            break;
        }
        *left -= ledger::min(*left, posted->escrow);
        if (flags.repeat == 1) return print(program, posted->out, posted->id);
        if (!program.json) std::cout << posted->id << std::endl;
        models.push_back(std::move(posted->out));
    }
    if (program.json) std::cout << json::serialize(json::object{{"tasks", std::move(models)}}) << '\n';
    return kDone;
}

/// A compiled task, and where it goes.
struct CompiledTask {
    TaskFile task;
    std::unique_ptr<Store> store;
    std::unique_ptr<ChainSession> at;
};

Result<CompiledTask> open_compiled(const TaskSubmitFlags& flags) {
    RETRACE_TRY(task, load_task_file(flags.file));
    RETRACE_TRY(store, open_store(flags.data_dir));
    RETRACE_TRY(at, flags.signer.chain.open());
    return CompiledTask{std::move(task), std::move(store), std::move(at)};
}

/// Does the part of `submit` after the posting; pieces that have arrived are not sent again.
int upload(const Program& program, const TaskSubmitFlags& flags) {
    const auto opened = open_compiled(flags);
    if (!opened) return fail(program, opened.error().message);
    ChainSession& at = *opened->at;
    const auto chain_id = at.chain.chain_id();
    if (!chain_id) return fail(program, chain_id.error().message);
    const auto status = task_status(at.chain, flags.task);
    if (!status) return fail(program, status.error().message);
    const auto spec = spec_of(opened->task, *opened->store);
    if (!spec) return fail(program, spec.error().message);
    if (spec->program_root != status->spec.program_root || spec->data_roots != status->spec.data_roots ||
        spec->init_root != status->spec.init_root || spec->initial_state_root != status->spec.initial_state_root)
        return fail(program, flags.file + " is not what task " + std::to_string(flags.task) + " was posted from");
    if (market::is_final(status->task.state)) {
        const auto why = explained_task(at.chain, flags.task);
        return fail(program,
                    why ? "the task has ended and takes no files. " + explanation_text(*why) : why.error().message);
    }
    if (const auto done = upload_task(*spec, *opened->store, at.client, show_transfer); !done)
        return fail(program, done.error().message);
    note_folder(flags, *chain_id, flags.task);
    return print(program, {{"task", flags.task}}, flags.task);
}

/// Prints the transaction that posts a task, for a wallet or a program that signs it.
int encode(const Program& program, const TaskSubmitFlags& flags) {
    auto opened = open_compiled(flags);
    if (!opened) return fail(program, opened.error().message);
    if (const auto set = flags.auctions.apply(opened->task, &opened->at->chain); !set)
        return fail(program, set.error().message);
    const auto call = posting_call(opened->task, *opened->store, opened->at->chain);
    if (!call) return fail(program, call.error().message);
    const std::string to = ledger::to_checksum(call->to), data = to_0x(call->data);
    if (program.json)
        std::cout << json::serialize(json::object{{"to", to}, {"data", data}, {"value", call->value.to_decimal()}})
                  << '\n';
    else
        std::cout << "to    " << to << "\nvalue " << call->value.to_decimal() << " wei\ndata  " << data << '\n';
    return kDone;
}

int follow(const Program& program, const TaskSubmitFlags& flags) {
    const auto at = flags.signer.chain.open();
    if (!at) return fail(program, at.error().message);
    if (const auto there = (*at)->chain.height(); !there) return fail(program, there.error().message);
    json::object out{{"task", flags.task}};
    std::unique_ptr<WorkerProcesses> workers;
    std::optional<ModelWriter> writer;
    if (!flags.model.empty()) {
        const auto chain_id = (*at)->chain.chain_id();
        if (!chain_id) return fail(program, chain_id.error().message);
        const auto status = task_status((*at)->chain, flags.task);
        if (!status) return fail(program, status.error().message);
        if (!status->group)
            return fail(program,
                        "--model follows a training in rounds; of another task `retrace task fetch` gets the "
                        "model when it is ready");
        auto opened = WorkerProcesses::open_for_command(warn_on_standard_error);
        if (!opened) return fail(program, opened.error().message);
        workers = std::move(*opened);
        writer.emplace(program, **at, flags.task, compiled_task(flags.file, flags.data_dir, *chain_id, flags.task),
                       flags.model, flags.data_dir, workers->runners());
    }
    const auto on_block = [&](const TaskStatus& now) {
        if (writer) writer->block(now);
    };
    const auto end = wait_for_end(program, flags, **at, flags.task, out, on_block);
    if (!end) return fail(program, end.error().message);
    if (const auto ready = has_model(*end); !ready) return fail(program, ready.error().message);
    return print(program, out, flags.task);
}

void add_store_option(CLI::App& command, TaskSubmitFlags& flags) {
    command.add_option("--data-dir", flags.data_dir, "The requester's store (~/.retrace/requester)");
}

}  // namespace

void add_task_submit(CLI::App& parent, Program& program) {
    const auto add = [&](const char* name, const char* what, int (*run)(const Program&, const TaskSubmitFlags&)) {
        CLI::App* command = parent.add_subcommand(name, what);
        auto flags = std::make_shared<TaskSubmitFlags>();
        add_json(*command, program);
        command->callback(
            [&program, flags, run] { program.run = [&program, flags, run] { return run(program, *flags); }; });
        return std::pair(command, flags);
    };
    const auto [post, post_flags] =
        add("submit", "Post a compiled task with its price in escrow, upload its data", submit);
    post->add_option("FILE", post_flags->file, "task.toml or its folder")->required();
    post_flags->signer.add_to(*post);
    add_store_option(*post, *post_flags);
    CLI::Option* wait = post->add_flag("--wait", post_flags->wait, "Wait until the model is ready");
    post_flags->auctions.add_to(*post);
    post->add_option("--again", post_flags->again,
                     "Post it again up to so many times if too few solvers bid, at the last ceiling (0)")
        ->needs(wait)
        ->excludes("--by")
        ->check(CLI::Range(0, 1000));
    post->add_option("--repeat", post_flags->repeat,
                     "Post what the folder then has again when the model is ready, for so many models (1)")
        ->needs(wait)
        ->check(CLI::Range(1, 1000));
    post->add_option("--budget", post_flags->budget,
                     "Post none that would take the escrows of all above so many coins");
    post->add_option("--admit", post_flags->admit,
                     "Of a private training: accounts that may take part (more: `retrace task admit`)");
    post->add_flag("--allow-unaudited", post_flags->allow_unaudited,
                   "Pay for segments that no auditor can be drawn for");

    const auto [again, again_flags] = add("upload", "Resume the upload of a task that was posted", upload);
    again->add_option("ID", again_flags->task, "Task")->required();
    again->add_option("FILE", again_flags->file, "task.toml or its folder")->required();
    again_flags->signer.chain.add_to(*again);
    add_store_option(*again, *again_flags);

    const auto [shown, shown_flags] =
        add("encode", "Print the transaction that posts a compiled task, for a wallet that signs it", encode);
    shown->add_option("FILE", shown_flags->file, "task.toml or its folder")->required();
    shown_flags->auctions.add_to(*shown);
    shown_flags->signer.chain.add_to(*shown);
    add_store_option(*shown, *shown_flags);

    const auto [watch, watch_flags] =
        add("follow", "Wait until a task's model is ready, and show its progress", follow);
    watch->add_option("ID", watch_flags->task, "Task")->required();
    watch_flags->signer.chain.add_to(*watch, "10 at the start, then 600");
    CLI::Option* model =
        watch->add_option("--model", watch_flags->model,
                          "Of a training in rounds: folder in which model.safetensors is replaced after each round");
    watch->add_option("--task", watch_flags->file, "Folder of the compiled task (the one it was submitted from)")
        ->needs(model);
    add_store_option(*watch, *watch_flags);
}

}  // namespace retrace::node::cli
