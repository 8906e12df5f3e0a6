// SPDX-License-Identifier: MIT
// Part of torch_model.cpp: the recorder's queries about single tensors and ops.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/script.h>

#include <stdexcept>
#include <string>

#include "solver/import/recording.hpp"

namespace retrace::solver {

using c10::DispatchKey;
using c10::IValue;
using kernels::DType;

/// Ends a recording; record_model returns its message as an Error.
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
        case at::kFloat: return DType::f32;
        case at::kLong:
        case at::kInt:
        case at::kShort:
        case at::kByte:
        case at::kChar: return DType::i32;
        case at::kBool: return DType::boolean;
        default: break;
    }
    throw Stop(where + " computes in " + c10::toString(tensor.scalar_type()) + "; use float32 (model.float())");
}

inline kernels::Dims dims_of(const at::Tensor& tensor, const std::string& where) {
    if (tensor.dim() > static_cast<std::int64_t>(kernels::kRankMax)) {
        throw Stop(where + " makes a tensor of rank " + std::to_string(tensor.dim()) + "; programs have at most " +
                   std::to_string(kernels::kRankMax));
    }
    return {tensor.sizes().begin(), tensor.sizes().end()};
}

/// The tensor's elements, little endian. Subnormal floats become zeros (contract 1).
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

/// Path of the module that the interpreter executes: "encoder.layer0.attention". The interpreter lists one frame for
/// each module, "layer0(Block)::forward": the module's name in its parent, its type, the method.
inline std::string module_path() {
    std::string path;
    for (const std::string& frame : torch::jit::currentModuleHierarchy()) {
        const std::string name = frame.substr(0, frame.find('('));
        if (name.empty() || name == "TOP" || name == "SELF" || name.size() == frame.size()) continue;
        path += (path.empty() ? "" : ".") + name;
    }
    return path.empty() ? "the model" : path;
}

/// Whether another run of the op would give other results: random ops, and those that LibTorch marks as drawing from
/// its generator, unless their argument `train` or `training` is false.
inline bool is_random(const c10::OperatorHandle& op, const std::string& name, const std::vector<IValue>& arguments) {
    for (const char* random : {"rand", "bernoulli", "normal", "uniform", "multinomial", "exponential", "cauchy",
                               "geometric", "log_normal", "poisson"}) {
        if (name.rfind(std::string("aten::") + random, 0) == 0) return true;
    }
    const bool drops = name.find("dropout") != std::string::npos || name.rfind("aten::rrelu", 0) == 0;
    if (!drops && !op.hasTag(at::Tag::nondeterministic_seeded)) return false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = op.schema().arguments()[i].name();
        if ((argument == "train" || argument == "training") && arguments[i].isBool()) return arguments[i].toBool();
    }
    return true;
}

inline bool is_uninitialised(const std::string& name) {
    return name.rfind("aten::empty", 0) == 0 || name.rfind("aten::new_empty", 0) == 0;
}

/// Indices of the arguments that the op writes according to its schema.
inline std::vector<std::size_t> written_by(const c10::OperatorHandle& op) {
    std::vector<std::size_t> out;
    const auto& arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto* const alias = arguments[i].alias_info();
        if (alias != nullptr && alias->isWrite()) out.push_back(i);
    }
    return out;
}

}  // namespace retrace::solver
