"""How often the alarm is raised where nothing changed, and where something did."""

import numpy as np
from scipy.stats import binom

from siamese_news.search.watch.watcher import DriftAlarm

RATE, STREAMS, CHUNKS = 0.2, 300, 8


def raised(dice, shift, *, ties):
    """Whether a stream raises the alarm: its scores are ties of a few values, or all differ."""
    alarm = DriftAlarm(RATE)
    reference = dice.beta(1, 9, 150)
    for number in range(CHUNKS):
        stream = dice.beta(1, 9, 200) + (shift if number >= CHUNKS // 2 else 0.0)
        digits = 2 if ties else 12
        if alarm.test(np.round(reference, digits), np.round(stream, digits)):
            return True
    return False


def test_false_alarms_are_as_rare_as_promised_and_a_change_is_noticed():
    dice = np.random.default_rng(0)
    for ties in (False, True):
        false = sum(raised(dice, 0.0, ties=ties) for _ in range(STREAMS))
        assert false <= binom.ppf(0.999, STREAMS, RATE)
        assert sum(raised(dice, 0.06, ties=ties) for _ in range(50)) >= 45
    assert false > 0  # the bound on the sum of all tests leaves some


def test_the_levels_add_up_and_an_alarm_stays():
    levels = [0.01 / (n * (n + 1)) for n in range(1, 10_000)]
    assert sum(levels) < 0.01
    alarm = DriftAlarm(0.01)
    assert alarm.test(np.zeros(100), np.ones(100)) and alarm.alarm["level"] == 0.005
    assert not alarm.test(np.zeros(100), np.ones(100)) and alarm.tests == 1
    again = DriftAlarm(0.01, **alarm.plain())
    assert again.alarm == alarm.alarm
    assert not DriftAlarm(0.01).test(np.zeros(0), np.ones(3))
