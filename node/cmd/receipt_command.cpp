// SPDX-License-Identifier: MIT
// retrace receipt verify
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <random>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/proven_state.hpp"
#include "node/agents/receipt_check.hpp"
#include "node/agents/run_peers.hpp"
#include "node/agents/worker_processes.hpp"
#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct ReceiptFlags {
    ChainOptions chain;
    std::string file, data_dir;
    std::uint64_t replay = 0;
    bool require_audits = false;
};

/// Chooses up to `count` segments with both ends in the receipt, in random order.
std::vector<std::size_t> choose_segments(const Receipt& receipt, std::uint64_t count) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i + 1 < receipt.states.size(); ++i) {
        if (receipt.states[i + 1].index == receipt.states[i].index + 1) out.push_back(i);
    }
    std::shuffle(out.begin(), out.end(), std::mt19937_64(std::random_device{}()));
    if (out.size() > count) out.resize(count);
    return out;
}

Result<std::uint64_t> replay(const Receipt& receipt, const ReceiptFlags& flags, const ProvenState& state) {
    RETRACE_TRY(store, open_store(flags.data_dir));
    std::vector<std::string> peers = endpoints_of(state, receipt.task);
    peers.push_back(flags.chain.node.url);
    ArtifactClient fetcher(*store);
    fetcher.set_progress(show_transfer);
    RETRACE_TRY(workers, WorkerProcesses::open_for_command(warn_on_standard_error));
    std::uint64_t replayed = 0;
    for (const std::size_t segment : choose_segments(receipt, flags.replay)) {
        RETRACE_TRY(again, replay_segment(receipt, segment, peers, *store, fetcher, workers->runners()));
        if (!again.matches) return error(contradiction(receipt, segment, again));
        ++replayed;
    }
    return replayed;
}

/// Height and state root of a block.
using Root = std::pair<std::uint64_t, Hash32>;

/// The newest one; a node that is trusted is asked for its root, under which it then proves what is read.
Result<Root> newest_root(ChainReader& chain) {
    const auto height = chain.height();
    if (!height) return error(height.error().message);
    if (const ledger::Header* const proven = chain.proven()) return Root{proven->height, proven->state_root};
    RETRACE_TRY(root, state_root_at(chain.client(), *height));
    return Root{*height, root};
}

/// Whether members trained on data of their own, which no audit that counts has covered.
bool has_private_part(const CheckedReceipt& checked) { return checked.group && checked.group->private_data; }

json::array members_json(const GroupFacts& group) {
    json::array out;
    for (const MemberSegments& member : group.members)
        out.push_back(json::object{{"run", member.run.index},
                                   {"solver", ledger::to_checksum(member.run.solver)},
                                   {"state", std::string(market::slug(member.run.state))},
                                   {"recorded_messages", member.recorded},
                                   {"verified_segments", member.verified},
                                   {"not_drawn_segments", member.not_drawn},
                                   {"unaudited_segments", member.unaudited},
                                   {"consented_segments", member.consented},
                                   {"unverified_segments", member.unverified},
                                   {"paid", member.run.earned.to_decimal()}});
    return out;
}

json::array unanswered_json(const GroupFacts& group) {
    json::array out;
    for (const UnansweredMessage& message : group.unanswered)
        out.push_back(json::object{{"run", message.run},
                                   {"round", message.round},
                                   {"segment", message.segment},
                                   {"steps", message.steps},
                                   {"weight", message.weight},
                                   {"weight_of_round", message.total},
                                   {"convicted", message.convicted}});
    return out;
}

json::array rollbacks_json(const GroupFacts& group) {
    json::array out;
    for (const market::Rollback& rollback : group.rollbacks)
        out.push_back(json::object{{"run", rollback.run}, {"first", rollback.first}, {"last", rollback.last}});
    return out;
}

std::string group_text(const GroupFacts& group) {
    std::string out = std::to_string(group.rounds) + " rounds, " + std::to_string(group.empty_rounds) +
                      " of them without a message; the model rests on " + std::to_string(group.recorded()) +
                      " messages of " + std::to_string(group.members.size()) + " members\n";
    if (group.masked)
        out += "masks: those over " + std::to_string(group.shown) +
               " of these messages were shown for audits, and a state " +
               "that an audit starts from shows the one before; the others are hidden from whoever does not repeat "
               "their " +
               "training\n";
    for (const MemberSegments& member : group.members)
        out += "run " + std::to_string(member.run.index) + " by " + ledger::to_checksum(member.run.solver) + ": " +
               std::string(market::slug(member.run.state)) + ", " + std::to_string(member.recorded) + " messages, " +
               std::to_string(member.verified) + " segments audited, " + std::to_string(member.not_drawn) +
               " not drawn, " + std::to_string(member.unaudited) + " drawn and not audited" +
               (group.private_data ? ", " + std::to_string(member.consented) + " on its own data checked by consent, " +
                                         std::to_string(member.unverified) + " on its own data unverified"
                                   : std::string()) +
               "\n";
    for (const market::Rollback& rollback : group.rollbacks)
        out += "rolled back: the message of run " + std::to_string(rollback.run) + " in round " +
               std::to_string(rollback.first) + ", and all messages of later rounds up to " +
               std::to_string(rollback.last) + ", are not in the model\n";
    for (const UnansweredMessage& message : group.unanswered)
        out += "IN THE MODEL: the message of run " + std::to_string(message.run) + " in round " +
               std::to_string(message.round) + ", " + std::to_string(message.weight) + " of the weights' sum of " +
               std::to_string(message.total) + ", of a member that " +
               (message.convicted ? "was convicted" : "lost its lock by a deadline") +
               "; the plan's clip bounds what it moved\n";
    return out;
}

