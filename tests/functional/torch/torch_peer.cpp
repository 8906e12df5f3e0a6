// SPDX-License-Identifier: MIT
#include "tests/functional/torch/torch_peer.hpp"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

namespace retrace::testing {
namespace {

using torch::jit::Module;
constexpr std::int64_t kVocabulary = 256, kTokens = 32;

Module bare(const std::string& name) {
    Module module("__torch__." + name);
    module.register_attribute("training", c10::BoolType::get(), true);
    return module;
}

at::Tensor uniform(at::IntArrayRef sizes, double fan_in) {
    return torch::empty(sizes).uniform_(-1 / std::sqrt(fan_in), 1 / std::sqrt(fan_in));
}

void trainable(Module& module, const std::string& name, at::Tensor value) {
    module.register_parameter(name, value.set_requires_grad(true), false);
}

Module linear(std::int64_t in, std::int64_t out) {
    Module module = bare("Linear");
    trainable(module, "weight", uniform({out, in}, static_cast<double>(in)));
    trainable(module, "bias", uniform({out}, static_cast<double>(in)));
    module.define("def forward(self, x):\n    return torch.linear(x, self.weight, self.bias)\n");
    return module;
}

Module conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    Module module = bare("Conv2d");
    const auto fan_in = static_cast<double>(in * kernel * kernel);
    trainable(module, "weight", uniform({out, in, kernel, kernel}, fan_in));
    trainable(module, "bias", uniform({out}, fan_in));
    const std::string s = std::to_string(stride), p = std::to_string(padding);
    module.define("def forward(self, x):\n    return torch.conv2d(x, self.weight, self.bias, [" + s + ", " + s +
                  "], [" + p + ", " + p + "], [1, 1], 1)\n");
    return module;
}

/// torch.nn.BatchNorm2d as it is scripted: with its counter, its `if` and its check that raises.
Module batch_norm(std::int64_t channels) {
    Module module = bare("BatchNorm2d");
    trainable(module, "weight", torch::ones({channels}));
    trainable(module, "bias", torch::zeros({channels}));
    module.register_buffer("running_mean", torch::zeros({channels}));
    module.register_buffer("running_var", torch::ones({channels}));
    module.register_buffer("num_batches_tracked", torch::zeros({}, at::kLong));
    module.define(R"(
def forward(self, x):
    assert x.dim() == 4, "expected 4D input"
    if self.training:
        self.num_batches_tracked.add_(1)
    mean, var = self.running_mean, self.running_var
    return torch.batch_norm(x, self.weight, self.bias, mean, var, self.training, 0.1, 1e-5, True)
)");
    return module;
}

Module layer_norm(std::int64_t width) {
    Module module = bare("LayerNorm");
    trainable(module, "weight", torch::ones({width}));
    trainable(module, "bias", torch::zeros({width}));
    module.define("def forward(self, x):\n    return torch.layer_norm(x, [" + std::to_string(width) +
                  "], self.weight, self.bias, 1e-5, True)\n");
    return module;
}

Module mlp() {
    Module module = bare("Mlp");
    module.register_module("fc1", linear(784, 96));
    module.register_module("fc2", linear(96, 64));
    module.register_module("fc3", linear(64, 10));
    module.define(R"(
def forward(self, x):
    x = torch.flatten(x, 1)
    for i in range(1):
        x = torch.relu(self.fc1.forward(x))
    x = torch.gelu(self.fc2.forward(x))
    return self.fc3.forward(torch.dropout(x, 0.0, self.training))
)");
    return module;
}

Module cnn() {
    Module module = bare("Cnn");
    module.register_module("conv1", conv(1, 8, 3, 1, 1));
    module.register_module("norm1", batch_norm(8));
    module.register_module("conv2", conv(8, 16, 3, 1, 1));
    module.register_module("norm2", batch_norm(16));
    module.register_module("head", linear(784, 10));
    module.define(R"(
def forward(self, x):
    x = torch.relu_(self.norm1.forward(self.conv1.forward(x)))
    x = torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)
    x = torch.relu(self.norm2.forward(self.conv2.forward(x)))
    x = torch.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, None)
    return self.head.forward(x.view([x.size(0), -1]))
)");
    return module;
}

