"""The tables and figures of the samCNN paper (Shi, Rao and Lin, NAACL 2019)."""
