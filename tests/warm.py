"""What the process that commands are copied from has besides modules."""

import functools
import gc

import typer.main
from tests.bundled import hash_once, model_of

from siamese_news.cli import app
from siamese_news.model import loading
from siamese_news.text.languages import language_of

assert language_of("The bridge over the river fell, and people swam.") == "en"
loading.model_of = model_of
hash_once(setattr)
loading.open_model()
typer.main.get_command = functools.cache(typer.main.get_command)
tree = typer.main.get_command(app)
for name in tree.list_commands(None):
    tree.get_command(None, name)
gc.collect()
gc.freeze()
