"""What the process that commands are copied from has besides modules."""

import functools

import typer.main

from siamese_news.__main__ import application
from siamese_news.model import loading
from siamese_news.text.languages import language_of
from tests.bundled import model_of

assert language_of("The bridge over the river fell, and people swam.") == "en"
loading.model_of = model_of
loading.open_model()
typer.main.get_command = functools.cache(typer.main.get_command)
typer.main.get_command(application())
