"""The encoders need torch and entmax alone."""

import subprocess
import sys

CODE = """
import sys
from importlib.abc import MetaPathFinder

BLOCKED = {
    "pytorch_lightning", "lightning", "hydra", "omegaconf", "pytorch_metric_learning",
    "torchmetrics", "gensim", "sklearn", "scipy", "bm25s", "typer", "rich", "safetensors",
    "pyarrow", "backports", "tensorboard",
}

class Block(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
import torch
from siamese_news.encoders import StarEncoder
from siamese_news.sparsity import AdaptiveEntmax

encoder = StarEncoder(
    input_dim=6, heads=3, head_dim=2, window=2, cycles=1, context_includes_embedding=False,
    relay_attends_itself=False, similarity="dot", scale=None, bias=True, layer_norm=False,
    activation="none", residual="none", positions="none", pooling="max_relay", dropout=0.0,
    sparsity=AdaptiveEntmax,
)
print(encoder(torch.randn(2, 5, 6), torch.ones(2, 5, dtype=torch.bool)).shape)
others = {name.split(".")[1] for name in sys.modules if name.startswith("siamese_news.")}
ground = {"encoders", "attention", "sparsity", "errors", "utils"}
assert others <= ground, others
"""


def test_imports_and_runs_with_torch_and_entmax_alone():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "torch.Size([2, 6])"
