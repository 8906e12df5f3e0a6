// SPDX-License-Identifier: MIT
// Part of torch_model.cpp: checks of a file before any of its code runs.
#pragma once

#include <caffe2/serialize/inline_container.h>
#include <malloc.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/script.h>

#include <algorithm>
#include <istream>
#include <set>

#include "solver/torch/model_contents.hpp"

namespace retrace::solver {

/// The first line of LibTorch's error message, without its backtrace.
inline std::string in_words(const std::exception& e) {
    const auto* const torch_error = dynamic_cast<const c10::Error*>(&e);
    std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : e.what();
    // The interpreter puts the original message at the end.
    const std::size_t runtime = text.rfind("RuntimeError: ");
    if (runtime != std::string::npos) text = text.substr(runtime + 14);
    text.erase(0, std::min(text.find_first_not_of(" \n"), text.size()));
    text = text.substr(0, text.find('\n'));
    return text.substr(0, 400);
}

/// Rewinds the file and clears its error flags.
inline std::istream& from_the_start(std::istream& file) {
    file.clear();
    file.seekg(0);
    return file;
}

/// Refuses names in code and pickles for which loading would run native code or read tensors that are not checked yet.
/// A text search suffices, because LibTorch's own readers know only one spelling of each name.
inline Status<> check_record(const std::string& record, const std::string& text) {
    const auto names = [&](const char* what) { return text.find(what) != std::string::npos; };
    // Loading calls it, so it would run before check_graphs could check it.
    if (names("__setstate__")) return error("the model runs code when it is opened (__setstate__), which is refused");
    if (names("torch.classes"))
        return error("the model holds native objects (torch.classes), which run code when it is opened");
    if (names("_rebuild_qtensor") || names("_rebuild_sparse"))
        return error("the model holds tensors that are sparse or quantised; use plain float32");
    if (names("torch.distributed")) return error("the model names other machines (" + record + ")");
    return Unit{};
}

/// Refuses files that must not be loaded at all.
inline Status<> check_file(std::istream& file) {
    char head[2] = {0, 0};
    if (!from_the_start(file).read(head, 2)) return error("cannot be read, or is empty");
    const char* const advice =
        "; write it with torch.jit.script(model).save(path) or torch.jit.trace(model, x).save(path)";
    if (head[0] == '\x80') return error(std::string("a Python pickle, which runs code when it is opened") + advice);
    if (head[0] != 'P' || head[1] != 'K') return error(std::string("no TorchScript file") + advice);
    try {
        caffe2::serialize::PyTorchStreamReader reader(&from_the_start(file));
        if (!reader.hasRecord("constants.pkl"))
            return error(std::string("written by torch.save, which pickles Python objects") + advice);
        if (reader.hasRecord("model.json")) return error(std::string("written by a PyTorch before 1.4") + advice);
        for (const std::string& record : reader.getAllRecords()) {
            // The reader ignores the case of names.
            std::string lower = record;
            for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            const bool pickle = lower.size() > 4 && lower.substr(lower.size() - 4) == ".pkl";
            if (lower.rfind("code/", 0) != 0 && !pickle) continue;
            const auto [data, size] = reader.getRecord(record);
            RETRACE_CHECK(check_record(record, {static_cast<const char*>(data.get()), size}));
        }
    } catch (const std::exception& e) {
        return error("corrupt or truncated (" + in_words(e) + ")");
    }
    return Unit{};
}

/// Allow-list of primitives that the interpreter executes without the recorder: control flow, lists, numbers and
/// shapes. None reaches files, Python or other machines, and none makes numbers of tensors.
inline bool is_allowed_primitive(const std::string& name) {
    static const std::set<std::string> allowed = {"Constant",
                                                  "ListConstruct",
                                                  "ListUnpack",
                                                  "TupleConstruct",
                                                  "TupleUnpack",
                                                  "TupleIndex",
                                                  "TupleSlice",
                                                  "DictConstruct",
                                                  "CreateObject",
                                                  "GetAttr",
                                                  "SetAttr",
                                                  "HasAttr",
                                                  "CallMethod",
                                                  "CallFunction",
                                                  "Function",
                                                  "If",
                                                  "Loop",
                                                  "RaiseException",
                                                  "Uninitialized",
                                                  "unchecked_cast",
                                                  "unchecked_unwrap_optional",
                                                  "isinstance",
                                                  "annotate",
                                                  "NumToTensor",
                                                  "ImplicitTensorToNum",
                                                  "dtype",
                                                  "device",
                                                  "layout",
                                                  "type",
                                                  "is_cuda",
                                                  "is_cpu",
                                                  "is_mkldnn",
                                                  "is_mps",
                                                  "is_xla",
                                                  "is_xpu",
                                                  "is_ipu",
                                                  "is_ort",
                                                  "is_hpu",
                                                  "is_mtia",
                                                  "is_maia",
                                                  "is_vulkan",
                                                  "is_meta",
                                                  "is_quantized",
                                                  "is_sparse",
                                                  "is_sparse_csr",
                                                  "is_nested",
                                                  "is_leaf",
                                                  "requires_grad",
                                                  "name",
                                                  "itemsize",
                                                  "nbytes",
                                                  "index",
                                                  "min",
                                                  "max",
                                                  "abs",
                                                  "rangelist",
                                                  "range",
                                                  "Print",
                                                  "Enter",
                                                  "Exit",
                                                  "fork",
                                                  "ModuleContainerIndex",
                                                  "StringIndex",
                                                  "EnumName",
                                                  "EnumValue",
                                                  "shape",
                                                  "Return",
                                                  "Param",
                                                  "Drop",
                                                  "Load",
                                                  "Store",
                                                  "TypeCheck",
                                                  "T"};
    return allowed.count(name) > 0;
}

/// Refuses most internal functions of PyTorch, because they check their arguments less than public ones; allows those
/// that scripts and traces of public functions contain.
inline bool is_allowed_op(const std::string& name) {
    // Resizing exposes uninitialised memory, so data of this process could get into the program.
    static const std::set<std::string> refused = {
        "save",     "from_file",          "set_data",          "set_",    "grad",        "resize_",
        "backward", "as_strided_scatter", "resize_as_sparse_", "rename_", "wait_stream", "resize_as_",
        "resize",   "resize_as",          "resize_as_sparse"};
    if (refused.count(name) > 0) return false;
    if (name[0] != '_' || name.rfind("__", 0) == 0) return true;
    static const std::set<std::string> internal = {"_convolution",
                                                   "_softmax",
                                                   "_log_softmax",
                                                   "_unsafe_view",
                                                   "_weight_norm",
                                                   "_shape_as_tensor",
                                                   "_set_item",
                                                   "_unwrap_optional",
                                                   "_infer_size",
                                                   "_get_tracing_state",
                                                   "_size_if_not_equal",
                                                   "_list_to_tensor",
                                                   "_tensor_to_list",
                                                   "_native_multi_head_attention",
                                                   "_transformer_encoder_layer_fwd",
                                                   "_pad_circular",
                                                   "_pad_enum",
                                                   "_nested_tensor_from_mask_left_aligned",
                                                   "_nested_tensor_from_mask",
                                                   "_trilinear",
                                                   "_no_grad_uniform_",
                                                   "_no_grad_normal_",
                                                   "_no_grad_fill_",
                                                   "_no_grad_zero_",
                                                   "_no_grad_embedding_renorm_",
                                                   "_cast_Float",
                                                   "_scaled_dot_product_attention"};
    return internal.count(name) > 0;
}

inline bool is_harmless(const torch::jit::Symbol& kind) {
    if (kind.is_prim()) return is_allowed_primitive(kind.toUnqualString());
    return kind.is_aten() && is_allowed_op(kind.toUnqualString());
}

/// The first node of a graph, including nested blocks and graphs, that is not harmless; null if all are.
inline const torch::jit::Node* first_refused(const torch::jit::Block& block) {
    for (const torch::jit::Node* node : block.nodes()) {
        if (!is_harmless(node->kind())) return node;
        for (const torch::jit::Block* inner : node->blocks())
            if (const auto* found = first_refused(*inner)) return found;
        for (const auto& name : node->attributeNames()) {
            if (node->kindOf(name) != torch::jit::AttributeKind::g) continue;
            if (const auto* found = first_refused(*node->g(name)->block())) return found;
        }
    }
    return nullptr;
}

inline std::string why_refused(const std::string& kind) {
    if (kind == "prim::data" || kind == "aten::set_data")
        return "takes numbers past the gradient (" + kind + "); use x.detach()";
    if (kind == "prim::tolist") return "makes numbers of a tensor (prim::tolist); use torch.where";
    return "reads or writes files, or reaches beyond its own arithmetic (" + kind + "), which is refused";
}

/// Checks every method and function of the file, called or not. Must be called before any of them runs.
inline Status<> check_graphs(const torch::jit::Module& module) {
    for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
        if (!function->isGraphFunction()) return error("a function without a graph is refused");
        const auto* const found = first_refused(*torch::jit::toGraphFunction(*function).graph()->block());
        if (found == nullptr) continue;
        return error("the model " + why_refused(found->kind().toQualString()));
    }
    return Unit{};
}

