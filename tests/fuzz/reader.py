"""One input to one reader, with whatever it raises; or, with ``--fuzz``, a run of Atheris on that reader.

python -m tests.fuzz.reader plan FILE
python -m tests.fuzz.reader plan --fuzz -runs=1000 -seed=1 DIRECTORY
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

BY_WORDS = 0.7
"""Share of inputs that are changed by words and lines, not by bytes."""


def main() -> None:
    """Read the arguments; those of ``--fuzz`` are libFuzzer's."""
    name, *arguments = sys.argv[1:]
    if arguments[:1] == ["--fuzz"]:
        fuzz(name, arguments[1:])
        return
    from tests.fuzz.readers import give

    for path in arguments:
        give(name, Path(path).read_bytes())
        print(f"{path}: a value, or an error with a hint")


def fuzz(name: str, options: list[str]) -> None:
    """Hand the process over to Atheris, which ends it."""
    import atheris

    with atheris.instrument_imports(include=["iogauge"], enable_loader_override=False):
        from tests.fuzz.readers import READERS, give
    from tests.fuzz.mutate import mutated

    reader = READERS[name]
    words = [word.encode() for word in reader.words]

    def change(data: bytes, longest: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if reader.text and chance.random() < BY_WORDS:
            return mutated(data, words, chance)[:longest]
        changed: bytes = atheris.Mutate(data, longest)
        return changed

    atheris.Setup(
        [sys.argv[0], f"-max_len={reader.longest_bytes}", *options],
        lambda data: give(name, data),
        custom_mutator=change,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
