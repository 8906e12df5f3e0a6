// SPDX-License-Identifier: MIT
// retrace data import|show
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <memory>

#include "node/cmd/class_names.hpp"
#include "node/cmd/cli.hpp"
#include "node/platform/printable.hpp"
#include "node/tasks/data/import.hpp"
#include "node/tasks/open_data.hpp"

namespace retrace::node::cli {
namespace {

struct ImportArguments {
    std::string path, out, split = "train", delimiter, shape;
    bool images = false;
    ImportOptions options;
};

std::string shape_of(const kernels::Tensor& tensor) {
    std::string out;
    for (const std::uint64_t extent : tensor.dims) out += (out.empty() ? "" : "x") + std::to_string(extent);
    return out;
}

void print(const Program& program, const DataSet& data) {
    if (program.json) {
        std::cout << manifest_json(data);
        return;
    }
    std::cout << "data set  " << printable(data.name) << "\nsource    " << printable(data.source) << "\nsamples   "
              << data.samples() << '\n';
    if (data.classes > 0) std::cout << "classes   " << data.classes << '\n';
    for (const DataSet::Part& part : data.parts) {
        std::cout << "tensor    " << part.name << "  " << dtype_name(part.tensor.dtype) << ' ' << shape_of(part.tensor)
                  << "  root " << to_0x(view(part.root)) << '\n';
    }
}

int run_import(const Program& program, const ImportArguments& arguments) {
    ImportOptions options = arguments.options;
    options.split = arguments.split == "test" ? Split::test : Split::train;
    options.flat = !arguments.images;
    const auto delimiter = parse_delimiter(arguments.delimiter);
    if (!delimiter) throw CLI::ValidationError(delimiter.error().message);
    auto shape = parse_shape(arguments.shape);
    if (!shape) throw CLI::ValidationError(shape.error().message);
    options.delimiter = *delimiter;
    options.shape = std::move(*shape);
    const auto data = import_dataset(arguments.path, options);
    if (!data) return fail(program, data.error().message);
    if (const auto saved = save_dataset(*data, arguments.out); !saved) return fail(program, saved.error().message);
    print(program, *data);
    if (!program.json) std::cout << class_lines(*data);
    return kDone;
}

void add_import(CLI::App& data, Program& program) {
    CLI::App* command = data.add_subcommand("import", "Turn files into a data set that is committed tile by tile");
    auto arguments = std::make_shared<ImportArguments>();
    command
        ->add_option("PATH", arguments->path,
                     "fashion-mnist, a folder (IDX files, or images in one folder for each class), or a file (.csv, "
                     ".tsv, .npz, .npy, .safetensors, or raw tokens: .txt, .bin, .tokens)")
        ->required();
    command->add_option("-o,--out", arguments->out, "Folder to write; must not exist or be empty")->required();
    command->add_option("--split", arguments->split, "Which part of IDX files to import")
        ->check(CLI::IsMember({"train", "test"}));
    command->add_flag("--images", arguments->images, "Keep channels, rows and columns instead of flat samples");
    command->add_option("--name", arguments->options.name, "Name of the data set");
    command->add_option("--shape", arguments->shape, "Shape of a sample, like 1x28x28 (as in the file)");
    command->add_option("--label", arguments->options.label,
                        "CSV: the column to predict (the last one); its labels may be texts");
    command->add_option("--delimiter", arguments->delimiter,
                        "CSV: a character between fields, or tab (found in the file)");
    command->add_flag("--raw-tokens", arguments->options.raw_tokens,
                      "Take the bytes of a file of any other kind as tokens");
    command->add_option("--context", arguments->options.context, "Tokens of a sample")->check(CLI::Range(1, 1 << 20));
    command->add_option("--token-bytes", arguments->options.token_bytes, "Bytes of a raw token")
        ->check(CLI::IsMember({1, 2, 4}));
    add_json(*command, program);
    command->callback(
        [&program, arguments] { program.run = [&program, arguments] { return run_import(program, *arguments); }; });
}

void add_show(CLI::App& data, Program& program) {
    CLI::App* command = data.add_subcommand("show", "Check an imported data set against its roots and print it");
    auto folder = std::make_shared<std::string>();
    command->add_option("FOLDER", *folder, "What `retrace data import` wrote")->required();
    add_json(*command, program);
    command->callback([&program, folder] {
        program.run = [&program, folder] {
            const auto loaded = load_dataset(*folder);
            if (!loaded) return fail(program, loaded.error().message);
            print(program, *loaded);
            return kDone;
        };
    });
}

}  // namespace

void add_data(CLI::App& app, Program& program) {
    CLI::App* data = app.add_subcommand("data", "Import and show data sets");
    data->require_subcommand(1);
    add_import(*data, program);
    add_show(*data, program);
}

}  // namespace retrace::node::cli