/// Whether all elements lie in memory that was read from the file. LibTorch does not validate extents, strides or even
/// the length of the memory, which come from the file.
inline bool lies_in_its_memory(const at::Tensor& tensor) {
    if (tensor.is_quantized() || tensor.layout() != at::kStrided || !tensor.has_storage()) return false;
    const auto bad = [](std::int64_t number) { return number < 0; };
    const auto sizes = tensor.sizes(), strides = tensor.strides();
    if (std::any_of(sizes.begin(), sizes.end(), bad) || std::any_of(strides.begin(), strides.end(), bad) ||
        tensor.storage_offset() < 0 || sizes.size() != strides.size()) {
        return false;
    }
    std::int64_t count = 1, last = tensor.storage_offset(), bytes = 0;
    bool over = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 0) return true;
        std::int64_t step = 0;
        over = __builtin_mul_overflow(count, sizes[i], &count) || over;
        over = __builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || over;
        over = __builtin_add_overflow(last, step, &last) || over;
    }
    over = __builtin_add_overflow(last, std::int64_t{1}, &last) || over;
    over = __builtin_mul_overflow(last, static_cast<std::int64_t>(tensor.element_size()), &bytes) || over;
    void* const memory = const_cast<void*>(static_cast<const void*>(tensor.storage().data()));
    const std::size_t held = memory == nullptr ? 0 : ::malloc_usable_size(memory);
    return !over && static_cast<std::uint64_t>(bytes) <= std::min(held, tensor.storage().nbytes());
}

/// Checks all values of the file before any tensor's elements are read.
inline Status<> check_contents(const Contents& contents) {
    for (const Leaf& leaf : contents.leaves()) {
        if (leaf.value.isTensor()) {
            const at::Tensor& tensor = leaf.value.toTensor();
            if (tensor.defined() && !lies_in_its_memory(tensor))
                return error("corrupt: " + leaf.path + " lies outside of the file's numbers");
        } else if (!leaf.is_plain()) {
            return error(leaf.path + " holds " + leaf.value.tagKind() + ", which is refused");
        }
    }
    return Unit{};
}

inline Result<torch::jit::Module> load(std::istream& file) {
    RETRACE_CHECK(check_file(file));
    try {
        torch::jit::Module module = torch::jit::load(from_the_start(file), at::kCPU);
        RETRACE_CHECK(check_contents(Contents(module)));
        RETRACE_CHECK(check_graphs(module));
        return module;
    } catch (const std::exception& e) {
        const std::string why = in_words(e);
        const bool is_newer = why.rfind("Unknown", 0) == 0;
        return error("cannot be loaded (" + why + ")" +
                     (is_newer ? "; it was written by a newer PyTorch than this LibTorch, " TORCH_VERSION : ""));
    }
}

}  // namespace retrace::solver
