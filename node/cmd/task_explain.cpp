// SPDX-License-Identifier: MIT
// retrace task explain: says what a task waits for, what can be done about it, and what each member of a group did in
// each round.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <map>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/explained_task.hpp"
#include "node/agents/group_receipt.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/task_follow.hpp"
#include "node/explain/member_story.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

/// The runs that had not the message, as the node tells; nothing here depends on it.
std::vector<std::uint32_t> not_listed_by(RpcClient& client, std::uint64_t task, std::uint32_t round,
                                         std::uint32_t run) {
    std::vector<std::uint32_t> out;
    const auto answer = client.call("retrace_round", {rpc::quantity(task), rpc::quantity(round)});
    const json::object* object = answer ? answer->if_object() : nullptr;
    const json::value* messages = object != nullptr ? object->if_contains("messages") : nullptr;
    if (messages == nullptr || !messages->is_array()) return out;
    for (const json::value& value : messages->get_array()) {
        const json::object* message = value.if_object();
        const json::value* author = message != nullptr ? message->if_contains("run") : nullptr;
        const json::value* by = message != nullptr ? message->if_contains("notListedBy") : nullptr;
        if (author == nullptr || by == nullptr || *author != run || !by->is_array()) continue;
        for (const json::value& other : by->get_array())
            if (other.is_int64() && other.get_int64() >= 0)
                out.push_back(static_cast<std::uint32_t>(other.get_int64()));
    }
    return out;
}

json::array roots_of(const std::vector<Hash32>& roots) {
    json::array out;
    for (const Hash32& root : roots) out.emplace_back(to_0x(view(root)));
    return out;
}

json::array accounts_of(const std::vector<ledger::Address>& accounts) {
    json::array out;
    for (const ledger::Address& account : accounts) out.emplace_back(ledger::to_checksum(account));
    return out;
}

/// Who can check what a member of a private group does on its own data.
std::string own_data(const MemberStory& story, const std::optional<MemberSegments>& segments) {
    if (story.member.data.empty()) return {};
    const std::size_t auditors = story.consent.accepted.size();
    const std::string whom =
        auditors == 0 ? ", on data of its own that nobody else has"
                      : ", on data of its own that " + std::to_string(auditors) + " accounts have and may audit";
    if (!segments) return whom;
    return whom + " (" + std::to_string(segments->consented) + " segments checked by consent, " +
           std::to_string(segments->unverified) + " unverified)";
}

/// The member's final segments, if the records of the rounds are complete.
std::optional<MemberSegments> segments_of(const std::optional<GroupFacts>& facts, std::uint32_t run) {
    return facts && run < facts->members.size() ? std::optional(facts->members[run]) : std::nullopt;
}

json::object to_json(const MemberStory& story, const std::optional<MemberSegments>& segments) {
    json::array rounds;
    for (const MemberRound& round : story.rounds) {
        json::array by(round.not_listed_by.begin(), round.not_listed_by.end());
        rounds.push_back(json::object{{"round", round.round},
                                      {"outcome", std::string(slug(round.outcome))},
                                      {"not_listed_by", std::move(by)},
                                      {"steps", round.steps},
                                      {"age", round.age},
                                      {"merged", round.merged},
                                      {"drawn", round.drawn},
                                      {"final", round.final},
                                      {"paid", round.paid.to_decimal()}});
    }
    const MemberSegments checked = segments.value_or(MemberSegments{});
    return {{"run", story.run.index},
            {"verified_segments", checked.verified},
            {"consented_segments", checked.consented},
            {"unverified_segments", checked.unverified},
            {"solver", ledger::to_checksum(story.run.solver)},
            {"state", std::string(market::slug(story.run.state))},
            {"entered", story.member.entered},
            {"leaving", story.member.leaving},
            {"absent", story.member.absent},
            {"earned", story.run.earned.to_decimal()},
            {"data", roots_of(story.member.data)},
            {"auditors_of_data", accounts_of(story.consent.accepted)},
            {"rounds", std::move(rounds)}};
}

std::string line_of(const MemberStory& story, const std::optional<MemberSegments>& segments) {
    std::map<RoundOutcome, std::uint32_t> counts;
    std::string exceptions;
    for (const MemberRound& round : story.rounds) {
        ++counts[round.outcome];
        if (round.outcome == RoundOutcome::recorded) continue;
        std::string outcome(slug(round.outcome));
        std::replace(outcome.begin(), outcome.end(), '_', ' ');
        exceptions += (exceptions.empty() ? "; " : ", ") + std::to_string(round.round) + " " + outcome;
        for (std::size_t i = 0; i < round.not_listed_by.size(); ++i)
            exceptions += (i == 0 ? " by run " : " and ") + std::to_string(round.not_listed_by[i]);
    }
    std::string out = "run " + std::to_string(story.run.index) + " by " + ledger::to_checksum(story.run.solver) + ": " +
                      std::string(market::slug(story.run.state)) + (story.member.leaving ? ", leaving" : "") +
                      ", from round " + std::to_string(story.member.entered) + ", recorded " +
                      std::to_string(counts[RoundOutcome::recorded]) + ", absent " +
                      std::to_string(counts[RoundOutcome::absent]) + own_data(story, segments) + ", earned " +
                      describe_coins(story.run.earned);
    return out + (exceptions.empty() ? "" : "; rounds" + exceptions.substr(1));
}

int explain_task(const Program& program, const ChainOptions& options, std::uint64_t id) {
    const auto at = options.open();
    if (!at) return fail(program, at.error().message);
    const auto status = task_status((*at)->chain, id);
    if (!status) return fail(program, status.error().message);
    const auto state = (*at)->chain.newest();
    if (!state) return fail(program, state.error().message);
    std::vector<MemberStory> members;
    std::optional<GroupFacts> facts;
    if (status->group) {
        const auto read = [&] {
            members = member_stories(*state, id);
            facts = group_facts(*state, id);
        };
        state->read_ahead(read);
        state->read(read);
    }
    if (state->failure()) return fail(program, state->failure()->message);
    for (MemberStory& story : members)
        for (MemberRound& round : story.rounds)
            if (round.outcome == RoundOutcome::not_listed)
                round.not_listed_by = not_listed_by((*at)->client, id, round.round, story.run.index);
    const auto why = explained_task((*at)->chain, id);
    if (!why) return fail(program, why.error().message);
    if (program.json) {
        json::object out = explanation_json(*why);
        if (status->group) {
            json::array all;
            for (const MemberStory& story : members) all.push_back(to_json(story, segments_of(facts, story.run.index)));
            out["members"] = std::move(all);
        }
        (*at)->add_proven(out);
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << explanation_text(*why) << '\n';
    for (const MemberStory& story : members) std::cout << line_of(story, segments_of(facts, story.run.index)) << '\n';
    std::cout << (*at)->proven_line();
    return kDone;
}

}  // namespace

void add_task_explain(CLI::App& parent, Program& program) {
    struct Flags {
        ChainOptions chain;
        std::uint64_t task = 0;
    };
    CLI::App* command = parent.add_subcommand(
        "explain", "Say what a task waits for, and what each member of a group did in each round");
    auto flags = std::make_shared<Flags>();
    command->add_option("ID", flags->task, "Task")->required();
    flags->chain.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] {
        program.run = [&program, flags] { return explain_task(program, flags->chain, flags->task); };
    });
}

}  // namespace retrace::node::cli
