"""What the other tests take for granted: the guest computes as its host does."""

from __future__ import annotations

from tests.vm.guest import PYTHON, Guest

SORTS = """
import numpy as np
rng = np.random.default_rng(1)
wrong = 0
for _ in range(300):
    values = rng.integers(0, 10**7, int(rng.integers(1, 600)))
    wrong += values[values.argsort()].tolist() != sorted(values.tolist())
print(wrong)
"""


def test_numpy_orders_numbers_as_python_does(guest: Guest) -> None:
    """Emulated AVX2 gave a quarter of these arrays a wrong order, and sometimes a SIGSEGV."""
    assert guest.sh(f"{PYTHON} -", input=SORTS).strip() == "0"
