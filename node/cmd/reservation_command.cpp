// SPDX-License-Identifier: MIT
// retrace reservation offer, withdraw, accept, begin, show, list: a solver's time at a future height (contracts 12.11).
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "ledger/crypto/eip55.hpp"
#include "market/escrow.hpp"
#include "node/agents/promise_check.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/requester.hpp"
#include "node/cmd/auction_flags.hpp"
#include "node/cmd/task_options.hpp"
#include "node/explain/reservation_reason.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
namespace views = contracts::views;

/// Places that others may take between the question for the price and the beginning.
constexpr std::uint64_t kTasksAhead = 64;
/// Reservations that a list looks at, beside the party's own ones.
constexpr std::uint64_t kNewest = 1'000;

struct ReservationFlags {
    SignerOptions signer;
    AuctionFlags auctions;  ///< That follow if the solver breaks its word.
    std::uint64_t id = 0, from = 0, until = 0, before = UINT64_MAX;
    std::string file, solver, price, deposit, data_dir;
    std::string device = "auto";
    unsigned threads = 0;
    bool mine = false, ended = false, skip_checks = false;
};

json::object json_of(const market::Reservation& reservation) {
    return {{"reservation", reservation.id},
            {"state", std::string(market::slug(reservation.state))},
            {"requester", ledger::to_checksum(reservation.requester)},
            {"solver", ledger::to_checksum(reservation.solver)},
            {"from", reservation.from},
            {"until", reservation.until},
            {"price", reservation.price.to_decimal()},
            {"deposit", reservation.deposit.to_decimal()},
            {"locked", reservation.locked.to_decimal()},
            {"task", reservation.task},
            {"offered_height", reservation.offered_height}};
}

/// A reservation and what is to be said of it.
struct Told {
    market::Reservation reservation;
    ReservationExplanation told;
};

json::object json_of(const Told& of) {
    json::object out = json_of(of.reservation);
    out["why"] = of.told.why;
    out["remedy"] = of.told.remedy;
    out["next"] = of.told.next;
    out["next_height"] = of.told.next_height ? json::value(*of.told.next_height) : json::value(nullptr);
    return out;
}

std::string next_of(const ReservationExplanation& told) {
    if (told.next.empty()) return {};
    return told.next + (told.next_height ? ", at block " + std::to_string(*told.next_height) : std::string());
}

Result<Told> read_reservation(ChainReader& chain, std::uint64_t id) {
    RETRACE_TRY(state, chain.newest());
    std::optional<Told> out;
    state.read([&] {
        if (const auto found = views::reservation(state, id))
            out = Told{*found, explain_reservation(state, *found, state.height())};
    });
    if (state.failure()) return error(state.failure()->message);
    if (!out) return error("there is no reservation " + std::to_string(id));
    return std::move(*out);
}

int print(const Program& program, ChainReader& chain, std::uint64_t id) {
    const auto of = read_reservation(chain, id);
    if (!of) return fail(program, of.error().message);
    if (program.json) {
        std::cout << json::serialize(json_of(*of)) << '\n';
        return kDone;
    }
    std::cout << "reservation " << id << " (" << market::slug(of->reservation.state) << "): " << of->told.why << '\n';
    if (!of->told.remedy.empty()) std::cout << "remedy: " << of->told.remedy << '\n';
    if (!of->told.next.empty()) std::cout << "next: " << next_of(of->told) << '\n';
    return kDone;
}

int show(const Program& program, const ReservationFlags& flags) {
    const auto at = flags.signer.chain.open();
    if (!at) return fail(program, at.error().message);
    return print(program, (*at)->chain, flags.id);
}

struct Listed {
    std::vector<Told> found;
    std::uint64_t before = 0;  ///< Reservations below this number were not looked at; 0: all were.
};

/// The reservations below `before` that are offered, accepted or begun, or with `ended` all; of `party` on either side.
/// First those on the party's own list, which no stranger can make long, then the newest ones.
Listed list_of(const RemoteState& state, const std::optional<ledger::Address>& party, bool ended,
               std::uint64_t before) {
    Listed out;
    const auto own = party ? views::reservations(state, *party) : std::vector<std::uint64_t>();
    const auto add = [&](std::uint64_t id) {
        const auto one = views::reservation(state, id);
        if (one && (ended || market::holds_deposit(one->state)) &&
            (!party || one->requester == *party || one->solver == *party))
            out.found.push_back({*one, explain_reservation(state, *one, state.height())});
    };
    const std::uint64_t newest = std::min(views::reservation_count(state), before - 1);
    for (auto id = own.rbegin(); id != own.rend(); ++id)
        if (*id <= newest) add(*id);
    const std::uint64_t last = newest > kNewest ? newest - kNewest : 0;
    for (std::uint64_t id = newest; id > last; --id)
        if (std::find(own.begin(), own.end(), id) == own.end()) add(id);
    out.before = last == 0 ? 0 : last + 1;
    return out;
}

