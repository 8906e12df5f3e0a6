// SPDX-License-Identifier: MIT
#include "kernels/builder/rounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/builder/compose.hpp"
#include "kernels/builder/embed.hpp"
#include "kernels/builder/mask_programs.hpp"
#include "kernels/builder/masked_sum.hpp"
#include "kernels/builder/message_form.hpp"
#include "kernels/builder/optimizer.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::kernels {
namespace {

constexpr std::size_t kJoinedMax = 64;  // inputs of one op
constexpr float kNormKept = 0.9f;       // of the usual norm, in each round

/// What is left of a change that is the same in each of n rounds when it is sent: the sum of β^i, i < n.
double kept_of_wait(double beta, double n) { return beta < 1 ? (1 - std::pow(beta, n)) / (1 - beta) : n; }

/// A trained parameter, and its place in the line of all of them.
struct Part {
    std::string name;
    Dims dims;
    std::uint64_t elements = 0, first = 0;
};

/// The state tensors of a plan, in their order.
struct States {
    Value anchor, norm;                 // shared
    std::vector<Value> shared_moments;  // shared, only of gradients
    std::vector<Value> message;         // public
    std::vector<Value> parameters;      // in the order of parts
    std::vector<Value> moments;         // those of the training program, but of gradients
    Value residual, norm_sum, found;
    Value gradient, gradient_sum;                   // only of gradients
    Value merge_residual, merge_sum;                // only with regions,
    Value merge_norm, merge_norm_sum, merge_found;  // as norm, norm_sum and found are of the whole group
    MaskedStates masked;                            // only of messages under masks
    std::vector<Value> metrics;                     // of the last inner step, if the training keeps them
};

class Builder {
public:
    Builder(const TrainingPrograms& programs, const TrainingSpec& training, const RoundsSpec& spec,
            const Program* gradient)
        : programs_(programs), training_(training), spec_(spec), gradient_(gradient) {}

