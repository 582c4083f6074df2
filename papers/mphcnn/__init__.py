"""MP-HCNN, the peer of samCNN, as a package that adds ``ranker=mphcnn`` (see README.md)."""
