// SPDX-License-Identifier: MIT
// Records calls before autograd and composite ops decompose them; for the reasons see
// decisions/001-recorded-forward.md.
#include "solver/torch/torch_model.hpp"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/library.h>
#include <torch/script.h>
#include <torch/version.h>

#include "solver/torch/model_file.hpp"
#include "solver/torch/recorder.hpp"

namespace retrace::solver {
namespace {

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::lock_guard<std::recursive_mutex> guard(Recorder::lock);
    Recorder::active->call(op, keys, stack);
}

at::Tensor sample_of(const SampleBatch& batch) {
    std::vector<std::int64_t> sizes(batch.dims.begin(), batch.dims.end());
    if (batch.tokens) return at::zeros(sizes, at::kLong);
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    return at::arange(count, at::kFloat).remainder(17).div(17).reshape(sizes);
}

struct Recorded {
    Recording recording;
    Recorder::Counters counters;
};

/// Records forward() in one mode. Each mode needs its own module, because forward() may change the module's values.
Recorded record(torch::jit::Module module, bool training, const SampleBatch& batch) {
    module.train(training);
    Recorder recorder;
    std::set<const void*> watched;
    for (const auto& item : module.named_parameters()) {
        recorder.add_named(item.value, item.value.requires_grad() ? ValueKind::parameter : ValueKind::frozen,
                           item.name);
    }
    for (const auto& item : module.named_buffers()) {
        recorder.add_named(item.value, ValueKind::buffer, item.name);
        watched.insert(item.value.storage().unsafeGetStorageImpl());
    }
    Contents before(module);
    before.copy_all_but(watched);
    const at::Tensor x = sample_of(batch);
    recorder.add_input(x);
    struct Listening {
        explicit Listening(Recorder& recorder) { Recorder::active = &recorder; }
        ~Listening() { Recorder::active = nullptr; }
    };
    const c10::impl::ExcludeDispatchKeyGuard below_autograd(c10::autograd_dispatch_keyset_with_ADInplaceOrView);
    IValue output;
    {
        const Listening listening(recorder);
        const c10::impl::IncludeDispatchKeyGuard seen(DispatchKey::Fake);
        output = module.forward({x});
    }
    Recorded out{recorder.finish(output, training), recorder.counters()};
    const std::string changed = before.changed_in(Contents(module));
    if (!changed.empty()) {
        throw Stop("forward() assigns or changes " + changed +
                   "; programs keep float32 buffers that are changed in place (mul_, add_, lerp_)");
    }
    return out;
}

/// Refuses counters that one mode writes and the other reads.
void check_counters(const Recorder::Counters& train, const Recorder::Counters& eval) {
    for (const std::string& name : train.written)
        if (eval.read.count(name) > 0) throw Stop(counts_and_reads(name));
    for (const std::string& name : eval.written)
        if (train.read.count(name) > 0) throw Stop(counts_and_reads(name));
}

std::string shape_text(const SampleBatch& batch) {
    std::string out = batch.tokens ? "int64 [" : "float32 [";
    for (std::size_t i = 0; i < batch.dims.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(batch.dims[i]);
    return out + "]";
}

}  // namespace

TORCH_LIBRARY_IMPL(_, Fake, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

void prepare_torch() {
    // The first op detects the processor, which decides how constants are computed, to the last bit.
    (void)at::zeros({1}).exp();
    // An unseeded generator asks the kernel for entropy. Recordings contain no drawn numbers, so any seed will do.
    at::manual_seed(0);
    // oneDNN and the fusers of optimised graphs generate machine code at run time.
    at::globalContext().setUserEnabledMkldnn(false);
    torch::jit::setGraphExecutorOptimize(false);
}

Result<RecordedModel> record_model(std::istream& file, const SampleBatch& train, const SampleBatch& eval) {
    prepare_torch();
    RETRACE_TRY(module, load(file));
    RETRACE_TRY(fresh, load(file));
    if (module.parameters().size() == 0) return error("the model has no parameters");
    if (!module.find_method("forward")) return error("the model has no method forward");
    RecordedModel out;
    try {
        Recorded evaluated = record(module, false, eval), trained = record(fresh, true, train);
        check_counters(trained.counters, evaluated.counters);
        out.eval = std::move(evaluated.recording);
        out.train = std::move(trained.recording);
    } catch (const Stop& stop) {
        return error(stop.what());
    } catch (const std::exception& e) {
        return error("forward() fails on samples " + shape_text(train) + ": " + in_words(e));
    }
    return out;
}

Status<> export_model(std::istream& file, const std::vector<NamedTensor>& tensors, std::uint64_t steps,
                      std::ostream& out) {
    prepare_torch();
    RETRACE_TRY(module, load(file));
    std::map<std::string, const kernels::Tensor*> given;
    for (const NamedTensor& named : tensors) given[named.name] = &named.tensor;
    try {
        const at::NoGradGuard no_gradient;
        const auto put = [&](const std::string& name, at::Tensor& tensor) {
            const auto found = given.find(name);
            if (found != given.end()) {
                const kernels::Tensor& value = *found->second;
                if (value.dtype != DType::f32) throw Stop(name + " is given as no float32");
                const std::vector<std::int64_t> sizes(value.dims.begin(), value.dims.end());
                if (tensor.sizes() != at::IntArrayRef(sizes)) throw Stop(name + " has another shape in the model");
                tensor.copy_(at::from_blob(const_cast<float*>(value.f32()), sizes, at::kFloat));
                given.erase(found);
            } else if (name.size() >= 19 && name.substr(name.size() - 19) == "num_batches_tracked") {
                tensor.add_(static_cast<std::int64_t>(steps));
            }
        };
        for (auto item : module.named_parameters()) put(item.name, item.value);
        for (auto item : module.named_buffers()) put(item.name, item.value);
        if (!given.empty()) return error("the model has no tensor " + given.begin()->first);
        module.save(out);
    } catch (const std::exception& e) {
        return error("cannot be written: " + in_words(e));
    }
    return Unit{};
}

}  // namespace retrace::solver
