// SPDX-License-Identifier: MIT
// What the agents' choices (node/agents/work_choice) and the market's auctions bring, beside the best allocation that an
// exact search finds: what the tasks are worth to their requesters, less what they cost those that solve them.
#include <algorithm>
#include <random>

#include "market/auction.hpp"
#include "market/params.hpp"
#include "merkle/base/ensure.hpp"
#include "node/agents/work_choice.hpp"
#include "tests/bench/market/measurements.hpp"

namespace retrace::bench {
namespace {

using node::Candidate;
using node::Machine;
using node::WorkTerms;

constexpr std::size_t kTasks = 7, kSolvers = 4;

struct Agent {
    Machine machine;
    double per_hour = 0;  ///< What an hour of it is worth elsewhere, in coins.
};
struct Instance {
    std::vector<WorkTerms> tasks;
    std::vector<Agent> agents;
};

Instance draw_instance(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto between = [&](double low, double high) {
        return low + (high - low) * (static_cast<double>(random() >> 11) / 9007199254740992.0);
    };
    Instance out;
    for (std::size_t i = 0; i < kTasks; ++i) {
        WorkTerms task;
        task.segments = 4 + random() % 20;
        task.segment_work = between(1e10, 2e11);
        // From what hardly anybody would work for to what pays everybody.
        task.segment_price = task.segment_work / 1e10 * between(0.002, 0.03);
        task.segment_fees = 0.0001;
        task.checkpoint_s = 600;
        task.finish_s = between(1'000, 6'000);
        out.tasks.push_back(task);
    }
    for (std::size_t i = 0; i < kSolvers; ++i) out.agents.push_back({{between(5e8, 4e9), 1, 0}, between(0.2, 4)});
    return out;
}

double cost_of(const Instance& in, std::size_t task, std::size_t agent) {
    const WorkTerms& terms = in.tasks[task];
    const Agent& who = in.agents[agent];
    return node::price_at(terms, who.machine, who.per_hour) * static_cast<double>(terms.segments);
}
double value_of(const Instance& in, std::size_t task) {
    return in.tasks[task].segment_price * static_cast<double>(in.tasks[task].segments);
}
double load_of(const Instance& in, std::size_t task, std::size_t agent) {
    return node::expected_profit(in.tasks[task], in.agents[agent].machine).load;
}

/// Tries every assignment of the tasks from `task` on. `left`: what is left of each agent's time.
double best_from(const Instance& in, std::size_t task, std::vector<double>& left) {
    if (task == in.tasks.size()) return 0;
    double best = best_from(in, task + 1, left);  // Nobody solves it.
    for (std::size_t agent = 0; agent < in.agents.size(); ++agent) {
        const double load = load_of(in, task, agent), gain = value_of(in, task) - cost_of(in, task, agent);
        if (load > left[agent] || gain <= 0) continue;
        left[agent] -= load;
        best = std::max(best, gain + best_from(in, task + 1, left));
        left[agent] += load;
    }
    return best;
}

/// How agents order the tasks that they could do.
enum class Order {
    profit,   ///< By what an hour brings.
    classes,  ///< Urgent ones first; within a class by what an hour brings.
};
/// An urgent task is worth a tenth more to its requester, who pays that as its ceiling, or for the class.
constexpr double kUrgent = 1.1;

/// What an urgent task that nobody solves pays instead, as a multiple.
constexpr double kDearer = 2;

/// A third of the tasks, whatever they are worth.
bool is_urgent(std::size_t task) { return task % 3 == 0; }

/// What the agent chooses among the open tasks in this order.
std::vector<node::Choice> chosen(const Instance& in, const std::vector<bool>& solved, const Agent& me, double left,
                                 Order order) {
    std::vector<Candidate> upper, lower;
    for (std::size_t task = 0; task < in.tasks.size(); ++task) {
        if (solved[task]) continue;
        const bool first = order == Order::classes && is_urgent(task);
        (first ? upper : lower).push_back({task, in.tasks[task]});
    }
    std::vector<node::Choice> out = node::choose_work(upper, me.machine, {left}, me.per_hour);
    for (const node::Choice& choice : out)
        if (choice.taken) left -= choice.profit.load;
    const auto rest = node::choose_work(lower, me.machine, {left}, me.per_hour);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
}

struct Played {
    double welfare = 0;
    std::vector<bool> solved;
};

/// All rounds of auctions: agents bid for what they choose, a bid holds its time until the auction ends, and a task
/// without a bid has another auction.
Played played(const Instance& in, Order order) {
    std::vector<double> left(in.agents.size(), 1.0);
    std::vector<bool> solved(in.tasks.size());
    double welfare = 0;
    for (std::uint64_t round = 0; round < market::Params{}.rounds; ++round) {
        std::vector<std::vector<market::Offer>> bids(in.tasks.size());
        for (std::size_t agent = 0; agent < in.agents.size(); ++agent) {
            const Agent& me = in.agents[agent];
            for (const node::Choice& choice : chosen(in, solved, me, left[agent], order)) {
                if (!choice.taken) continue;
                market::Offer offer;
                offer.bidder.bytes[0] = static_cast<std::uint8_t>(agent);
                offer.price = node::amount_of(node::price_at(in.tasks[choice.task], me.machine, me.per_hour));
                bids[choice.task].push_back(offer);
            }
        }
        for (std::size_t task = 0; task < in.tasks.size(); ++task) {
            const auto ceiling = node::amount_of(in.tasks[task].segment_price);
            std::erase_if(bids[task], [&](const market::Offer& offer) { return offer.price > ceiling; });
            const auto winners = market::clear_auction(bids[task], 1, ceiling);
            if (winners.empty()) continue;
            const std::size_t agent = bids[task][winners[0].offer].bidder.bytes[0];
            solved[task] = true;
            left[agent] -= load_of(in, task, agent);
            welfare += value_of(in, task) - cost_of(in, task, agent);
        }
    }
    return {welfare, std::move(solved)};
}

/// Shares of the tasks that are solved.
struct Solved {
    std::uint64_t solved = 0, of = 0;
    void add(bool is_solved) { solved += is_solved ? 1 : 0, ++of; }
    double share() const { return static_cast<double>(solved) / static_cast<double>(std::max<std::uint64_t>(of, 1)); }
};

}  // namespace

std::vector<Row> measure_welfare(std::uint64_t instances) {
    double reached = 0, possible = 0, worst = 1;
    for (std::uint64_t seed = 1; seed <= instances; ++seed) {
        const Instance in = draw_instance(seed);
        std::vector<double> left(in.agents.size(), 1.0);
        const double best = best_from(in, 0, left);
        if (best <= 0) continue;  // No agent would solve any task.
        const double got = played(in, Order::profit).welfare;
        ensure(got <= best * (1 + 1e-9), "nothing is better than the optimum");
        reached += got;
        possible += best;
        worst = std::min(worst, got / best);
    }
    ensure(possible > 0, "there is something to allocate");
    return {{"welfare", "of the optimum", "", reached / possible, 0},
            {"welfare_worst", "of the optimum", "", worst, 0}};
}

std::vector<Row> measure_classes(std::uint64_t instances) {
    double possible = 0, by_profit = 0, by_class = 0;
    Solved urgent, others, urgent_by_class, others_by_class, cheap;
    for (std::uint64_t seed = 1; seed <= instances; ++seed) {
        Instance in = draw_instance(seed);
        in.agents.resize(1);  // So that tasks compete.
        for (std::size_t task = 0; task < kTasks; ++task)
            if (is_urgent(task)) in.tasks[task].segment_price *= kUrgent;
        std::vector<double> left(in.agents.size(), 1.0);
        possible += best_from(in, 0, left);
        const Played profit = played(in, Order::profit), classes = played(in, Order::classes);
        by_profit += profit.welfare;
        by_class += classes.welfare;
        for (std::size_t task = 0; task < kTasks; ++task) {
            (is_urgent(task) ? urgent : others).add(profit.solved[task]);
            (is_urgent(task) ? urgent_by_class : others_by_class).add(classes.solved[task]);
            if (!is_urgent(task) || profit.solved[task]) continue;
            Instance dearer = in;
            dearer.tasks[task].segment_price *= kDearer;
            cheap.add(played(dearer, Order::profit).solved[task]);
        }
    }
    ensure(possible > 0, "there is something to allocate");
    return {{"welfare_scarce", "of the optimum", "", by_profit / possible, 0},
            {"welfare_scarce_classes", "of the optimum", "", by_class / possible, 0},
            {"urgent_solved", "of the urgent tasks", "", urgent.share(), 0},
            {"urgent_solved_classes", "of the urgent tasks", "", urgent_by_class.share(), 0},
            {"others_solved", "of the others", "", others.share(), 0},
            {"others_solved_classes", "of the others", "", others_by_class.share(), 0},
            {"urgent_solved_by_price", "of the urgent ones left", "", cheap.share(), 0}};
}

}  // namespace retrace::bench
