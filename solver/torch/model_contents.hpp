// SPDX-License-Identifier: MIT
// Part of torch_model.cpp: lists all values that a module holds and detects whether forward() changed them.
#pragma once

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/script.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "solver/torch/recorder_parts.hpp"

namespace retrace::solver {

/// A value of the module that holds no other values (tensor, number, text, none, ...), and its path.
struct Leaf {
    std::string path;
    IValue value;
    at::Tensor copy;  ///< Copy of a tensor's elements, set by copy_all_but.

    bool is_plain() const {
        return value.isTensor() || value.isNone() || value.isBool() || value.isInt() || value.isDouble() ||
               value.isString() || value.isDevice() || value.isEnum() || value.isComplexDouble();
    }
    bool is_same(const Leaf& other) const {
        if (path != other.path || value.tagKind() != other.value.tagKind()) return false;
        if (value.isString()) return value.toStringRef() == other.value.toStringRef();
        if (value.isDouble()) {
            const double a = value.toDouble(), b = other.value.toDouble();
            return std::memcmp(&a, &b, sizeof a) == 0;
        }
        return value.is(other.value);
    }
};

/// The values reachable from a module's attributes, and the constants of its graphs.
class Contents {
public:
    explicit Contents(const torch::jit::Module& module) {
        walk(IValue(module._ivalue()), "");
        for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
            if (function->isGraphFunction())
                walk_block(*torch::jit::toGraphFunction(*function).graph()->block(),
                           "a constant of " + function->name());
        }
    }
    const std::vector<Leaf>& leaves() const { return leaves_; }

    /// Copies the elements of all tensors except those in storages that the recorder watches.
    void copy_all_but(const std::set<const void*>& watched) {
        const at::NoGradGuard no_gradient;
        for (Leaf& leaf : leaves_) {
            if (!leaf.value.isTensor() || !leaf.value.toTensor().defined()) continue;
            const at::Tensor& tensor = leaf.value.toTensor();
            const void* const storage = tensor.storage().unsafeGetStorageImpl();
            if (watched.count(storage) == 0) leaf.copy = tensor.detach().clone();
        }
    }

    /// Path of the first value that differs in `later`; empty if none does.
    std::string changed_in(const Contents& later) const {
        for (std::size_t i = 0; i < leaves_.size(); ++i) {
            if (i >= later.leaves_.size() || !leaves_[i].is_same(later.leaves_[i])) return leaves_[i].path;
            if (leaves_[i].copy.defined() && !holds(leaves_[i].value.toTensor(), leaves_[i].copy))
                return leaves_[i].path;
        }
        return later.leaves_.size() > leaves_.size() ? later.leaves_[leaves_.size()].path : "";
    }

private:
    static constexpr int kDepthMax = 512;

    static bool holds(const at::Tensor& tensor, const at::Tensor& copy) {
        const at::Tensor now = tensor.detach().contiguous(), then = copy.contiguous();
        return now.sizes() == then.sizes() && now.nbytes() == then.nbytes() &&
               (now.nbytes() == 0 || std::memcmp(now.data_ptr(), then.data_ptr(), now.nbytes()) == 0);
    }

    void walk(const IValue& value, const std::string& path, int depth = 0) {
        // A file of a few megabytes can nest lists deep enough to overflow any stack.
        if (depth > kDepthMax) throw Stop("what the model holds is nested deeper than 512 levels");
        const bool holds_others = value.isObject() || value.isList() || value.isGenericDict() || value.isTuple();
        if (!holds_others) {
            leaves_.push_back({path, value, {}});
            return;
        }
        // Containers may contain themselves or be shared many times; each is visited once.
        if (!seen_.insert(value.internalToPointer()).second) return;
        if (value.isObject()) {
            const auto object = value.toObject();
            for (std::size_t i = 0; i < object->type()->numAttributes(); ++i)
                walk(object->getSlot(i), (path.empty() ? "" : path + ".") + object->type()->getAttributeName(i),
                     depth + 1);
        } else if (value.isTuple()) {
            for (const IValue& item : value.toTupleRef().elements()) walk(item, path + "[]", depth + 1);
        } else if (value.isList()) {
            leaves_.push_back(
                {path + " (its length)", IValue(static_cast<std::int64_t>(value.toListRef().size())), {}});
            for (const IValue& item : value.toListRef()) walk(item, path + "[]", depth + 1);
        } else {
            for (const auto& entry : value.toGenericDict()) {
                walk(entry.key(), path + "[]", depth + 1);
                walk(entry.value(), path + "[]", depth + 1);
            }
        }
    }

    void walk_block(const torch::jit::Block& block, const std::string& path) {
        using Kind = torch::jit::AttributeKind;
        for (const torch::jit::Node* node : block.nodes()) {
            for (const auto& name : node->attributeNames()) {
                const Kind kind = node->kindOf(name);
                if (kind == Kind::t) walk(IValue(node->t(name)), path);
                if (kind == Kind::ts)
                    for (const at::Tensor& tensor : node->ts(name)) walk(IValue(tensor), path);
                if (kind == Kind::ival) walk(node->ival(name), path);
                if (kind == Kind::g) walk_block(*node->g(name)->block(), path);
                if (kind == Kind::gs)
                    for (const auto& graph : node->gs(name)) walk_block(*graph->block(), path);
            }
            for (const torch::jit::Block* inner : node->blocks()) walk_block(*inner, path);
        }
    }

    std::vector<Leaf> leaves_;
    std::set<const void*> seen_;
};

}  // namespace retrace::solver
