// SPDX-License-Identifier: MIT
// Models around each mapped op, models that keep state, malformed files, and LibTorch's results for them.
#include <caffe2/serialize/inline_container.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "tests/functional/torch/state_peer.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {
namespace {

using torch::jit::Module;

at::Tensor tensor_of(const std::vector<float>& values, at::IntArrayRef sizes) {
    return torch::from_blob(const_cast<float*>(values.data()), sizes, at::kFloat).clone();
}

Module bare(const std::string& name) {
    Module module("__torch__." + name);
    module.register_attribute("training", c10::BoolType::get(), true);
    return module;
}

/// Indents the lines of a body of forward().
std::string indented(const std::string& body) {
    std::string out;
    std::istringstream lines(body);
    for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
    return out;
}

Module body_of(const OpModel& model) {
    Module out = bare("Op");
    for (const auto& [name, sizes] : model.weights)
        out.register_parameter(name, torch::rand(sizes).sub(0.4).set_requires_grad(true), false);
    out.define("def forward(self, y):\n" + indented(model.body) + "    return y\n");
    return out;
}

Module model_of(const StateModel& model) {
    torch::manual_seed(3);
    Module out = bare("Stateful");
    std::int64_t width = 1;
    for (const std::int64_t extent : model.sample) width *= extent;
    out.register_parameter("scale", torch::rand(model.sample).add(0.5).set_requires_grad(true), false);
    out.register_parameter("head", torch::rand({width, 5}).sub(0.5).set_requires_grad(true), false);
    for (const Buffer& buffer : model.buffers)
        out.register_buffer(buffer.name,
                            buffer.whole ? torch::zeros(buffer.sizes, at::kLong) : torch::full(buffer.sizes, 0.5));
    out.register_attribute("k", c10::IntType::get(), 0);
    out.register_attribute("list", c10::ListType::ofTensors(), c10::List<at::Tensor>({torch::zeros({3})}));
    out.define("def forward(self, x):\n    y = x * self.scale\n" + indented(model.body) +
               "    return torch.matmul(y.reshape([x.size(0), -1]), self.head)\n");
    return out;
}

/// Writes the file again with one of its records changed.
void rewrite(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& record,
             const std::function<void(std::string&)>& change) {
    caffe2::serialize::PyTorchStreamReader reader(from.string());
    caffe2::serialize::PyTorchStreamWriter writer(to.string());
    for (const std::string& name : reader.getAllRecords()) {
        if (name == "version" || name == "byteorder" || name.rfind(".data", 0) == 0) continue;
        const auto [data, size] = reader.getRecord(name);
        std::string content(static_cast<const char*>(data.get()), size);
        if (name == record) change(content);
        writer.writeRecord(name, content.data(), content.size());
    }
    writer.writeEndOfFile();
}

at::Tensor reaching(at::IntArrayRef sizes, at::IntArrayRef strides) {
    at::Tensor out = torch::zeros({4});
    out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    return out;
}

double loss_of(Module& module, const at::Tensor& x, const at::Tensor& labels) {
    const torch::NoGradGuard no_gradient;
    return torch::nn::functional::cross_entropy(module.forward({x}).toTensor(), labels).item<double>();
}

}  // namespace

std::vector<float> op_samples(std::uint64_t count) {
    std::vector<float> out(count);
    for (std::uint64_t i = 0; i < count; ++i)
        out[i] = static_cast<float>(std::sin(1.0 + 1.7 * static_cast<double>(i)) * 0.97);
    return out;
}

