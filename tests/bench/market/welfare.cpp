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

/// The terms of all tasks, and what the agents do.
struct Play {
    Order order = Order::profit;
    std::uint64_t auctions = market::Params{}.rounds;
    double first = 1;      ///< Ceiling in the first auction, as a share of the one in the last (contracts 12.12).
    unsigned waiting = 0;  ///< Bit i: agent i bids in the last auction only.
};

/// The tasks with the ceilings that they have after so many auctions without winners.
Instance at_round(const Instance& in, const Play& how, std::uint64_t round) {
    const double steps = static_cast<double>(std::max<std::uint64_t>(how.auctions - 1, 1));
    const double share = how.first + (1 - how.first) * static_cast<double>(round) / steps;
    Instance out = in;
    for (WorkTerms& task : out.tasks) task.segment_price *= share;
    return out;
}

struct Played {
    double welfare = 0;
    std::vector<bool> solved;
    double paid = 0, worth = 0;   ///< Of the solved tasks: their price, and what they are worth to their requesters.
    std::vector<double> profits;  ///< By agent.
};

/// All rounds of auctions: agents bid for what they choose, a bid holds its time until the auction ends, and a task
/// without a bid has another auction.
Played played(const Instance& in, const Play& how) {
    std::vector<double> left(in.agents.size(), 1.0);
    Played out;
    out.solved.resize(in.tasks.size());
    out.profits.resize(in.agents.size());
    for (std::uint64_t round = 0; round < how.auctions; ++round) {
        const Instance now = at_round(in, how, round);
        std::vector<std::vector<market::Offer>> bids(in.tasks.size());
        for (std::size_t agent = 0; agent < in.agents.size(); ++agent) {
            if ((how.waiting >> agent & 1u) != 0 && round + 1 != how.auctions) continue;
            const Agent& me = in.agents[agent];
            for (const node::Choice& choice : chosen(now, out.solved, me, left[agent], how.order)) {
                if (!choice.taken) continue;
                market::Offer offer;
                offer.bidder.bytes[0] = static_cast<std::uint8_t>(agent);
                offer.price = node::amount_of(node::price_at(in.tasks[choice.task], me.machine, me.per_hour));
                bids[choice.task].push_back(offer);
            }
        }
        for (std::size_t task = 0; task < in.tasks.size(); ++task) {
            const auto ceiling = node::amount_of(now.tasks[task].segment_price);
            std::erase_if(bids[task], [&](const market::Offer& offer) { return offer.price > ceiling; });
            const auto winners = market::clear_auction(bids[task], 1, ceiling);
            if (winners.empty()) continue;
            const std::size_t agent = bids[task][winners[0].offer].bidder.bytes[0];
            const double price = node::coins_of(winners[0].price) * static_cast<double>(in.tasks[task].segments);
            const double cost = cost_of(in, task, agent);
            out.solved[task] = true;
            left[agent] -= load_of(in, task, agent);
            out.welfare += value_of(in, task) - cost;
            out.worth += value_of(in, task);
            out.paid += price;
            out.profits[agent] += price - cost;
        }
    }
    return out;
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
        const double got = played(in, {}).welfare;
        ensure(got <= best * (1 + 1e-9), "nothing is better than the optimum");
        reached += got;
        possible += best;
        worst = std::min(worst, got / best);
    }
    ensure(possible > 0, "there is something to allocate");
    return {{"welfare", "of the optimum", "", reached / possible, 0},
            {"welfare_worst", "of the optimum", "", worst, 0}};
}

namespace {

/// Sums over all instances of what one way to play brings.
struct Sums {
    double welfare = 0, paid = 0, worth = 0, first_agent = 0;
    void add(const Played& one) {
        welfare += one.welfare;
        paid += one.paid;
        worth += one.worth;
        first_agent += one.profits.front();
    }
};

/// The rows of tasks that are sold in this way.
void add_rows(const std::string& name, const Sums& sums, double possible, std::vector<Row>& out) {
    out.push_back({"curve_welfare_" + name, "of the optimum", "", sums.welfare / possible, 0});
    out.push_back({"curve_paid_" + name, "of the worth", "", sums.paid / sums.worth, 0});
}

}  // namespace

std::vector<Row> measure_waiting(std::uint64_t instances) {
    constexpr unsigned kOne = 1, kTwo = 3, kAll = (1u << kSolvers) - 1;
    const auto rising = [](unsigned waiting) { return Play{Order::profit, 4, 0.4, waiting}; };
    double possible = 0;
    Sums flat, prompt, one, two, all, other;
    for (std::uint64_t seed = 1; seed <= instances; ++seed) {
        const Instance in = draw_instance(seed);
        std::vector<double> left(in.agents.size(), 1.0);
        possible += best_from(in, 0, left);
        flat.add(played(in, {Order::profit, 4, 1, 0}));
        prompt.add(played(in, rising(0)));
        one.add(played(in, rising(kOne)));
        two.add(played(in, rising(kTwo)));
        all.add(played(in, rising(kAll)));
        other.add(played(in, rising(kAll & ~kOne)));
    }
    ensure(possible > 0 && flat.worth > 0 && prompt.first_agent > 0, "there is something to sell");
    std::vector<Row> out;
    add_rows("flat", flat, possible, out);
    add_rows("nobody_waits", prompt, possible, out);
    add_rows("one_waits", one, possible, out);
    add_rows("two_wait", two, possible, out);
    add_rows("all_wait", all, possible, out);
    out.push_back({"curve_gain_waiting_alone", "of its profit", "", one.first_agent / prompt.first_agent, 0});
    out.push_back({"curve_gain_waiting_with_all", "of its profit", "", all.first_agent / other.first_agent, 0});
    return out;
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
        const Played profit = played(in, {}), classes = played(in, {Order::classes});
        by_profit += profit.welfare;
        by_class += classes.welfare;
        for (std::size_t task = 0; task < kTasks; ++task) {
            (is_urgent(task) ? urgent : others).add(profit.solved[task]);
            (is_urgent(task) ? urgent_by_class : others_by_class).add(classes.solved[task]);
            if (!is_urgent(task) || profit.solved[task]) continue;
            Instance dearer = in;
            dearer.tasks[task].segment_price *= kDearer;
            cheap.add(played(dearer, {}).solved[task]);
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
