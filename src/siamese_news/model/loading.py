"""Open the model of any folder: one of this project, or one of another library."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from siamese_news.errors import InputError
from siamese_news.lexical_head.options import Agreement, DenseExcess, TermOptions
from siamese_news.model.folder import (
    check_finite,
    folder_path,
    folder_sha256,
    read_folder,
)
from siamese_news.model.foreign import library_errors, open_foreign
from siamese_news.model.star_model import StarModel
from siamese_news.model.table import TableModel
from siamese_news.model.text_model import PRETRAINED, STAR, TextModel
from siamese_news.text.tokens import check_texts
from siamese_news.utils.checked_json import read_object
from siamese_news.utils.extras import needs
from siamese_news.utils.files import file_sha256

# Words of an article that such a model reads: most cut a text after 256 word pieces anyway.
ARTICLE_WORDS = 150
_LIBRARIES = {
    "sentence_transformers": "SentenceTransformer",
    "model2vec": "StaticModel",
}


class ExternalModel:
    """A sentence-transformers or model2vec model, whose vectors join the shipped model's words."""

    kind = "mixture"

    def __init__(self, folder: str | Path) -> None:
        library = library_of(folder)
        if library is None:
            raise InputError(
                f"{folder}: neither a sentence-transformers nor a model2vec folder; expected "
                "modules.json, or a config.json of model2vec"
            )
        self.folder = Path(folder)
        self.library = library
        options = {} if library == "model2vec" else {"device": "cpu"}
        self._model = open_foreign(folder, library, _LIBRARIES[library], **options)

    @cached_property
    def words(self) -> TextModel:
        """The model that ships, whose words are scored together with this model's vectors."""
        return model_of(PRETRAINED)

    @cached_property
    def options(self) -> TermOptions:
        """The numbers of the mixture; the weights of the cosines were chosen on dev pools."""
        assert self.words.terms is not None
        agreement = Agreement(weight=0.35, feedback=1.0)
        options = self.words.terms.options
        return replace(options, dense=0.1, agreement=agreement, excess=DenseExcess())

    def encode_articles(self, texts: str | Sequence[str]) -> np.ndarray:
        """Unit vectors (A, D) float32 of the articles' first 150 words, read as queries."""
        return self._unit_vectors(texts, "articles", "encode_query")

    def encode_posts(self, texts: str | Sequence[str]) -> np.ndarray:
        """Unit vectors (P, D) float32 of posts, read as documents; zeros stay zeros."""
        return self._unit_vectors(texts, "posts", "encode_document")

    def _unit_vectors(
        self, texts: str | Sequence[str], side: str, method: str
    ) -> np.ndarray:
        """Unit vectors by the model's own method for a side, which puts its prompt before a text.

        A model without it reads both sides alike.
        """
        texts = [texts] if isinstance(texts, str) else texts
        check_texts(texts, f"encode_{side}")
        if side == "articles":
            texts = first_words(texts)
        encode = getattr(self._model, method, self._model.encode)
        with library_errors(self.folder):
            vectors = np.array(encode(list(texts), show_progress_bar=False), np.float32)
            if len(texts) and not vectors.size:
                raise ValueError("its vectors have no numbers")
        check_finite(str(self.folder), vectors)
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return vectors / np.where(lengths > 0, lengths, 1.0)


def first_words(texts: Sequence[str], words: int = ARTICLE_WORDS) -> list[str]:
    """The beginnings of articles, which a transformer reads."""
    return [" ".join(text.split()[:words]) for text in texts]


@cache
def shipped_star() -> TextModel:
    """The star, which a process opens once: its weights take a tenth of a second to read."""
    return model_of(STAR)


def folder_hash(folder: Path) -> str:
    """A hash of the names and contents of all files, which identifies the exact model."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        digest.update(f"{file_sha256(path)}  {name}\n".encode())
    return digest.hexdigest()


def library_of(folder: str | Path) -> str | None:
    """The library that wrote a folder: ``sentence_transformers``, ``model2vec`` or None."""
    settings = read_object(Path(folder) / "config.json")
    # First: model2vec writes what sentence-transformers needs into its folders as well. Its
    # version 0.10 does not say its name any more, but has an option of its own.
    if settings.get("model_type") == "model2vec" or "embedding_dtype" in settings:
        return "model2vec"
    return (
        "sentence_transformers" if (Path(folder) / "modules.json").is_file() else None
    )


def is_cross_encoder(folder: Path) -> bool:
    """Whether a folder has a model that reads two texts together and returns one number."""
    names = read_object(folder / "config.json").get("architectures")
    return isinstance(names, list) and any(
        "SequenceClassification" in str(name) for name in names
    )


AnyModel = TextModel | ExternalModel


def open_model(folder: str | PathLike[str] | None = None) -> AnyModel:
    """Open the model in a folder; the library is recognized by the files in it.

    Args:
        folder: a folder of this project, of sentence-transformers or of model2vec; None is the
            model that ships with the package.

    Raises:
        InputError: the folder is missing or damaged, or its library is not installed.

    Example:
        >>> from siamese_news import open_model
        >>> model = open_model()
        >>> model.encode_posts(["the river is in my cellar"]).shape == (1, model.output_dim)
        True
    """
    if folder is None:
        return model_of(PRETRAINED)
    root = folder_path(folder)
    if not root.exists():
        raise InputError(
            f"{folder}: no such model folder; expected one that training wrote, or one that "
            "sentence-transformers or model2vec saved (their libraries come with pip install "
            "'siamese-news[bench]'). A model of the Hugging Face hub is not downloaded: save it "
            "into a folder first, such as SentenceTransformer('all-MiniLM-L6-v2').save('minilm')"
        )
    return ExternalModel(root) if library_of(root) else model_of(root)


def model_of(folder: Path) -> TextModel:
    """The model in a folder of this project: without torch where its vectors need none."""
    content = read_folder(folder)
    if TableModel.fits(content.config):
        return TableModel.of(folder, content)
    if StarModel.fits(content.config):
        return StarModel.of(folder, content)
    with needs("encoders", f"the encoder in {folder}"):
        from siamese_news.model.siamese import Model
    return Model.of(folder, content)


def open_named(folder: Path | None) -> tuple[AnyModel, dict[str, str]]:
    """The model, and its ``folder`` and ``sha256`` (of its checksums).

    For a model of another ``library`` also this, and as ``words`` the hash of the model that scores
    words with it.
    """
    model = open_model(folder)
    if isinstance(model, ExternalModel):
        library = {"library": model.library, "words": folder_sha256(PRETRAINED)}
        return model, {
            "folder": str(folder),
            "sha256": folder_hash(model.folder),
        } | library
    digest = folder_sha256(PRETRAINED if folder is None else folder)
    return model, {
        "folder": "pretrained" if folder is None else str(folder),
        "sha256": digest,
    }


def explainable(model: AnyModel) -> TextModel:
    """The model itself, whose scores must be explainable word by word."""
    if isinstance(model, ExternalModel):
        raise InputError(
            f"{model.folder}: is a model of another library, which can rank and filter but not "
            "explain; name a model folder that training wrote, or none for the one shipped"
        )
    return model
