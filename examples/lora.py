"""Low-rank adapters on an encoder: only they are trained; needs siamese-news[encoders] and peft."""

import sys

import torch
import torch.nn.functional as F
from peft import LoraConfig, PeftModel, get_peft_model

from siamese_news import build_encoder


def star() -> torch.nn.Module:
    """Take your own trained encoder in its place: `siamese_news.Model.load(folder).encoder`."""
    torch.manual_seed(0)
    return build_encoder("star_feed_forward", input_dim=64)


if __name__ == "__main__":
    adapted = get_peft_model(star(), LoraConfig(r=4, target_modules="all-linear"))
    adapted.print_trainable_parameters()
    articles, posts = torch.randn(2, 8, 12, 64)  # (B, S, E): word vectors, here noise
    posts = posts + articles / 4
    mask, labels = torch.ones(8, 12, dtype=torch.bool), torch.arange(8)
    optimizer = torch.optim.AdamW(
        [p for p in adapted.parameters() if p.requires_grad], lr=1e-2
    )
    for step in range(20):
        sides = [F.normalize(adapted(each, mask), dim=1) for each in (articles, posts)]
        loss = F.cross_entropy(sides[0] @ sides[1].T / 0.05, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (0, 19):
            print(f"step {step}: loss {loss.item():.3f}")
    adapted.save_pretrained(sys.argv[1])
    loaded = PeftModel.from_pretrained(star(), sys.argv[1]).eval()
    with torch.no_grad():
        print(
            "difference:",
            (loaded(posts, mask) - adapted.eval()(posts, mask)).abs().max().item(),
        )
