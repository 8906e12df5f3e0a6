# SPDX-License-Identifier: MIT
# The peer of cuda_bench's training row: the same GPT in PyTorch, whole steps with AdamW, fp32 (TF32 off) and bf16
# autocast, medians of device time. Prints rows as tests/bench/rows.hpp reads them. Sizes as in bench.cpp.
import statistics

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS, TOKENS, VOCABULARY, BATCH = 12, 768, 12, 512, 16384, 16
STEPS, SAMPLES = 10, 9


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (p.view(b, t, HEADS, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, WIDTH)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        y = self.tokens(x) + self.places.weight
        for layer in self.layers:
            y = layer(y)
        return self.head(self.norm(y))


def tokens_per_second(bf16):
    torch.manual_seed(1)
    model = Gpt().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    data = torch.randint(VOCABULARY, (BATCH, TOKENS), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=bf16):
            loss = F.cross_entropy(model(data).view(-1, VOCABULARY), data.view(-1))
        loss.backward()
        optimizer.step()

    samples = []
    for sample in range(SAMPLES + 1):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(STEPS):
            step()
        end.record()
        torch.cuda.synchronize()
        if sample > 0:
            samples.append(begin.elapsed_time(end) / 1e3 / STEPS)
    return BATCH * TOKENS / statistics.median(samples)


torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
for name, bf16 in (("fp32", False), ("bf16", True)):
    speed = tokens_per_second(bf16)
    print(f"train_gpt_torch_{name}\ttokens/s\tPyTorch {torch.__version__} eager\t{speed:.9g}\t0", flush=True)
