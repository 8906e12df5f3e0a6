#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes small TorchScript files with whatever PyTorch this Python has: make.py FOLDER.

Names say who wrote them: torch1.13-script-cnn.pt. Samples are float32 [n, 1, 8, 8], five classes.
"""
import sys

import torch
from torch import nn


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout2d(0.0))
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        return self.head(torch.flatten(self.layers(x), 1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        y, _ = self.memory(x[:, 0])
        return self.head(y.mean(1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 12)
        self.position = nn.Parameter(torch.randn(1, 8, 12) * 0.1)
        self.layer = nn.TransformerEncoderLayer(12, 2, 24, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.layer(self.embed(x[:, 0]) + self.position)[:, 0])


def main(folder):
    version = ".".join(torch.__version__.split(".")[:2])
    x = torch.linspace(-1, 1, 3 * 64).reshape(3, 1, 8, 8)
    for name, kind in (("cnn", Cnn), ("recurrent", Recurrent), ("transformer", Transformer)):
        torch.manual_seed(1)
        model = kind()
        torch.jit.script(model).save(f"{folder}/torch{version}-script-{name}.pt")
        # In training mode, so that the norm's statistics are those of the batch, as in training.
        torch.jit.trace(model.train(), x, check_trace=False).save(f"{folder}/torch{version}-trace-{name}.pt")


if __name__ == "__main__":
    main(sys.argv[1])
