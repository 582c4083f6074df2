"""``siamese-news push`` and ``siamese-news pull``."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.reading import echo
from siamese_news.errors import InputError

RepoOption = Annotated[str, typer.Option(help="Name on the hub, such as me/crisis-model.")]


def push(
    model: Annotated[Path, typer.Option(help="Model folder from training.")],
    repo: RepoOption,
    private: Annotated[
        bool, typer.Option("--private", help="Make a new repository private.")
    ] = False,
) -> None:
    """Upload a model folder to the Hugging Face hub, or to the server that HF_ENDPOINT names.

    Example: siamese-news push --model outputs/run/model --repo me/crisis-model

    The access token comes from hf auth login or HF_TOKEN.
    """
    with _hub():
        from huggingface_hub import HfApi

        from siamese_news.model.loading import open_named

        open_named(model)  # checks hashes and version, and that it can be read
        api = HfApi()
        api.create_repo(repo, private=private, exist_ok=True)
        done = api.upload_folder(
            repo_id=repo, folder_path=model, commit_message="Model of siamese_news"
        )
        echo(f"{repo}: {done.oid}")


def pull(
    repo: RepoOption,
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit (default: main).")
    ] = None,
) -> None:
    """Download a model folder from the Hugging Face hub; it appears whole or not at all.

    Example: siamese-news pull --repo me/crisis-model --out crisis-model --revision 1f0c2ab

    A model of this package is compared with its hashes, and refused if another version wrote it.
    No code in it is run. Folders of sentence-transformers and model2vec work as well.
    """
    with _hub():
        from huggingface_hub import snapshot_download

        from siamese_news.model.loading import library_of, open_named

        if out.exists():
            raise InputError(f"{out}: exists already; name another folder, or remove it")
        part = out.with_name(f".{out.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            snapshot_download(repo, revision=revision, local_dir=part)
            shutil.rmtree(part / ".cache", ignore_errors=True)
            (part / ".gitattributes").unlink(missing_ok=True)
            if library_of(part) is None:
                open_named(part)
            part.rename(out)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        echo(f"{out}: {repo}")


@contextmanager
def _hub() -> Iterator[None]:
    """Turn an error of the hub into an `InputError`."""
    from siamese_news.utils.extras import needs

    with needs("hub", "push and pull"):
        from huggingface_hub import errors
    refusals = (
        errors.HFValidationError,
        errors.HTTPError,  # type: ignore[attr-defined]
        errors.LocalEntryNotFoundError,
        errors.LocalTokenNotFoundError,
    )
    try:
        yield
    except refusals as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"the hub: {said}; check the name, your token (hf auth login) and the network"
        ) from error
