// SPDX-License-Identifier: MIT
#include "tests/stateful/games.hpp"

#include <iomanip>
#include <sstream>

namespace retrace::stateful {
namespace {

using namespace contracts;

/// Names of the methods that these games play.
template <class... Call>
std::vector<std::string> method_names(std::type_identity<std::variant<Call...>>) {
    std::vector<std::string> out;
    (out.push_back(std::string(Call::kName)), ...);
    return out;
}

/// Lists the states of a life cycle that no game reached, with their names.
template <class Enum>
void missing_states(std::vector<std::string>& out, const Visits& visits, const char* what, Enum first = Enum{1}) {
    for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last_of(Enum{})); ++i)
        if (visits[i] == 0) out.push_back(std::string(what) + " " + std::to_string(i));
}

void print(std::ostringstream& out, const char* what, const Visits& visits) {
    out << "  " << what << ":";
    for (std::size_t i = 1; i < visits.size(); ++i)
        if (visits[i] != 0) out << " " << i << "=" << visits[i];
    out << "\n";
}

}  // namespace

void Coverage::add(const World& world) {
    for (const auto& [key, count] : world.counts()) calls[key] += count;
    reached.add(world.mirror().reached);
    costs.add(world.costs());
    calls_in_all += world.calls();
    ++games;
}

std::uint64_t Coverage::accepted(std::string_view method) const {
    const auto found = calls.find({std::string(method), 0});
    return found == calls.end() ? 0 : found->second;
}

std::vector<std::string> never_reached(const Coverage& coverage) {
    std::vector<std::string> out;
    for (const std::string& method : method_names(std::type_identity<AnyCall>{}))
        if (coverage.accepted(method) == 0) out.push_back("method " + method);
    const Reached& r = coverage.reached;
    // posted and forfeited are left within the same call or block; frozen and released are never reached (SPEC 1.1),
    // so no reservation is released either.
    missing_states(out, r.tasks, "task state", market::TaskState::bidding);
    for (const auto state : {market::TaskState::forfeited, market::TaskState::frozen, market::TaskState::released})
        std::erase(out, "task state " + std::to_string(static_cast<int>(state)));
    missing_states<market::RunState>(out, r.runs, "run state");
    missing_states<market::SegmentState>(out, r.segments, "segment state");
    missing_states<market::AuditPhase>(out, r.audits, "audit phase");
    missing_states<market::SeatState>(out, r.seats, "seat state");
    missing_states<market::DisputeState>(out, r.disputes, "dispute state");
    missing_states<market::DisputeKind>(out, r.dispute_kinds, "dispute kind");
    missing_states<market::ReportState>(out, r.reports, "report state");
    missing_states<market::ReportKind>(out, r.report_kinds, "report kind");
    missing_states<market::RetentionState>(out, r.retentions, "retention state");
    missing_states<market::ChallengeState>(out, r.challenges, "challenge state");
    missing_states<market::ReservationState>(out, r.reservations, "reservation state");
    std::erase(out, "reservation state " + std::to_string(static_cast<int>(market::ReservationState::released)));
    using enum CallStatus;
    for (const auto& [method, status] : {std::pair{WithdrawReservation::kName, not_requester},
                                         {AcceptReservation::kName, not_solver},
                                         {BeginReserved::kName, not_requester}})
        if (!coverage.calls.contains({std::string(method), static_cast<std::uint16_t>(status)}))
            out.push_back("refusal " + std::string(slug(status)) + " of " + std::string(method));
    using verifier::Ending;
    for (const Ending ending :
         {Ending::wrong_header, Ending::nothing_disputed, Ending::timeout_solver, Ending::timeout_challenger})
        if (r.endings[static_cast<std::size_t>(ending)] == 0)
            out.push_back("ending " + std::string(verifier::slug(ending)));
    if (r.raised == 0) out.push_back("an auction for more replicas");
    if (r.successors == 0) out.push_back("a successor");
    if (r.joined_late == 0) out.push_back("a replica that joins late");
    return out;
}

