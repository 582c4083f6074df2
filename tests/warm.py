"""What the process that commands are copied from has besides modules: a language, and the model."""

from siamese_news.model import loading
from siamese_news.text.languages import language_of
from tests.bundled import model_of

assert language_of("The bridge over the river fell, and people swam.") == "en"
loading.model_of = model_of
loading.open_model()
