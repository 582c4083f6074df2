"""A map of posts from their vectors."""

import numpy as np

from siamese_news.search.report.charts import MAP_POINTS


def places(vectors: np.ndarray) -> list[tuple[float, float] | None]:
    """A place on the map for each post; None for those after the first 2,000.

    t-SNE keeps neighbours together; distances between groups mean little. The same vectors give
    the same map on the same machine. Fewer than five different vectors have no map.

    Args:
        vectors: (posts, dimensions), best-ranked first.
    """
    from sklearn.manifold import TSNE

    shown = np.asarray(vectors, dtype=np.float32)[:MAP_POINTS]
    nowhere: list[tuple[float, float] | None] = [None] * len(vectors)
    different, where = np.unique(shown, axis=0, return_inverse=True)
    if len(different) < 5 or different.shape[1] < 2:
        return nowhere
    # Copies share one place, so that a retweet does not make a cloud of itself.
    tsne = TSNE(init="pca", random_state=0, perplexity=min(30.0, (len(different) - 1) / 3))
    found = tsne.fit_transform(different)
    return [(float(x), float(y)) for x, y in found[where.ravel()]] + nowhere[len(shown) :]
