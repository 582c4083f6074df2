"""An alarm for a stream that no longer resembles the posts on which a threshold was chosen."""

from typing import Any

from numpy.typing import NDArray


class DriftAlarm:
    """Compares the scores of the stream with those of a reference at each update of the scores.

    Both samples are scored by a scorer that learned from neither. If the posts of the reference, of
    the window and of the stream are drawn from one population, the scores are exchangeable, so the
    exact Kolmogorov-Smirnov test is valid at every update, whatever the scorer learned. The n-th
    test, earlier runs included, has the level ``rate / (n (n + 1))``; these add up to `rate`, so
    the chance that there is ever a false alarm is at most `rate`. The first alarm stays.

    Example:
        >>> import numpy as np
        >>> alarm, before = DriftAlarm(0.01), np.linspace(0.0, 0.2, 900)
        >>> alarm.test(before, before + 0.0001), alarm.test(before, before + 0.1)
        (False, True)
    """

    def __init__(self, rate: float, tests: int = 0, alarm: dict[str, Any] | None = None) -> None:
        self._rate, self.tests, self.alarm = rate, tests, alarm

    def test(self, reference: NDArray[Any], stream: NDArray[Any]) -> bool:
        """Whether this test of (R,) and (S,) scores raises the alarm."""
        if self.alarm is not None or not len(reference) or not len(stream):
            return False
        from scipy.stats import ks_2samp

        self.tests += 1
        level = self._rate / (self.tests * (self.tests + 1))
        found = ks_2samp(reference, stream, method="exact")
        if found.pvalue > level:
            return False
        self.alarm = {
            "test": self.tests,
            "p": float(found.pvalue),
            "level": level,
            "distance": float(found.statistic),
        }
        return True

    def plain(self) -> dict[str, Any]:
        """The state for a later run."""
        return {"tests": self.tests, "alarm": self.alarm}
