// SPDX-License-Identifier: MIT
// retrace task plan, of a training in rounds: what a member computes, sends and receives in a round, and the price.
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <new>

#include "kernels/plan/plan_executor.hpp"
#include "node/cmd/task_plan.hpp"
#include "node/platform/machine_memory.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/group_task.hpp"
#include "node/tasks/model_files.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "solver/rounds/group_view.hpp"
#include "solver/worker/tensors.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using kernels::Phase;

constexpr std::chrono::milliseconds kMeasureRounds{1500};  ///< Approximate total time for timing rounds.

/// What was measured in rounds of one inner step, in which a member takes in its own message.
struct Measured {
    std::map<Phase, double> seconds;  ///< Of one position of each phase, on average.
    std::uint64_t message_bytes = 0;  ///< Packed; depends on the values, so it is that of the last message.
};

Result<Measured> measure_rounds(const TaskFile& task, const kernels::GroupPlan& plan) {
    RETRACE_TRY(data, load_dataset(task.data));
    kernels::MemberInputs inputs{task.seed, kernels::member_seed(task.seed, 0), {}};
    for (const DataSet::Part& part : data.parts) inputs.datasets.push_back(&part.tensor);
    if (inputs.datasets.size() != plan.at(Phase::inner).program.datasets)
        return error("the data set does not fit the plan; compile the task anew");
    kernels::ThreadPool pool;
    kernels::PlanExecutor executor(plan, pool);
    kernels::State state = executor.init(task.seed);
    std::vector<kernels::Tensor> message;
    // Its own message has one mask.
    const std::vector<kernels::MaskRow> rows(plan.has_masks() ? 1 : 0);
    const auto masks = static_cast<std::uint32_t>(rows.size());
    kernels::Tensor table;
    const kernels::MessageSource source = [&](const kernels::Position& at) {
        if (at.phase != Phase::add) return solver::mask_message(rows, at, table);
        kernels::Message out{{1, 1, 0, 1}, {}};
        for (const kernels::Tensor& tensor : message) out.tensors.push_back(&tensor);
        return out;
    };
    Measured out;
    std::map<Phase, std::uint64_t> counts;
    const Clock::time_point begun = Clock::now();
    // The first round has no record to take in and warms up: it is not counted.
    for (std::uint64_t base = 0; base < 2 || Clock::now() - begun < kMeasureRounds; ++base) {
        const std::vector<std::uint32_t> records(base == 0 ? 0 : 1, 1);
        const std::vector<std::uint32_t> of_sum(records.size(), masks);
        const kernels::SegmentSpan span{base == 0 ? 0 : base - 1, base, 1, {}, masks};
        RETRACE_TRY(segment, kernels::SegmentPositions::make(span, records, plan.steps_max, of_sum));
        for (std::uint64_t place = 0; place < segment.count(); ++place) {
            const Clock::time_point start = Clock::now();
            executor.run(state, segment, place, place + 1, inputs, source);
            if (base == 0) continue;
            const Phase phase = segment.at(place).phase;
            out.seconds[phase] += std::chrono::duration<double>(Clock::now() - start).count();
            ++counts[phase];
        }
        message.clear();
        for (const std::uint32_t tensor : plan.public_tensors) message.push_back(state.tensors[tensor]);
    }
    for (auto& [phase, seconds] : out.seconds) seconds /= static_cast<double>(counts[phase]);
    for (const kernels::Tensor& tensor : message) out.message_bytes += solver::transport_form(tensor).size();
    return out;
}

struct RoundsPlan {
    std::uint64_t parameters = 0, state_bytes = 0, data_bytes = 0;
    std::uint64_t segment_flops = 0;
    std::optional<Measured> measured;
    std::string not_measured;  ///< Reason if `measured` is empty.

    double seconds(Phase phase, std::uint64_t count = 1) const {
        const auto found = measured->seconds.find(phase);
        return found == measured->seconds.end() ? 0 : found->second * static_cast<double>(count);
    }
    double ratio() const {
        return 4.0 * static_cast<double>(parameters) / static_cast<double>(measured->message_bytes);
    }
};

/// Messages that a member takes in: those of all, or one of each region.
std::uint32_t taken_in(const GroupTerms& terms) { return terms.regions != 0 ? terms.regions : terms.members; }
/// Messages that it receives; with regions most members receive so many.
std::uint32_t received(const GroupTerms& terms) { return terms.regions != 0 ? terms.regions : terms.members - 1; }
/// Messages of a region, rounded up; 0 without regions.
std::uint32_t of_region(const GroupTerms& terms) {
    return terms.regions != 0 ? (terms.members + terms.regions - 1) / terms.regions : 0;
}

