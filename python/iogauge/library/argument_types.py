"""Checks the types of arguments by the annotations of the function that takes them."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import numbers
import reprlib
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from iogauge.errors import UsageError
from iogauge.text.option import option

_NUMBERS: dict[Any, type] = {int: numbers.Integral, float: numbers.Real}
"""What is accepted as Python's numbers: numpy's too."""
_WORDS: dict[Any, str] = {
    str: "text",
    PathLike: "a path",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    collections.abc.Callable: "a function",
}
"""What a message calls a type."""
_SEVERAL = {"a path": "paths", "a whole number": "whole numbers", "a number": "numbers"}


def require_types(
    function: Callable[..., object], arguments: Sequence[object], options: Mapping[str, object]
) -> None:
    """Raise UsageError if an argument of a call has a type that its annotation excludes.

    Any iterable is accepted as a list. Missing and unknown arguments are left to Python's TypeError.

    >>> def wait(time: float | str, names: Sequence[str] = ()) -> None: ...
    >>> require_types(wait, [b"1s"], {})
    Traceback (most recent call last):
    iogauge.errors.UsageError: time b'1s': must be a number or text
    >>> require_types(wait, [1], {"names": ["a", 1]})
    Traceback (most recent call last):
    iogauge.errors.UsageError: names ['a', 1]: must be a list of text
    """
    signature, annotations = _parameters(function)
    try:
        bound = signature.bind(*arguments, **options).arguments
    except TypeError:
        return
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            named = list(value.items())
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            named = [(name, element) for element in value]
        else:
            named = [(name, value)]
        for word, argument in named:
            _require(function.__qualname__, word, argument, annotations.get(word, Any))


def _require(function: str, name: str, value: object, annotation: Any) -> None:
    if not _fits(value, annotation):
        raise UsageError(
            f"{option(name)} {reprlib.repr(value)}: must be {_described(annotation)}",
            hint=f"its type is {type(value).__name__}; help(iogauge.{function}) describes the argument",
        )


@functools.cache
def _parameters(function: Any) -> tuple[inspect.Signature, dict[str, Any]]:
    """Return a function's signature, and the types of its arguments; those of ``**options`` are a TypedDict's."""
    signature = inspect.signature(function)
    # The type of the result may be imported for type checkers alone.
    written = {name: text for name, text in inspect.get_annotations(function).items() if name != "return"}
    annotations = get_type_hints(types.SimpleNamespace(__annotations__=written), function.__globals__)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            for unpacked in get_args(annotations.pop(name, None)):
                annotations |= get_type_hints(unpacked)
    return signature, annotations


def _alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the types of a union, or the only one."""
    if get_origin(annotation) in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _alternatives(part)
    else:
        yield annotation


def _fits(value: object, annotation: Any) -> bool:
    return any(_is(value, part) for part in _alternatives(annotation))


def _is(value: object, wanted: Any) -> bool:
    origin = get_origin(wanted) or wanted
    if origin is Literal:  # the function says which values there are
        return isinstance(value, tuple({type(choice) for choice in get_args(wanted)}))
    if origin is collections.abc.Callable:
        return callable(value)
    if wanted is Any or not isinstance(origin, type):  # a type variable
        return True
    if wanted in _NUMBERS:
        return isinstance(value, _NUMBERS[wanted]) and not isinstance(value, bool)
    if origin in (Sequence, Collection):
        if isinstance(value, str | bytes | bytearray) or not hasattr(value, "__iter__"):
            return False
        # An iterator can be read only once: its elements are not looked at here.
        return not isinstance(value, Collection) or all(
            _fits(element, get_args(wanted)[0]) for element in value
        )
    return isinstance(value, origin)


def _described(annotation: Any) -> str:
    """Return what a value must be, in words.

    >>> _described(str | PathLike[str] | Sequence[str | PathLike[str]] | None)
    'text, a path or a list of text or paths'
    """
    words = list(dict.fromkeys(filter(None, map(_word, _alternatives(annotation)))))
    words.sort(key=lambda word: word.startswith("a list"))
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _word(wanted: Any) -> str:
    origin = get_origin(wanted) or wanted
    if origin is types.NoneType:
        return ""
    if origin is Literal:
        return " or ".join(map(repr, get_args(wanted)))
    if origin in (Sequence, Collection):
        parts = filter(None, map(_word, _alternatives(get_args(wanted)[0])))
        return f"a list of {' or '.join(_SEVERAL.get(part, part) for part in parts)}"
    return _WORDS.get(origin) or f"a {origin.__name__}"
