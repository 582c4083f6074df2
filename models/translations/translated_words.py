"""Word vectors for other languages, from sentences and their English translations.

    python -m models.translations.translated_words PAIRS FOLDER [--model models/star]
        [--pairs N] [--seed N] [--new-words]

PAIRS is a file of JSON lines with ``lang``, ``text`` and ``english``. FOLDER will hold the model
with the words of all these languages: for ``--second-look FOLDER`` and ``--model FOLDER``. Nothing
is trained by gradient; one core takes about half a minute for 77,000 pairs.

The model itself is the teacher, as a monolingual one is in Reimers and Gurevych ("Making
Monolingual Sentence Embeddings Multilingual using Knowledge Distillation", EMNLP 2020): the
weighted mean of a sentence's word vectors, which its encoder begins with, shall be that of the
English side. For the means A (N, V) of N sentences over V words and those of their English sides
T (N, E), the vectors X (V, E) of the words minimize

    |A X - T|^2 + ridge |X - P|^2

where P has the vectors of the words that the model knows, and zeros. The encoder stays as it is.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import Ridge

from siamese_news.data.jsonl import read_jsonl
from siamese_news.encoders import TokenEmbedding
from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead
from siamese_news.model.siamese import Model
from siamese_news.text import Vocabulary
from siamese_news.text.token_ids import TokenIds
from siamese_news.training.build import fingerprint

RIDGE = 0.03
LEAST_PAIRS = 2
"""A word that fewer sentences hold has no vector."""

# IDF counts the texts of one language, a few thousand; English words have theirs of 207,417 texts.
_RARITY = 1.3
_FIELDS = ("lang", "text", "english")

Floats = NDArray[np.float32]


class Translation(NamedTuple):
    """A sentence, the code of its language, and its English side."""

    lang: str
    text: str
    english: str


def read_translations(path: str | Path) -> list[Translation]:
    """The pairs of a file of JSON lines.

    Raises:
        InputError: with the line, where one of the fields is not a text.
    """
    translations = []
    for line, record in read_jsonl(path):
        fields = [record.get(name) for name in _FIELDS]
        if not all(isinstance(field, str) for field in fields):
            raise InputError(
                f"{path}:{line}: has {', '.join(record)}; expected {', '.join(_FIELDS)}, each a string"
            )
        translations.append(Translation(*map(str, fields)))
    return translations


def drawn(
    translations: Sequence[Translation], count: int, seed: int
) -> list[Translation]:
    """So many of the pairs at random; a larger count has those of a smaller one."""
    order = np.random.default_rng(seed).permutation(len(translations))
    return [translations[place] for place in order[:count]]


def with_translated_words(
    model: Model, translations: Sequence[Translation], *, new_words: bool = False
) -> Model:
    """The model with vectors for the words of the translations.

    Args:
        model: with a fixed table of words that drops unknown ones, such as ``models/star``.
        translations: of any languages.
        new_words: whether only words that the model does not know get a vector, so that an English
            text without such words has the same vector as before. Otherwise a word that both
            languages spell alike (the German "die") gets a new one where the pairs ask for it.

    Raises:
        InputError: no word is in `LEAST_PAIRS` of the sentences, or the model has no ids for unknown
            words.
    """
    if model.vocabulary.unknown != "hash":
        raise InputError(
            f"the model's vocabulary has unknown={model.vocabulary.unknown!r}, so the words of other "
            "languages are lost; expected 'hash'"
        )
    sentences = model.token_ids([pair.text for pair in translations])
    english = model.cut(
        model.token_ids([pair.english for pair in translations]), "post"
    )
    words, rarity = rare_words(sentences, [pair.lang for pair in translations])
    if not len(words):
        raise InputError(
            f"{len(translations)} translations have no word in two of them; expected some hundred"
        )
    matrix = model.embedding.matrix.numpy()
    weights = model.embedding.token_weights.numpy()
    known = words < len(matrix)
    prior = np.zeros((len(words), matrix.shape[1]), np.float32)
    prior[known] = matrix[words[known]]
    rarity[known & new_words] = weights[words[known & new_words]]
    means = weighted_means(sentences, words, rarity)
    english_means = weighted_means(english, np.arange(len(matrix)), weights)
    learned = ~known | (not new_words)
    vectors = prior
    vectors[learned] += fitted(
        means[:, learned], english_means @ matrix - means @ prior
    )
    return _extended(model, sentences, words, vectors, rarity)


def rare_words(
    sentences: TokenIds, languages: Sequence[str]
) -> tuple[NDArray[np.int64], Floats]:
    """The ids (V,) of the words in `LEAST_PAIRS` sentences, and how rare each is (V,).

    A word is as rare as in the language that uses it most.
    """
    codes, language = np.unique(languages, return_inverse=True)
    words, places = np.unique(sentences.flat, return_inverse=True)
    in_sentences = sparse.csr_matrix(
        (np.ones(len(places)), places, sentences.offsets),
        shape=(len(sentences), len(words)),
    )
    in_sentences.sum_duplicates()
    in_sentences.data[:] = 1
    of_language = sparse.csr_matrix(
        (np.ones(len(language)), (language, np.arange(len(language))))
    )
    frequencies = (of_language @ in_sentences).toarray()  # languages x words
    shares = (frequencies / np.bincount(language, minlength=len(codes))[:, None]).max(0)
    frequent = frequencies.sum(0) >= LEAST_PAIRS
    rarity = _RARITY * (1 - np.log(shares[frequent]))
    return words[frequent], rarity.astype(np.float32)


def weighted_means(
    texts: TokenIds, words: NDArray[np.int64], weights: Floats
) -> sparse.csr_matrix:
    """(N, V) the share of each of the words, which ascend, in the mean of each text."""
    places = np.searchsorted(words, texts.flat).clip(max=len(words) - 1)
    shares = np.where(words[places] == texts.flat, weights[places], 0)
    counted = sparse.csr_matrix(
        (shares.astype(np.float32), places, texts.offsets),
        shape=(len(texts), len(words)),
    )
    totals = np.asarray(counted.sum(1)).ravel()
    return sparse.diags(1 / np.maximum(totals, np.float32(1e-9))) @ counted


def fitted(means: sparse.csr_matrix, targets: Floats) -> Floats:
    """(V, E): vectors X with the least |means X - targets|^2 + RIDGE |X|^2."""
    told = np.asarray(means.sum(1)).ravel() > 0
    regression = Ridge(RIDGE, fit_intercept=False, solver="sparse_cg", tol=1e-3)
    regression.fit(means[told].astype(np.float64), targets[told])
    coefficients: Floats = regression.coef_.T.astype(np.float32)
    return coefficients


def _extended(
    model: Model,
    sentences: TokenIds,
    words: NDArray[np.int64],
    vectors: Floats,
    rarity: Floats,
) -> Model:
    """The model with these vectors and weights for words that are given by their ids."""
    size = len(model.vocabulary)
    known = words < size
    old = torch.from_numpy(words[known])
    matrix = model.embedding.matrix.clone()
    weights = model.embedding.token_weights.clone()
    matrix[old] = torch.from_numpy(vectors[known])
    weights[old] = torch.from_numpy(rarity[known])
    added = [sentences.unknown[word] for word in words[~known].tolist()]
    terms = model.terms
    if terms is not None:
        terms = TermHead(
            np.concatenate([terms.frequencies, np.zeros(len(added), np.int32)]),
            terms.pairs,
            texts=terms.texts,
            typical=terms.typical,
            options=terms.options,
        )
    return Model(
        tokenizer=model.tokenizer,
        vocabulary=Vocabulary(
            [*model.vocabulary.words, *added], unknown=model.vocabulary.unknown
        ),
        embedding=TokenEmbedding(
            torch.cat([matrix, torch.from_numpy(vectors[~known])]),
            trainable=False,
            token_weights=torch.cat([weights, torch.from_numpy(rarity[~known])]),
            unknown_weight=0.0,
            stored="int8",
        ),
        encoder=model.encoder,
        limits=model.limits,
        config=model.config,
        terms=terms,
        trained_on=model.trained_on,
    ).eval()


def train(
    start: str | Path,
    translations: Sequence[Translation],
    folder: Path,
    *,
    new_words: bool = False,
) -> None:
    """Write the model of a folder with the words of translations into another folder."""
    model = Model.load(start)
    translated = with_translated_words(model, translations, new_words=new_words)
    translated.trained_on.add_fingerprints(
        fingerprint(pair.text) for pair in translations
    )
    languages = sorted({pair.lang for pair in translations})
    card = (
        f"# {start} with the words of {len(languages)} languages\n\n"
        f"{len(translated.vocabulary) - len(model.vocabulary):,} words, by "
        f"`models.translations.translated_words` from {len(translations):,} translations "
        f"({', '.join(languages)}).\n"
    )
    translated.save(folder, card=card)
    print(card)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("translations", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="models/star")
    parser.add_argument("--pairs", type=int, help="so many at random; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--new-words", action="store_true")
    arguments = parser.parse_args()
    translations = read_translations(arguments.translations)
    count = len(translations) if arguments.pairs is None else arguments.pairs
    train(
        arguments.model,
        drawn(translations, count, arguments.seed),
        arguments.folder,
        new_words=arguments.new_words,
    )


if __name__ == "__main__":
    main()
