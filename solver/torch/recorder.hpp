// SPDX-License-Identifier: MIT
// Part of torch_model.cpp, the one translation unit that includes LibTorch's headers.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "solver/import/mapping.hpp"
#include "solver/torch/recorder_parts.hpp"

namespace retrace::solver {

inline constexpr std::uint32_t kUnknown = 0xffffffff;
inline std::string counts_and_reads(const std::string& name) {
    return "forward() changes " + name +
           " and reads it; programs keep no whole numbers between steps: use a float32 buffer";
}

/// Records every dispatched op while a forward pass runs. Tensors are found by identity, then by the memory that they
/// view. All tensors seen are kept alive, so that no address is reused.
class Recorder {
public:
    Recorder() = default;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void add_input(const at::Tensor& tensor) { bind(tensor, add_value(tensor, ValueKind::input, "the input")); }
    void add_named(const at::Tensor& tensor, ValueKind kind, const std::string& name);
    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    /// forward() may change buffers only if `training`.
    Recording finish(const IValue& output, bool training);

    /// Names of the integer buffers that the pass wrote and read.
    struct Counters {
        std::set<std::string> written, read;
    };
    const Counters& counters() const { return counters_; }

    /// The recorder that is active, and the lock that protects it (TorchScript may fork).
    inline static Recorder* active = nullptr;
    inline static std::recursive_mutex lock;

private:
    using Place = std::tuple<const void*, std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;

    static const void* storage_of(const at::Tensor& t) { return t.storage().unsafeGetStorageImpl(); }
    static Place place_of(const at::Tensor& t) {
        return {storage_of(t), t.storage_offset(), t.sizes().vec(), t.strides().vec()};
    }