Module block(std::int64_t in, std::int64_t out, std::int64_t stride) {
    Module module = bare("Block");
    module.register_module("conv1", conv(in, out, 3, stride, 1));
    module.register_module("norm1", batch_norm(out));
    module.register_module("conv2", conv(out, out, 3, 1, 1));
    module.register_module("norm2", batch_norm(out));
    module.register_attribute("narrows", c10::BoolType::get(), stride != 1);
    if (stride != 1) module.register_module("shortcut", conv(in, out, 1, stride, 0));
    const std::string shortcut = stride != 1 ? "    x = self.shortcut.forward(x)\n" : "";
    module.define(
        "def forward(self, x):\n"
        "    y = torch.relu(self.norm1.forward(self.conv1.forward(x)))\n"
        "    y = self.norm2.forward(self.conv2.forward(y))\n" +
        shortcut +
        "    y += x\n"
        "    return torch.relu_(y)\n");
    return module;
}

Module resnet() {
    Module module = bare("Resnet");
    module.register_module("stem", conv(1, 8, 3, 2, 1));
    module.register_module("norm", batch_norm(8));
    module.register_module("block1", block(8, 8, 1));
    module.register_module("block2", block(8, 16, 2));
    module.register_module("head", linear(16, 10));
    module.define(R"(
def forward(self, x):
    x = torch.relu(self.norm.forward(self.stem.forward(x)))
    x = self.block2.forward(self.block1.forward(x))
    x = torch.adaptive_avg_pool2d(x, [1, 1])
    return self.head.forward(torch.flatten(x, 1))
)");
    return module;
}

Module transformer_block(std::int64_t width, std::int64_t heads, bool causal, std::int64_t tokens) {
    Module module = bare("TransformerBlock");
    module.register_module("norm1", layer_norm(width));
    module.register_module("qkv", linear(width, 3 * width));
    module.register_module("out", linear(width, width));
    module.register_module("norm2", layer_norm(width));
    module.register_module("up", linear(width, 4 * width));
    module.register_module("down", linear(4 * width, width));
    if (causal) module.register_buffer("mask", torch::tril(torch::ones({1, 1, tokens, tokens})));
    const std::string h = std::to_string(heads);
    const std::string mask =
        causal ? "    scores = scores.masked_fill(self.mask[:, :, :x.size(1), :x.size(1)] == 0, float('-inf'))\n" : "";
    module.define(
        "def forward(self, x):\n"
        "    b, t, c = x.size()\n"
        "    q, k, v = self.qkv.forward(self.norm1.forward(x)).split(c, dim=2)\n"
        "    q = q.view([b, t, " +
        h + ", c // " + h +
        "]).transpose(1, 2)\n"
        "    k = k.view([b, t, " +
        h + ", c // " + h +
        "]).transpose(1, 2)\n"
        "    v = v.view([b, t, " +
        h + ", c // " + h +
        "]).transpose(1, 2)\n"
        "    scores = torch.matmul(q, k.transpose(-2, -1)) * (1.0 / float(c // " +
        h + ") ** 0.5)\n" + mask +
        "    y = torch.matmul(torch.softmax(scores, -1), v)\n"
        "    y = y.transpose(1, 2).contiguous().view([b, t, c])\n"
        "    x = x + self.out.forward(y)\n"
        "    return x + self.down.forward(torch.gelu(self.up.forward(self.norm2.forward(x))))\n");
    return module;
}

Module gpt() {
    constexpr std::int64_t kWidth = 64;
    Module module = bare("Gpt");
    const at::Tensor table = torch::randn({kVocabulary, kWidth}) * 0.02;
    Module tokens = bare("Embedding"), head = bare("Head");
    trainable(tokens, "weight", table);
    tokens.define("def forward(self, x):\n    return torch.embedding(self.weight, x)\n");
    trainable(head, "weight", table);  // Tied weights.
    head.define("def forward(self, x):\n    return torch.linear(x, self.weight, None)\n");
    module.register_module("tokens", tokens);
    module.register_module("head", head);
    trainable(module, "positions", torch::randn({kTokens, kWidth}) * 0.02);
    module.register_module("block1", transformer_block(kWidth, 4, true, kTokens));
    module.register_module("block2", transformer_block(kWidth, 4, true, kTokens));
    module.register_module("norm", layer_norm(kWidth));
    module.define(R"(
def forward(self, x):
    place = torch.arange(0, x.size(1), dtype=4, device=x.device)
    y = self.tokens.forward(x) + torch.embedding(self.positions, place)
    y = self.norm.forward(self.block2.forward(self.block1.forward(y)))
    return self.head.forward(y)
)");
    return module;
}

