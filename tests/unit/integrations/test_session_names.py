"""What a session is called where the caller does not name it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from compact.integrations._base import session_of


def as_dict(role: str, text: str) -> Any:
    return {"role": role, "content": text}


def as_langchain(role: str, text: str) -> Any:
    return SimpleNamespace(type="human" if role == "user" else role, content=text)


def as_llama_index(role: str, text: str) -> Any:
    return SimpleNamespace(role=SimpleNamespace(value=role), content=text)


@pytest.mark.parametrize("made", [as_dict, as_langchain, as_llama_index])
@pytest.mark.parametrize("leading", ["system", "developer"])
def test_users_of_one_application_have_sessions_of_their_own(made: Any, leading: str) -> None:
    system = made(leading, "You are a shop bot.")
    ada, bob = made("user", "I am Ada."), made("user", "I am Bob.")
    assert session_of(None, None, [system, ada]) != session_of(None, None, [system, bob])
    # A clock in the system prompt makes no new session, nor does what follows.
    later = [made(leading, "It is noon."), ada, made("assistant", "Hello."), made("user", "Hi")]
    assert session_of(None, None, later) == session_of(None, None, [system, ada])


def test_users_who_begin_with_the_same_words_are_kept_apart_where_they_are_known() -> None:
    said = [as_dict("user", "hi")]
    assert session_of(None, None, said, "ada") != session_of(None, None, said, "bob")
    assert session_of("mine", None, said, "ada") == "mine"


def test_a_prompt_of_instructions_alone_has_a_name_too() -> None:
    one, other = [as_dict("system", "Write a poem.")], [as_dict("system", "Write a letter.")]
    assert session_of(None, None, one) != session_of(None, None, other)