/// The share of a member's updates that everybody sees under masks: those of segments that are drawn and of those before
/// (contracts 21.11.41); its first one is always among them.
double shown_share(const TaskFile& task) {
    const double hidden = 1 - static_cast<double>(task.audit_bp) / 1e4;
    const double others = 1 - hidden * hidden, rounds = static_cast<double>(task.group->rounds);
    return (1 + others * (rounds - 1)) / rounds;
}

/// Times of one member in a round, in seconds; `merge` is that of members that merge, whom the others wait for.
struct RoundTimes {
    double steps = 0, press = 0, take_in = 0, send = 0, receive = 0, merge = 0;
    double total() const { return steps + press + take_in + send + receive + merge; }
};

RoundTimes times_of(const GroupTerms& terms, const RoundsPlan& plan, double link_mbit) {
    const double message = static_cast<double>(plan.measured->message_bytes) * 8 / (link_mbit * 1e6);
    // A merger receives those of its region, adds each as `add` does, and makes and sends one of them.
    const double merge = terms.regions == 0 ? 0
                                            : plan.seconds(Phase::add, of_region(terms)) + plan.seconds(Phase::press) +
                                                  message * of_region(terms);
    return {plan.seconds(Phase::inner, terms.inner),
            plan.seconds(Phase::press) + plan.seconds(Phase::mask, terms.members),
            plan.seconds(Phase::begin) + plan.seconds(Phase::add, taken_in(terms)) +
                plan.seconds(Phase::unmask, terms.members) + plan.seconds(Phase::end),
            message,
            message * received(terms),
            merge};
}

Result<RoundsPlan> make_rounds_plan(const TaskFile& task, const kernels::GroupPlan& plan) {
    RoundsPlan out;
    RETRACE_TRY(train, read_program(task.program));
    out.parameters = trained_elements(train);
    const kernels::Program& inner = plan.at(Phase::inner).program;
    for (std::uint32_t i = 0; i < inner.states; ++i) out.state_bytes += solver::bytes_of(inner.tensors[i]);
    for (std::uint32_t i = 0; i < inner.datasets; ++i)
        out.data_bytes += solver::bytes_of(inner.tensors[inner.states + inner.constants + i]);
    out.segment_flops = 2 * segment_cost(plan, taken_in(*task.group));
    // The state, a copy while a phase rewrites it, and the data; buffers come on top, and may fail to be allocated.
    const std::uint64_t needed = 2 * out.state_bytes + out.data_bytes, available = memory_left();
    if (needed > available) {
        out.not_measured = "a round needs more than " + std::to_string(needed) + " bytes and this machine has " +
                           std::to_string(available) + " available";
        return out;
    }
    try {
        RETRACE_TRY(measured, measure_rounds(task, plan));
        out.measured = std::move(measured);
    } catch (const std::bad_alloc&) {
        out.not_measured = "this machine has not the memory for a round";
    }
    return out;
}

json::object to_json(const TaskFile& task, const RoundsPlan& plan, const Price& price, double link_mbit) {
    const GroupTerms& terms = *task.group;
    json::object out{{"parameters", plan.parameters},
                     {"rounds", terms.rounds},
                     {"members", terms.members},
                     {"inner", terms.inner},
                     {"regions", terms.regions},
                     {"state_bytes", plan.state_bytes},
                     {"flops_per_segment", plan.segment_flops},
                     {"message_bytes", nullptr},
                     {"message_ratio", nullptr},
                     {"received_bytes", nullptr},
                     {"link_mbit", link_mbit},
                     {"seconds_per_step", nullptr},
                     {"seconds_per_round", nullptr},
                     {"seconds", nullptr},
                     {"not_timed", nullptr},
                     {"segments", price.segments},
                     {"stake", price.stake ? json::value(price.stake->to_decimal()) : json::value()},
                     {"escrow", price.escrow.total().to_decimal()},
                     {"escrow_work", price.escrow.work.to_decimal()},
                     {"escrow_audits", price.escrow.audits.to_decimal()},
                     {"audit_cost_share", static_cast<double>(price.audit_cost_bp) / 1e4},
                     {"detection_of_one", price.can_audit() ? json::value(price.found_one) : json::value()},
                     {"detection_of_ten", price.can_audit() ? json::value(price.found_ten) : json::value()},
                     {"possible_auditors", price.auditors ? json::value(*price.auditors) : json::value()},
                     {"paid_unaudited", task.allow_unaudited},
                     {"auctions", json_of_auctions(price)},
                     {"on_fraud", terms.rollbacks == 0 ? "keep" : "rollback"},
                     {"rollbacks", terms.rollbacks},
                     {"ahead", terms.ahead},
                     {"masked", terms.mask_bits != 0},
                     {"shown_share", terms.mask_bits != 0 ? json::value(shown_share(task)) : json::value()},
                     {"private_data", is_private(task)}};
    if (!plan.measured) {
        out["not_timed"] = plan.not_measured;
        return out;
    }
    const RoundTimes times = times_of(terms, plan, link_mbit);
    out["message_bytes"] = plan.measured->message_bytes;
    out["message_ratio"] = plan.ratio();
    out["received_bytes"] = plan.measured->message_bytes * received(terms);
    out["seconds_per_step"] = plan.seconds(Phase::inner);
    out["seconds_per_round"] =
        json::object{{"steps", times.steps}, {"press", times.press},     {"take_in", times.take_in},
                     {"send", times.send},   {"receive", times.receive}, {"merge", times.merge}};
    out["seconds"] = times.total() * static_cast<double>(terms.rounds);
    return out;
}

