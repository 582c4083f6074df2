"""The published figures, to be printed beside ours. They were measured on other data.

AST: Danovitch 2020, Tables 1 to 3 and Fig. 4; the row r = 3300, which the paper leaves out, is in
the released code's ``r_precision.tex``. mRP as published is the mean over all eight rows.
"""

THRESHOLDS = (50, 100, 200, 500, 1000, 2000, 3000, 3300)

# Table 1: name -> r-Precision at THRESHOLDS
AST_R_PRECISION = {
    "CNN": (1.0000, 0.9900, 0.9750, 0.9040, 0.8480, 0.6865, 0.5553, 0.5255),
    "GRU": (0.9800, 0.9600, 0.9200, 0.8800, 0.7980, 0.6225, 0.4993, 0.4745),
    "Bi-GRU": (0.9800, 0.9900, 0.9650, 0.9260, 0.8370, 0.6725, 0.5427, 0.5097),
    "AST": (1.0000, 0.9600, 0.9450, 0.9240, 0.8480, 0.7000, 0.5790, 0.5491),
}

# Table 2: name -> mAP, AUC, mRP
AST_METRICS = {
    "GRU": (0.4353, 0.9603, 0.7668),
    "Bi-GRU": (0.4758, 0.9605, 0.8029),
    "CNN": (0.4981, 0.9709, 0.8105),
    "AST": (0.5301, 0.9750, 0.8131),
}

# Table 3: cosines of the most and the least similar tweets, in falling order.
AST_MOST_SIMILAR = (0.9166, 0.8996, 0.8841, 0.8838, 0.8686)
AST_LEAST_SIMILAR = (0.4311, 0.3877, 0.3875, 0.3797, 0.3361)

# Section 5 and Fig. 4: of the tweets at or above the threshold, how many are relevant and not.
AST_THRESHOLD, AST_RELEVANT, AST_IRRELEVANT = 0.7, 36, 10
