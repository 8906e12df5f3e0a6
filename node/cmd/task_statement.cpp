// SPDX-License-Identifier: MIT
// retrace task statement: where the coins of a task's escrow came from and went.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/statement.hpp"
#include "node/cmd/block_progress.hpp"
#include "node/cmd/fiat.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using Kind = StatementLine::Kind;

struct StatementFlags {
    NodeOptions node;
    FiatOption fiat;
    std::uint64_t task = 0;
    bool csv = false;
};

std::string words_of(const StatementLine& line) {
    const std::string who = ledger::to_checksum(line.party);
    switch (line.kind) {
        case Kind::posted: return "put into escrow by " + who;
        case Kind::raised: return "put into escrow for more replicas by " + who;
        case Kind::topped_up:
            if (!line.amount.is_zero()) return "put into escrow for a higher ceiling by " + who;
            return "at no cost: " + who + " asked that " + std::to_string(line.auctions) +
                   (line.auctions == 1 ? " auction" : " auctions") + " in all may follow ones without winners";
        case Kind::reserved:
            return "put in as the deposit of reservation " + std::to_string(line.reservation) + " by " + who;
        case Kind::deposit_returned:
            return "returned to " + who + ": the deposit of reservation " + std::to_string(line.reservation);
        case Kind::deposit_burned:
            return "burned: the deposit of reservation " + std::to_string(line.reservation) +
                   ", because its solver did not take the task";
        case Kind::joined: return "put in for audits by the member " + who;
        case Kind::segments:
            return "to " + who + " for segments " + std::to_string(line.first) + " to " +
                   std::to_string(line.first + line.count - 1);
        case Kind::audit: return "to " + who + " for its audit of segment " + std::to_string(line.first);
        case Kind::repaid:
            return "repaid to " + who + " from the lock of run " + std::to_string(line.run) +
                   ", for segments that its end made void";
        case Kind::returned: return "returned to " + who;
        case Kind::place: return "burned for its place, or for the stake that bids locked when it was cancelled";
    }
    return {};
}

std::string sign_of(const StatementLine& line) {
    if (line.in() && line.out()) return {};
    return line.in() ? "+" : "-";
}

json::object json_of(const Statement& statement) {
    json::array lines;
    for (const StatementLine& line : statement.lines)
        lines.push_back(json::object{{"height", line.height},
                                     {"kind", std::string(slug(line.kind))},
                                     {"party", ledger::to_checksum(line.party)},
                                     {"in", line.in() ? line.amount.to_decimal() : "0"},
                                     {"out", line.out() ? line.amount.to_decimal() : "0"},
                                     {"run", line.run},
                                     {"first_segment", line.first},
                                     {"segments", line.count},
                                     {"reservation", line.reservation},
                                     {"auctions", line.auctions}});
    json::object out{{"task", statement.task},
                     {"height", statement.height},
                     {"from", statement.from},
                     {"whole", statement.whole},
                     {"brought_forward", statement.brought_forward.to_decimal()},
                     {"requester", ledger::to_checksum(statement.requester)},
                     {"lines", std::move(lines)},
                     {"paid_in", statement.paid_in.to_decimal()},
                     {"paid_out", statement.paid_out.to_decimal()},
                     {"repaid", statement.repaid.to_decimal()},
                     {"held", statement.held.to_decimal()},
                     {"adds_up", statement.adds_up()}};
    if (statement.private_pay) {
        out["paid_for_consented"] = statement.private_pay->consented.to_decimal();
        out["paid_for_unverified"] = statement.private_pay->unverified.to_decimal();
    }
    return out;
}

void print_csv(const Statement& statement) {
    std::cout << "height,kind,party,in_wei,out_wei,run,first_segment,segments\n";
    if (!statement.whole)
        std::cout << statement.from << ",brought_forward," << ledger::to_checksum(statement.requester) << ','
                  << statement.brought_forward.to_decimal() << ",0,0,0,0\n";
    for (const StatementLine& line : statement.lines)
        std::cout << line.height << ',' << slug(line.kind) << ',' << ledger::to_checksum(line.party) << ','
                  << (line.in() ? line.amount.to_decimal() : "0") << ','
                  << (line.out() ? line.amount.to_decimal() : "0") << ',' << line.run << ',' << line.first << ','
                  << line.count << '\n';
    std::cout << statement.height << ",held," << ledger::to_checksum(statement.requester) << ",0,"
              << statement.held.to_decimal() << ",0,0,0\n";
}

Result<Statement> read_statement(RpcClient& client, std::uint64_t task) {
    BlockProgress progress;
    return task_statement(client, task, pages_with(progress));
}

int run_statement(const Program& program, const StatementFlags& flags) {
    const auto fiat = flags.fiat.rate();
    if (!fiat) throw CLI::ValidationError(fiat.error().message);
    auto client = flags.node.connect();
    if (!client) return fail(program, client.error().message);
    const auto statement = read_statement(*client, flags.task);
    if (!statement) return fail(program, statement.error().message);
    if (program.json) {
        std::cout << json::serialize(json_of(*statement)) << '\n';
    } else if (flags.csv) {
        print_csv(*statement);
    } else {
        if (!statement->whole)
            std::cout << "block " << statement->from << "  +" << describe_coins(statement->brought_forward)
                      << " brought forward\n";
        for (const StatementLine& line : statement->lines)
            std::cout << "block " << line.height << "  "
                      << (line.amount.is_zero() ? "" : sign_of(line) + describe_coins(line.amount) + " ")
                      << words_of(line) << '\n';
        std::cout << "in " << with_fiat(statement->brought_forward + statement->paid_in, *fiat) << ", out "
                  << with_fiat(statement->paid_out, *fiat) << ", held " << with_fiat(statement->held, *fiat)
                  << " at block " << statement->height
                  << (statement->repaid.is_zero()
                          ? std::string()
                          : "; " + with_fiat(statement->repaid, *fiat) + " of in and out were repaid past the escrow")
                  << '\n';
        if (statement->private_pay)
            std::cout << "PRIVATE DATA: of what members were paid, "
                      << with_fiat(statement->private_pay->consented, *fiat)
                      << " is for training that only accounts of their choice checked, and "
                      << with_fiat(statement->private_pay->unverified, *fiat) << " for training that nobody checked\n";
    }
    if (!statement->whole)
        std::cerr
            << "note: the node keeps no block before " << statement->from
            << ", so what was brought forward is computed from the rest and nothing checks the sums; ask a node that "
               "keeps all blocks\n";
    if (!statement->adds_up())
        return fail(program, "the books do not add up: " + statement->paid_in.to_decimal() + " wei were put in, and " +
                                 statement->paid_out.to_decimal() + " wei out with " + statement->held.to_decimal() +
                                 " wei held are not as much; the task was frozen, or the node leaves out events");
    return kDone;
}

}  // namespace

void add_task_statement(CLI::App& parent, Program& program) {
    CLI::App* command =
        parent.add_subcommand("statement", "Show where the coins of a task's escrow came from and went");
    auto flags = std::make_shared<StatementFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    flags->node.add_to(*command);
    flags->fiat.add_to(*command);
    command->add_flag("--csv", flags->csv, "Comma-separated lines, amounts in wei");
    add_json(*command, program);
    command->callback(
        [&program, flags] { program.run = [&program, flags] { return run_statement(program, *flags); }; });
}

}  // namespace retrace::node::cli
