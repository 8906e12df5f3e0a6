// SPDX-License-Identifier: MIT
// retrace wallet sign | verify
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "ledger/crypto/eip55.hpp"
#include "node/cmd/options.hpp"
#include "node/cmd/wallet_command.hpp"
#include "node/platform/data_dir.hpp"
#include "node/wallet/message.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct MessageOptions {
    KeyOptions key;                      // sign only
    std::string address;                 // verify only
    std::string signature;               // verify only
    std::optional<std::string> message;  // or typed_file
    std::string typed_file;
};

void add_message_options(CLI::App& command, MessageOptions& options) {
    CLI::Option* text = command.add_option("message", options.message, "The text (EIP-191)");
    command.add_option("--typed", options.typed_file, "JSON file with typed data (EIP-712) instead of a text")
        ->excludes(text);
}

Result<Hash32> digest_of(const MessageOptions& options) {
    if (options.message) return wallet::personal_digest(view(std::string_view(*options.message)));
    if (options.typed_file.empty()) return error("name what is signed: a text, or --typed FILE");
    const auto bytes = read_file(options.typed_file, std::size_t{1} << 20);
    if (!bytes) return error("cannot read " + options.typed_file + " (at most 1 MiB)");
    return wallet::typed_data_digest({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

int run_sign(const Program& program, const MessageOptions& options) {
    const auto digest = digest_of(options);
    if (!digest) return fail(program, digest.error().message);
    const auto key = options.key.load();
    if (!key) return fail(program, key.error().message);
    const std::string signature = to_0x(wallet::sign_digest(*key, *digest));
    if (program.json) {
        std::cout << json::serialize(json::object{{"address", ledger::to_checksum(key->address())},
                                                  {"digest", to_0x(view(*digest))},
                                                  {"signature", signature}})
                  << '\n';
    } else {
        std::cout << signature << '\n';
    }
    return kDone;
}

int run_verify(const Program& program, const MessageOptions& options) {
    const auto digest = digest_of(options);
    if (!digest) return fail(program, digest.error().message);
    const auto wanted = typed_address(options.address);
    if (!wanted) return fail(program, wanted.error().message);
    const auto bytes = from_hex(options.signature);
    const auto signer = bytes ? wallet::recover_signer(*digest, *bytes) : std::nullopt;
    const bool valid = signer == *wanted;
    if (program.json) {
        json::object out{{"valid", valid}, {"signer", nullptr}};
        if (signer) out["signer"] = ledger::to_checksum(*signer);
        std::cout << json::serialize(out) << '\n';
    } else {
        std::cout << (valid ? "valid" : "NOT valid") << '\n';
    }
    return valid ? kDone : kFailed;
}

}  // namespace

void add_wallet_messages(CLI::App& wallet, Program& program) {
    CLI::App* sign = wallet.add_subcommand("sign", "Sign a text or typed data");
    auto sign_options = std::make_shared<MessageOptions>();
    sign_options->key.add_to(*sign);
    add_message_options(*sign, *sign_options);
    add_json(*sign, program);
    sign->callback(
        [&program, sign_options] { program.run = [&, sign_options] { return run_sign(program, *sign_options); }; });

    CLI::App* verify = wallet.add_subcommand("verify", "Check who signed a text or typed data");
    auto verify_options = std::make_shared<MessageOptions>();
    verify->add_option("--address", verify_options->address, "Who is said to have signed")->required();
    verify->add_option("--signature", verify_options->signature, "65 bytes in hex")->required();
    add_message_options(*verify, *verify_options);
    add_json(*verify, program);
    verify->callback([&program, verify_options] {
        program.run = [&, verify_options] { return run_verify(program, *verify_options); };
    });
}

}  // namespace retrace::node::cli
