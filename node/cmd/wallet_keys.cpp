// SPDX-License-Identifier: MIT
// retrace wallet new | import | export | list
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>

#include "ledger/crypto/eip55.hpp"
#include "ledger/crypto/secret.hpp"
#include "node/cmd/options.hpp"
#include "node/cmd/wallet_command.hpp"
#include "node/platform/data_dir.hpp"
#include "node/wallet/key_folder.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

constexpr const char* kEmptyPassphrase =
    "the passphrase is empty: whoever reads the keystore has the key; choose one, or give --empty-passphrase";

struct NewOptions {
    std::string keys;
    std::string passphrase_file;
    bool mnemonic = false;
    bool light = false;
    bool empty_passphrase = false;
    // import only
    std::string keystore, private_key_file, mnemonic_file;
    std::uint32_t index = 0;
    // with words
    std::string mnemonic_passphrase_file;
};

void add_new_options(CLI::App& command, NewOptions& options) {
    add_keys_option(command, options.keys);
    command.add_option("--passphrase-file", options.passphrase_file, "File whose first line locks the key");
    command.add_flag("--empty-passphrase", options.empty_passphrase, "Accept an empty passphrase");
    command.add_flag("--light", options.light, "Cheap key derivation: for test keys only");
}

void add_mnemonic_passphrase(CLI::App& command, NewOptions& options, CLI::Option* words) {
    command
        .add_option("--mnemonic-passphrase-file", options.mnemonic_passphrase_file,
                    "File whose first line is the words' own passphrase (BIP-39); without it they have none")
        ->needs(words);
}

/// Derives the account of these words with their optional passphrase.
Result<ledger::SecretKey> account_of(std::string_view words, const NewOptions& options) {
    if (options.mnemonic_passphrase_file.empty()) return wallet::account_key(words, "", options.index);
    RETRACE_TRY(passphrase, read_passphrase(options.mnemonic_passphrase_file, {}));
    return wallet::account_key(words, passphrase.view(), options.index);
}

/// Writes directly to the descriptor: the buffers of the standard streams are not wiped. Returns false if it cannot.
bool print_secret(const ledger::SecretText& line) {
    std::cout << std::flush;
    for (std::string_view left = line.view(); !left.empty();) {
        const ssize_t size = ::write(STDOUT_FILENO, left.data(), left.size());
        if (size < 0 && errno != EINTR) return false;
        if (size > 0) left.remove_prefix(static_cast<std::size_t>(size));
    }
    return std::cout.good();
}

/// Prints `before`, `secret`, `after` and a newline from a buffer that is wiped.
bool print_with(std::string_view before, std::string_view secret, std::string_view after) {
    ledger::SecretText line(before.size() + secret.size() + after.size() + 1);
    ensure(line.append(before) && line.append(secret) && line.append(after) && line.append("\n"), "room for all");
    return print_secret(line);
}

ledger::SecretText hex_of(View secret) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    ledger::SecretText out(2 + 2 * secret.size());
    bool fits = out.append("0x");
    for (const std::uint8_t byte : secret)
        fits = fits && out.push_back(kDigits[byte >> 4]) && out.push_back(kDigits[byte & 15]);
    ensure(fits, "room for every digit");
    return out;
}

/// A key whose words nobody has seen is of no use: its owner believes to have a copy.
int forget_unseen(const Program& program, const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return fail(program, "standard output could not be written, so the words were not shown and the new keystore " +
                             path + " is removed; free space or name another output, and make a key again");
}

/// Stores the key and reports it. `words` is printed once and never stored.
int store(const Program& program, const NewOptions& options, const ledger::SecretKey& key, std::string_view words) {
    std::signal(SIGPIPE, SIG_IGN);  // A reader that is gone is an error of a write, and the keystore is removed.
    const auto passphrase = read_passphrase(options.passphrase_file, "passphrase for the new keystore", true);
    if (!passphrase) return fail(program, passphrase.error().message);
    if (passphrase->view().empty() && !options.empty_passphrase) return fail(program, kEmptyPassphrase);
    const auto path = wallet::KeyFolder(options.keys)
                          .add(key, passphrase->view(), options.light ? wallet::kLightScrypt : wallet::kStandardScrypt);
    if (!path) return fail(program, path.error().message);
    const std::string address = ledger::to_checksum(key.address());
    if (program.json) {
        const std::string out = json::serialize(json::object{{"address", address}, {"file", *path}});
        if (words.empty()) {
            std::cout << out << '\n';
            return kDone;
        }
        return print_with(out.substr(0, out.size() - 1) + R"(,"mnemonic":")", words, R"("})")
                   ? kDone
                   : forget_unseen(program, *path);
    }
    std::cout << address << "  " << *path << '\n';
    if (words.empty() || print_with("mnemonic (write it down, it is shown once): ", words, "")) return kDone;
    return forget_unseen(program, *path);
}

