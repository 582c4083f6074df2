"""What a result says about the machine that made it."""

import sys
from types import SimpleNamespace

import pytest

from siamese_news.utils.provenance import provenance


@pytest.mark.parametrize("works", [True, False])
def test_the_cards_that_a_process_worked_on_are_named(monkeypatch, works):
    cuda = SimpleNamespace(
        is_initialized=lambda: works,
        device_count=lambda: 4,
        get_device_name=lambda number: "NVIDIA H100",
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    machine = str(provenance()["machine"])
    assert machine.endswith(", 4 x NVIDIA H100") == works
    assert " cores" in machine


def test_torch_is_not_imported_to_find_out(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert str(provenance()["machine"]).endswith(" cores")
    assert "torch" not in sys.modules
