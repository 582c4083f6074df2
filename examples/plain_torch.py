"""An encoder in a plain torch loop; needs siamese-news[encoders] alone."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from siamese_news import Model, build_encoder

PAIRS = [
    (
        "The river flooded the old town; cellars are full of water.",
        "water in my cellar again",
    ),
    (
        "Fire crews fought a blaze in a paper mill on Monday night.",
        "huge smoke over the mill",
    ),
    (
        "The council voted to close two schools next summer.",
        "they are shutting our school",
    ),
    (
        "Trains stood still as drivers went on strike for higher pay.",
        "no train today, strike",
    ),
]


def main(steps: int = 40) -> float:
    """Train on the pairs and return the share of articles whose post comes first."""
    torch.manual_seed(0)
    shipped = Model.pretrained()  # for its words and their vectors
    encoder = build_encoder("star_feed_forward", input_dim=shipped.embedding.output_dim)

    def encode(texts: tuple[str, ...]) -> Tensor:
        tokens = [shipped.vocabulary.ids(shipped.tokenizer(text)) for text in texts]
        ids = pad_sequence(
            [torch.from_numpy(each) for each in tokens], True, padding_value=-1
        )
        return F.normalize(encoder(*shipped.embedding(ids)), dim=1)

    articles, posts = zip(*PAIRS, strict=True)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        similarities = encode(articles) @ encode(posts).T
        F.cross_entropy(similarities / 0.05, torch.arange(len(PAIRS))).backward()
        optimizer.step()
    return (similarities.argmax(1) == torch.arange(len(PAIRS))).float().mean().item()


if __name__ == "__main__":
    print(f"first post right: {main():.0%}")