int run_new(const Program& program, const NewOptions& options) {
    if (!options.mnemonic) return store(program, options, ledger::SecretKey::random(), {});
    std::array<std::uint8_t, 16> entropy{};
    ledger::random_bytes(entropy);
    const ledger::SecretText words = wallet::mnemonic_of(entropy);
    ledger::wipe(entropy);
    const auto key = account_of(words.view(), options);
    if (!key) return fail(program, key.error().message);
    return store(program, options, *key, words.view());
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
        return account_of(text.view(), options);
    }
    if (options.keystore.empty()) {
        return error("name what to import: --keystore FILE, --private-key-file FILE or --mnemonic-file FILE");
    }
    RETRACE_TRY(passphrase, read_passphrase(options.passphrase_file, "passphrase of " + options.keystore));
    warn_if_open(options.keystore);
    return wallet::unlock(options.keystore, passphrase.view());
}

int run_import(const Program& program, const NewOptions& options) {
    const auto key = import_key(options);
    if (!key) return fail(program, key.error().message);
    return store(program, options, *key, {});
}

int run_export(const Program& program, const KeyOptions& options, bool private_key, bool empty_passphrase) {
    const auto key = options.load();
    if (!key) return fail(program, key.error().message);
    const std::string address = ledger::to_checksum(key->address());
    if (private_key) {
        const ledger::SecretText secret = hex_of(key->bytes());
        if (program.json)
            return print_with(R"({"address":")" + address + R"(","private_key":")", secret.view(), R"("})") ? kDone
                                                                                                            : kFailed;
        return print_with("", secret.view(), "") ? kDone : kFailed;
    }
    const auto passphrase = read_passphrase(options.passphrase_file, "passphrase of the exported keystore", true);
    if (!passphrase) return fail(program, passphrase.error().message);
    if (passphrase->view().empty() && !empty_passphrase) return fail(program, kEmptyPassphrase);
    std::cout << wallet::encrypt_keystore(*key, passphrase->view());
    return kDone;
}

int run_list(const Program& program, const std::string& keys) {
    json::array out;
    for (const wallet::KeyFile& file : wallet::KeyFolder(keys).list()) {
        warn_if_open(file.path);
        const std::string address = file.address ? ledger::to_checksum(*file.address) : std::string();
        if (program.json) {
            const json::value known = file.address ? json::value(json::string(address)) : json::value(nullptr);
            out.push_back(json::object{{"address", known}, {"file", file.path}});
        } else {
            std::cout << (file.address ? address : "address unknown until it is opened") << "  " << file.path << '\n';
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
    CLI::Option* words =
        fresh->add_flag("--mnemonic", new_options->mnemonic, "From twelve new words (BIP-39), which are printed once");
    add_mnemonic_passphrase(*fresh, *new_options, words);
    add_json(*fresh, program);
    fresh->callback(
        [&program, new_options] { program.run = [&, new_options] { return run_new(program, *new_options); }; });

    CLI::App* taken = wallet.add_subcommand("import", "Take over a key from elsewhere");
    auto import_options = std::make_shared<NewOptions>();
    add_new_options(*taken, *import_options);
    taken->add_option("--keystore", import_options->keystore, "Keystore V3 file");
    taken->add_option("--private-key-file", import_options->private_key_file, "File with 64 hex digits");
    CLI::Option* file = taken->add_option("--mnemonic-file", import_options->mnemonic_file, "File with BIP-39 words");
    add_mnemonic_passphrase(*taken, *import_options, file);
    taken->add_option("--index", import_options->index, "Account of the mnemonic: m/44'/60'/0'/0/INDEX");
    add_json(*taken, program);
    taken->callback([&program, import_options] {
        program.run = [&, import_options] { return run_import(program, *import_options); };
    });

    CLI::App* out = wallet.add_subcommand("export", "Print a key as keystore file, or in the clear");
    auto export_options = std::make_shared<KeyOptions>();
    auto private_key = std::make_shared<bool>(false);
    export_options->add_to(*out);
    out->add_flag("--private-key", *private_key, "Print the private key itself");
    auto empty = std::make_shared<bool>(false);
    out->add_flag("--empty-passphrase", *empty, "Accept an empty passphrase");
    add_json(*out, program);
    out->callback([&program, export_options, private_key, empty] {
        program.run = [&, export_options, private_key, empty] {
            return run_export(program, *export_options, *private_key, *empty);
        };
    });

    CLI::App* list = wallet.add_subcommand("list", "List the folder of keys");
    auto keys = std::make_shared<std::string>();
    add_keys_option(*list, *keys);
    add_json(*list, program);
    list->callback([&program, keys] { program.run = [&, keys] { return run_list(program, *keys); }; });
}

}  // namespace retrace::node::cli
