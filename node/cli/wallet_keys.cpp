// SPDX-License-Identifier: MIT
// retrace wallet new | import | export | list
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <memory>

#include "ledger/crypto/eip55.hpp"
#include "ledger/crypto/secret.hpp"
#include "node/cli/options.hpp"
#include "node/cli/wallet_command.hpp"
#include "node/data_dir.hpp"
#include "node/wallet/key_folder.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct NewOptions {
    std::string keys;
    std::string passphrase_file;
    bool mnemonic = false;
    bool light = false;
    // import only
    std::string keystore, private_key_file, mnemonic_file;
    std::uint32_t index = 0;
};

void add_new_options(CLI::App& command, NewOptions& options) {
    add_keys_option(command, options.keys);
    command.add_option("--passphrase-file", options.passphrase_file, "File whose first line locks the key");
    command.add_flag("--light", options.light, "Cheap key derivation: for test keys only");
}

/// Stores the key and reports it. `words` is printed once and never stored.
int store(const Program& program, const NewOptions& options, const ledger::SecretKey& key,
          const std::string& words) {
    const auto passphrase = read_passphrase(options.passphrase_file, "passphrase for the new keystore", true);
    if (!passphrase) return fail(program, passphrase.error().message);
    const auto path =
        wallet::KeyFolder(options.keys)
            .add(key, passphrase->view(), options.light ? wallet::kLightScrypt : wallet::kStandardScrypt);
    if (!path) return fail(program, path.error().message);
    const std::string address = ledger::to_checksum(key.address());
    if (program.json) {
        json::object out{{"address", address}, {"file", *path}};
        if (!words.empty()) out["mnemonic"] = words;
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << address << "  " << *path << '\n';
    if (!words.empty()) std::cout << "mnemonic (write it down, it is shown once): " << words << '\n';
    return kDone;
}

int run_new(const Program& program, const NewOptions& options) {
    if (!options.mnemonic) return store(program, options, ledger::SecretKey::random(), {});
    std::array<std::uint8_t, 16> entropy{};
    ledger::random_bytes(entropy);
    const std::string words = wallet::mnemonic_of(entropy);
    ledger::wipe(entropy);
    const auto key = wallet::account_key(words, "", 0);
    if (!key) return fail(program, key.error().message);
    return store(program, options, *key, words);
}

Result<ledger::SecretKey> import_key(const NewOptions& options) {
    if (!options.private_key_file.empty()) {
        RETRACE_TRY(text, read_secret(options.private_key_file));
        auto bytes = from_hex(text.view());
        auto key = bytes ? ledger::SecretKey::from_bytes(*bytes) : std::nullopt;
        if (bytes) ledger::wipe(*bytes);
        if (!key) return error(options.private_key_file + ": not a private key (64 hex digits)");
        return *std::move(key);
    }
    if (!options.mnemonic_file.empty()) {
        RETRACE_TRY(text, read_secret(options.mnemonic_file));
        return wallet::account_key(text.view(), "", options.index);
    }
    if (options.keystore.empty()) {
        return error("name what to import: --keystore FILE, --private-key-file FILE or --mnemonic-file FILE");
    }
    RETRACE_TRY(passphrase, read_passphrase(options.passphrase_file, "passphrase of " + options.keystore));
    return wallet::unlock(options.keystore, passphrase.view());
}

int run_import(const Program& program, const NewOptions& options) {
    const auto key = import_key(options);
    if (!key) return fail(program, key.error().message);
    return store(program, options, *key, {});
}

int run_export(const Program& program, const KeyOptions& options, bool private_key) {
    const auto key = options.load();
    if (!key) return fail(program, key.error().message);
    const std::string address = ledger::to_checksum(key->address());
    if (private_key) {
        const std::string secret = to_0x(key->bytes());
        std::cout << (program.json
                          ? json::serialize(json::object{{"address", address}, {"private_key", secret}})
                          : secret)
                  << '\n';
        return kDone;
    }
    const auto passphrase =
        read_passphrase(options.passphrase_file, "passphrase of the exported keystore", true);
    if (!passphrase) return fail(program, passphrase.error().message);
    std::cout << wallet::encrypt_keystore(*key, passphrase->view());
    return kDone;
}

int run_list(const Program& program, const std::string& keys) {
    json::array out;
    for (const wallet::KeyFile& file : wallet::KeyFolder(keys).list()) {
        const std::string address = ledger::to_checksum(file.address);
        if (program.json) {
            out.push_back(json::object{{"address", address}, {"file", file.path}});
        } else {
            std::cout << address << "  " << file.path << '\n';
        }
    }
    if (program.json) std::cout << json::serialize(out) << '\n';
    return kDone;
}

}  // namespace

void add_wallet_keys(CLI::App& wallet, Program& program) {
    CLI::App* fresh = wallet.add_subcommand("new", "Make a key");
    auto new_options = std::make_shared<NewOptions>();
    add_new_options(*fresh, *new_options);
    fresh->add_flag("--mnemonic", new_options->mnemonic,
                    "From twelve new words (BIP-39), which are printed once");
    add_json(*fresh, program);
    fresh->callback([&program, new_options] {
        program.run = [&, new_options] { return run_new(program, *new_options); };
    });

    CLI::App* import = wallet.add_subcommand("import", "Take over a key from elsewhere");
    auto import_options = std::make_shared<NewOptions>();
    add_new_options(*import, *import_options);
    import->add_option("--keystore", import_options->keystore, "Keystore V3 file");
    import->add_option("--private-key-file", import_options->private_key_file, "File with 64 hex digits");
    import->add_option("--mnemonic-file", import_options->mnemonic_file, "File with BIP-39 words");
    import->add_option("--index", import_options->index, "Account of the mnemonic: m/44'/60'/0'/0/INDEX");
    add_json(*import, program);
    import->callback([&program, import_options] {
        program.run = [&, import_options] { return run_import(program, *import_options); };
    });

CLI::App* out = wallet.add_subcommand("export", "Print a key as keystore file, or in the clear");
auto export_options = std::make_shared<KeyOptions>();
auto private_key = std::make_shared<bool>(false);
export_options->add_to(*out);
out->add_flag("--private-key", *private_key, "Print the private key itself");
add_json(*out, program);
out->callback([&program, export_options, private_key] {
    program.run = [&, export_options, private_key] {
        return run_export(program, *export_options, *private_key);
    };
});

CLI::App* list = wallet.add_subcommand("list", "List the folder of keys");
auto keys = std::make_shared<std::string>();
add_keys_option(*list, *keys);
add_json(*list, program);
list->callback([&program, keys] { program.run = [&, keys] { return run_list(program, *keys); }; });
}

}  // namespace retrace::node::cli
