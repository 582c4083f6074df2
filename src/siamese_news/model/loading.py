"""Open the model of any folder: one of this project, or one of another library."""

from os import PathLike
from pathlib import Path

from siamese_news.errors import InputError
from siamese_news.model.external import ExternalModel, library_of
from siamese_news.model.folder import folder_sha256
from siamese_news.model.siamese import PRETRAINED, Model

AnyModel = Model | ExternalModel


def open_model(folder: str | PathLike[str] | None = None) -> AnyModel:
    """Open the model in a folder; the library is recognised by the files in it.

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
        return Model.pretrained()
    root = Path(folder)
    if not root.exists():
        raise InputError(
            f"{folder}: no such model folder; expected one that training wrote, or one that "
            "sentence-transformers or model2vec saved (their libraries come with pip install "
            "'siamese-news[bench]'). A model of the Hugging Face hub is not downloaded: save it "
            "into a folder first, such as SentenceTransformer('all-MiniLM-L6-v2').save('minilm')"
        )
    return ExternalModel(root) if library_of(root) else Model.load(root)


def open_named(folder: Path | None) -> tuple[AnyModel, dict[str, str]]:
    """The model, and which it is.

    Returns:
        The model, and its ``folder`` and ``sha256`` (of its checksums); for a model of another
        library also that, and as ``words`` the hash of the model whose words are scored with it.
    """
    model = open_model(folder)
    if isinstance(model, ExternalModel):
        more = {"library": model.library, "words": folder_sha256(PRETRAINED)}
        return model, {"folder": str(folder), "sha256": model.sha256()} | more
    digest = folder_sha256(PRETRAINED if folder is None else folder)
    return model, {"folder": "pretrained" if folder is None else str(folder), "sha256": digest}


def explainable(model: AnyModel) -> Model:
    """The model itself, if its scores can be explained word by word.

    Raises:
        InputError: it is a model of another library.
    """
    if isinstance(model, ExternalModel):
        raise InputError(
            f"{model.folder}: is another library's model, which can rank and filter but not "
            "explain; name a model folder that training wrote, or none for the one shipped"
        )
    return model
