"""What the process that commands are copied from has besides modules."""

import functools
import os

import pytest
import typer.main
from hydra import compose, initialize_config_module
from tests import bundled

from siamese_news.cli import app
from siamese_news.model import loading
from siamese_news.text.languages import language_of

assert language_of("The bridge over the river fell, and people swam.") == "en"
bundled.read_once(pytest.MonkeyPatch())
os.fsync = lambda file: None  # as in conftest.py
loading.open_model()
with initialize_config_module("siamese_news.conf", version_base="1.3"):
    compose("train")
typer.main.get_command = functools.cache(typer.main.get_command)
tree = typer.main.get_command(app)
for name in tree.list_commands(None):
    tree.get_command(None, name)
