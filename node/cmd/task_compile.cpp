// SPDX-License-Identifier: MIT
// retrace task compile
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "kernels/plan/regions.hpp"
#include "market/rollbacks.hpp"
#include "node/cmd/class_names.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/compile.hpp"

namespace retrace::node::cli {
namespace {

struct TaskCompileFlags {
    CompileRequest request;
    DataRequest data;
    std::string model, loss = "cross_entropy", optimizer = "adamw", precision = "i8x2", order = "shuffled";
    std::string price_ceiling = "1";
    std::vector<float> betas{0.9f, 0.999f};
    std::uint64_t width = 0, layers = 0, heads = 0, patch = 0;  ///< 0: that of the model.
    double audit_percent = 5;
    RoundsRequest rounds;
    std::string update = "sparse", on_fraud = "keep";
    std::uint32_t rollbacks = 0, ahead = 0;  ///< 0: the defaults of --on-fraud rollback
    std::uint32_t inner = 0;                 ///< 0: the default of the update
    bool masked = false;                     ///< Messages under masks.
    std::uint32_t mask_blocks = 0;           ///< 0: the default of --masked
    float outer_rate = 0;                    ///< 0: the default of the update, the members and the model
};

/// Sizes that each built-in model has when none are given.
void choose_model(TaskCompileFlags& flags) {
    kernels::ModelSpec& model = flags.request.model;
    const std::string& name = flags.model;
    model.kind = name == "resnet-s" ? "resnet" : name == "vit-s" ? "vit" : name;
    model.width = model.kind == "resnet" ? 16 : model.kind == "vit" ? 64 : 128;
    model.layers = model.kind == "resnet" ? 1 : model.kind == "vit" ? 4 : 2;
    if (flags.width != 0) model.width = flags.width;
    if (flags.layers != 0) model.layers = flags.layers;
    if (flags.heads != 0) model.heads = flags.heads;
    if (flags.patch != 0) model.patch = flags.patch;
    flags.data.flat = flags.data.flat || model.kind == "mlp";
}

bool is_builtin(const std::string& name) {
    for (const char* known : {"mlp", "lenet", "resnet-s", "gpt", "llama", "vit-s"}) {
        if (name == known) return true;
    }
    return false;
}

/// As many rounds ahead as three quarters of the rounds and the kept messages allow, at most 8: a message is final after
/// some rounds, and so many would be undone.
void settle_rollbacks(TaskCompileFlags& flags) {
    GroupTerms& terms = flags.rounds.terms;
    if (flags.on_fraud != "rollback") return;
    constexpr std::uint64_t kUsual = 8;
    const std::uint64_t kept = terms.keep_rounds > terms.absence_limit ? terms.keep_rounds - terms.absence_limit : 1;
    terms.rollbacks = static_cast<std::uint8_t>(flags.rollbacks == 0 ? 1 : flags.rollbacks);
    const std::uint64_t most = std::min({kUsual, kept, terms.rounds / (std::uint64_t{4} * terms.rollbacks)});
    terms.ahead = flags.ahead == 0 ? static_cast<std::uint32_t>(std::max<std::uint64_t>(1, most)) : flags.ahead;
}

/// A message under masks has all changes: with fewer, each is sent in its turn only, and the training is slower.
void settle_masks(TaskCompileFlags& flags) {
    constexpr std::uint32_t kKept = 512;
    constexpr std::uint64_t kUsualBlocks = 20;
    kernels::RoundsSpec& spec = flags.rounds.spec;
    GroupTerms& terms = flags.rounds.terms;
    spec.update = kernels::UpdateKind::masked;
    spec.kept = kKept;
    terms.mask_bits = static_cast<std::uint8_t>(spec.mask_bits);
    const std::uint64_t most = terms.round_blocks > 8 ? (terms.round_blocks - 4) / 4 : 1;
    terms.mask_blocks = flags.mask_blocks != 0 ? flags.mask_blocks : std::min(kUsualBlocks, most);
}

/// Steps count those of one member that misses no round.
void settle_rounds(TaskCompileFlags& flags) {
    settle_rollbacks(flags);
    kernels::RoundsSpec& spec = flags.rounds.spec;
    spec.update = flags.update == "dense"      ? kernels::UpdateKind::dense
                  : flags.update == "gradient" ? kernels::UpdateKind::gradient
                                               : kernels::UpdateKind::sparse;
    if (flags.masked) settle_masks(flags);
    spec.inner = flags.inner != 0 ? flags.inner : spec.update == kernels::UpdateKind::gradient ? 1 : 10;
    spec.regions = flags.rounds.terms.regions;
    spec.members = spec.regions != 0 ? spec.regions : flags.rounds.terms.members;  // So many messages move the model.
    if (flags.outer_rate != 0) spec.outer_rate = flags.outer_rate;
    flags.request.task.steps = flags.rounds.terms.rounds * spec.inner;
    flags.request.task.interval = spec.inner;
    flags.request.rounds = flags.rounds;
}

Status<> settle(TaskCompileFlags& flags) {
    using kernels::Precision;
    TaskFile& task = flags.request.task;
    kernels::TrainingSpec& training = flags.request.training;
    const auto ceiling = parse_coins(flags.price_ceiling);
    if (!ceiling || ceiling->is_zero()) return error("--price-ceiling must be coins for each segment, like 0.5");
    task.price_ceiling = *ceiling;
    if (flags.on_fraud == "keep" && (flags.rollbacks != 0 || flags.ahead != 0))
        return error("--rollbacks and --ahead are for --on-fraud rollback");
    const std::uint64_t least = std::uint64_t{4} * std::max(1u, flags.rollbacks) * std::max(1u, flags.ahead);
    if (flags.on_fraud == "rollback" && flags.rounds.terms.rounds < least)
        return error("--on-fraud rollback with these numbers takes at least " + std::to_string(least) +
                     " rounds: 4 for each round that each rollback may undo");
    task.allow_unaudited = task.allow_unaudited || flags.rounds.terms.private_data;
    task.audit_bp = static_cast<std::uint16_t>(flags.audit_percent * 100 + 0.5);
    training.optimizer = flags.optimizer == "sgd" ? kernels::Optimizer::sgd : kernels::Optimizer::adamw;
    training.loss = flags.loss == "mse"   ? kernels::LossKind::mse
                    : flags.loss == "bce" ? kernels::LossKind::bce
                                          : kernels::LossKind::cross_entropy;
    training.order = flags.order == "sequential" ? kernels::DataOrder::sequential : kernels::DataOrder::shuffled;
    training.precision = flags.precision == "f32"    ? Precision::f32
                         : flags.precision == "i8x3" ? Precision::i8x3
                                                     : Precision::i8x2;
    training.beta1 = flags.betas[0];
    training.beta2 = flags.betas[1];
    if (flags.rounds.terms.rounds != 0) settle_rounds(flags);
    if (is_builtin(flags.model)) {
        choose_model(flags);
    } else {
        std::error_code ignored;
        if (!std::filesystem::exists(flags.model, ignored)) {
            return error(flags.model +
                         ": no such file, and no built-in model (mlp, lenet, resnet-s, gpt, llama, vit-s)");
        }
        flags.request.module = flags.model;
    }
    const std::string named = std::filesystem::path(flags.model).stem().string();
    if (task.name.empty()) task.name = named + " on " + std::filesystem::path(flags.data.data).filename().string();
    if (task.name.size() > 64) task.name.resize(64);
    return Unit{};
}

int compile(const Program& program, TaskCompileFlags& flags) {
    if (const auto settled = settle(flags); !settled) return fail(program, settled.error().message);
    const auto data = open_data(flags.data);
    if (!data) return fail(program, data.error().message);
    const auto task = compile_task(flags.request, data->train, data->test ? &*data->test : nullptr);
    if (!task) return fail(program, task.error().message);
    const std::uint64_t segments = (task->steps + task->interval - 1) / task->interval;
    const std::uint64_t test_samples = data->test ? data->test->samples() : 0;
    if (program.json) {
        std::cout << boost::json::serialize(boost::json::object{{"folder", flags.request.out.string()},
                                                                {"model", flags.model},
                                                                {"samples", data->train.samples()},
                                                                {"test_samples", test_samples},
                                                                {"steps", task->steps},
                                                                {"segments", segments}})
                  << '\n';
    } else {
        std::cout << class_lines(data->train) << "compiled " << flags.model << ": " << data->train.samples()
                  << " samples to train, " << test_samples << " to test, " << task->steps << " steps in " << segments
                  << " segments\n"
                  << (task->group ? "next: retrace task run " : "next: retrace task submit ")
                  << (flags.request.out / "task.toml").string() << (task->group ? "\n" : " --key FILE\n");
    }
    return kDone;
}

void add_data_options(CLI::App& command, DataRequest& data) {
    command.add_option("--data", data.data,
                       "fashion-mnist, a folder (IDX files, images by class, `retrace data import`) or a file (.csv, "
                       ".tsv, .npz, .npy, .safetensors, or raw tokens: .txt, .bin, .tokens)");
    command.add_option("--test-data", data.test_data,
                       "The same for measuring. IDX files have their own; of tokens the last tenth is kept for it");
    command
        .add_option("--test-share", data.test_share,
                    "Keep this share of the samples, the last ones, for measuring; e.g. 0.2")
        ->check(CLI::Range(0.0, 0.9));
    command.add_flag("--flat", data.flat, "Samples are vectors, not images");
    command.add_option("--shape", data.shape, "Shape of a sample, like 1x28x28 (as in the file)");
    command.add_option("--label", data.label, "CSV: the column to predict (the last one); its labels may be texts");
    command.add_option("--delimiter", data.delimiter, "CSV: a character between fields, or tab (found in the file)");
    command.add_flag("--raw-tokens", data.raw_tokens, "Take the bytes of a file of any other kind as tokens");
    command.add_option("--context", data.context, "Tokens of a sample, of raw tokens (128)")
        ->check(CLI::Range(1, 1 << 20));
    command.add_option("--token-bytes", data.token_bytes, "Bytes of a raw token (1)")->check(CLI::IsMember({1, 2, 4}));
}

void add_model_options(CLI::App& command, TaskCompileFlags& flags) {
    command.add_option("--hidden", flags.request.model.hidden, "mlp: widths of the hidden layers (128)");
    command.add_option("--width", flags.width, "gpt, llama, vit-s: width; resnet-s: channels of the first stage");
    command.add_option("--layers", flags.layers, "gpt, llama, vit-s: blocks; resnet-s: blocks of a stage");
    command.add_option("--heads", flags.heads, "gpt, llama, vit-s: heads of attention (4)");
    command.add_option("--lora-rank", flags.request.model.lora_rank,
                       "gpt, llama, vit-s: train corrections of this rank alone (LoRA), of weights given with --start");
    command.add_option("--lora-alpha", flags.request.model.lora_alpha, "Scale of the corrections, over their rank (1)");
    command.add_option("--patch", flags.patch, "vit-s: pixels of a patch's side (4)");
}

void add_training_options(CLI::App& command, TaskCompileFlags& flags) {
    kernels::TrainingSpec& training = flags.request.training;
    command.add_option("--loss", flags.loss, "cross_entropy, mse, or bce (of logits, or of a final sigmoid)")
        ->check(CLI::IsMember({"cross_entropy", "mse", "bce"}));
    command.add_option("--optimizer", flags.optimizer, "adamw or sgd")->check(CLI::IsMember({"adamw", "sgd"}));
    command.add_option("--lr", training.learning_rate, "Learning rate (0.001)");
    command.add_option("--schedule", training.schedule, "constant or cosine")
        ->check(CLI::IsMember({"constant", "cosine"}));
    command.add_option("--warmup", training.warmup_steps, "Steps of linear warm-up");
    command.add_option("--batch", training.batch, "Samples of a step (128)");
    command.add_option("--momentum", training.momentum, "sgd: momentum (0.9)");
    command.add_option("--betas", flags.betas, "adamw: decay of the two moments (0.9 0.999)")->expected(2);
    command.add_option("--eps", training.epsilon, "adamw: added to the root of the second moment (1e-8)");
    command.add_option("--weight-decay", training.weight_decay, "Weight decay (0)");
    command.add_option("--clip", training.clip_norm, "Clip gradients to this norm (0: do not)");
    command.add_option("--precision", flags.precision, "i8x2, i8x3 or f32")
        ->check(CLI::IsMember({"i8x2", "i8x3", "f32"}));
    command.add_option("--data-order", flags.order, "shuffled (by the seed) or sequential (file order)")
        ->check(CLI::IsMember({"shuffled", "sequential"}));
}

void add_rounds_options(CLI::App& command, TaskCompileFlags& flags) {
    kernels::RoundsSpec& spec = flags.rounds.spec;
    GroupTerms& terms = flags.rounds.terms;
    terms.members = 8;
    CLI::Option* rounds = command.add_option("--rounds", terms.rounds, "Train in so many rounds, by several members")
                              ->check(CLI::Range(1, 1'000'000));
    const auto of_rounds = [&](CLI::Option* option) { return option->needs(rounds); };
    of_rounds(command.add_option("--members", terms.members, "Members (8); on the market 2 to 255"))
        ->check(CLI::Range(1, 255));
    of_rounds(command.add_option("--inner", flags.inner, "Most steps of a member in a round (10; gradients: 1)"))
        ->check(CLI::Range(std::uint32_t{1}, kernels::kInnerStepsMax));
    of_rounds(
        command.add_option(
            "--update", flags.update,
            "What a member sends: its greatest changes (sparse), all in fp32 (dense), the greatest of a gradient"))
        ->check(CLI::IsMember({"sparse", "dense", "gradient"}));
    of_rounds(command.add_option("--bits", spec.bits, "sparse, gradient: bits of a value that is sent (1)"))
        ->check(CLI::Range(1, 2));
    of_rounds(command.add_option("--outer-rate", flags.outer_rate, "Rate of the shared model (by members and size)"))
        ->check(CLI::PositiveNumber);
    const auto of_market = [&](const char* name, auto& value, const char* what) {
        of_rounds(command.add_option(name, value, what))->check(CLI::PositiveNumber);
    };
    of_market("--least-members", terms.least, "Members with which the training begins (half of --members, at least 2)");
    of_market("--round-blocks", terms.round_blocks, "Most blocks to train in a round (600)");
    of_market("--grace-blocks", terms.grace_blocks,
              "Blocks for the others once messages are 80 % of those before (60)");
    of_market("--fetch-blocks", terms.fetch_blocks, "Most blocks to fetch the messages of a round (60)");
    of_market("--reveal-blocks", terms.reveal_blocks, "Most blocks to reveal which of them came (30)");
    of_market("--absence-limit", terms.absence_limit,
              "Rounds missed, less rounds played since, at which a member leaves (8)");
    of_market("--keep-rounds", terms.keep_rounds, "Rounds for which members serve messages (64)");
    of_market("--catch-up-max", terms.catch_up_max,
              "Most messages that a member takes in at once after it was away (those of --absence-limit + --max-age + "
              "1 rounds)");
    of_rounds(command.add_option("--max-age", terms.max_age,
                                 "Rounds for which a slow member may train on before it sends its message (0)"))
        ->check(CLI::NonNegativeNumber);
    of_rounds(
        command.add_option("--on-fraud", flags.on_fraud,
                           "After a conviction: keep the records, or rollback to the round before the lie (keep)"))
        ->check(CLI::IsMember({"keep", "rollback"}));
    of_rounds(
        command.add_option("--rollbacks", flags.rollbacks, "rollback: at most so many; then records are kept (1)"))
        ->check(CLI::Range(1, int{market::kRollbacksMax}));
    of_rounds(command.add_option(
                  "--ahead", flags.ahead,
                  "rollback: rounds that may be undone; a round waits until those before them are final (up to 8)"))
        ->check(CLI::Range(std::uint32_t{1}, market::kAheadMax));
    CLI::Option* regions = of_rounds(command.add_option("--regions", terms.regions,
                                                        "Members merge the messages of so many regions: another member "
                                                        "downloads one message a region (0: all messages)"));
    regions->check(CLI::Range(std::uint32_t{0}, kernels::kRegionsMax));
    command.add_option("--merge-blocks", terms.merge_blocks, "Most blocks to merge the messages of a region (60)")
        ->check(CLI::PositiveNumber)
        ->needs(regions);
    CLI::Option* masked = of_rounds(command.add_flag(
        "--masked", flags.masked,
        "Send changes under masks, which hide them from whoever does not repeat the member's training"));
    masked->excludes("--update", "--max-age", "--bits", "--regions");
    command.add_option("--mask-bits", spec.mask_bits, "Bits of a value that is sent under masks (10)")
        ->check(CLI::Range(2, 27))
        ->needs(masked);
    command.add_option("--mask-blocks", flags.mask_blocks, "Most blocks of each step of the masks (20)")
        ->check(CLI::PositiveNumber)
        ->needs(masked);
    of_rounds(command.add_flag("--private", terms.private_data,
                               "Members train on data of their own that nobody else has; --data gives the shapes, and "
                               "stays here. Only accounts that you admit take part, and nobody may be able to check "
                               "what they do on their data"));
}

void add_task_options(CLI::App& command, TaskCompileFlags& flags) {
    TaskFile& task = flags.request.task;
    command.add_option("--name", task.name, "Name of the task");
    command.add_option("--steps", task.steps, "Training steps (1000)")->check(CLI::PositiveNumber);
    command.add_option("--checkpoint-every", task.interval, "Steps between checkpoints (100)")
        ->check(CLI::PositiveNumber);
    command.add_option("--seed", task.seed, "Seed of initial values, data order and dropout (0)");
    command.add_option("--price-ceiling", flags.price_ceiling, "Most coins to pay for a segment (1)");
    command.add_option("--audit-percent", flags.audit_percent, "Probability that a segment is audited (5)")
        ->check(CLI::Range(0.0, 100.0));
    command.add_option("--auditors", task.auditors, "Auditors of an audited segment (2)");
    command.add_flag("--spot", task.spot,
                     "Let a solver give the task back at a checkpoint; another goes on from there");
    command.add_flag("--allow-unaudited", task.allow_unaudited, "Pay for segments that no auditor can be drawn for");
    command.add_option("--replicas", task.replicas, "Solvers that train independently (1)");
}

}  // namespace

void add_task_compile(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("compile", "Turn a model and a data set into a task folder");
    auto flags = std::make_shared<TaskCompileFlags>();
    flags->request.task.steps = 1000;
    flags->request.task.interval = 100;
    command->add_option("MODEL", flags->model, "A TorchScript file, or mlp, lenet, resnet-s, gpt, llama, vit-s")
        ->required();
    command->add_option("-o,--out", flags->request.out, "Folder to write")->required();
    command->add_option("--start", flags->request.start,
                        "model.safetensors to begin with, e.g. of `retrace task fetch` (the seed's or the file's own)");
    command->add_flag("--require-sandbox", flags->request.require_sandbox,
                      "TorchScript: fail if the process that reads it cannot be sandboxed (default: warn)");
    add_data_options(*command, flags->data);
    add_model_options(*command, *flags);
    add_training_options(*command, *flags);
    add_task_options(*command, *flags);
    add_rounds_options(*command, *flags);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return compile(program, *flags); }; });
}

}  // namespace retrace::node::cli
