// SPDX-License-Identifier: MIT
// Part of torch_model.cpp, the one translation unit that includes LibTorch's headers.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/script.h>

#include <map>
#include <mutex>
#include <set>

#include "solver/import/mapping.hpp"

namespace retrace::solver {

using c10::DispatchKey;
using c10::IValue;
using kernels::DType;

inline constexpr std::uint32_t kUnknown = 0xffffffff;

/// What ends a recording at once; turned into an Error where LibTorch is left.
struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline std::string without_overload(const c10::OperatorHandle& op) {
    std::string name = op.schema().name();
    const bool dunder = name.size() > 2 && name[name.size() - 2] == '_';
    if (op.schema().is_mutable() && name.back() == '_' && !dunder) name.pop_back();
    return name;
}

inline DType dtype_of(const at::Tensor& tensor, const std::string& where) {
    switch (tensor.scalar_type()) {
        case at::kFloat:
            return DType::f32;
        case at::kLong:
        case at::kInt:
        case at::kShort:
        case at::kByte:
        case at::kChar:
            return DType::i32;
        case at::kBool:
            return DType::boolean;
        default:
            break;
    }
    throw Stop(where + " computes in " + c10::toString(tensor.scalar_type()) +
               "; use float32 (model.float())");
}

inline kernels::Dims dims_of(const at::Tensor& tensor, const std::string& where) {
    if (tensor.dim() > static_cast<std::int64_t>(kernels::kRankMax)) {
        throw Stop(where + " makes a tensor of rank " + std::to_string(tensor.dim()) +
                   "; programs have at most " + std::to_string(kernels::kRankMax));
    }
    return {tensor.sizes().begin(), tensor.sizes().end()};
}

/// Little-endian elements. Subnormal floats become zeros (NUMERICS 1).
inline Bytes bytes_of(const at::Tensor& tensor, const std::string& where) {
    const c10::impl::ExcludeDispatchKeyGuard unseen(DispatchKey::Fake);
    const at::NoGradGuard no_gradient;
    at::Tensor plain = tensor.detach().cpu();
    const bool real = plain.is_floating_point();
    if (!real && plain.scalar_type() == at::kLong && plain.numel() > 0) {
        constexpr std::int64_t kMost = 0x7fffffff;
        if (plain.max().item<std::int64_t>() > kMost || plain.min().item<std::int64_t>() < -kMost - 1) {
            throw Stop(where + " uses whole numbers of more than 32 bits");
        }
    }
    if (plain.scalar_type() != at::kBool) plain = plain.to(real ? at::kFloat : at::kInt);
    plain = plain.contiguous();
    const auto* const first = static_cast<const std::uint8_t*>(plain.data_ptr());
    Bytes out(first, first + plain.nbytes());
    if (!real) return out;
    for (std::size_t i = 0; i < out.size(); i += 4) {
        const std::uint32_t bits = load_u32(out.data() + i);
        if ((bits >> 23 & 0xff) == 0) store_u32(out.data() + i, bits & 0x80000000);
    }
    return out;
}

/// Where in the model the interpreter is: "encoder.layer0.attention". It tells a frame each,
/// "layer0(Block)::forward": the name of the module in the one around it, its type, the method.
inline std::string module_path() {
    std::string path;
    for (const std::string& frame : torch::jit::currentModuleHierarchy()) {
        const std::string name = frame.substr(0, frame.find('('));
        if (name.empty() || name == "TOP" || name == "SELF" || name.size() == frame.size()) continue;
        path += (path.empty() ? "" : ".") + name;
    }
    return path.empty() ? "the model" : path;
}

/// Listens to every dispatched op while a forward pass runs. Tensors are known by identity, then by the place
/// that they look at; all that were seen are kept, so that no address is used twice.
class Recorder {
public:
    Recorder() = default;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void add_input(const at::Tensor& tensor) {
        bind(tensor, add_value(tensor, ValueKind::input, "the input"));
    }
    void add_named(const at::Tensor& tensor, ValueKind kind, const std::string& name);
    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    Recording finish(const IValue& output);

