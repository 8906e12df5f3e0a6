// SPDX-License-Identifier: MIT
// retrace snapshot export, import, show
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cmd/cli.hpp"
#include "node/server/rules.hpp"
#include "node/server/snapshot.hpp"

namespace retrace::node::cli {
namespace {

struct SnapshotFlags {
    Config config;
    std::string folder, trusted;
    std::optional<std::uint64_t> height;
};

int print(const Program& program, const ledger::SnapshotManifest& manifest) {
    const std::string block = to_0x(view(ledger::block_hash(manifest.header)));
    const std::string root = to_0x(view(ledger::snapshot_root(manifest)));
    std::uint64_t bytes = manifest.block.bytes;
    for (const ledger::SnapshotFile& chunk : manifest.chunks) bytes += chunk.bytes;
    if (program.json) {
        std::cout << boost::json::serialize(boost::json::object{{"height", manifest.header.height},
                                                                {"block_hash", block},
                                                                {"state_root", to_0x(view(manifest.header.state_root))},
                                                                {"genesis_hash", to_0x(view(manifest.genesis))},
                                                                {"snapshot_root", root},
                                                                {"chunks", manifest.chunks.size()},
                                                                {"bytes", bytes}})
                  << '\n';
    } else {
        std::cout << "height " << manifest.header.height << ", " << manifest.chunks.size() << " chunks, " << bytes
                  << " bytes\nblock    " << block << "\nsnapshot " << root << '\n';
    }
    return kDone;
}

int run_export(const Program& program, const SnapshotFlags& flags) {
    const auto manifest = export_data(flags.config, native_rules(), flags.height, flags.folder);
    return manifest ? print(program, *manifest) : fail(program, manifest.error().message);
}

int run_show(const Program& program, const SnapshotFlags& flags) {
    const auto manifest = ledger::read_manifest(flags.folder);
    return manifest ? print(program, *manifest) : fail(program, manifest.error().message);
}

int run_import(const Program& program, const SnapshotFlags& flags) {
    const auto bytes = from_hex(flags.trusted);
    if (!bytes || bytes->size() != 32) {
        fail(program, "--trusted is no block hash: \"0x\" and 64 hex digits");
        return kWrongUsage;
    }
    const auto imported = import_data(flags.config, native_rules(), flags.folder, to_hash32(*bytes));
    if (!imported) return fail(program, imported.error().message);
    if (program.json) {
        std::cout << boost::json::serialize(boost::json::object{
                         {"height", imported->height}, {"accounts", imported->accounts}, {"slots", imported->slots}})
                  << '\n';
    } else {
        std::cout << "block " << imported->height << " with " << imported->accounts << " accounts and "
                  << imported->slots << " slots; start the node on " << flags.config.data_dir << '\n';
    }
    return kDone;
}

}  // namespace

void add_snapshot(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("snapshot", "Export and import the state of a chain, for new nodes");
    command->require_subcommand(1);
    auto flags = std::make_shared<SnapshotFlags>();
    const auto add = [&](const char* name, const char* what, int (*run)(const Program&, const SnapshotFlags&)) {
        CLI::App* sub = command->add_subcommand(name, what);
        add_json(*sub, program);
        sub->callback(
            [&program, flags, run] { program.run = [&program, flags, run] { return run(program, *flags); }; });
        return sub;
    };
    const auto add_data_dir = [&](CLI::App* sub) {
        sub->add_option("--data-dir", flags->config.data_dir, "Folder of the chain; its node is stopped")->required();
        sub->add_flag("--dev", flags->config.dev, "The chain is a developer chain");
    };
    CLI::App* out = add("export", "Write the state into a new folder", run_export);
    add_data_dir(out);
    out->add_option("--height", flags->height, "Block after which the state is taken; the last one when absent");
    out->add_option("--out", flags->folder, "Folder to make")->required();
    CLI::App* in = add("import", "Begin a new data directory with a snapshot", run_import);
    add_data_dir(in);
    in->add_option("--genesis", flags->config.genesis, "Genesis file of the chain");
    in->add_option("--from", flags->folder, "Folder of the snapshot")->required();
    in->add_option("--trusted", flags->trusted, "Hash of the snapshot's block, from a source that you trust")
        ->required();
    add("show", "What a snapshot holds", run_show)->add_option("FOLDER", flags->folder, "Folder")->required();
}

}  // namespace retrace::node::cli