void say(const TaskFile& task, const RoundsPlan& plan, const Price& price, double link_mbit) {
    const GroupTerms& terms = *task.group;
    std::cout << std::setprecision(3) << "parameters   " << plan.parameters << " (state of a member "
              << amount(plan.state_bytes) << ", data " << amount(plan.data_bytes) << ")\nmembers      " << terms.members
              << ", " << terms.rounds << " rounds of at most " << terms.inner << " steps\n"
              << "arithmetic   " << static_cast<double>(plan.segment_flops) / 1e9 << " GFLOP a round and member\n";
    if (plan.measured) {
        const RoundTimes times = times_of(terms, plan, link_mbit);
        std::cout << "message      " << plan.measured->message_bytes << " bytes a round and member, " << plan.ratio()
                  << " times less than fp32; a member receives " << plan.measured->message_bytes * received(terms)
                  << " bytes\n"
                  << "time         " << times.steps + times.press + times.take_in
                  << " s of computing a round here: " << times.steps << " s of steps, " << times.press
                  << " s to make a message, " << times.take_in << " s to take in " << taken_in(terms)
                  << "\n             " << times.send << " s to send and " << times.receive << " s to receive at "
                  << link_mbit << " Mbit/s; " << times.total() * static_cast<double>(terms.rounds) << " s for "
                  << terms.rounds << " rounds, without the waits for blocks\n";
    } else {
        std::cout << "time         not timed: " << plan.not_measured << '\n';
    }
    if (terms.regions != 0)
        std::cout << "regions      " << terms.regions
                  << ", each with one message a round; three members of a region receive " << of_region(terms) - 1
                  << " messages more and up to three others one, and two merge these; each merged message pays two of "
                     "them half "
                     "of a price\n";
    if (terms.rollbacks != 0)
        std::cout << "on fraud     back to the round before the lie, at most " << int{terms.rollbacks}
                  << " times; a round waits until messages of " << terms.ahead
                  << " rounds before are final; of the stake " << describe_coins_needed(rollback_stake_of(task))
                  << " repay what a lie undoes\n";
    if (terms.mask_bits != 0)
        std::cout << "masks        hide a message from whoever does not repeat its member's training; data, seeds and "
                     "records "
                     "are public\n             about "
                  << 100 * shown_share(task)
                  << " % of a member's updates are shown to everybody: its first, and those that audits are about\n";
    std::cout << "stake        "
              << (price.stake ? "a member locks " + describe_coins_needed(*price.stake)
                              : "no stake is enough: nothing is audited")
              << "\nprice        at most " << describe_coins(price.escrow.work) << " for " << price.segments
              << " segments of each member and " << describe_coins(price.escrow.audits)
              << " set aside for audits\nauctions     " << auctions_of(price) << '\n'
              << "audits       about " << static_cast<double>(price.audit_cost_bp) / 100
              << " % of the price are expected; " << chances_of(price) << "\n             " << auditors_of(task, price)
              << '\n'
              << (is_private(task) ? std::string(kPrivateWords) + "\n" : std::string());
}

}  // namespace

int plan_rounds(const Program& program, TaskFile& task, const TaskPlanFlags& flags) {
    const auto file = read_plan(*task.group);
    if (!file) return fail(program, file.error().message);
    if (const auto terms = group_spec_of(*task.group, *file); !terms) return fail(program, terms.error().message);
    const auto price = price_of(task, flags);
    if (!price) return fail(program, price.error().message);
    const auto plan = make_rounds_plan(task, *file);
    if (!plan) return fail(program, plan.error().message);
    if (program.json)
        std::cout << json::serialize(to_json(task, *plan, *price, flags.link_mbit)) << '\n';
    else
        say(task, *plan, *price, flags.link_mbit);
    return kDone;
}

}  // namespace retrace::node::cli