    std::uint32_t add_value(const at::Tensor& tensor, ValueKind kind, const std::string& where);
    void bind(const at::Tensor& tensor, std::uint32_t value);
    void forget(const at::Tensor& tensor);
    std::uint32_t find(const at::Tensor& tensor) const;
    bool is_dynamic(const at::Tensor& tensor) const {
        return tensor.defined() && tensor.has_storage() && dynamic_.count(storage_of(tensor)) > 0;
    }
    bool is_dynamic(const IValue& value) const;
    bool counts(const c10::OperatorHandle& op, const std::vector<IValue>& arguments) const;
    void count(const c10::OperatorHandle& op, const std::vector<IValue>& arguments);
    const std::string* counter_of(const at::Tensor& tensor) const;
    std::uint32_t value_of(const at::Tensor& tensor, const std::string& where);
    Argument argument_of(const IValue& value, const std::string& where);
    void run_unseen(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void forget_written(const c10::OperatorHandle& op, const std::vector<IValue>& arguments);
    void note(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack, std::string name);
    std::vector<at::Tensor> check_writes(const c10::OperatorHandle& op, const std::vector<IValue>& arguments,
                                         const std::string& where) const;
    void note_cut(const std::vector<IValue>& arguments, const std::vector<at::Tensor>& results);

    Recording out_;
    std::vector<at::Tensor> kept_;
    std::map<const void*, std::uint32_t> by_identity_;
    std::map<Place, std::uint32_t> by_place_;
    std::set<const void*> dynamic_;  ///< Storages of tensors that depend on input or state.
    std::map<const void*, std::uint32_t> constants_;
    std::map<std::uint32_t, at::Tensor> named_;
    std::set<const void*> cut_;                 ///< Storages with a view that autograd does not track.
    std::set<const void*> buffers_;             ///< Storages of float buffers.
    std::map<const void*, std::string> whole_;  ///< Storages of all other buffers, with their names.
    Counters counters_;
};

inline std::uint32_t Recorder::add_value(const at::Tensor& tensor, ValueKind kind, const std::string& where) {
    RecordedValue value;
    value.kind = kind;
    // A number that tracing turned into a float64 tensor (math.sqrt(width)) is taken as float32.
    const bool is_number = kind == ValueKind::constant && tensor.dim() == 0 && tensor.scalar_type() == at::kDouble;
    value.dtype = is_number ? DType::f32 : dtype_of(tensor, where);
    value.dims = dims_of(tensor, where);
    const bool has_data = kind != ValueKind::input && kind != ValueKind::result;
    if (has_data) value.data = bytes_of(tensor, where);
    out_.values.push_back(std::move(value));
    return static_cast<std::uint32_t>(out_.values.size() - 1);
}

inline void Recorder::bind(const at::Tensor& tensor, std::uint32_t value) {
    kept_.push_back(tensor);
    by_identity_[tensor.unsafeGetTensorImpl()] = value;
    by_place_[place_of(tensor)] = value;
    dynamic_.insert(storage_of(tensor));
}

/// Called after a write in place: forgets all tensors that view this storage.
inline void Recorder::forget(const at::Tensor& tensor) {
    const void* const storage = storage_of(tensor);
    for (auto i = by_place_.begin(); i != by_place_.end();) {
        i = std::get<0>(i->first) == storage ? by_place_.erase(i) : std::next(i);
    }
    for (const at::Tensor& kept : kept_) {
        if (storage_of(kept) == storage) by_identity_.erase(kept.unsafeGetTensorImpl());
    }
}

inline std::uint32_t Recorder::find(const at::Tensor& tensor) const {
    const auto known = by_identity_.find(tensor.unsafeGetTensorImpl());
    if (known != by_identity_.end()) return known->second;
    const auto seen = by_place_.find(place_of(tensor));
    return seen == by_place_.end() ? kUnknown : seen->second;
}

inline void Recorder::add_named(const at::Tensor& tensor, ValueKind kind, const std::string& name) {
    if (!tensor.has_storage()) throw Stop(name + " is no ordinary tensor");
    const std::uint32_t known = find(tensor);
    if (known != kUnknown) {
        out_.values[known].also.push_back(name);
        return;
    }
    // Throws Stop for a dtype that programs do not have (float64), even if forward() does not use the tensor.
    const std::uint32_t value = add_value(tensor, kind, name);
    out_.values[value].name = name;
    bind(tensor, value);
    named_[value] = tensor;
    if (kind != ValueKind::buffer) return;
    if (tensor.is_floating_point()) {
        buffers_.insert(storage_of(tensor));
    } else {
        whole_[storage_of(tensor)] = name;
    }
}

inline bool Recorder::is_dynamic(const IValue& value) const {
    if (value.isTensor()) return is_dynamic(value.toTensor());
    if (!value.isList()) return false;
    for (const IValue& item : value.toListRef()) {
        if (item.isTensor() && is_dynamic(item.toTensor())) return true;
    }
    return false;
}

inline const std::string* Recorder::counter_of(const at::Tensor& tensor) const {
    if (!tensor.defined() || !tensor.has_storage()) return nullptr;
    const auto known = whole_.find(storage_of(tensor));
    return known == whole_.end() ? nullptr : &known->second;
}

/// Whether an op writes only counters such as num_batches_tracked. Programs leave them out, so nothing may read them.
inline bool Recorder::counts(const c10::OperatorHandle& op, const std::vector<IValue>& arguments) const {
    const std::vector<std::size_t> written = written_by(op);
    for (const std::size_t i : written) {
        if (!arguments[i].isTensor() || counter_of(arguments[i].toTensor()) == nullptr) return false;
    }
    return !written.empty();
}

inline void Recorder::count(const c10::OperatorHandle& op, const std::vector<IValue>& arguments) {
    for (const std::size_t i : written_by(op)) {
        const std::string& name = *counter_of(arguments[i].toTensor());
        if (counters_.read.count(name) > 0) throw Stop(counts_and_reads(name));
        counters_.written.insert(name);
    }
}

inline std::uint32_t Recorder::value_of(const at::Tensor& tensor, const std::string& where) {
    if (!tensor.has_storage()) throw Stop(where + " uses a tensor that is sparse or quantised");
    if (const std::string* const counter = counter_of(tensor)) {
        if (counters_.written.count(*counter) > 0) throw Stop(counts_and_reads(*counter));
        counters_.read.insert(*counter);
    }
    const std::uint32_t known = find(tensor);
    if (known != kUnknown) return known;
    if (is_dynamic(tensor))
        throw Stop(where + " reads a view of a tensor that was changed in place; change it otherwise");
    const auto constant = constants_.find(tensor.unsafeGetTensorImpl());
    if (constant != constants_.end()) return constant->second;
    const std::uint32_t value = add_value(tensor, ValueKind::constant, where);
    kept_.push_back(tensor);
    return constants_[tensor.unsafeGetTensorImpl()] = value;
}

inline Argument Recorder::argument_of(const IValue& value, const std::string& where) {
    using Kind = Argument::Kind;
    Argument out;
    if (value.isTensor() && value.toTensor().defined()) {
        out.kind = Kind::value;
        out.values = {value_of(value.toTensor(), where)};
    } else if (value.isBool()) {
        out.kind = Kind::boolean;
        out.integers = {value.toBool() ? 1 : 0};
    } else if (value.isInt()) {
        out.kind = Kind::integer;
        out.integers = {value.toInt()};
    } else if (value.isDouble()) {
        out.kind = Kind::number;
        out.number = value.toDouble();
    } else if (value.isString()) {
        out.kind = Kind::text;
        out.text = value.toStringRef();
    } else if (value.isDoubleList()) {
        out.kind = Kind::numbers;
        const auto list = value.toDoubleVector();
        out.numbers.assign(list.begin(), list.end());
    } else if (value.isIntList()) {
        out.kind = Kind::integers;
        out.integers = value.toIntVector();
    } else if (value.isList()) {
        out.kind = Kind::values;
        for (const IValue& item : value.toListRef()) {
            if (item.isTensor() && item.toTensor().defined()) out.values.push_back(value_of(item.toTensor(), where));
        }
    }
    return out;
}

inline void Recorder::run_unseen(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard unseen(DispatchKey::Fake);
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, DispatchKey::Fake), stack);
}

