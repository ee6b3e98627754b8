"""Values: frozen for the type checker, cheap to make.

Every new message becomes several of these. Freezing them at run time as well would make each four times as
expensive, which slows down a preflight; `mypy --strict` enforces it instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """A slotted, hashable dataclass; treat instances as immutable."""
    return dataclass(slots=True, unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, eq_default=False)
def entity(cls: type[T]) -> type[T]:
    """The same, compared by identity."""
    return dataclass(slots=True, eq=False)(cls)
