"""What a threshold is worth: certificates, audits, recall and stopping rules from few labels.

Everything here needs scores and labels only, and learning the texts, which the shipped star reads.
"""
