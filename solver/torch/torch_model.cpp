// SPDX-License-Identifier: MIT
// Why the calls are seen before autograd and composite ops take them apart:
// decisions/001-recorded-forward.md.
#include "solver/torch/torch_model.hpp"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/library.h>
#include <torch/script.h>
#include <torch/version.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "solver/torch/recorder.hpp"

namespace retrace::solver {
namespace {

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::lock_guard<std::recursive_mutex> guard(Recorder::lock);
    Recorder::active->call(op, keys, stack);
}

/// The first line of what LibTorch says, without its backtrace.
std::string in_words(const std::exception& e) {
    const auto* const torch_error = dynamic_cast<const c10::Error*>(&e);
    std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : e.what();
    // Errors of the interpreter end with the sentence that matters.
    const std::size_t runtime = text.rfind("RuntimeError: ");
    if (runtime != std::string::npos) text = text.substr(runtime + 14);
    text.erase(0, std::min(text.find_first_not_of(" \n"), text.size()));
    text = text.substr(0, text.find('\n'));
    return text.substr(0, 400);
}

/// What must be refused before anything of the file runs.
Status<> check_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    char head[2] = {0, 0};
    if (!in || !in.read(head, 2)) return error(path.string() + ": cannot be read, or is empty");
    const char* const advice =
        "; write it with torch.jit.script(model).save(path) or torch.jit.trace(model, x).save(path)";
    if (head[0] == '\x80') {
        return error(path.string() + ": a Python pickle, which runs code when it is opened" + advice);
    }
    if (head[0] != 'P' || head[1] != 'K') return error(path.string() + ": no TorchScript file" + advice);
    try {
        caffe2::serialize::PyTorchStreamReader reader(path.string());
        if (!reader.hasRecord("constants.pkl")) {
            return error(path.string() + ": written by torch.save, which pickles Python objects" + advice);
        }
        for (const std::string& record : reader.getAllRecords()) {
            if (record.rfind("code/", 0) != 0) continue;
            const auto [data, size] = reader.getRecord(record);
            const std::string code(static_cast<const char*>(data.get()), size);
            // Loading calls it, so it would run before check_graphs has seen it. A name has one spelling only.
            if (code.find("__setstate__") != std::string::npos)
                return error(path.string() +
                             ": the model runs code when it is opened (__setstate__), which is refused");
        }
    } catch (const std::exception& e) {
        return error(path.string() + ": corrupt or truncated (" + in_words(e) + ")");
    }
    return Unit{};
}

/// Arithmetic and control flow; nothing that reaches files, Python or other machines.
bool is_harmless(const torch::jit::Symbol& kind) {
    if (!kind.is_aten() && !kind.is_prim()) return false;
    static const std::set<std::string> refused = {"aten::save",      "aten::from_file",       "prim::PythonOp",
                                                  "prim::rpc_async", "prim::rpc_sync",        "prim::rpc_remote",
                                                  "prim::IgnoredPythonOp"};
    return refused.count(kind.toQualString()) == 0;
}

/// The first node of a graph, with all that is nested in it, that is not harmless; null: all are.
const torch::jit::Node* first_refused(const torch::jit::Block& block) {
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

/// Every method and function of the file, whatever calls it: before any of them runs.
Status<> check_graphs(const std::filesystem::path& path, const torch::jit::Module& module) {
    for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
        if (!function->isGraphFunction()) return error(path.string() + ": a function without a graph is refused");
        const auto* const found = first_refused(*torch::jit::toGraphFunction(*function).graph()->block());
        if (found == nullptr) continue;
        return error(path.string() + ": the model reads or writes files, or reaches beyond its own arithmetic (" +
                     found->kind().toQualString() + "), which is refused");
    }
    return Unit{};
}

Result<torch::jit::Module> load(const std::filesystem::path& path) {
    RETRACE_CHECK(check_file(path));
    try {
        torch::jit::Module module = torch::jit::load(path.string(), at::kCPU);
        RETRACE_CHECK(check_graphs(path, module));
        return module;
    } catch (const std::exception& e) {
        const std::string why = in_words(e);
        const bool is_newer = why.rfind("Unknown", 0) == 0;
        return error(
            path.string() + ": cannot be loaded (" + why + ")" +
            (is_newer ? "; it was written by a newer PyTorch than this LibTorch, " TORCH_VERSION : ""));
    }
}