int verify(const Program& program, const ReceiptFlags& flags) {
    const auto receipt = load_receipt(flags.file);
    if (!receipt) return fail(program, receipt.error().message);
    const auto at = flags.chain.open();
    if (!at) return fail(program, at.error().message);
    const auto chain_id = (*at)->chain.chain_id();
    if (!chain_id) return fail(program, chain_id.error().message);
    if (*chain_id != receipt->chain_id) {
        return fail(program, "the receipt is of chain " + std::to_string(receipt->chain_id) +
                                 " and the node is of chain " + std::to_string(*chain_id));
    }
    const auto block = newest_root((*at)->chain);
    if (!block) return fail(program, block.error().message);
    const auto& [height, root] = *block;
    const ProvenState state((*at)->client, height, root);
    const auto checked = check_receipt(*receipt, state);
    const auto audited = flags.require_audits && checked ? require_audits(*checked, *receipt, state) : Status<>(Unit{});
    // Checked first: unproven values were read as empty.
    if (state.failure()) return fail(program, *state.failure());
    if (!checked) return fail(program, checked.error().message);
    if (!audited) return fail(program, audited.error().message);
    if (checked->group && flags.replay > 0)
        return fail(
            program,
            "a receipt of a training in rounds has no messages to replay a segment with; `retrace task follow " +
                std::to_string(receipt->task) + " --model F` replays the records while messages are served");
    const auto replayed = flags.replay > 0 ? replay(*receipt, flags, state) : Result<std::uint64_t>(0);
    if (!replayed) return fail(program, replayed.error().message);
    if (program.json) {
        json::object out{{"valid", true},
                         {"task", receipt->task},
                         {"height", height},
                         {"state_root", to_0x(view(root))},
                         {"proofs", state.proofs()},
                         {"states", checked->states},
                         {"audits", checked->audits},
                         {"verified_segments", checked->verified},
                         {"not_drawn_segments", checked->not_drawn},
                         {"unaudited_segments", checked->unaudited},
                         {"matching_verdicts", checked->auditors},
                         {"audited", checked->verified != 0 && checked->unaudited == 0 && !has_private_part(*checked)},
                         {"replayed", *replayed}};
        if (checked->group) {
            out["private_data"] = checked->group->private_data;
            out["consented_segments"] = checked->group->consented();
            out["unverified_segments"] = checked->group->unverified();
            out["masked"] = checked->group->masked;
            out["shown_messages"] = checked->group->shown;
            out["rounds"] = checked->group->rounds;
            out["recorded_messages"] = checked->group->recorded();
            out["members"] = members_json(*checked->group);
            out["unanswered_messages"] = unanswered_json(*checked->group);
            out["rollbacks"] = rollbacks_json(*checked->group);
        }
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << "task " << receipt->task << ": " << checked->states << " states and " << checked->audits
              << " audits are on the ledger as the receipt says (" << state.proofs() << " proofs under state root "
              << to_0x(view(root)) << " of block " << height << ")\n"
              << checked->verified << " segments were audited, with " << checked->auditors
              << " verdicts equal to the last bit; " << checked->not_drawn << " were not drawn; " << checked->unaudited
              << " were drawn and paid though nobody audited them\n"
              << (checked->group ? group_text(*checked->group) : std::string());
    if (has_private_part(*checked)) std::cout << private_part(*checked->group) << '\n';
    if (const std::string rest = not_audited(*checked); !rest.empty())
        std::cout << rest << ". Replay segments yourself with --replay N\n";
    if (flags.replay > 0) std::cout << *replayed << " segments were replayed and end in the receipt's states\n";
    return kDone;
}

}  // namespace

void add_receipt(CLI::App& app, Program& program) {
    CLI::App* receipt = app.add_subcommand("receipt", "Verify the receipt of a trained model");
    receipt->require_subcommand(1);
    CLI::App* command = receipt->add_subcommand("verify", "Check a receipt against the ledger, with proofs");
    auto flags = std::make_shared<ReceiptFlags>();
    command->add_option("FILE", flags->file, "receipt.json")->required();
    flags->chain.add_to(*command);
    command->add_option("--replay", flags->replay, "Replay so many random segments as well");
    command->add_flag("--require-audits", flags->require_audits,
                      "Fail unless every segment that the task's terms promise to audit was: the first, the last and "
                      "those that were drawn");
    command->add_option("--data-dir", flags->data_dir, "Where fetched states are kept (~/.retrace/requester)");
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return verify(program, *flags); }; });
}

}  // namespace retrace::node::cli
