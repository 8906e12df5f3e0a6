// SPDX-License-Identifier: MIT
// A model around each op that is mapped, and what LibTorch makes of it.
#include <torch/script.h>
#include <torch/torch.h>

#include <cmath>
#include <sstream>

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

Module body_of(const OpModel& model) {
    Module out = bare("Op");
    for (const auto& [name, sizes] : model.weights)
        out.register_parameter(name, torch::rand(sizes).sub(0.4).set_requires_grad(true), false);
    std::string code = "def forward(self, y):\n";
    std::istringstream lines(model.body);
    for (std::string line; std::getline(lines, line);) code += "    " + line + "\n";
    out.define(code + "    return y\n");
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

PeerStep step_of(const std::filesystem::path& path, const std::vector<std::int64_t>& sizes,
                 const std::vector<float>& x, const std::vector<std::int64_t>& labels) {
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

}  // namespace retrace::testing