    Result<GroupPlan> build() {
        RETRACE_CHECK(find_parts());
        GroupPlan plan;
        plan.steps_max = spec_.inner;
        plan.shared = 2 + (sends_gradients() ? static_cast<std::uint32_t>(moment_suffixes(training_).size()) : 0);
        if (masked_) ++plan.shared;
        for (std::uint32_t i = 0; i < parts_of_message().size(); ++i) plan.public_tensors.push_back(plan.shared + i);
        RETRACE_CHECK(add(plan, Phase::init, false, &Builder::write_init));
        RETRACE_CHECK(add(plan, Phase::enter, false, &Builder::write_enter));
        RETRACE_CHECK(add(plan, Phase::begin, false, &Builder::write_begin));
        RETRACE_CHECK(add(plan, Phase::add, false, &Builder::write_add));
        RETRACE_CHECK(add(plan, Phase::end, false, &Builder::write_end));
        RETRACE_CHECK(add(plan, Phase::inner, true, &Builder::write_inner));
        RETRACE_CHECK(add(plan, Phase::restore, true, &Builder::write_restore));
        RETRACE_CHECK(add(plan, Phase::press, true, &Builder::write_press));
        if (masked_) {
            RETRACE_CHECK(add(plan, Phase::unmask, false, &Builder::write_unmask));
            RETRACE_CHECK(add(plan, Phase::mask, true, &Builder::write_mask));
        }
        if (has_regions()) {
            RETRACE_CHECK(add(plan, Phase::merge_begin, false, &Builder::write_merge_begin));
            RETRACE_CHECK(add(plan, Phase::merge_add, false, &Builder::write_merge_add));
            RETRACE_CHECK(add(plan, Phase::merge_press, false, &Builder::write_merge_press));
            RETRACE_CHECK(add(plan, Phase::merge_restore, false, &Builder::write_merge_restore));
        }
        RETRACE_CHECK(check(plan));
        return plan;
    }

private:
    Status<> find_parts() {
        const Program& train = programs_.train;
        const std::vector<std::string> suffixes = moment_suffixes(training_);
        const auto is_state = [&](const std::string& name) {
            return std::any_of(train.tensors.begin(), train.tensors.begin() + train.states,
                               [&](const TensorRecord& t) { return t.name == name; });
        };
        const auto is_moment = [&](const std::string& name) {
            return std::ranges::any_of(suffixes, [&](const std::string& suffix) {
                return name.ends_with(suffix) && is_state(name.substr(0, name.size() - suffix.size()));
            });
        };
        for (std::uint32_t t = 0; t < train.states; ++t) {
            const TensorRecord& record = train.tensors[t];
            if (is_moment(record.name) || is_metric_tensor(record.name)) continue;
            // The builder declares parameters before moments; `training_values` relies on it.
            ensure(parts_.size() == t, "a parameter after moments");
            // Parameters have moments, where the optimiser keeps any.
            const bool is_statistic = record.name.ends_with("running_mean") || record.name.ends_with("running_var");
            const bool trained =
                record.writer != kNoWriter && (suffixes.empty() ? !is_statistic : is_state(record.name + suffixes[0]));
            if (!trained)
                return error("rounds: " + record.name +
                             " is no trained parameter; models with frozen weights or "
                             "running statistics cannot be trained in rounds yet");
            const std::uint64_t elements = geometry(record.dims).elements();
            parts_.push_back({record.name, record.dims, elements, parameters_});
            parameters_ += elements;
        }
        if (spec_.update == UpdateKind::masked) {
            shape_ = masked_rows(parameters_, spec_.kept);
            masked_.emplace(shape_, spec_.mask_bits);
            return check_start();
        }
        const bool sparse = spec_.update != UpdateKind::dense;
        shape_ = sparse ? sparse_rows(parameters_, spec_.kept) : dense_rows(parameters_);
        form_ = sparse ? sparse_form(shape_, spec_.kept, spec_.bits) : dense_form(shape_);
        return check_start();
    }
    Status<> check_start() const {
        if (programs_.init.ops.empty())
            return error("rounds: a training in rounds begins with a seed, not with weights");
        return Unit{};
    }

    std::vector<MessagePart> parts_of_message() const {
        if (masked_) return {{kMaskedMessageName, DType::i32, {shape_.rows / 32, 32}}};
        return form_->parts();
    }

    States declare(Graph& g) const {
        States s;
        s.anchor = g.state(kAnchorName, DType::f32, dims());
        s.norm = g.state("rounds.norm", DType::f32, {});
        if (sends_gradients())
            for (const std::string& suffix : moment_suffixes(training_))
                s.shared_moments.push_back(g.state(kAnchorName + suffix, DType::f32, dims()));
        if (masked_) s.masked = masked_->declare_shared(g);
        for (const MessagePart& part : parts_of_message())
            s.message.push_back(g.state(part.name, part.dtype, part.dims));
        if (masked_) s.masked.message = s.message[0];
        for (const Part& part : parts_) s.parameters.push_back(g.state(part.name, DType::f32, part.dims));
        for (std::size_t t = parts_.size(); t < programs_.train.states && !sends_gradients(); ++t) {
            const TensorRecord& record = programs_.train.tensors[t];
            if (!is_metric_tensor(record.name)) s.moments.push_back(g.state(record.name, record.dtype, record.dims));
        }
        s.residual = g.state("rounds.residual", DType::f32, dims());
        s.norm_sum = g.state("rounds.norm_sum", DType::f32, {});
        s.found = g.state("rounds.found", DType::f32, {});
        if (sends_gradients()) {
            s.gradient = g.state("rounds.gradient", DType::f32, dims());
            s.gradient_sum = g.state("rounds.gradient_sum", DType::f32, dims());
        }
        if (masked_) masked_->declare_own(g, s.masked);
        if (has_regions()) {
            s.merge_residual = g.state("rounds.merge_residual", DType::f32, dims());
            s.merge_sum = g.state("rounds.merge_sum", DType::f32, dims());
            s.merge_norm = g.state("rounds.merge_norm", DType::f32, {});
            s.merge_norm_sum = g.state("rounds.merge_norm_sum", DType::f32, {});
            s.merge_found = g.state("rounds.merge_found", DType::f32, {});
        }
        for (std::uint32_t t = 0; t < programs_.train.states; ++t) {
            const TensorRecord& record = programs_.train.tensors[t];
            if (is_metric_tensor(record.name)) s.metrics.push_back(g.state(record.name, record.dtype, record.dims));
        }
        return s;
    }
    bool has_regions() const { return spec_.regions != 0; }
    bool sends_gradients() const { return spec_.update == UpdateKind::gradient; }

