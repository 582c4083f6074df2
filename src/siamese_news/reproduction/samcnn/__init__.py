"""The tables and figures of the samCNN paper (Zhao et al. 2019, simple attention-based CNN)."""
