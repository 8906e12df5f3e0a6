// SPDX-License-Identifier: MIT
#include "node/cmd/quickstart.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "contracts/records/rollback_views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "node/agents/bidding.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/doctor/probe.hpp"
#include "node/cmd/quickstart_endpoint.hpp"
#include "node/platform/permissions.hpp"
#include "node/platform/units.hpp"
#include "node/server/config/dev_chain.hpp"
#include "node/wallet/key_folder.hpp"
#include "node/wallet/mnemonic.hpp"

namespace retrace::node::cli {
namespace {

namespace fs = std::filesystem;
using ledger::U256;

constexpr unsigned kSteps = 5;

void say(unsigned step, const std::string& text) {
    std::cout << "step " << step << " of " << kSteps << ": " << text << std::endl;
}

/// Shows the words on the terminal, never on a pipe, and asks for two of them.
Status<> confirm_on_terminal(const ledger::SecretText& words) {
    const FileDescriptor terminal(::open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (!terminal || ::isatty(STDIN_FILENO) == 0) {
        return error(
            "no terminal to show the words of a new key on: give --words-file FILE, which keeps them readable for this "
            "user alone, and --passphrase-file FILE; or name a key that there is with --key");
    }
    const auto put = [&](std::string_view text) {
        while (!text.empty()) {
            const ssize_t size = ::write(terminal.get(), text.data(), text.size());
            if (size <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(size));
        }
        return true;
    };
    if (!put("\nThe twelve words of your key. Whoever has them has its coins; without them a lost\n"
             "disk loses the coins. Write them on paper; they are shown this once:\n\n  ") ||
        !put(words.view()) || !put("\n\n"))
        return error("the terminal cannot be written to; no key was made");
    std::array<std::uint8_t, 2> drawn{};
    ledger::random_bytes(drawn);
    const std::size_t first = drawn[0] % 12, second = (first + 1 + drawn[1] % 11) % 12;
    for (const std::size_t index : {std::min(first, second), std::max(first, second)}) {
        RETRACE_TRY(typed, read_passphrase({}, "word number " + std::to_string(index + 1)));
        if (typed.view() != word_of(words.view(), index))
            return error("that is not word number " + std::to_string(index + 1) +
                         "; no key was made: start again and write the new words down");
    }
    return Unit{};
}

/// Writes the words to a new file of mode 0600, on disk before it returns.
Status<> write_words(const std::string& path, const ledger::SecretText& words) {
    ledger::SecretText line(words.view().size() + 1);
    ensure(line.append(words.view()) && line.push_back('\n'), "room for the words");
    const auto written = write_durably(path, {view(line.view())}, 0600);
    return written ? Status<>(Unit{}) : error(written.error().message);
}

ledger::SecretText new_words() {
    std::array<std::uint8_t, 16> entropy{};
    ledger::random_bytes(entropy);
    ledger::SecretText words = wallet::mnemonic_of(entropy);
    ledger::wipe(entropy);
    return words;
}

/// Refuses words that another user may have planted: whoever knows them has the coins of their key.
Status<> check_own_words(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return error(path + ": " + std::strerror(errno));
    if (S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 07777) == 0600) return Unit{};
    return error(path + " exists and is not a file of this user with mode 0600, as --quickstart writes it, so that " +
                 "others may know its words; name a new file with --words-file");
}

/// Makes a key from twelve words, or from those that an interrupted start has left in the words' file.
Result<ledger::SecretKey> make_key(const QuickstartFlags& flags, const KeyOptions& options) {
    const bool resumed = !flags.words_file.empty() && fs::exists(fs::symlink_status(flags.words_file));
    if (resumed) RETRACE_CHECK(check_own_words(flags.words_file));
    auto words = resumed ? read_secret(flags.words_file) : Result<ledger::SecretText>(new_words());
    if (!words) return error(words.error().message);
    RETRACE_TRY(key, wallet::account_key(words->view(), "", 0));
    const wallet::KeyFolder folder(options.keys);
    if (!folder.find(key.address())) {
        if (flags.words_file.empty()) RETRACE_CHECK(confirm_on_terminal(*words));
        RETRACE_TRY(passphrase, read_passphrase(options.passphrase_file, "passphrase for the new keystore", true));
        if (passphrase.view().empty()) return error("the passphrase is empty: anybody who copies the keystore has it");
        if (!flags.words_file.empty() && !resumed) RETRACE_CHECK(write_words(flags.words_file, *words));
        RETRACE_TRY(file, folder.add(key, passphrase.view(), wallet::kStandardScrypt));
        say(1, "made the key " + ledger::to_checksum(key.address()) + " in " + file +
                   (flags.words_file.empty() ? std::string()
                    : resumed                ? " of the words that are already in " + flags.words_file
                                             : "; its words are in " + flags.words_file));
    } else {
        say(1, "the key is that of " + ledger::to_checksum(key.address()) + ", whose words are in " + flags.words_file);
    }
    return key;
}

/// The key that is named, or that an earlier quickstart of this folder has made, or a new one.
Result<ledger::SecretKey> find_or_make_key(const QuickstartFlags& flags, KeyOptions options, const fs::path& data_dir) {
    RETRACE_CHECK(make_private_folder(data_dir.string()));
    const fs::path kept = data_dir / "account";
    const bool named = options.dev_account || !options.key.empty();
    if (!named) {
        if (const auto text = read_file(kept, 64)) options.key = std::string(text->begin(), text->end());
    }
    if (named || !options.key.empty()) {
        RETRACE_TRY(key, options.load());
        say(1, "the key is that of " + ledger::to_checksum(key.address()));
        return key;
    }
    RETRACE_TRY(key, make_key(flags, options));
    const std::string address = ledger::to_checksum(key.address());
    const auto written = write_durably(kept, {view(std::string_view(address))}, 0600);
    if (!written) return error(written.error().message);
    return key;
}

Status<> test_machine(const AgentOptions& options, bool wants_gpu,
                      const std::optional<doctor::Reachability>& answered) {
    doctor::Question question = doctor::question_of(options, wants_gpu);
    question.answered = answered;
    const std::vector<doctor::Check> checks = doctor::examine(question);
    std::string names, untested;
    for (const doctor::Check& check : checks) {
        if (check.grade == doctor::Grade::pass)
            names += (names.empty() ? "" : ", ") + check.name;
        else if (check.grade == doctor::Grade::untested)
            untested += "; not tested: " + check.name + " (" + check.found + ")";
        else
            std::cout << doctor::text_of(check);
    }
    if (doctor::grade_of(checks) == doctor::Grade::fail)
        return error("this machine is not ready (above): mend what failed and start again, or give --skip-checks");
    say(2, "the machine was tested; it passes: " + names + untested);
    return Unit{};
}

/// What an account has and needs, read at the newest block.
struct Funds {
    U256 stake, fees, bonded, balance;
    bool developer_chain = false;
    U256 missing() const { return coins_missing(stake, fees, bonded, balance); }
};

Result<Funds> funds_of(ChainReader& chain, AgentRole role, const AgentOptions& options, const ledger::Address& self) {
    const auto newest = chain.newest();
    if (!newest) return error(newest.error().message);
    const auto base_fee = chain.client().base_fee();
    if (!base_fee) return error(base_fee.error().message);
    Funds out;
    bool known = false;
    const auto look = [&] {
        const auto params = contracts::views::params(*newest);
        known = params.has_value();
        if (!known) return;
        out.developer_chain = params->developer_chain;
        const U256 least = role == AgentRole::solver ? params->min_solver_stake : params->min_verifier_stake;
        out.stake =
            options.stake.is_zero() ? stake_to_start(*newest, *params, role) : ledger::max(options.stake, least);
        out.fees = fees_to_start(*params, *base_fee, role);
        out.bonded = contracts::views::stake(*newest, self).bonded;
        out.balance = newest->account(self).balance;
    };
    newest->read_ahead(look);
    newest->read(look);
    if (newest->failure()) return error(newest->failure()->message);
    if (!known) return error("the node at " + options.node_url + " has no Retrace contracts");
    return out;
}

/// Refuses an account that is registered in the other role: its stake is for the duties of that role.
Status<> check_role(ChainReader& chain, AgentRole role, const ledger::Address& self) {
    const auto newest = chain.newest();
    if (!newest) return error(newest.error().message);
    const auto solver = contracts::views::solver(*newest, self);
    const auto verifier = contracts::views::verifier(*newest, self);
    if (newest->failure()) return error(newest->failure()->message);
    const bool other = role == AgentRole::solver ? verifier && verifier->member : solver.has_value();
    if (!other) return Unit{};
    return error("the account " + ledger::to_checksum(self) + " is registered as a " +
                 std::string(name_of(role == AgentRole::solver ? AgentRole::verifier : AgentRole::solver)) +
                 ", and its stake is for the duties of one; give the " + std::string(name_of(role)) +
                 " a key of its own: another --words-file and --data-dir, or --key");
}

/// Sends coins of a developer account, whose key is published. Solvers and verifiers use different ones, so that two
/// that start at once do not take each other's nonce.
Status<> take_from_developers(RpcClient& client, AgentRole role, const ledger::Address& to, const U256& amount) {
    RETRACE_TRY(key, wallet::account_key(kDevMnemonic, "", role == AgentRole::solver ? 9 : 8));
    const auto chain_id = client.chain_id();
    if (!chain_id) return error(chain_id.error().message);
    Submitter submitter(client, key, *chain_id);
    RETRACE_TRY(sent, submitter.send("fund " + ledger::to_checksum(to), to, amount, {}));
    RETRACE_CHECK(submitter.wait(sent));
    return Unit{};
}

/// The funds of an account that has bonded stake before; nullopt: it has not, or no agent of this folder has run and
/// there is no node to ask.
Result<std::optional<Funds>> funds_of_earlier(AgentRole role, const ledger::Address& self,
                                              const AgentOptions& options) {
    RETRACE_TRY(client, RpcClient::connect(options.node_url));
    std::error_code ignored;
    if (fs::exists(options.data_dir / "chain-id", ignored)) {
        RETRACE_CHECK(wait_for_node(client, options.timeout));
    } else if (!client.chain_id()) {
        return std::optional<Funds>();
    }
    ChainReader chain(client, options.trust);
    RETRACE_CHECK(check_role(chain, role, self));
    RETRACE_TRY(funds, funds_of(chain, role, options, self));
    return funds.bonded.is_zero() ? std::nullopt : std::optional(funds);
}

/// Its stake may answer for tasks and audits, so it starts at once: neither a check of the machine nor missing coins
/// delay it, and its bond stays, unless --stake asks for more and the account has it.
void go_on(const Funds& funds, AgentOptions& options) {
    say(2, "the machine is not tested again: the account has stake, which may answer for work that is not over");
    const bool more = funds.stake > funds.bonded && !options.stake.is_zero();
    options.stake = more && funds.missing().is_zero() ? funds.stake : funds.bonded;
    say(3, "the account has " + describe_coins(funds.bonded) + " bonded and " + describe_coins(funds.balance) +
               " free" +
               (more && options.stake == funds.bonded
                    ? "; that is too little for the " + describe_coins_needed(funds.stake) +
                          " of --stake, so the bond stays"
                    : std::string()));
}

Status<> wait_for_coins(AgentRole role, const ledger::Address& self, AgentOptions& options) {
    RETRACE_TRY(client, RpcClient::connect(options.node_url));
    RETRACE_CHECK(wait_for_node(client, options.timeout));
    ChainReader chain(client, options.trust);
    RETRACE_CHECK(check_role(chain, role, self));
    RETRACE_TRY(funds, funds_of(chain, role, options, self));
    options.stake = funds.stake;
    if (!funds.missing().is_zero() && funds.developer_chain) {
        say(3, "this is a developer chain: developer account " + std::string(role == AgentRole::solver ? "9" : "8") +
                   " sends " + describe_coins_needed(funds.missing()));
        if (const auto sent = take_from_developers(client, role, self, funds.missing()); !sent)
            say(3, "it could not: " + sent.error().message);
    }
    bool lost = false;
    for (std::optional<U256> told;;) {
        const auto now = funds_of(chain, role, options, self);
        if (now ? lost : !lost)
            say(3, now ? "the node answers again"
                       : "the node does not tell what the account has, and is asked again: " + now.error().message);
        lost = !now;
        if (now && now->missing().is_zero()) {
            say(3, "the account has the coins: " + describe_coins(now->bonded) + " bonded, " +
                       describe_coins(now->balance) + " free");
            return Unit{};
        }
        if (now && told != now->missing()) {
            told = now->missing();
            say(3, "waiting for " + describe_coins_needed(*told) + " at " + ledger::to_checksum(self) + ": " +
                       describe_coins_needed(now->stake) + " to bond (--stake) and " +
                       describe_coins_needed(now->fees) + " for deposits and fees; it has " +
                       describe_coins(now->balance) + " and has bonded " + describe_coins(now->bonded) +
                       ". Stopping here loses nothing");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

}  // namespace

void QuickstartFlags::add_to(CLI::App& command) {
    command.add_flag("--quickstart", on,
                     "From nothing to earning: makes a key unless there is one, tests the machine, waits for coins, "
                     "registers; start it again to go on");
    command.add_option(
        "--words-file", words_file,
        "With --quickstart: new file for the key's words, instead of the terminal; a later start goes on with "
        "it");
    command.add_flag("--skip-checks", skip_checks, "With --quickstart: do not test the machine");
}

std::string_view name_of(AgentRole role) noexcept { return role == AgentRole::solver ? "solver" : "verifier"; }

std::string default_data_dir(AgentRole role) {
    return (fs::path(wallet::KeyFolder::default_path()).parent_path() / name_of(role)).string();
}

U256 stake_to_start(const ledger::StateView& state, const market::Params& params, AgentRole role) {
    namespace views = contracts::views;
    if (role == AgentRole::verifier) return params.min_verifier_stake + params.audit_bond * U256(10);
    std::optional<U256> least;
    for (const std::uint64_t id : views::active_tasks(state)) {
        const auto task = views::task(state, id);
        const auto spec = views::spec(state, id);
        if (!task || !spec || task->wanted == 0) continue;
        const auto lock = views::stake_floor(state, params, id);
        if (lock && (!least || *lock < *least)) least = lock;
    }
    // Whoever posts dear tasks must not decide what a newcomer bonds.
    const auto usual = usual_lock(params);
    if (!least || (usual && *usual < *least)) least = usual;
    const U256 unit(market::kMilli);
    return ledger::max(params.min_solver_stake, (least.value_or(U256()) + unit - U256(1)) / market::kMilli * unit);
}

U256 fees_to_start(const market::Params& params, const U256& base_fee, AgentRole role) {
    const U256 segments = segment_fees(base_fee) * U256(20);
    return role == AgentRole::solver ? segments + params.bid_deposit * U256(20) : segments;
}

U256 coins_missing(const U256& stake, const U256& fees, const U256& bonded, const U256& balance) {
    const U256 needed = bonded < stake ? stake - bonded + fees : fees / 10;
    return needed > balance ? needed - balance : U256();
}

Result<U256> stake_of_newcomer(const AgentOptions& options, const ledger::Address& self) {
    RETRACE_TRY(client, RpcClient::connect(options.node_url));
    RETRACE_CHECK(wait_for_node(client, options.timeout));
    ChainReader chain(client, options.trust);
    RETRACE_TRY(funds, funds_of(chain, AgentRole::solver, options, self));
    return funds.bonded.is_zero() ? funds.stake : options.stake;
}

std::string_view word_of(std::string_view words, std::size_t index) {
    for (; index != 0; --index) {
        const std::size_t space = words.find(' ');
        if (space == std::string_view::npos) return {};
        words.remove_prefix(space + 1);
    }
    return words.substr(0, words.find(' '));
}

Result<ledger::SecretKey> prepare_agent(AgentRole role, const QuickstartFlags& flags, const KeyOptions& options,
                                        AgentOptions& agent, bool wants_gpu) {
    RETRACE_TRY(key, find_or_make_key(flags, options, agent.data_dir));
    std::optional<doctor::Reachability> answered;
    if (flags.finds_endpoint) {
        RETRACE_TRY(found, take_endpoint(agent));
        answered = std::move(found);
    }
    RETRACE_TRY(earlier, funds_of_earlier(role, key.address(), agent));
    if (earlier) {
        go_on(*earlier, agent);
        say(4, "registers as a " + std::string(name_of(role)) + " if it is not; its bond is " +
                   describe_coins(agent.stake));
        return key;
    }
    if (flags.skip_checks)
        say(2, "the machine is not tested (--skip-checks)");
    else
        RETRACE_CHECK(test_machine(agent, wants_gpu, answered));
    RETRACE_CHECK(wait_for_coins(role, key.address(), agent));
    say(4, "bonds " + describe_coins(agent.stake) + " and registers as a " + std::string(name_of(role)));
    return key;
}

}  // namespace retrace::node::cli
