"""The settings by dotted path, derived from the models so that there is no second list."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def variants(annotation: Any) -> tuple[Any, ...]:
    """The alternatives of a type, without None and without Annotated."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        return tuple(found for arg in get_args(annotation) if arg is not NoneType for found in variants(arg))
    return (annotation,)


def submodel(field: FieldInfo) -> type[BaseModel] | None:
    for variant in variants(field.annotation):
        if isinstance(variant, type) and issubclass(variant, BaseModel):
            return variant
    return None


def find(model: type[BaseModel], path: tuple[Any, ...]) -> FieldInfo | None:
    """The field at that path, looking through mappings such as `models`."""
    if not path:
        return None
    field = model.model_fields.get(str(path[0]))
    if field is None or len(path) == 1:
        return field
    nested, steps = _inside(field)
    # An item of a list has the bounds of its field.
    return find(nested, path[steps:]) if nested is not None else field


def siblings(model: type[BaseModel], path: tuple[Any, ...]) -> Iterator[str]:
    """All settings in the same section as that path, which need not exist itself."""
    if len(path) == 1:
        yield from model.model_fields
    elif path and (field := model.model_fields.get(str(path[0]))) is not None:
        nested, steps = _inside(field)
        if nested is not None:
            yield from siblings(nested, path[steps:])


def _inside(field: FieldInfo) -> tuple[type[BaseModel] | None, int]:
    """The model of a section or of a mapping's values, and how many steps of a path lead into it."""
    nested = submodel(field)
    if nested is not None:
        return nested, 1
    for variant in variants(field.annotation):
        value_type = get_args(variant)[-1] if get_origin(variant) is dict else None
        if isinstance(value_type, type) and issubclass(value_type, BaseModel):
            return value_type, 2
    return None, 0


def dotted_paths(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        nested = submodel(field)
        yield prefix + name
        if nested is not None:
            yield from dotted_paths(nested, f"{prefix}{name}.")