std::string to_text(const Coverage& coverage) {
    std::ostringstream out;
    out << coverage.games << " games, " << coverage.calls_in_all << " calls, " << coverage.restarted
        << " games with restarts, " << coverage.replayed << " played twice\n";
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> methods;
    std::map<std::uint16_t, std::uint64_t> statuses;
    for (const auto& [key, count] : coverage.calls) {
        auto& [good, refused] = methods[key.first];
        (key.second == 0 ? good : refused) += count;
        statuses[key.second] += count;
    }
    out << "  method                    accepted     refused\n";
    for (const auto& [name, counts] : methods)
        out << "  " << std::left << std::setw(22) << name << std::right << std::setw(12) << counts.first
            << std::setw(12) << counts.second << "\n";
    out << "  at most                      reads    writes     bytes   items   least gas\n";
    for (const auto& [name, most] : coverage.costs.methods)
        out << "  " << std::left << std::setw(28) << name << std::right << std::setw(6) << most.reads << std::setw(10)
            << most.writes << std::setw(10) << most.bytes << std::setw(8) << most.items << std::setw(12) << most.gas
            << "\n";
    out << "  statuses:";
    for (const auto& [status, count] : statuses)
        if (status != 0) out << " " << slug(static_cast<CallStatus>(status)) << "=" << count;
    out << "\n";
    const Reached& r = coverage.reached;
    print(out, "task states", r.tasks);
    print(out, "run states", r.runs);
    print(out, "segment states", r.segments);
    print(out, "audit phases", r.audits);
    print(out, "seat states", r.seats);
    print(out, "dispute states", r.disputes);
    print(out, "dispute kinds", r.dispute_kinds);
    print(out, "endings", r.endings);
    print(out, "report states", r.reports);
    print(out, "report kinds", r.report_kinds);
    print(out, "retention states", r.retentions);
    print(out, "challenge states", r.challenges);
    print(out, "reservation states", r.reservations);
    out << "  raised=" << r.raised << " successors=" << r.successors << " joined_late=" << r.joined_late
        << " late_schedules=" << r.late_schedules << " longest_list=" << r.longest_list << "\n"
        << std::setprecision(3) << "  of a call's bounds: reads " << coverage.costs.call_reads_a_limit << " ("
        << coverage.costs.reads_of << "), writes " << coverage.costs.call_writes_a_limit << " ("
        << coverage.costs.writes_of << "), bytes " << coverage.costs.call_bytes_a_limit << " ("
        << coverage.costs.bytes_of << "); longest call " << coverage.costs.call_seconds * 1e3
        << " ms\n  the start of a block: at most " << coverage.costs.block_reads << " records read, "
        << coverage.costs.block_seconds * 1e3 << " ms\n";
    return out.str();
}

std::string to_json(const Coverage& coverage) {
    std::ostringstream out;
    out << "{\"games\":" << coverage.games << ",\"calls\":" << coverage.calls_in_all
        << ",\"restarted\":" << coverage.restarted << ",\"replayed\":" << coverage.replayed << ",\"accepted\":{";
    const char* comma = "";
    for (const auto& [key, count] : coverage.calls) {
        if (key.second != 0) continue;
        out << comma << "\"" << key.first << "\":" << count;
        comma = ",";
    }
    out << "},\"never_reached\":" << never_reached(coverage).size() << ",\"block_reads\":" << coverage.costs.block_reads
        << ",\"block_ms\":" << coverage.costs.block_seconds * 1e3
        << ",\"call_ms\":" << coverage.costs.call_seconds * 1e3
        << ",\"longest_list\":" << coverage.reached.longest_list;
    return out.str();
}

std::optional<Failure> compare_replay(const World& world, const Options& options) {
    Options plain = options;
    plain.restart_every = 0;
    plain.check_every = 0;
    const Trace& trace = world.trace();
    World again(trace.params, trace.accounts, plain);
    try {
        for (const Event& event : trace.events) again.play(event);
        if (again.root() != world.root())
            return Failure("the same calls make the same state, with restarts and without", "");
    } catch (const Failure& failure) {
        return failure;
    }
    return std::nullopt;
}

Played play_seed(std::uint64_t seed, Options options, Coverage& coverage, View input) {
    Draws draws(seed, input);
    Profile profile = profile_of(draws);
    profile.calls = std::min(profile.calls, options.calls_max);
    const bool restarts = options.restart_every != 0 || seed % 8 == 3;
    if (restarts && options.restart_every == 0) options.restart_every = 5;
    World world(profile.params, profile.accounts, options);
    Played out;
    try {
        play(world, profile, draws);
        if (restarts) {
            ++coverage.restarted;
            world.restart();
        }
        if (restarts || seed % 16 == 7) {
            ++coverage.replayed;
            out.failure = compare_replay(world, options);
        }
    } catch (const Failure& failure) {
        out.failure = failure;
    }
    coverage.add(world);
    if (out.failure) out.trace = world.trace();
    return out;
}

}  // namespace retrace::stateful
