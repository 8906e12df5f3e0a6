// SPDX-License-Identifier: MIT
// retrace task submit, retrace task fetch
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cli/task_options.hpp"
#include "node/data/dataset.hpp"
#include "node/task/evaluate.hpp"
#include "node/units.hpp"
#include "solver/export/safetensors.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

std::string progress_line(const TaskStatus& status) {
    return std::string(market::slug(status.task.state)) + ", segments committed " +
           std::to_string(status.committed) + ", verified " + std::to_string(status.verified) + ", paid " +
           std::to_string(status.paid) + " of " + std::to_string(status.spec.segments());
}

struct SubmitFlags {
    RequesterFlags requester;
    std::string file;
    bool wait = false;
};

int submit(const Program& program, const SubmitFlags& flags) {
    const auto task = load_task_file(flags.file);
    if (!task) return fail(program, task.error().message);
    auto key = unlock(flags.requester.key);
    if (!key) return fail(program, key.error().message);
    auto store = open_store(flags.requester.data_dir);
    if (!store) return fail(program, store.error().message);
    auto client = RpcClient::connect(flags.requester.key.node_url);
    if (!client) return fail(program, client.error().message);
    const auto chain_id = client->chain_id();
    if (!chain_id) return fail(program, chain_id.error().message);
    Submitter submitter(*client, *key, *chain_id);
    const auto posted = post_task(*task, **store, submitter, *client, show_transfer);
    if (!posted) return fail(program, posted.error().message);
    std::cerr << "task " << posted->id << " posted, " << format_coins(posted->escrow) << " in escrow\n";
    json::object out{{"task", posted->id}, {"escrow", posted->escrow.to_decimal()}};
    if (flags.wait) {
        const auto status = wait_for_delivery(
            *client, posted->id, [](const TaskStatus& now) { std::cerr << progress_line(now) << '\n'; });
        if (!status) return fail(program, status.error().message);
        out["state"] = std::string(market::slug(status->task.state));
        const bool delivered = status->task.state == market::TaskState::delivering ||
                               status->task.state == market::TaskState::settled;
        if (!delivered)
            return fail(program, "the task ended as " + std::string(market::slug(status->task.state)));
    }
    if (program.json)
        std::cout << json::serialize(out) << '\n';
    else
        std::cout << posted->id << '\n';
    return kDone;
}

struct FetchFlags {
    std::string node_url = "http://127.0.0.1:8545", data_dir, task_folder;
    std::uint64_t task = 0;
    fs::path out;
};

Status<> write_model(const Delivered& model, const fs::path& folder) {
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return error(folder.string() + ": " + code.message());
    solver::TensorFile file;
    file.tensors = solver::named_tensors(model.program, model.state, solver::is_parameter);
    file.metadata = {{"format", "pt"}, {"retrace.task", std::to_string(model.receipt.task)}};
    const Bytes bytes = solver::encode_safetensors(file);
    const fs::path path = folder / "model.safetensors";
    std::FILE* out = std::fopen((path.string() + ".partial").c_str(), "wb");
    if (out == nullptr) return error(path.string() + ": cannot be written");
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    const bool closed = std::fclose(out) == 0;
    if (!written || !closed) return error(path.string() + ": cannot be written");
    fs::rename(path.string() + ".partial", path, code);
    if (code) return error(path.string() + ": " + code.message());
    return store_receipt(model.receipt, folder / "receipt.json");
}

/// Accuracy on the test data of the compiled task.
Result<Evaluation> measure(const std::string& folder, const kernels::State& state) {
    RETRACE_TRY(task, load_task_file(folder));
    if (!task.evaluation || !task.test_data) return error(folder + " has no test data");
    RETRACE_TRY(program, read_program(*task.evaluation));
    RETRACE_TRY(test, load_dataset(*task.test_data));
    std::vector<kernels::Tensor> data;
    for (DataSet::Part& part : test.parts) data.push_back(std::move(part.tensor));
    kernels::ThreadPool pool;
    return evaluate(program, state, data, pool);
}

int fetch(const Program& program, const FetchFlags& flags) {
    auto store = open_store(flags.data_dir);
    if (!store) return fail(program, store.error().message);
    auto client = RpcClient::connect(flags.node_url);
    if (!client) return fail(program, client.error().message);
    const auto model = fetch_model(*client, flags.task, **store, show_transfer);
    if (!model) return fail(program, model.error().message);
    if (const auto written = write_model(*model, flags.out); !written)
        return fail(program, written.error().message);
    json::object out{{"task", flags.task},
                     {"model", (flags.out / "model.safetensors").string()},
                     {"receipt", (flags.out / "receipt.json").string()},
                     {"state_root", to_hex(view(model->receipt.states.back().root))}};
    if (!flags.task_folder.empty()) {
        const auto result = measure(flags.task_folder, model->state);
        if (!result) return fail(program, result.error().message);
        out["accuracy"] = result->accuracy();
        out["loss"] = result->loss;
    }
    if (program.json) {
        std::cout << json::serialize(out) << '\n';
    } else {
        std::cout << "wrote " << (flags.out / "model.safetensors").string() << " and receipt.json\n";
        if (out.contains("accuracy")) std::cout << "accuracy " << 100 * out["accuracy"].as_double() << " %\n";
    }
    return kDone;
}

}  // namespace

void add_task_submit(CLI::App& parent, Program& program) {
    CLI::App* command =
        parent.add_subcommand("submit", "Post a compiled task with its price in escrow, upload its data");
    auto flags = std::make_shared<SubmitFlags>();
    command->add_option("FILE", flags->file, "task.toml or its folder")->required();
    add_signer_options(*command, flags->requester.key);
    command->add_option("--data-dir", flags->requester.data_dir,
                        "The requester's store (~/.retrace/requester)");
    command->add_flag("--wait", flags->wait, "Wait until the model is ready");
    add_json(*command, program);
    command->callback(
        [&program, flags] { program.run = [&program, flags] { return submit(program, *flags); }; });
}

void add_task_fetch(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("fetch", "Fetch a trained model and its receipt");
    auto flags = std::make_shared<FetchFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    command->add_option("-o,--out", flags->out, "Folder to write")->required();
    add_node_option(*command, flags->node_url);
    command->add_option("--data-dir", flags->data_dir, "The requester's store (~/.retrace/requester)");
    command->add_option("--evaluate", flags->task_folder,
                        "Folder of the compiled task: measure on its test data");
    add_json(*command, program);
    command->callback(
        [&program, flags] { program.run = [&program, flags] { return fetch(program, *flags); }; });
}

}  // namespace retrace::node::cli