void say_cut_short(const Listed& listed) {
    if (listed.before == 0) return;
    std::cerr << "reservations below " << listed.before << " were not looked at: `retrace reservation list --before "
              << listed.before << "` does\n";
}

int list(const Program& program, const ReservationFlags& flags) {
    std::optional<ledger::Address> party;
    if (flags.mine) {
        const auto address = flags.signer.key.address();
        if (!address) return fail(program, address.error().message);
        party = *address;
    }
    const auto at = flags.signer.chain.open();
    if (!at) return fail(program, at.error().message);
    const auto state = (*at)->chain.newest();
    if (!state) return fail(program, state.error().message);
    Listed listed;
    const auto read = [&] { listed = list_of(*state, party, flags.ended, flags.before); };
    state->read_ahead(read);
    state->read(read);
    if (state->failure()) return fail(program, state->failure()->message);
    say_cut_short(listed);
    if (program.json) {
        json::array out;
        for (const Told& one : listed.found) {
            json::object line = json_of(one);
            (*at)->add_proven(line);
            out.push_back(std::move(line));
        }
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    for (const auto& [one, told] : listed.found)
        std::cout << "reservation " << one.id << " (" << market::slug(one.state) << "), " << describe_coins(one.price)
                  << " a segment, " << ledger::to_checksum(one.requester) << " asks " << ledger::to_checksum(one.solver)
                  << ": " << told.why << (told.next.empty() ? "" : "; next: " + next_of(told)) << '\n';
    std::cout << (*at)->proven_line();
    return kDone;
}

int withdraw(const Program& program, const ReservationFlags& flags) {
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    const auto sent = (*session)->submitter.execute("withdraw reservation " + std::to_string(flags.id),
                                                    contracts::WithdrawReservation{flags.id});
    if (!sent) return fail(program, sent.error().message);
    return print(program, (*session)->at->chain, flags.id);
}

int offer(const Program& program, const ReservationFlags& flags) {
    const auto price = parse_coins(flags.price), deposit = parse_coins(flags.deposit);
    const auto solver = ledger::parse_address(flags.solver);
    if (!price || !deposit || !solver)
        throw CLI::ValidationError("--price and --deposit are coins, like 0.5, and --solver is an address");
    auto task = load_task_file(flags.file);
    if (!task) return fail(program, task.error().message);
    if (task->group) return fail(program, "a training in rounds cannot be reserved");
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    if (const auto set = flags.auctions.apply(*task, &(*session)->at->chain); !set)
        return fail(program, set.error().message);
    auto store = open_store(flags.data_dir);
    if (!store) return fail(program, store.error().message);
    const auto spec = spec_of(*task, **store);
    if (!spec) return fail(program, spec.error().message);
    const auto sent = (*session)->submitter.execute(
        "reserve time", contracts::Reserve{*spec, *solver, *price, flags.from, flags.until}, *deposit);
    if (!sent) return fail(program, sent.error().message);
    for (const ledger::Log& log : sent->logs)
        if (const auto event = contracts::decode_event<contracts::TimeReserved>(log))
            return print(program, (*session)->at->chain, event->reservation);
    return fail(program, "the time was reserved without an event; is the node of another version?");
}

int accept(const Program& program, const ReservationFlags& flags) {
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    if (!flags.skip_checks) {
        const auto unkept = check_promise((*session)->at->chain, (*session)->key.address(), flags.id,
                                          *solver::parse_device(flags.device), flags.threads);
        if (!unkept) return fail(program, unkept.error().message);
        if (*unkept)
            return fail(program, "reservation " + std::to_string(flags.id) + " is not accepted: " + (*unkept)->why +
                                     "; a promise that is not kept costs stake. " + (*unkept)->remedy +
                                     ". If another machine computes it: --skip-checks");
    }
    const auto sent = (*session)->submitter.execute("accept reservation " + std::to_string(flags.id),
                                                    contracts::AcceptReservation{flags.id});
    if (!sent) return fail(program, sent.error().message);
    return print(program, (*session)->at->chain, flags.id);
}

/// Coins that the task brings when it begins.
Result<ledger::U256> value_of(ChainReader& chain, std::uint64_t id) {
    RETRACE_TRY(state, chain.newest());
    std::optional<market::TaskSpec> spec;
    std::optional<ledger::U256> value;
    state.read([&] {
        spec = views::reserved_spec(state, id);
        const auto params = views::params(state);
        const auto escrow = spec && params ? market::escrow_of(*spec, *params) : std::nullopt;
        const auto rent = escrow ? views::rent_deposit(state, *params, *spec, nullptr, kTasksAhead) : std::nullopt;
        value = escrow && rent ? std::optional(escrow->total() + *rent) : std::nullopt;
    });
    if (state.failure()) return error(state.failure()->message);
    if (!spec) return error("reservation " + std::to_string(id) + " is not known, has begun or is over");
    if (!value) return error("the chain has as many open tasks as it may have; begin when some of them have ended");
    return *value;
}

int begin(const Program& program, const ReservationFlags& flags) {
    const auto task = load_task_file(flags.file);
    if (!task) return fail(program, task.error().message);
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    auto store = open_store(flags.data_dir);
    if (!store) return fail(program, store.error().message);
    const auto spec = spec_of(*task, **store);
    if (!spec) return fail(program, spec.error().message);
    ChainReader& chain = (*session)->at->chain;
    const auto value = value_of(chain, flags.id);
    if (!value) return fail(program, value.error().message);
    const auto sent = (*session)->submitter.execute("begin reservation " + std::to_string(flags.id),
                                                    contracts::BeginReserved{flags.id}, *value);
    if (!sent) return fail(program, sent.error().message);
    // A node takes files of open tasks only. The solver loses stake, and the deposit is burned, if they do not come.
    if (const auto uploaded = upload_task(*spec, **store, chain.client(), show_transfer); !uploaded)
        return fail(program,
                    "the task has begun, but " + uploaded.error().message +
                        "; go on with `retrace task upload ID FILE` and its number (`retrace reservation show`)");
    return print(program, chain, flags.id);
}

using Run = int (*)(const Program&, const ReservationFlags&);

void add(CLI::App& parent, Program& program, const char* name, const char* what, Run run,
         const std::function<void(CLI::App&, ReservationFlags&)>& options) {
    CLI::App* command = parent.add_subcommand(name, what);
    auto flags = std::make_shared<ReservationFlags>();
    options(*command, *flags);
    add_json(*command, program);
    command->callback(
        [&program, flags, run] { program.run = [&program, flags, run] { return run(program, *flags); }; });
}

}  // namespace

