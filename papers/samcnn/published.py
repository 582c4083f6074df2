"""What samCNN prints (Shi, Rao and Lin, NAACL 2019), and the defaults of its released code."""

from typing import NamedTuple

PAPER = "Shi, Rao and Lin, NAACL 2019"
YEARS = (2011, 2012, 2013, 2014)

# Table 1. The data itself is counted in `table1`: the relevant posts of 2012 and 2013 look swapped.
TOPICS = dict(zip(YEARS, (49, 60, 60, 55), strict=True))
CANDIDATES = dict(zip(YEARS, (39780, 49879, 46192, 41579), strict=True))
RELEVANT = dict(zip(YEARS, (1940, 4298, 3405, 6812), strict=True))
PERCENT_RELEVANT = dict(zip(YEARS, (4.87, 8.62, 7.37, 16.38), strict=True))

NOT_SAID = "–"
_SGD = "SGD, momentum 0.9, weight decay 0.0001"
_RATE = "0.003, times 0.75 every 5 epochs"
_BEST = "15; the best by P30 is kept, validated every 30"
# Table 2 with section 2.3; the defaults of the released code; the repository that made the log.
SETTINGS = {
    "word vectors": (
        "300-d GloVe, fine-tuned",
        "300-d, twitter.glove.pt, fine-tuned",
        "300-d, source not said, fine-tuned",
    ),
    "words without a vector": ("U[-.05, .05]", "U[-.05, .05]", "U[-.05, .05]"),
    "filters": ("250", "350", "250"),
    "window width": ("2", "2", "2"),
    "size of a text's vector": ("200", "350", "200"),
    "size of the hidden layer o": ("100", "100", "100"),
    "dropout": ("0.5", "0.5", "0.5"),
    "optimizer": ("SGD", _SGD, _SGD),
    "batches": (NOT_SAID, "256, of one query", "300, of one query"),
    "aggregation": ("mean", "learned", "sum (embed) or mean (ave)"),
    "learning rate": ("0.03", _RATE, _RATE),
    "epochs": (NOT_SAID, f"{_BEST} batches", f"{_BEST} queries"),
}


class Printed(NamedTuple):
    """A figure, and the rows of the printed table that it differs from significantly."""

    value: float
    rows: tuple[int, ...] = ()


def _figures(text: str) -> dict[tuple[int, str], Printed]:
    """Figures of a row in the order of the table, as ``value`` or ``value:rows``."""
    cells = (cell.partition(":") for cell in text.split())
    printed = (Printed(float(value), tuple(map(int, rows))) for value, _, rows in cells)
    places = [(year, column) for year in YEARS for column in ("P30", "AP")]
    return dict(zip(places, printed, strict=True))


# Table 3, rows 1 to 8 in their order.
SYSTEMS = {
    name: _figures(text)
    for name, text in {
        "BiCNN": ".2129 .1634 .2028 .1176 .2367 .1284 .3788 .2557",
        "QAtt": ".3966:1 .3586:1 .3904:1 .2376:1 .4861:1 .2696:1 .6388:1 .4226:1",
        "PAtt": ".4469:12 .4135:125 .4017:15 .2413:15 .5167:125 .2817:12 .6642:12 .4351:125",
        "PAtt +QL": ".4735:123567 .4346:12356 .4164:1256 .2516:1235 .5256:12356 .2965:1235 "
        ".6752:12 .4522:12357",
        "QL": ".4000:1 .3576:1 .3311:1 .2091:1 .4450:1 .2532:1 .6182:1 .3924:1",
        "RM3": ".4211:1 .3824:1 .3452:1 .2342:1 .4733:1 .2766:1 .6339:1 .4480:1",
        "MP-HCNN": ".4075:12 .3832:12 .3689:15 .2337:15 .5222:125 .2818:125 .6297:1 .4304:1",
        "MP-HCNN +QL": ".4293:125 .4043:1256 .3791:156 .2460:15 .5294:12356 .2896:125 .6394:1 "
        ".4420:15",
    }.items()
}

# What the first author's own repository logs: the mean of ten single models, and their ensemble.
# "sum" is its option `embed`, whose gate is a softmax over one number, so that every weight is 1.
LOGGED = "github.com/Impavidity/Twitter_Relevance_Matching, commits of 2018-05-15 to 2018-06-15"
Log = dict[tuple[int, str], float | None]


def _log(text: str) -> Log:
    """As `_figures`, with a dash for a figure that the log does not have."""
    cells = (None if cell == NOT_SAID else float(cell) for cell in text.split())
    places = [(year, column) for year in YEARS for column in ("P30", "AP")]
    return dict(zip(places, cells, strict=True))


SINGLES = {
    name: _log(text)
    for name, text in {
        "QAtt": ".3767 .3267 .2750 .1660 .4687 .2595 .6108 .4018",
        "QAtt, sum": ".4018 .3655 .3869 .2326 .4840 .2727 .6519 .4269",
        "PAtt": ".4376 .3899 .3900 .2365 .5192 .2798 .6577 .4343",
        "PAtt, sum": ".4288 .3899 .3808 .2316 .5116 .2742 .6528 .4289",
    }.items()
}
ENSEMBLES = {
    name: _log(text)
    for name, text in {
        "BiCNN": "– – – .1307 – .1413 – .2617",
        "QAtt": ".3912 .3383 .3599 .2177 .4889 .2688 .6218 .4140",
        "QAtt, sum": ".4088 .3705 .3960 .2382 .4939 .2818 .6691 .4354",
        "PAtt": ".4463 .4010 .4051 .2430 .5244 .2855 .6612 .4409",
        "PAtt, sum": ".4381 .3969 .3932 .2381 .5200 .2800 .6600 .4361",
        "PAtt +QL": "– .4293 – .2621 – .2990 – .4563",
    }.items()
}
LOGGED_SEEDS = 10

# Retrieval on the same topics, published by others: P30 and AP of each year.
ANSERINI = (
    "github.com/castorini/anserini, docs/regressions/regressions-mb11.md and -mb13.md"
)
ANSERINI_SYSTEMS = {
    name: _figures(text)
    for name, text in {
        "BM25": ".3959 .3384 .3316 .1948 .4339 .2371 .6212 .3931",
        "BM25 +RM3": ".4177 .3658 .3463 .2209 .4383 .2499 .6406 .4361",
        "BM25 +Ax": ".4612 .4008 .3554 .2309 .4728 .2855 .6648 .4796",
        "QL": ".4061 .3584 .3333 .2102 .4561 .2602 .6430 .4181",
        "QL +RM3": ".4408 .3961 .3520 .2400 .4839 .2878 .6552 .4667",
        "QL +Ax": ".4408 .4201 .3842 .2474 .5078 .3152 .6727 .4965",
    }.items()
}

# Fig. 3 and 4, and Table 4 with the paragraph on it.
BEST, WORST = "164", "125"
WORST_AP, WORST_P30 = -0.47, -0.11
WORST_IN_CAPTION = "127"
# Posts of the first 30 that hold at least these places of "oscars snub affleck".
PATTERNS = {"0": 28, "1": 20, "2": 25, "0 1": 18, "1 2": 15, "0 2": 23, "0 1 2": 13}

# Section 4: PAtt against MP-HCNN, training and inference.
TIMES_FASTER = 4
