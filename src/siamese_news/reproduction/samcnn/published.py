"""What samCNN prints, as far as its numbers are at hand (Shi, Rao and Lin, NAACL 2019)."""

PAPER = "Shi, Rao and Lin, NAACL 2019"
YEARS = (2011, 2012, 2013, 2014)

# Table 1. Of the data itself, see `table1`: the relevant posts of 2012 and 2013 look exchanged.
CANDIDATES = dict(zip(YEARS, (39780, 49879, 46192, 41579), strict=True))
RELEVANT = dict(zip(YEARS, (1940, 4298, 3405, 6812), strict=True))

# Table 2, and the defaults of the released code where they differ.
SETTINGS = {
    "word vectors": ("300-d, fine-tuned", "300-d, fine-tuned"),
    "words without a vector": ("U[-.05, .05]", "U[-.05, .05]"),
    "filters": ("250", "350"),
    "window width": ("2", "2"),
    "size of a text's vector": ("200", "350"),
    "size of the hidden layer o": ("100", "100"),
    "dropout": ("0.5", "0.5"),
    "optimiser": ("SGD", "SGD, momentum 0.9, weight decay 0.0001"),
    "learning rate": ("0.03", "0.003, times 0.75 every 5 epochs"),
    "epochs": ("15, with early stopping", "15"),
}

# Table 3: AP and P30 of each year. The other rows of BiCNN, QAtt and PAtt are not at hand.
SYSTEMS: dict[str, tuple[tuple[float, float], ...]] = {
    "QL": ((0.3576, 0.4000), (0.2091, 0.3311), (0.2532, 0.4450), (0.3924, 0.6182)),
    "RM3": ((0.3824, 0.4211), (0.2342, 0.3452), (0.2766, 0.4733), (0.4480, 0.6339)),
    "MP-HCNN": ((0.3832, 0.4075), (0.2337, 0.3689), (0.2818, 0.5222), (0.4304, 0.6297)),
    "MP-HCNN +QL": ((0.4043, 0.4293), (0.2460, 0.3791), (0.2896, 0.5294), (0.4420, 0.6394)),
    "PAtt +QL": ((0.4346, 0.4735), (0.2516, 0.4164), (0.2965, 0.5256), (0.4522, 0.6752)),
}