/// Forgets constants that the op wrote, because they have another value from now on.
inline void Recorder::forget_written(const c10::OperatorHandle& op, const std::vector<IValue>& arguments) {
    for (const std::size_t i : written_by(op)) {
        if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
        const void* const storage = storage_of(arguments[i].toTensor());
        for (const at::Tensor& kept : kept_) {
            if (storage_of(kept) == storage) constants_.erase(kept.unsafeGetTensorImpl());
        }
    }
}

inline void Recorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::string name = without_overload(op);
    const std::size_t number = op.schema().arguments().size();
    const std::vector<IValue> arguments(stack->end() - static_cast<std::ptrdiff_t>(number), stack->end());
    bool dynamic = false;
    for (const IValue& argument : arguments) dynamic = dynamic || is_dynamic(argument);
    const bool counted = counts(op, arguments), random = is_random(op, name, arguments);
    if (counted) count(op, arguments);
    if (counted || (!dynamic && !random)) {
        run_unseen(op, keys, stack);
        if (op.schema().is_mutable()) forget_written(op, arguments);
        // Uninitialised memory would be another constant each time and could contain data of this process.
        if (is_uninitialised(name)) {
            const c10::impl::ExcludeDispatchKeyGuard unseen(DispatchKey::Fake);
            stack->back().toTensor().zero_();
        }
        return;
    }
    // A composite op that no rule knows by its name is decomposed; its parts are dispatched to this function again.
    const bool composite = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
    if (dynamic && !is_known(name) && composite) {
        op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, DispatchKey::Fake), stack);
        return;
    }
    note(op, keys, stack, name);
}