    /// Values for the state tensors of the program of a training step; members that send gradients have no moments, and
    /// the programs that get these values do not read them.
    static std::vector<Value> training_values(const States& s, std::size_t count) {
        std::vector<Value> out = s.parameters;
        out.insert(out.end(), s.moments.begin(), s.moments.end());
        out.resize(count - s.metrics.size(), s.anchor);
        out.insert(out.end(), s.metrics.begin(), s.metrics.end());
        return out;
    }

    using Write = void (Builder::*)(Graph&, const States&) const;
    Status<> add(GroupPlan& plan, Phase phase, bool member_seed, Write write) {
        Graph g;
        const States states = declare(g);
        (this->*write)(g, states);
        RETRACE_TRY(program, g.build());
        plan.phases.push_back({phase, member_seed, std::move(program)});
        return Unit{};
    }

    /// All trained parameters in one line, [1, parameters].
    Value line_of(Graph& g, const std::vector<Value>& parameters) const {
        std::vector<Value> lines;
        for (std::size_t i = 0; i < parts_.size(); ++i)
            lines.push_back(reshape(g, parameters[i], {1, parts_[i].elements}));
        while (lines.size() > 1) {
            std::vector<Value> joined;
            for (std::size_t i = 0; i < lines.size(); i += kJoinedMax) {
                const std::vector<Value> some(
                    lines.begin() + static_cast<std::ptrdiff_t>(i),
                    lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), i + kJoinedMax)));
                joined.push_back(some.size() == 1 ? some[0] : g.op(OpCode::concat, some, {1}));
            }
            lines = std::move(joined);
        }
        return lines[0];
    }

    /// A line in the rows of the shared model, with zeros at the end.
    Value in_rows(Graph& g, Value line) const {
        const std::uint64_t more = shape_.rows * shape_.width - parameters_;
        const Value all = more == 0 ? line : g.op(OpCode::pad, {line}, {0, 0, 0, more, 0});
        return reshape(g, all, dims());
    }
    Value out_of_rows(Graph& g, Value rows) const {
        return slice(g, reshape(g, rows, {1, shape_.rows * shape_.width}), {0, 0}, {1, parameters_});
    }
    Dims dims() const { return {shape_.rows, shape_.width}; }

    void set_parameters(Graph& g, const States& s, Value rows) const {
        const Value line = out_of_rows(g, rows);
        for (std::size_t i = 0; i < parts_.size(); ++i)
            g.set_next(s.parameters[i],
                       shaped(g, slice(g, line, {0, parts_[i].first}, {1, parts_[i].elements}), parts_[i].dims));
    }
    /// An op output of these extents, also where they are those of `x` already.
    static Value shaped(Graph& g, Value x, const Dims& dims) {
        return g.op(OpCode::reshape, {x}, {}, {g.shape(x).dtype, dims});
    }

    void clear(Graph& g, Value state) const {
        const OpFacts::Operand& shape = g.shape(state);
        g.set_next(state, g.op(OpCode::fill, {}, {0}, shape));
    }

    void clear_own(Graph& g, const States& s) const {
        for (const Value state : s.message) clear(g, state);
        for (const Value state : {s.residual, s.norm_sum, s.found}) clear(g, state);
        for (const Value state : s.metrics) clear(g, state);
        if (masked_)
            for (const Value state : {s.masked.sum, s.masked.sent, s.masked.sent_turn}) clear(g, state);
        if (has_regions()) {
            for (const Value state : {s.merge_residual, s.merge_sum, s.merge_norm_sum, s.merge_found}) clear(g, state);
            g.set_next(s.merge_norm, fill(g, first_norm(), {}));
        }
        if (!sends_gradients()) return;
        for (const Value state : {s.gradient, s.gradient_sum}) clear(g, state);
    }

    /// Gradients are clipped to a norm, or have one that only the training shows. Otherwise the first steps move each
    /// parameter by about the learning rate, and the kept differences are the greatest.
    float first_norm() const {
        if (sends_gradients()) return training_.clip_norm > 0.0f ? training_.clip_norm : 1.0f;
        const std::uint64_t of_row = masked_ ? 1 : spec_.update == UpdateKind::dense ? shape_.width : spec_.kept;
        // Under masks a change waits for its turn, as many rounds as a row is wide.
        const auto waited = masked_ ? static_cast<float>(kept_of_wait(spec_.residual_decay, shape_.width)) : 1.0f;
        return waited * training_.learning_rate * static_cast<float>(spec_.inner) *
               std::sqrt(static_cast<float>(shape_.rows * of_row));
    }

    void write_init(Graph& g, const States& s) const {
        const std::vector<Value> first = embed(g, programs_.init, training_values(s, programs_.init.states));
        for (std::size_t i = 0; i < s.parameters.size(); ++i) g.set_next(s.parameters[i], first[i]);
        for (std::size_t i = 0; i < s.moments.size(); ++i) g.set_next(s.moments[i], first[parts_.size() + i]);
        for (const Value state : s.shared_moments) clear(g, state);
        if (masked_) clear(g, s.masked.turn);
        g.set_next(s.anchor, as_output(g, in_rows(g, line_of(g, first))));
        g.set_next(s.norm, fill(g, first_norm(), {}));
        clear_own(g, s);
    }

    /// The same bits as the result of an op, which the next value of a state tensor has to be.
    static Value as_output(Graph& g, Value x) { return g.op(OpCode::reshape, {x}, {}, g.shape(x)); }

    void write_enter(Graph& g, const States& s) const {
        const Value anchor = g.dataset("anchor", DType::f32, dims()), norm = g.dataset("norm", DType::f32, {});
        g.set_next(s.anchor, as_output(g, anchor));
        g.set_next(s.norm, as_output(g, norm));
        const std::vector<std::string> suffixes = moment_suffixes(training_);
        for (std::size_t i = 0; i < s.shared_moments.size(); ++i)
            g.set_next(s.shared_moments[i], as_output(g, g.dataset("anchor" + suffixes[i], DType::f32, dims())));
        if (masked_) g.set_next(s.masked.turn, as_output(g, g.dataset("turn", DType::i32, {})));
        set_parameters(g, s, anchor);
        for (const Value state : s.moments) clear(g, state);
        clear_own(g, s);
    }

    void write_begin(Graph& g, const States& s) const {
        clear(g, s.norm_sum);
        clear(g, s.found);
        if (sends_gradients()) clear(g, s.gradient_sum);
        if (masked_) clear(g, s.masked.sum);
    }

    /// A message as `add` and `merge_add` read it.
    struct Added {
        Value change,
            weight;  // What it says, 0 where it is not finite; its share of the record, less if it is too long.
        Value share, norm, limit, finite;
    };
    Added read_message(Graph& g, Value usual) const {
        std::vector<Value> message;
        for (const MessagePart& part : form_->parts()) message.push_back(g.dataset(part.name, part.dtype, part.dims));
        const Value facts = g.dataset("facts", DType::i32, kFactDims);
        const auto fact = [&](std::uint64_t i) {
            return convert(g, reshape(g, slice(g, facts, {0, i}, {1, 1}), {}), DType::f32);
        };
        const Value zero = g.scalar(0.0f), one = g.scalar(1.0f);
        const Value whole = fact(1), share = div(g, fact(0), whole);
        const Value change = form_->added(g, fill(g, 0.0f, dims()), message);
        const Value norm = g.op(OpCode::sqrt, {sum_all(g, mul(g, change, change))});
        // A message with an element that is not finite has no finite norm.
        const Value finite = g.op(OpCode::less, {norm, g.scalar(std::numeric_limits<float>::infinity())});
        const Value limit = mul(g, g.scalar(spec_.clip), usual);
        const Value shrunk = div(g, limit, norm);
        const Value factor = select(g, g.op(OpCode::greater, {norm, limit}), shrunk, one);
        const Value weight = mul(g, share, factor), counts = select(g, finite, change, zero);
        return {counts, weight, share, norm, limit, finite};
    }
    /// Adds a message's part to the mean norm of finite ones.
    void count_norm(Graph& g, const Added& added, Value norm_sum, Value found) const {
        const Value counted = g.op(OpCode::min, {added.norm, added.limit});
        const Value part = select(g, added.finite, mul(g, added.share, counted), g.scalar(0.0f));
        g.set_next(norm_sum, add_value(g, norm_sum, part));
        g.set_next(found, select(g, added.finite, g.scalar(1.0f), found));
    }

    /// Messages under masks count alike.
    void write_add_masked(Graph& g, const States& s) const {
        const MessagePart part = parts_of_message()[0];
        const Value message = g.dataset(part.name, part.dtype, part.dims);
        g.dataset("facts", DType::i32, kFactDims);
        masked_->gain(g, s.masked, message);
        g.set_next(s.found, add_value(g, s.found, g.scalar(1.0f)));
    }

    void write_add(Graph& g, const States& s) const {
        if (masked_) return write_add_masked(g, s);
        const Added added = read_message(g, s.norm);
        if (sends_gradients())
            g.set_next(s.gradient_sum, fma(g, added.weight, added.change, s.gradient_sum));
        else
            g.set_next(s.anchor, fma(g, neg(g, mul(g, g.scalar(outer_rate()), added.weight)), added.change, s.anchor));
        count_norm(g, added, s.norm_sum, s.found);
    }
    float outer_rate() const { return spec_.outer_rate.value_or(default_outer_rate(spec_, parameters_)); }
    static Value add_value(Graph& g, Value a, Value b) { return g.op(OpCode::add, {a, b}); }

    void write_unmask(Graph& g, const States& s) const { masked_->unmask(g, s.masked); }
    void write_mask(Graph& g, const States& s) const { masked_->mask(g, s.masked); }

    /// Moves the usual norm to the mean norm `sum` of messages, if one was finite. Returns whether one was.
    static Value move_norm(Graph& g, Value norm, Value sum, Value found) {
        const Value kept = mul(g, g.scalar(kNormKept), norm);
        const Value next = fma(g, g.scalar(1.0f - kNormKept), sum, kept);
        const Value any = g.op(OpCode::greater, {found, g.scalar(0.0f)});
        g.set_next(norm, select(g, any, next, norm));
        return any;
    }

    /// As `add` does with one message, of the mean of all.
    void write_end_masked(Graph& g, const States& s) const {
        const Value zero = g.scalar(0.0f), one = g.scalar(1.0f);
        const Value mean = masked_->mean(g, s.masked, s.norm, s.found);
        const Value size = g.op(OpCode::sqrt, {sum_all(g, mul(g, mean, mean))});
        const Value finite = g.op(OpCode::less, {size, g.scalar(std::numeric_limits<float>::infinity())});
        const Value limit = mul(g, g.scalar(spec_.clip), s.norm);
        const Value shrunk = div(g, limit, size);
        const Value factor = select(g, g.op(OpCode::greater, {size, limit}), shrunk, one);
        const Value counts = select(g, finite, mean, zero);
        const Value moves = mul(g, counts, neg(g, mul(g, g.scalar(outer_rate()), factor)));
        const Value anchor = masked_->added(g, s.anchor, s.masked.turn, moves);
        const Value kept = mul(g, g.scalar(kNormKept), s.norm);
        const Value next = fma(g, g.scalar(1.0f - kNormKept), g.op(OpCode::min, {size, limit}), kept);
        g.set_next(s.anchor, anchor);
        g.set_next(s.norm, select(g, finite, next, s.norm));
        set_parameters(g, s, anchor);
        masked_->end_turn(g, s.masked);
    }

    void write_end(Graph& g, const States& s) const {
        if (masked_) return write_end_masked(g, s);
        const Value any = move_norm(g, s.norm, s.norm_sum, s.found);
        if (!sends_gradients()) return set_parameters(g, s, s.anchor);
        // `end` of record r sees step r + 1 (plan/SPEC.md 2.3), and it is step r of the training.
        std::vector<std::vector<Value>> moments;
        for (const Value state : s.shared_moments) moments.push_back({state});
        const Optimized step = optimized(g, training_, {{kAnchorName, s.anchor, s.gradient_sum}}, moments, -1)[0];
        for (std::size_t i = 0; i < moments.size(); ++i)
            g.set_next(s.shared_moments[i], select(g, any, step.moments[i], s.shared_moments[i]));
        const Value anchor = select(g, any, step.value, s.anchor);
        g.set_next(s.anchor, anchor);
        set_parameters(g, s, anchor);
    }

    void write_inner(Graph& g, const States& s) const {
        const Program& program = sends_gradients() ? *gradient_ : programs_.train;
        const std::vector<Value> now = training_values(s, program.states), next = embed(g, program, now);
        if (sends_gradients()) {
            const auto first = next.begin() + static_cast<std::ptrdiff_t>(parts_.size());
            const auto last = first + static_cast<std::ptrdiff_t>(parts_.size());
            g.set_next(s.gradient, as_output(g, in_rows(g, line_of(g, {first, last}))));
            for (std::size_t i = 0; i < s.metrics.size(); ++i)
                g.set_next(s.metrics[i], next[next.size() - s.metrics.size() + i]);
            return;
        }
        for (std::size_t i = 0; i < next.size(); ++i)
            if (next[i] != now[i]) g.set_next(now[i], next[i]);
    }

    void write_restore(Graph& g, const States& s) const {
        if (masked_) return g.set_next(s.residual, masked_->added(g, s.residual, s.masked.sent_turn, s.masked.sent));
        g.set_next(s.residual, form_->added(g, s.residual, s.message));
    }

    void write_press(Graph& g, const States& s) const {
        const Value fresh = changes(g, s);
        const Value all = fma(g, g.scalar(spec_.residual_decay), s.residual, fresh);
        if (masked_) return g.set_next(s.residual, masked_->press(g, s.masked, all, s.norm));
        const std::vector<Value> message = form_->message_of(g, all);
        for (std::size_t i = 0; i < message.size(); ++i) g.set_next(s.message[i], message[i]);
        g.set_next(s.residual, form_->taken(g, all, message));
    }

    void write_merge_begin(Graph& g, const States& s) const {
        for (const Value state : {s.merge_sum, s.merge_norm_sum, s.merge_found}) clear(g, state);
    }

    void write_merge_add(Graph& g, const States& s) const {
        const Added added = read_message(g, s.merge_norm);
        g.set_next(s.merge_sum, fma(g, added.weight, added.change, s.merge_sum));
        count_norm(g, added, s.merge_norm_sum, s.merge_found);
    }

    void write_merge_press(Graph& g, const States& s) const {
        const Value all = fma(g, g.scalar(spec_.residual_decay), s.merge_residual, s.merge_sum);
        const std::vector<Value> message = form_->message_of(g, all);
        for (std::size_t i = 0; i < message.size(); ++i) g.set_next(s.message[i], message[i]);
        g.set_next(s.merge_residual, form_->taken(g, all, message));
        move_norm(g, s.merge_norm, s.merge_norm_sum, s.merge_found);
    }

    void write_merge_restore(Graph& g, const States& s) const {
        g.set_next(s.merge_residual, form_->added(g, s.merge_residual, s.message));
    }

    /// What a member has to send of its inner steps. Where the rows have no parameters there are no changes, whatever
    /// messages have made of the anchor there.
    Value changes(Graph& g, const States& s) const {
        if (sends_gradients()) return s.gradient;
        const Value line = line_of(g, s.parameters);
        return in_rows(g, sub(g, out_of_rows(g, s.anchor), line));
    }

    const TrainingPrograms& programs_;
    const TrainingSpec& training_;
    const RoundsSpec& spec_;
    const Program* gradient_;
    std::vector<Part> parts_;
    std::uint64_t parameters_ = 0;
    ModelRows shape_;
    std::unique_ptr<MessageForm> form_;  // Null for messages under masks.
    std::optional<MaskedSum> masked_;
};

}  // namespace