Module vit() {
    constexpr std::int64_t kWidth = 48;
    Module module = bare("Vit");
    module.register_module("patches", conv(1, kWidth, 7, 7, 0));
    trainable(module, "token", torch::randn({1, 1, kWidth}) * 0.02);
    trainable(module, "positions", torch::randn({1, 17, kWidth}) * 0.02);
    module.register_module("block1", transformer_block(kWidth, 3, false, 17));
    module.register_module("block2", transformer_block(kWidth, 3, false, 17));
    module.register_module("norm", layer_norm(kWidth));
    module.register_module("head", linear(kWidth, 10));
    module.define(R"(
def forward(self, x):
    x = self.patches.forward(x).flatten(2).transpose(1, 2)
    x = torch.cat([self.token.expand([x.size(0), -1, -1]), x], 1) + self.positions
    x = self.norm.forward(self.block2.forward(self.block1.forward(x)))
    return self.head.forward(x[:, 0])
)");
    return module;
}

Module lora_linear(std::int64_t in, std::int64_t out) {
    constexpr std::int64_t kRank = 4;
    Module module = bare("LoraLinear"), base = linear(in, out);
    for (auto p : base.parameters()) p.set_requires_grad(false);
    module.register_module("base", base);
    trainable(module, "lora_a", uniform({kRank, in}, static_cast<double>(in)));
    trainable(module, "lora_b", torch::randn({out, kRank}) * 0.01);
    module.define(
        "def forward(self, x):\n"
        "    return self.base.forward(x) + torch.matmul(torch.matmul(x, self.lora_a.t()), self.lora_b.t()) * "
        "2.0\n");
    return module;
}

Module lora() {
    Module module = bare("Lora");
    module.register_module("fc1", lora_linear(784, 96));
    module.register_module("fc2", lora_linear(96, 10));
    module.define(
        "def forward(self, x):\n    return self.fc2.forward(torch.relu(self.fc1.forward(torch.flatten(x, "
        "1))))\n");
    return module;
}

const std::string kRefused = "def forward(self, x):\n    y = self.fc.forward(torch.flatten(x, 1))\n";

/// One linear layer, then a line that must be refused.
Module refused(const std::string& body) {
    Module module = bare("Refused");
    module.register_module("fc", linear(784, 10));
    module.define(kRefused + body);
    return module;
}

/// An op that must be refused, two modules deep and in a separate method.
Module nested() {
    Module inner = bare("Attention"), middle = bare("Layer"), module = bare("Nested");
    module.register_module("fc", linear(784, 10));
    inner.define(
        "def total(self, x):\n    return torch.cumsum(x, 1)\n"
        "def forward(self, x):\n    return self.total(x)\n");
    middle.register_module("attention", inner);
    middle.define("def forward(self, x):\n    return self.attention.forward(x)\n");
    module.register_module("layer0", middle);
    module.define(kRefused + "    return self.layer0.forward(y)\n");
    return module;
}

Module module_named(const std::string& name) {
    if (name == "mlp") return mlp();
    if (name == "cnn") return cnn();
    if (name == "resnet") return resnet();
    if (name == "gpt") return gpt();
    if (name == "vit") return vit();
    if (name == "lora") return lora();
    if (name == "branch") return refused("    if bool(y.sum() > 0):\n        y = y * 2.0\n    return y\n");
    if (name == "noise") return refused("    return y + torch.rand_like(y)\n");
    if (name == "sorting") return refused("    a, b = torch.sort(y)\n    return torch.cumsum(a, 1)\n");
    if (name == "double") return refused("    return y.double() * 2.0\n");
    if (name == "nested") return nested();
    if (name == "tuple") return refused("    return y, y\n");
    if (name == "writes_file") return refused("    if 1 > y.dim():\n     torch.save(y, \"stolen\")\n    return y\n");
    Module module = bare("Empty");
    module.define("def forward(self, x):\n    return torch.flatten(x, 1)\n");
    return module;
}

struct Batch {
    at::Tensor x, labels;
};

