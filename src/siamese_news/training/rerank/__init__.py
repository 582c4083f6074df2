"""The rerank task: rankers of posts for a keyword query (samCNN and its peers)."""