/// Returns the tensors that an op writes. Refuses writes that autograd might see differently from this pass.
inline std::vector<at::Tensor> Recorder::check_writes(const c10::OperatorHandle& op,
                                                      const std::vector<IValue>& arguments,
                                                      const std::string& where) const {
    std::vector<at::Tensor> out;
    for (const std::size_t i : written_by(op)) {
        if (!arguments[i].isTensor()) throw Stop(where + " writes a list of tensors; write them one by one");
        if (!arguments[i].toTensor().defined()) continue;
        out.push_back(arguments[i].toTensor());
        const void* const storage = storage_of(out.back());
        if (cut_.count(storage) > 0 && buffers_.count(storage) == 0)
            throw Stop(where + " writes a tensor that shares its memory with a detached one; detach a clone()");
    }
    if (out.size() > 1 && !at::GradMode::is_enabled())
        throw Stop(where + " writes several tensors under no_grad; write them one by one");
    return out;
}

/// Notes storages that share memory across detach() or a view made under no_grad.
inline void Recorder::note_cut(const std::vector<IValue>& arguments, const std::vector<at::Tensor>& results) {
    for (const at::Tensor& result : results) {
        for (const IValue& argument : arguments) {
            const bool view = argument.isTensor() && argument.toTensor().defined() &&
                              storage_of(argument.toTensor()) == storage_of(result);
            if (view) cut_.insert(storage_of(result));
        }
    }
}

inline void Recorder::note(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack,
                           std::string name) {
    if (out_.ops.size() >= kRecordedOpsMax) {
        throw Stop("forward() computes more than " + std::to_string(kRecordedOpsMax) +
                   " ops, more than there is room for in a program");
    }
    RecordedOp noted;
    noted.where = module_path();
    noted.detached = !at::GradMode::is_enabled();
    const std::string where = name + " in " + noted.where;
    const std::size_t number = op.schema().arguments().size();
    const std::vector<IValue> arguments(stack->end() - static_cast<std::ptrdiff_t>(number), stack->end());
    const std::vector<at::Tensor> written = check_writes(op, arguments, where);
    for (const IValue& argument : arguments) noted.arguments.push_back(argument_of(argument, where));
    noted.name = std::move(name);
    run_unseen(op, keys, stack);
    std::vector<at::Tensor> results;
    const std::size_t returned = op.schema().returns().size();
    for (std::size_t i = stack->size() - returned; i < stack->size(); ++i) {
        const IValue& value = (*stack)[i];
        if (value.isTensor()) {
            if (value.toTensor().defined()) results.push_back(value.toTensor());
        } else if (value.isList()) {
            for (const IValue& item : value.toListRef()) {
                if (item.isTensor() && item.toTensor().defined()) results.push_back(item.toTensor());
            }
        }
    }
    for (const at::Tensor& tensor : written) forget(tensor);
    if (written.empty() && (noted.detached || noted.name == "aten::detach")) note_cut(arguments, results);
    if (!written.empty() && noted.detached && noted.name != "aten::detach")
        noted.overwritten = static_cast<std::uint32_t>(written_by(op).front());
    for (const at::Tensor& result : results) {
        const std::uint32_t value = add_value(result, ValueKind::result, where);
        noted.results.push_back(value);
        bind(result, value);
    }
    out_.ops.push_back(std::move(noted));
}

inline Recording Recorder::finish(const IValue& output, bool training) {
    if (!output.isTensor()) {
        throw Stop("forward() returns " + output.tagKind() + "; it must return one tensor, the model's output");
    }
    out_.output = value_of(output.toTensor(), "the output");
    for (const auto& [number, tensor] : named_) {
        const std::uint32_t now = find(tensor);
        const std::string& name = out_.values[number].name;
        if (now == number || counter_of(tensor) != nullptr) continue;
        if (out_.values[number].kind != ValueKind::buffer) throw Stop("forward() changes the parameter " + name);
        if (now == kUnknown)
            throw Stop("forward() changes a part of the buffer " + name + "; change all of it (torch.cat)");
        if (!training)
            throw Stop("forward() changes the buffer " + name + " when it evaluates; change it only if self.training");
        out_.updates.emplace_back(number, now);
    }
    return std::move(out_);
}

}  // namespace retrace::solver