float default_outer_rate(const RoundsSpec& spec, std::uint64_t parameters) {
    // Under masks too: all values that wait are sent in their turn, and residuals keep most of them.
    if (spec.update == UpdateKind::dense || spec.update == UpdateKind::masked) return 1.0f;
    // A change is sent every n-th round. Of one that is the same in each of them, residuals keep the sum of β^i, i < n,
    // in place of n. The other factor was measured with n = 64; with n = 1 it has to be 1, as for dense updates.
    const ModelRows shape = sparse_rows(parameters, spec.kept);
    const double n = static_cast<double>(parameters) / static_cast<double>(shape.rows * spec.kept);
    const double beta = spec.residual_decay;
    const double kept = kept_of_wait(beta, n);
    return static_cast<float>(std::min({6.0, 0.75 * spec.members, (1.8 - 0.8 / n) * n / kept}));
}

Result<GroupPlan> build_rounds(const TrainingPrograms& programs, const TrainingSpec& training, const RoundsSpec& spec,
                               const Program* gradient) {
    const auto positive = [](float x) { return std::isfinite(x) && x > 0.0f; };
    if (spec.inner == 0 || spec.inner > kInnerStepsMax) return error("rounds: inner steps are not 1 to 65536");
    const std::uint32_t most = spec.update == UpdateKind::masked ? 512 : 64;
    if (spec.kept == 0 || spec.kept > most || !std::has_single_bit(spec.kept))
        return error("rounds: kept values are no power of two up to " + std::to_string(most));
    if (spec.bits != 1 && spec.bits != 2) return error("rounds: bits are 1 or 2");
    if (spec.mask_bits < 2 || spec.mask_bits > 27) return error("rounds: values under masks have 2 to 27 bits");
    if (!positive(spec.clip) || !positive(spec.outer_rate.value_or(1.0f)))
        return error("rounds: clip and outer rate are over 0");
    if (!(spec.residual_decay >= 0.0f && spec.residual_decay <= 1.0f))
        return error("rounds: the residual's decay is not in [0, 1]");
    if (spec.regions != 0 && (spec.update == UpdateKind::dense || spec.update == UpdateKind::masked))
        return error("rounds: dense updates and those under masks are not merged; choose sparse ones or gradients");
    if (spec.update == UpdateKind::gradient) {
        if (spec.inner != 1) return error("rounds: a round of gradients has one inner step");
        if (spec.outer_rate) return error("rounds: gradients have the learning rate, and no outer rate");
        ensure(gradient != nullptr, "the program of gradients");
    }
    return Builder(programs, training, spec, gradient).build();
}

}  // namespace retrace::kernels
