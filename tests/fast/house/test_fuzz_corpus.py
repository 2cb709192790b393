"""Every input that the fuzzer begins with, and every one that it found: a value, or an error with a hint."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.mutate import mutated
from tests.fuzz.readers import CORPUS, READERS, give, inputs

CASES = [(name, path) for name in READERS for path in inputs(name)]
MUTANTS = 53


@pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}-{path.name}" for name, path in CASES])
def test_an_input_is_answered(name: str, path: Path) -> None:
    give(name, path.read_bytes())


@pytest.mark.parametrize("name", [name for name, reader in READERS.items() if reader.text])
def test_mutants_are_answered(name: str) -> None:
    chance = random.Random(375)
    words = [word.encode() for word in READERS[name].words]
    texts = [path.read_bytes() for path in inputs(name)]
    mutants = [mutated(chance.choice(texts), words, chance) for _ in range(MUTANTS)]
    assert len(set(mutants)) > MUTANTS // 2, "the mutants are too tame to test anything"
    for mutant in mutants:
        give(name, mutant)


def test_every_target_has_inputs_and_every_input_a_target() -> None:
    assert all(inputs(name) for name in READERS)
    assert {path.name for path in CORPUS.iterdir()} <= set(READERS)