void make_op_model(const OpModel& model, std::uint64_t batch, const std::filesystem::path& path) {
    torch::manual_seed(7);
    std::vector<std::int64_t> sizes{static_cast<std::int64_t>(batch)};
    sizes.insert(sizes.end(), model.sample.begin(), model.sample.end());
    Module body = body_of(model), outer = bare("Around");
    const at::Tensor y = body.forward({torch::rand(sizes)}).toTensor();
    outer.register_parameter("scale", torch::rand(model.sample).add(1.5).set_requires_grad(true), false);
    outer.register_parameter("shift", torch::rand(model.sample).sub(0.5).set_requires_grad(true), false);
    const at::Tensor head = torch::rand({y.numel() / sizes[0], 5}).sub(0.5);
    outer.register_parameter("head", head.set_requires_grad(true), false);
    outer.register_module("op", body);
    outer.define(R"(
def forward(self, x):
    y = self.op.forward(x * self.scale + self.shift)
    return torch.matmul(y.reshape([x.size(0), -1]), self.head)
)");
    outer.save(path.string());
}

PeerStep step_of(const std::filesystem::path& path, const std::vector<std::int64_t>& sizes, const std::vector<float>& x,
                 const std::vector<std::int64_t>& labels) {
    Module module = torch::jit::load(path.string());
    const at::Tensor in = tensor_of(x, sizes), wanted = torch::tensor(labels);
    PeerStep out;
    module.eval();
    out.eval_loss = loss_of(module, in, wanted);
    module.train();
    const at::Tensor loss = torch::nn::functional::cross_entropy(module.forward({in}).toTensor(), wanted);
    loss.backward();
    out.loss = loss.item<double>();
    for (const auto& item : module.named_parameters()) {
        const at::Tensor gradient =
            item.value.grad().defined() ? item.value.grad().contiguous() : torch::zeros_like(item.value);
        const float* const first = gradient.data_ptr<float>();
        out.gradients[item.name].assign(first, first + gradient.numel());
    }
    return out;
}

void make_state_model(const StateModel& model, const std::filesystem::path& path) {
    model_of(model).save(path.string());
}

std::map<std::string, double> buffers_after(const std::filesystem::path& path, const std::vector<std::int64_t>& sizes,
                                            const std::vector<float>& x) {
    Module module = torch::jit::load(path.string());
    module.train();
    module.forward({torch::from_blob(const_cast<float*>(x.data()), sizes, at::kFloat).clone()});
    std::map<std::string, double> out;
    for (const auto& item : module.named_buffers()) out[item.name] = item.value.reshape({-1})[0].item<double>();
    return out;
}

void make_lying_model(const std::string& how, const std::filesystem::path& path) {
    Module module = model_of({"", {6}, {}});
    if (how == "strides") module.register_parameter("far", reaching({200, 250}, {250, 1}), false);
    if (how == "overflow") module.register_parameter("far", reaching({5, 2}, {std::int64_t{1} << 62, 1}), false);
    if (how == "listed") module.setattr("list", c10::List<at::Tensor>({reaching({255, 255}, {255, 1})}));
    if (how == "short") module.register_parameter("far", torch::zeros({50000}), false);
    if (how == "name") module.register_parameter("far\x1b[2J", torch::zeros({2}), false);
    if (how == "deep") {
        Module nest = bare("Innermost");
        for (int i = 0; i < 600; ++i) {
            Module around = bare("Around" + std::to_string(i));
            around.register_module("inner", nest);
            nest = around;
        }
        module.register_module("nest", nest);
    }
    module.save(path.string());
    const std::filesystem::path whole = path.string() + ".whole";
    if (how != "short" && how != "class") return;
    std::filesystem::rename(path, whole);
    if (how == "class") {
        rewrite(whole, path, "data.pkl",
                [](std::string& pickle) { pickle += "__torch__.torch.classes.quantized.LinearPackedParamsBase"; });
        return;
    }
    std::string longest;
    std::size_t most = 0;
    caffe2::serialize::PyTorchStreamReader reader(whole.string());
    for (const std::string& name : reader.getAllRecords()) {
        const std::size_t size = std::get<1>(reader.getRecord(name));
        if (name.rfind("data/", 0) == 0 && size > most) longest = name, most = size;
    }
    rewrite(whole, path, longest, [](std::string& numbers) { numbers.resize(16); });
}

}  // namespace retrace::testing
