"""Content words, the tokens that articles and posts are matched on, and how rare they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

# Those of scikit-learn 1.9 (`ENGLISH_STOP_WORDS`, after the Glasgow Information Retrieval Group),
# frozen here: another list in a later release must not change the scores of the model that ships.
ENGLISH_STOP_WORDS = frozenset(
    """
    a about above across after afterwards again against all almost alone along already also although
    always am among amongst amoungst amount an and another any anyhow anyone anything anyway
    anywhere are around as at back be became because become becomes becoming been before beforehand
    behind being below beside besides between beyond bill both bottom but by call can cannot cant co
    con could couldnt cry de describe detail do done down due during each eg eight either eleven
    else elsewhere empty enough etc even ever every everyone everything everywhere except few
    fifteen fifty fill find fire first five for former formerly forty found four from front full
    further get give go had has hasnt have he hence her here hereafter hereby herein hereupon hers
    herself him himself his how however hundred i ie if in inc indeed interest into is it its itself
    keep last latter latterly least less ltd made many may me meanwhile might mill mine more
    moreover most mostly move much must my myself name namely neither never nevertheless next nine
    no nobody none noone nor not nothing now nowhere of off often on once one only onto or other
    others otherwise our ours ourselves out over own part per perhaps please put rather re same see
    seem seemed seeming seems serious several she should show side since sincere six sixty so some
    somehow someone something sometime sometimes somewhere still such system take ten than that the
    their them themselves then thence there thereafter thereby therefore therein thereupon these
    they thick thin third this those though three through throughout thru thus to together too top
    toward towards twelve twenty two un under until up upon us very via was we well were what
    whatever when whence whenever where whereafter whereas whereby wherein whereupon wherever
    whether which while whither who whoever whole whom whose why will with within without would yet
    you your yours yourself yourselves
    """.split()
)


def words_of(tokens: Sequence[str]) -> list[str]:
    """Tokens without punctuation, which every text has and which would only add noise."""
    return [
        token for token in tokens if not token.isascii() or any(map(str.isalnum, token))
    ]


def content_words(tokens: Sequence[str]) -> list[str]:
    """`words_of` without the English stop words and the clitics that GloVe's tokens have."""
    # Nearly every token is a word, for which the first of the last two questions is enough.
    return [
        token
        for token in tokens
        if token not in STOP_WORDS and (token.isalnum() or words_of([token]))
    ]


STOP_WORDS = ENGLISH_STOP_WORDS | {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"}


def smoothed_idf(frequencies: Any, texts: int, *, add: float = 0.0) -> Any:
    """ln((1 + N) / (1 + df)) + add.

    With ``add=1`` it is scikit-learn's smoothed IDF, in which a word of every text still counts;
    with ``add=0`` such a word weighs nothing. The df of words, `frequencies`, are an array, a
    tensor or a number, and so is the result; N is the number of `texts`.
    """
    ratio = (1.0 + texts) / (1.0 + frequencies)
    logarithm = ratio.log() if hasattr(ratio, "log") else np.log(ratio)
    return logarithm + add if add else logarithm