void add_reservation(CLI::App& app, Program& program) {
    CLI::App* parent = app.add_subcommand("reservation", "A solver's time at a future height, against a deposit");
    parent->require_subcommand(1);
    add(*parent, program, "offer", "Ask a solver to keep its time for a task", offer,
        [](CLI::App& command, ReservationFlags& flags) {
            command.add_option("FILE", flags.file, "Compiled task, or its folder")->required();
            command.add_option("--solver", flags.solver, "Its address")->required();
            command.add_option("--price", flags.price, "Coins for a segment")->required();
            command.add_option("--from", flags.from, "First block in which the task may begin")->required();
            command.add_option("--until", flags.until, "First block in which it may not")->required();
            command.add_option("--deposit", flags.deposit, "Coins that the solver has if the task does not begin")
                ->required();
            command.add_option("--data-dir", flags.data_dir, "Default: ~/.retrace/requester");
            flags.auctions.add_to(command);
            flags.signer.add_to(command);
        });
    add(*parent, program, "withdraw", "Take back an offer that is not accepted; its deposit returns", withdraw,
        [](CLI::App& command, ReservationFlags& flags) {
            command.add_option("ID", flags.id, "Reservation")->required();
            flags.signer.add_to(command);
        });
    add(*parent, program, "list", "Offers, accepted reservations and those that have begun", list,
        [](CLI::App& command, ReservationFlags& flags) {
            command.add_flag("--mine", flags.mine, "Only those of --key, as the requester or the solver");
            command.add_flag("--ended", flags.ended, "Also those that are over");
            command.add_option("--before", flags.before, "Only those below this number")->check(CLI::PositiveNumber);
            flags.signer.add_to(command);
        });
    add(*parent, program, "accept", "As the solver, keep the time: locks its stake", accept,
        [](CLI::App& command, ReservationFlags& flags) {
            command.add_option("ID", flags.id, "Reservation")->required();
            command.add_flag("--skip-checks", flags.skip_checks,
                             "Do not test whether this machine has the speed and the time for it");
            command
                .add_option("--device", flags.device,
                            "What computes it: cpu, cuda, or auto for cuda if available (auto)")
                ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
            add_threads(command, flags.threads);
            flags.signer.add_to(command);
        });
    add(*parent, program, "begin", "Upload and post the task, for its solver alone", begin,
        [](CLI::App& command, ReservationFlags& flags) {
            command.add_option("ID", flags.id, "Reservation")->required();
            command.add_option("FILE", flags.file, "Compiled task, or its folder")->required();
            command.add_option("--data-dir", flags.data_dir, "Default: ~/.retrace/requester");
            flags.signer.add_to(command);
        });
    add(*parent, program, "show", "What became of it, and what comes next", show,
        [](CLI::App& command, ReservationFlags& flags) {
            command.add_option("ID", flags.id, "Reservation")->required();
            flags.signer.chain.add_to(command);
        });
}

}  // namespace retrace::node::cli
