// SPDX-License-Identifier: MIT
// retrace task admit
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct AdmitFlags {
    SignerOptions signer;
    std::uint64_t task = 0;
    std::vector<std::string> accounts;
};

int admit(const Program& program, const AdmitFlags& flags) {
    const auto accounts = parse_accounts(flags.accounts);
    if (!accounts) return fail(program, accounts.error().message);
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    const auto height = admit_members((*session)->submitter, flags.task, *accounts);
    if (!height) return fail(program, height.error().message);
    if (program.json)
        std::cout << json::serialize(
                         json::object{{"task", flags.task}, {"admitted", accounts->size()}, {"height", *height}})
                  << '\n';
    else
        std::cout << accounts->size() << " accounts may take part in task " << flags.task << '\n';
    return kDone;
}

}  // namespace

Result<std::vector<ledger::Address>> parse_accounts(const std::vector<std::string>& texts) {
    std::vector<ledger::Address> out;
    for (const std::string& text : texts) {
        const auto account = ledger::parse_address(text);
        if (!account) return error(text + " is no account: an account is 0x and 40 hex digits");
        out.push_back(*account);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

void add_task_admit(CLI::App& parent, Program& program) {
    CLI::App* command =
        parent.add_subcommand("admit", "Let accounts bid for a private training and join it; nobody is put out again");
    auto flags = std::make_shared<AdmitFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    command->add_option("ACCOUNT", flags->accounts, "Accounts of solvers")->required();
    flags->signer.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return admit(program, *flags); }; });
}

}  // namespace retrace::node::cli
