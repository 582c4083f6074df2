"""The page: a search, its labels, its threshold and its report, in the browser of this machine."""