Batch batch_of(const PeerData& data, std::uint64_t first, std::uint64_t count) {
    std::vector<std::int64_t> sizes{static_cast<std::int64_t>(count)};
    sizes.insert(sizes.end(), data.sample.begin(), data.sample.end());
    std::int64_t each = 1;
    for (const std::int64_t extent : data.sample) each *= extent;
    const std::int64_t targets = data.tokens ? each : 1;
    const auto start = static_cast<std::int64_t>(first);
    Batch out;
    if (data.tokens) {
        out.x =
            torch::from_blob(const_cast<std::int64_t*>(data.tokens_in.data() + start * each), sizes, at::kLong).clone();
    } else {
        out.x = torch::from_blob(const_cast<float*>(data.x.data() + start * each), sizes, at::kFloat).clone();
    }
    const std::int64_t rows = static_cast<std::int64_t>(count) * targets;
    out.labels =
        torch::from_blob(const_cast<std::int64_t*>(data.labels.data() + start * targets), {rows}, at::kLong).clone();
    return out;
}

at::Tensor logits_of(Module& module, const at::Tensor& x) {
    const at::Tensor out = module.forward({x}).toTensor();
    return out.reshape({-1, out.size(-1)});
}

double rate_at(const PeerTraining& training, std::uint64_t step) {
    const double progress = static_cast<double>(step) / static_cast<double>(training.steps);
    return training.cosine ? training.lr / 2 * (1 + std::cos(M_PI * progress)) : training.lr;
}

/// Executes op by op, because LibTorch 2.x with LLVM spends minutes on fused code.
Module load_plain(const std::filesystem::path& path) {
    torch::jit::setGraphExecutorOptimize(false);
    return torch::jit::load(path.string());
}

}  // namespace

void make_model(const std::string& name, const std::filesystem::path& path) {
    torch::manual_seed(20260101);
    module_named(name).save(path.string());
}

std::vector<double> train_model(const std::filesystem::path& path, const PeerData& data, const PeerTraining& training,
                                const std::filesystem::path& trained) {
    Module module = load_plain(path);
    module.train();
    std::vector<at::Tensor> parameters;
    for (const auto& p : module.parameters()) {
        const auto same = [&](const at::Tensor& other) { return other.data_ptr() == p.data_ptr(); };
        if (p.requires_grad() && std::none_of(parameters.begin(), parameters.end(), same)) parameters.push_back(p);
    }
    std::unique_ptr<torch::optim::Optimizer> optimizer;
    if (training.adamw) {
        optimizer = std::make_unique<torch::optim::AdamW>(
            parameters, torch::optim::AdamWOptions(training.lr).weight_decay(training.weight_decay));
    } else {
        optimizer = std::make_unique<torch::optim::SGD>(
            parameters,
            torch::optim::SGDOptions(training.lr).momentum(training.momentum).weight_decay(training.weight_decay));
    }
    std::vector<double> losses;
    const std::uint64_t batches = data.samples / training.batch;
    for (std::uint64_t step = 0; step < training.steps; ++step) {
        const Batch batch = batch_of(data, step % batches * training.batch, training.batch);
        for (auto& group : optimizer->param_groups()) group.options().set_lr(rate_at(training, step));
        optimizer->zero_grad();
        const at::Tensor loss = torch::nn::functional::cross_entropy(logits_of(module, batch.x), batch.labels);
        loss.backward();
        optimizer->step();
        losses.push_back(loss.item<double>());
    }
    if (!trained.empty()) module.save(trained.string());
    return losses;
}

PeerResult evaluate_model(const std::filesystem::path& path, const PeerData& data, std::uint64_t batch) {
    const torch::NoGradGuard no_gradient;
    Module module = load_plain(path);
    module.eval();
    PeerResult out;
    std::int64_t right = 0, rows = 0;
    for (std::uint64_t first = 0; first < data.samples; first += batch) {
        const Batch part = batch_of(data, first, std::min(batch, data.samples - first));
        const at::Tensor logits = logits_of(module, part.x);
        out.loss += torch::nn::functional::cross_entropy(logits, part.labels).item<double>() *
                    static_cast<double>(part.labels.size(0));
        right += logits.argmax(1).eq(part.labels).sum().item<std::int64_t>();
        rows += part.labels.size(0);
    }
    out.loss /= static_cast<double>(rows);
    out.accuracy = static_cast<double>(right) / static_cast<double>(rows);
    return out;
}

}  // namespace retrace::testing
