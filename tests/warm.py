"""What the process that commands are copied from has besides modules: a language detector."""

from siamese_news.text.languages import language_of

assert language_of("The bridge over the river fell, and people swam.") == "en"
