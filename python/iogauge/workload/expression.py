"""Evaluates arithmetic in option values: ``size=(8*16m)`` and ``size=8*$pagesize``.

fio evaluates values in parentheses if it was built with its expression parser, and passes values with keywords such as
``$ncpus`` to bc. Both are evaluated here, with fio's precedence: a suffix multiplies the whole product before it, so
``2*3k`` is ``(2*3)k``. The quotient of integers is an integer, as in both.

Source: fio exp/expression-parser.y and .l. Unlike there, numbers do not overflow 32 bits silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from iogauge.workload.problem import BadValue

_TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|[0-9]*\.[0-9]+|[0-9]+)|([a-zA-Z]+)|([-+*/^%()]))", re.ASCII)
_LONGEST = 200
_DEEPEST = 40
_LARGEST = 2**63 - 1
_PRECEDENCE = {"+": 1, "-": 1, "*": 3, "/": 3, "^": 4, "%": 5}
_SUFFIX_PRECEDENCE = 2
_NEGATION_PRECEDENCE = 6

Number = int | Fraction


class Evaluated(NamedTuple):
    """The value of an expression, and whether it has a suffix."""

    value: Number
    has_unit: bool


def evaluate(text: str, suffixes: Mapping[str, int], *, minus: bool = False) -> Evaluated:
    """Return the value of ``text``.

    ``suffixes`` maps lower-case suffixes to their factors. Subtraction is refused unless ``minus``: fio cuts option
    values at a minus sign before it looks at parentheses. Raises ``BadValue``.

    >>> evaluate("(2*4k)", {"k": 1024}).value
    8192
    >>> evaluate("7/2", {}).value
    3
    """
    return _Parser(text, suffixes, minus=minus).parse()


class _Parser:
    """Precedence climbing over a bounded list of tokens."""

    def __init__(self, text: str, suffixes: Mapping[str, int], *, minus: bool) -> None:
        if len(text) > _LONGEST:
            raise BadValue(f"has an expression longer than {_LONGEST} characters", hint="write the number")
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._suffixes = suffixes
        self._minus = minus
        self._has_unit = False

    def parse(self) -> Evaluated:
        value = self._expression(0)
        if self._at < len(self._tokens):
            raise BadValue(
                f"has an unexpected '{self._tokens[self._at]}' in its expression", hint="write the number"
            )
        return Evaluated(value, self._has_unit)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise BadValue("has an incomplete expression", hint="complete it, and close its parentheses")
        self._at += 1
        return token

    def _expression(self, minimum: int) -> Number:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadValue("has an expression that is nested too deeply", hint="write the number")
        value = self._operand()
        while token := self._peek():
            if token.isalpha():
                if minimum > _SUFFIX_PRECEDENCE:
                    break
                value = _checked(value * self._suffix(self._take()))
                continue
            precedence = _PRECEDENCE.get(token, -1)
            if precedence < minimum or precedence < 0:
                break
            self._take()
            if token == "-" and not self._minus:
                raise BadValue(
                    "has a subtraction, and fio cuts values at a minus sign", hint="write the result"
                )
            # The power operator groups to the right, all others to the left.
            right = self._expression(precedence if token == "^" else precedence + 1)
            value = _checked(_apply(token, value, right))
        self._depth -= 1
        return value

    def _operand(self) -> Number:
        token = self._take()
        if token == "-":
            return -self._expression(_NEGATION_PRECEDENCE)
        if token == "(":
            value = self._expression(0)
            if self._take() != ")":
                raise BadValue("has an open parenthesis", hint="add ')'")
            return value
        if token[0].isdigit() or token[0] == ".":
            return _checked(_number(token))
        raise BadValue(f"has '{token}' in place of a number", hint="write the number")

    def _suffix(self, token: str) -> int:
        factor = self._suffixes.get(token.lower())
        if factor is None:
            known = ", ".join(self._suffixes) or "none"
            raise BadValue(f"'{token}' is not a suffix of this option", hint=f"suffixes: {known}")
        self._has_unit = True
        return factor


def _tokens(text: str) -> list[str]:
    tokens = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadValue(f"has an unexpected '{text[at]}' in its expression", hint="write the number")
        tokens.append(match.group().strip())
        at = match.end()
    return tokens


def _number(token: str) -> Number:
    if token[:2].lower() == "0x":
        return int(token, 16)
    return Fraction(token) if "." in token else int(token)


def _checked(value: Number) -> Number:
    if not -_LARGEST <= value <= _LARGEST:
        raise BadValue("has an expression whose value is too large", hint="the largest value is 2^63 - 1")
    if isinstance(value, Fraction) and value.denominator > _LARGEST:
        raise BadValue("has an expression whose value has too many digits", hint="write the number")
    return value


def _apply(operator: str, left: Number, right: Number) -> Number:
    integers = isinstance(left, int) and isinstance(right, int)
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator in "/%" and right == 0:
        raise BadValue("divides by zero", hint="write the number")
    if operator == "/":
        return _toward_zero(Fraction(left) / right) if integers else Fraction(left) / right
    if not (isinstance(left, int) and isinstance(right, int)):
        raise BadValue(f"'{operator}' needs whole numbers", hint="write the number")
    if operator == "%":
        return left - right * _toward_zero(Fraction(left, right))
    if not 0 <= right <= 63:
        raise BadValue("has an exponent out of range", hint="use an exponent from 0 to 63")
    power: int = left**right
    return power


def _toward_zero(value: Fraction) -> int:
    return int(value)
