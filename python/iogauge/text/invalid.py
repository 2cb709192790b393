"""Says what is wrong with a value that pydantic refused, in words of this project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_REASONS = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "extra_forbidden": "is not known",
    "missing": "is missing",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
}
_NOUNS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
}
"""What a value must be, by the first word of pydantic's type of error."""


def reason(error: Mapping[str, Any]) -> str:
    """Return why pydantic refused a value, as the end of a sentence. ``error`` is one of ``ValidationError.errors()``.

    >>> reason({"type": "less_than_equal", "ctx": {"le": 5}, "msg": "Input should be less than or equal to 5"})
    'must be at most 5'
    >>> reason({"type": "int_parsing", "msg": "Input should be a valid integer"})
    'must be a whole number'
    >>> reason({"type": "string_too_long", "ctx": {"max_length": 24}, "msg": "String should ..."})
    'must have at most 24 characters'
    """
    kind, message = str(error["type"]), str(error["msg"])
    if text := _REASONS.get(kind):
        return text.format(**error.get("ctx", {}))
    if kind == "value_error":
        return message.removeprefix("Value error, ").rstrip(".")
    if noun := _NOUNS.get(kind.partition("_")[0]):
        return f"must be {noun}"
    return re.sub(r"^\w+ should ", "must ", message)