    /// The one that listens, and the lock under which it does (TorchScript may fork).
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
    bool is_counter(const at::Tensor& tensor) const;
    std::uint32_t value_of(const at::Tensor& tensor, const std::string& where);
    Argument argument_of(const IValue& value, const std::string& where);
    void run_unseen(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void forget_written(const c10::OperatorHandle& op, const std::vector<IValue>& arguments);
    void note(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack,
              std::string name);

    Recording out_;
    std::vector<at::Tensor> kept_;
    std::map<const void*, std::uint32_t> by_identity_;
    std::map<Place, std::uint32_t> by_place_;
    std::set<const void*> dynamic_;  ///< Storages of what depends on input or state.
    std::map<const void*, std::uint32_t> constants_;
    std::map<std::uint32_t, at::Tensor> named_;
};

inline std::uint32_t Recorder::add_value(const at::Tensor& tensor, ValueKind kind, const std::string& where) {
    RecordedValue value;
    value.kind = kind;
    // A number that tracing turned into a tensor (math.sqrt(width)) counts as float32 beside float32.
    const bool is_number =
        kind == ValueKind::constant && tensor.dim() == 0 && tensor.scalar_type() == at::kDouble;
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

/// After a write in place: nothing else that looks at this storage is known any more.
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
    // What is neither float nor whole number would stop here, though nobody may use it.
    const std::uint32_t value = add_value(tensor, kind, name);
    out_.values[value].name = name;
    bind(tensor, value);
    named_[value] = tensor;
}

inline bool Recorder::is_dynamic(const IValue& value) const {
    if (value.isTensor()) return is_dynamic(value.toTensor());
    if (!value.isList()) return false;
    for (const IValue& item : value.toListRef()) {
        if (item.isTensor() && is_dynamic(item.toTensor())) return true;
    }
    return false;
}

/// num_batches_tracked and its like.
inline bool Recorder::is_counter(const at::Tensor& tensor) const {
    const std::uint32_t value = find(tensor);
    return value != kUnknown && out_.values[value].kind == ValueKind::buffer && !tensor.is_floating_point();
}

inline std::uint32_t Recorder::value_of(const at::Tensor& tensor, const std::string& where) {
    if (!tensor.has_storage()) throw Stop(where + " uses a tensor that is sparse or quantised");
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
    } else if (value.isIntList()) {
        out.kind = Kind::integers;
        out.integers = value.toIntVector();
    } else if (value.isList()) {
        out.kind = Kind::values;
        for (const IValue& item : value.toListRef()) {
            if (item.isTensor() && item.toTensor().defined())
                out.values.push_back(value_of(item.toTensor(), where));
        }
    }
    return out;
}

inline void Recorder::run_unseen(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                 torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard unseen(DispatchKey::Fake);
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, DispatchKey::Fake), stack);
}

/// A constant that was written is another constant from now on.
inline void Recorder::forget_written(const c10::OperatorHandle& op, const std::vector<IValue>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto* const alias = op.schema().arguments()[i].alias_info();
        if (alias == nullptr || !alias->isWrite() || !arguments[i].isTensor()) continue;
        const void* const storage = storage_of(arguments[i].toTensor());
        for (const at::Tensor& kept : kept_) {
            if (storage_of(kept) == storage) constants_.erase(kept.unsafeGetTensorImpl());
        }
    }
}

inline bool is_random(const std::string& name) {
    for (const char* random : {"rand", "bernoulli", "normal", "uniform", "multinomial", "exponential",
                               "cauchy", "geometric", "log_normal", "poisson"}) {
        if (name.rfind(std::string("aten::") + random, 0) == 0) return true;
    }
    return false;
}

inline void Recorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                           torch::jit::Stack* stack) {
    const std::string name = without_overload(op);
    const std::size_t count = op.schema().arguments().size();
    const std::vector<IValue> arguments(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
    bool dynamic = false;
    for (const IValue& argument : arguments) dynamic = dynamic || is_dynamic(argument);
    const bool counts = op.schema().is_mutable() && count > 0 && arguments[0].isTensor() &&
                        is_counter(arguments[0].toTensor());
    if (counts || (!dynamic && !is_random(name))) {
        run_unseen(op, keys, stack);
        if (op.schema().is_mutable()) forget_written(op, arguments);
        return;
    }
    // A composite op that is not known by its name is taken apart: its parts come back here.
    const bool composite = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
    if (dynamic && !is_known(name) && composite) {
        op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, DispatchKey::Fake),
                           stack);
        return;
    }
    note(op, keys, stack, name);
}

inline void Recorder::note(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack,
                           std::string name) {
    RecordedOp noted;
    noted.where = module_path();
    noted.detached = !at::GradMode::is_enabled();
    const std::string where = name + " in " + noted.where;
    const std::size_t count = op.schema().arguments().size();
    const std::vector<IValue> arguments(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
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
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto* const alias = op.schema().arguments()[i].alias_info();
        if (alias != nullptr && alias->isWrite() && arguments[i].isTensor()) forget(arguments[i].toTensor());
    }
    for (const at::Tensor& result : results) {
        const std::uint32_t value = add_value(result, ValueKind::result, where);
        noted.results.push_back(value);
        bind(result, value);
    }
    out_.ops.push_back(std::move(noted));
}

inline Recording Recorder::finish(const IValue& output) {
    if (!output.isTensor()) {
        throw Stop("forward() returns " + output.tagKind() +
                   "; it must return one tensor, the model's output");
    }
    out_.output = value_of(output.toTensor(), "the output");
    for (const auto& [number, tensor] : named_) {
        const std::uint32_t now = find(tensor);
        if (now == kUnknown || now == number) continue;
        if (out_.values[number].kind != ValueKind::buffer) {
            throw Stop("forward() changes the parameter " + out_.values[number].name);
        }
        out_.updates.emplace_back(number, now);
    }
    return std::move(out_);
}

}  // namespace retrace::solver