at::Tensor sample_of(const SampleBatch& batch) {
    std::vector<std::int64_t> sizes(batch.dims.begin(), batch.dims.end());
    if (batch.tokens) return at::zeros(sizes, at::kLong);
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    return at::arange(count, at::kFloat).remainder(17).div(17).reshape(sizes);
}

Recording record(torch::jit::Module& module, bool training, const SampleBatch& batch) {
    module.train(training);
    Recorder recorder;
    for (const auto& item : module.named_parameters()) {
        recorder.add_named(item.value, item.value.requires_grad() ? ValueKind::parameter : ValueKind::frozen,
                           item.name);
    }
    for (const auto& item : module.named_buffers())
        recorder.add_named(item.value, ValueKind::buffer, item.name);
    const at::Tensor x = sample_of(batch);
    recorder.add_input(x);
    struct Listening {
        explicit Listening(Recorder& recorder) { Recorder::active = &recorder; }
        ~Listening() { Recorder::active = nullptr; }
    };
    const c10::impl::ExcludeDispatchKeyGuard below_autograd(
        c10::autograd_dispatch_keyset_with_ADInplaceOrView);
    IValue output;
    {
        const Listening listening(recorder);
        const c10::impl::IncludeDispatchKeyGuard seen(DispatchKey::Fake);
        output = module.forward({x});
    }
    return recorder.finish(output);
}

std::string shape_text(const SampleBatch& batch) {
    std::string out = batch.tokens ? "int64 [" : "float32 [";
    for (std::size_t i = 0; i < batch.dims.size(); ++i)
        out += (i > 0 ? ", " : "") + std::to_string(batch.dims[i]);
    return out + "]";
}

}  // namespace

TORCH_LIBRARY_IMPL(_, Fake, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

Result<RecordedModel> record_model(const std::filesystem::path& path, const SampleBatch& train,
                                   const SampleBatch& eval) {
    torch::jit::setGraphExecutorOptimize(false);
    RETRACE_TRY(module, load(path));
    if (module.parameters().size() == 0) return error(path.string() + ": the model has no parameters");
    if (!module.find_method("forward")) return error(path.string() + ": the model has no method forward");
    RecordedModel out;
    try {
        // Evaluation first: the pass in training mode changes running statistics.
        out.eval = record(module, false, eval);
        out.train = record(module, true, train);
    } catch (const Stop& stop) {
        return error(path.string() + ": " + stop.what());
    } catch (const std::exception& e) {
        return error(path.string() + ": forward() fails on samples " + shape_text(train) + ": " +
                     in_words(e));
    }
    return out;
}

Status<> export_model(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                      std::uint64_t steps, const std::filesystem::path& out) {
    RETRACE_TRY(module, load(path));
    std::map<std::string, const kernels::Tensor*> given;
    for (const NamedTensor& named : tensors) given[named.name] = &named.tensor;
    try {
        const at::NoGradGuard no_gradient;
        const auto put = [&](const std::string& name, at::Tensor& tensor) {
            const auto found = given.find(name);
            if (found != given.end()) {
                const kernels::Tensor& value = *found->second;
                const std::vector<std::int64_t> sizes(value.dims.begin(), value.dims.end());
                if (tensor.sizes() != at::IntArrayRef(sizes))
                    throw Stop(name + " has another shape in the model");
                tensor.copy_(at::from_blob(const_cast<float*>(value.f32()), sizes, at::kFloat));
                given.erase(found);
            } else if (name.size() >= 19 && name.substr(name.size() - 19) == "num_batches_tracked") {
                tensor.add_(static_cast<std::int64_t>(steps));
            }
        };
        for (auto item : module.named_parameters()) put(item.name, item.value);
        for (auto item : module.named_buffers()) put(item.name, item.value);
        if (!given.empty()) return error(path.string() + ": the model has no tensor " + given.begin()->first);
        module.save(out.string());
    } catch (const std::exception& e) {
        return error(out.string() + ": " + in_words(e));
    }
    return Unit{};
}

}  // namespace retrace::solver
