"""Redactor: copies with secrets replaced, names and shapes kept."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.errors import ConfigError
from compact.model.message import Message, Origin, Role, Text, ToolCall, ToolResult, digest_of
from compact.redaction import REDACTED, Redactor, scan
from compact.redaction.engine import Span
from compact.redaction.grammar import BORDER
from compact.redaction.memo import SpanMemo
from compact.redaction.scan import Scanner

SEED_PATTERNS = (r"(?i)api[_-]?key\s*[:=]\s*\S+", r"(?i)password\s*[:=]\s*\S+")

# Pieces that make the seed's patterns match in odd ways: folded letters, odd white space, quotes.
PIECES = [
    *"api _ - key ap\u0130 \u212aey password pa\u017fsword = : \u00a0 \u3000 \x1c \x0b abc é".split(" "),
    *"\" ' \\ sk- { } token secret * | <REDACTED> 1a2b3c4d5e".split(" "),
    *(" ", "\n", "x y"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=30)


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


@given(texts)
def test_all_that_the_seed_patterns_match_goes(text: str) -> None:
    redactor = Redactor()
    spans = redactor.spans(text.encode("utf-8", "surrogatepass"))
    name = re.compile(r"(?i)^(?:api[_-]?key|password)\s*[:=]\s*")
    for pattern in SEED_PATTERNS:
        for match in re.finditer(pattern, text):
            head = name.match(match.group())
            assert head is not None
            start = len(text[: match.start() + head.end()].encode("utf-8", "surrogatepass"))
            stop = len(text[: match.end()].encode("utf-8", "surrogatepass"))
            assert any(a <= start and stop <= b for a, b in spans)


@given(texts)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    redactor = Redactor()
    once = redactor.text(text)
    assert redactor.text(once) == once


@given(texts)
def test_secret_spans_are_what_text_replaces(text: str) -> None:
    redactor = Redactor()
    spans, last, pieces = redactor.secret_spans(text), 0, []
    for start, end in spans:
        assert last <= start < end <= len(text)
        pieces.append(text[last:start])
        last = end
    assert REDACTED.join([*pieces, text[last:]]) == redactor.text(text)


def test_secret_spans_count_characters_and_ignore_the_switch() -> None:
    text = "Schlüssel 🔑: api_key=ключ1 und password=größe2 fertig"
    for redactor in (Redactor(), Redactor(enabled=False)):
        assert [text[start:end] for start, end in redactor.secret_spans(text)] == ["ключ1", "größe2"]


def test_text_without_secrets_is_the_same_object(redactor: Redactor) -> None:
    text = "nothing to see here"
    assert redactor.text(text) is text


def test_originals_are_never_touched(redactor: Redactor) -> None:
    original = {"meta": {"api_key": "abc"}, "list": [{"content": "password=x"}], "pair": ("token", 1)}
    kept = copy.deepcopy(original)
    clean = redactor.value(original)
    assert original == kept
    assert clean == {
        "meta": {"api_key": REDACTED},
        "list": [{"content": f"password={REDACTED}"}],
        "pair": ("token", 1),
    }


@pytest.mark.parametrize(
    "key",
    "api_key apiKey API-KEY x-api-key password dbPassword client_secret Authorization "
    "Proxy-Authorization cookie Set-Cookie access_token "
    "refreshToken private_key aws_secret_access_key secret credentials".split(),
)
def test_a_secret_name_hides_any_value(redactor: Redactor, key: str) -> None:
    assert redactor.value({key: "plain"}) == {key: REDACTED}
    assert redactor.value({key: ["a", {"b": "c", "n": 5}]}) == {
        key: [REDACTED, {"b": REDACTED, "n": REDACTED}]
    }
    assert redactor.value({key: None}) == {key: None}


@pytest.mark.parametrize(
    "data",
    [
        {"tokensBefore": 108800, "tokensAfter": 900, "max_tokens": 4096},
        {"token": "hello", "logprob": -0.1},
        {"next_page_token": "CAoQAA3x9Z1"},
        {"session_id": "0b7f9c1e-1111-4222-8333-444455556666", "key": "name"},
        {"properties": {"api_key": {"type": "string", "description": "the key"}}},
        {"api_key": "${OPENAI_API_KEY}"},
    ],
)
def test_ordinary_fields_stay(redactor: Redactor, data: dict[str, object]) -> None:
    assert redactor.value(data) == data


def test_header_lists_and_private_jwk_fields(redactor: Redactor) -> None:
    assert redactor.value([{"name": "Cookie", "value": "x"}]) == [{"name": "Cookie", "value": REDACTED}]
    assert redactor.value({"kty": "oct", "k": "short"}) == {"kty": "oct", "k": REDACTED}


def test_json_in_text_is_read_with_its_names(redactor: Redactor) -> None:
    inner = json.dumps({"password": "a b", "n": 1})
    assert redactor.value({"arguments": inner}) == {"arguments": '{"password": "<REDACTED>", "n": 1}'}
    nested = json.dumps({"body": json.dumps({"cookies": {"sid": "zz"}})})
    assert "zz" not in redactor.value([nested])[0]
    hidden = '{"api\\u005fkey": "p\\u0061ss"}'
    assert "ss" not in json.loads(redactor.value([hidden])[0])["api_key"]


def test_repeated_json_keys_hide_nothing(redactor: Redactor) -> None:
    token = "gh" + "p_" + "a1" * 18
    assert token not in redactor.value(['{"a": "' + token + '", "a": "x"}'])[0]


def test_secrets_in_keys_bytes_and_objects(redactor: Redactor) -> None:
    token = "gh" + "p_" + "b2" * 18

    @dataclass
    class Thing:
        password: str
        note: str

    assert token not in repr(redactor.value({token: 1, token + "x": 2}))
    assert len(redactor.value({token: 1, token + "x": 2})) == 2
    assert token.encode() not in redactor.value(token.encode())
    assert redactor.value(Thing("x", "n")) == {"password": REDACTED, "note": "n"}
    assert token not in redactor.value(RuntimeError(f"bad {token}"))


def test_lists_of_numbers_stay_and_are_copied(redactor: Redactor) -> None:
    numbers = [1, 2.5, True, None]
    assert redactor.value(numbers) == numbers and redactor.value(numbers) is not numbers
    assert redactor.value((1, 2)) == (1, 2)
    assert redactor.value({"pins": [1, "password=x"]}) == {"pins": [1, f"password={REDACTED}"]}
    assert Redactor(pii=True).value([4111111111111111, 5]) == [REDACTED, 5]


@pytest.mark.parametrize(
    ("items", "clean"),
    [
        (["login", "--password", "hunter22x", "now"], ["login", "--password", REDACTED, "now"]),
        (["--password", "correct horse battery"], ["--password", REDACTED]),
        (
            ["The importer reads it, so set password=hunter22x before the next run.", "Then restart."],
            [f"The importer reads it, so set password={REDACTED} before the next run.", "Then restart."],
        ),
    ],
)
def test_texts_of_a_list_are_read_together_and_keep_what_is_no_secret(
    redactor: Redactor, items: list[str], clean: list[str]
) -> None:
    assert redactor.value(items) == clean


@pytest.mark.parametrize(
    "lines",
    [
        ["if not password:", "    raise ValueError('no password')"],
        ["authorization: bearer", "content-type: application/json"],
        ["The PIN is", "4711 Main Street"],
    ],
)
def test_a_line_of_a_list_does_not_go_on_in_the_next(redactor: Redactor, lines: list[str]) -> None:
    assert redactor.value(lines) == lines


@pytest.mark.parametrize(
    ("items", "clean"),
    [
        (["--password", 12345678, "next"], ["--password", REDACTED, "next"]),
        (("PIN:", 8264), ("PIN:", REDACTED)),
        (["--port", 8080, "--password", "hunter22x"], ["--port", 8080, "--password", REDACTED]),
        (["--password", 12345678, 5, "next"], ["--password", REDACTED, 5, "next"]),
    ],
)
def test_a_number_is_read_with_the_text_before_it(redactor: Redactor, items: Any, clean: Any) -> None:
    assert redactor.value(items) == clean


@pytest.mark.parametrize("between", [None, True, {}, [3], b"x", 10**5_000], ids=type)
def test_what_is_no_text_ends_what_is_read_together(redactor: Redactor, between: Any) -> None:
    items = ["--password", between, "next"]
    assert redactor.value(items) == items


def test_numbers_that_are_no_values_stay(redactor: Redactor) -> None:
    for items in (
        ["max_tokens", 4096],
        ["--password", 1, 2, "next"],
        [8264, "PIN"],
        ["password", 3, "login", 10],
    ):
        assert redactor.value(items) == items


def test_a_long_list_of_numbers_behind_a_text_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor()
    read: list[str] = []
    spans = redactor.secret_spans
    monkeypatch.setattr(redactor, "secret_spans", lambda text: read.append(text) or spans(text))
    assert redactor.value(["reading", *range(1_000)]) == ["reading", *range(1_000)]
    assert read == ["reading 0 "]


def test_cycles_and_depth_end(redactor: Redactor) -> None:
    loop: list[object] = ["password=x"]
    loop.append(loop)
    assert redactor.value(loop) == [f"password={REDACTED}", REDACTED]
    deep: object = "sk"
    for _ in range(500):
        deep = [deep]
    assert REDACTED in repr(redactor.value(deep))


def test_names_in_other_languages_and_pins_hide_fields(redactor: Redactor) -> None:
    data = {"Passwort": "x", "contraseña": "y", "密码": "z", "pin": 8264, "led_pin": 13}
    hidden = dict.fromkeys(("Passwort", "contraseña", "密码", "pin"), REDACTED)
    assert redactor.value(data) == {**hidden, "led_pin": 13}


@pytest.mark.parametrize(
    "text",
    [
        "if not password:\n    raise ValueError",
        "password = os.environ['DB_PASSWORD']",
        "api_key: ${API_KEY}",
        "password=<your-password>",
    ],
)
def test_a_reference_or_a_statement_is_no_value(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


def test_spans_behind_escapes_and_invisible_characters_are_exact(redactor: Redactor) -> None:
    text = 'x \\u0070ass\u200bword: "hor\u200bse\\u0021" y'
    assert [text[a:b] for a, b in redactor.secret_spans(text)] == ['"hor\u200bse\\u0021"']


def test_message_parts_and_source(redactor: Redactor) -> None:
    source = {"role": "assistant", "meta": {"api_key": "zz"}, "content": "password=yy"}
    parts = (
        Text("password=yy"),
        ToolCall("c1", "login", '{"password":"xx"}'),
        ToolResult("c1", '{"cookie": "ww"}'),
    )
    message = Message(Role.ASSISTANT, parts, digest_of(Role.ASSISTANT, parts), Origin(0, source))
    clean = redactor.message(message)
    assert not any(secret in repr(clean) for secret in ("yy", "xx", "ww", "zz"))
    assert message.parts == parts and source["meta"] == {"api_key": "zz"}
    assert clean.digest == message.digest


def test_user_patterns_add_to_the_defaults() -> None:
    redactor = Redactor(patterns=[r"CUST-\d+", r"(?:ticket )(?P<secret>[A-Z]{3})", *SEED_PATTERNS])
    assert redactor.text("CUST-12 ticket ABC api_key=x Password: y") == (
        f"{REDACTED} ticket {REDACTED} api_key={REDACTED} Password: {REDACTED}"
    )


@pytest.mark.parametrize("bad", ["(", "(?=x)", r"(a)\1", "a{5000}", "x*"])
def test_a_bad_pattern_names_its_place(bad: str) -> None:
    with pytest.raises(ConfigError, match=r"redaction\.patterns\[2\]") as raised:
        Redactor(patterns=["a", "b", bad])
    assert raised.value.path == "redaction.patterns[2]"


def test_personal_data_only_when_asked() -> None:
    text = "mail bob@example.com or +1 415 555 0100, card 4111 1111 1111 1111, order 1234567890123456"
    assert Redactor().text(text) == text
    clean = Redactor(pii=True).text(text)
    assert clean == f"mail {REDACTED} or {REDACTED}, card {REDACTED}, order 1234567890123456"
    assert Redactor(pii=True).text("at 10.120.100.200 on 2024-01-15") == "at 10.120.100.200 on 2024-01-15"
    assert Redactor(pii=True).value(4111111111111111) == REDACTED


def test_switched_off_passes_everything_and_says_so() -> None:
    off = Redactor(enabled=False)
    data = {"api_key": "abc"}
    assert off.value(data) is data
    assert off.text("password=x") == "password=x"
    assert off.is_secret("password=x")
    assert "clear text" in (off.warning_when_disabled() or "")
    assert Redactor().warning_when_disabled() is None


def test_lone_surrogates_hide_nothing(redactor: Redactor) -> None:
    clean = redactor.text("\ud800password=\udfffabc\udfff end")
    assert clean == f"\ud800password={REDACTED} end"


def test_every_rule_is_reached_through_what_it_needs() -> None:
    """The one-pass test that picks the rules must never leave out one that would have matched."""
    from compact.redaction.scan import CompiledRule, builtin_rules, pii_kinds, plain_rules

    texts = [
        "api_key=x password=y",
        "ap\u0130_\u212aey=x pa\u017f\u017fword : y API\uff1dx",
        "my secret key: 'a1b2c3d4e5f6' PASSCODE=\"a1\" connection_string='x' --auth-token a1b2c3d4e5",
        "bob@example.com +1 415 555 0100 4111 1111 1111 1111",
    ]
    rules = builtin_rules(pii_kinds(True))
    for text in texts:
        data = text.encode()
        alone: list[tuple[int, int]] = []
        for rule in rules:
            CompiledRule(rule).find(data, alone)
        together: list[tuple[int, int]] = []
        plain_rules(pii_kinds(True)).find(data, together)
        assert alone and sorted(together) == sorted(alone)


HEADS = ['token="', "secret_key = '", 'token: Optional[str] = "', 'api key :   "', 'token" : b"', "pwd\t=\t`"]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "before", ["token=\"secret='" * 9, 'token="no" ' * 9, "pwd: `x` " * 9, 'token=\\"x ' * 9]
)
def test_a_secret_is_found_behind_many_that_are_none(before: str, head: str) -> None:
    assert "abc12345xyz" not in Redactor().text(f"{before}{head}abc12345xyz{head[-1]}")


def test_a_text_is_searched_once_however_often_it_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[bytes] = []
    search = Scanner.search

    def counted(self: Scanner, data: bytes) -> list[Span] | None:
        searched.append(data)
        return search(self, data)

    monkeypatch.setattr(Scanner, "search", counted)
    redactor = Redactor()
    text = "the export of müller failed, api_key=sk-abc123def456ghi789 was refused"
    clean = text.replace("sk-abc123def456ghi789", REDACTED)
    for _ in range(2):
        assert redactor.text(text) == clean
        assert redactor.value({"content": text}) == {"content": clean}
        assert redactor.is_secret(text)
        assert [text[start:end] for start, end in redactor.secret_spans(text)] == ["sk-abc123def456ghi789"]
    assert searched.count(text.encode()) == 1


def test_json_without_a_sign_of_a_secret_is_searched_once_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[bytes] = []
    search = Scanner.search
    monkeypatch.setattr(Scanner, "search", lambda self, data: searched.append(data) or search(self, data))
    text = '{"path": "src/main.py", "lines": [1, 60], "more": {"deep": ["only one"], "all": true}}'
    assert Redactor().value(text) is text
    assert searched == [text.encode()]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('{"pin": 1234}', f'{{"pin": "{REDACTED}"}}'),
        ('{"token": "aZ3kP9xQ2mR7vT5w"}', f'{{"token": "{REDACTED}"}}'),
        ('{"name": "passcode", "value": "horse"}', f'{{"name": "passcode", "value": "{REDACTED}"}}'),
        ('{"kty": "oct", "k": "horse"}', f'{{"kty": "oct", "k": "{REDACTED}"}}'),
        ('{"run": ["tool", "-u", "me", "-pin", "7291"]}', None),
        ('{"inner": "[' + "[" * 70 + "]" * 70 + ']"}', None),
        ("[" * 70 + '"a"' + "]" * 70, None),
    ],
)
def test_json_is_read_for_what_no_text_in_it_reveals_alone(text: str, clean: str | None) -> None:
    found = Redactor().value(text)
    assert REDACTED in found
    assert clean is None or found == clean


def test_no_rule_needs_the_edge_of_a_text() -> None:
    """What a part of a text has between quotes, the whole has too: so the whole is searched for its parts."""
    rules = scan.builtin_rules(frozenset(("email", "phone", "card"))) + scan._decoded_rules()
    needed = [rule.needs or rule.pattern for rule in rules]
    for pattern in (*needed, scan.block_scalars().needs, scan.tables().needs):
        needs = pattern.replace(BORDER, "").replace("[^", "[")
        assert not re.search(r"\\[AzZ]|(?<!\\)[$^]", needs), needs


def test_what_is_remembered_of_texts_is_bounded_and_holds_none_of_them() -> None:
    memo = SpanMemo(lambda data: [(0, len(data))], most=10)
    for n in range(100):
        assert memo.spans(b"text %d" % n) == [(0, len(b"text %d" % n))]
    assert len(memo) <= 20
    assert b"text" not in pickle.dumps(memo._new) + pickle.dumps(memo._old)


def test_a_text_with_many_secrets_is_not_remembered() -> None:
    memo = SpanMemo(lambda data: [(n, n + 1) for n in range(len(data))])
    assert len(memo.spans(b"x" * 64)) == 64 and len(memo) == 1
    assert len(memo.spans(b"x" * 65)) == 65 and len(memo) == 1


@pytest.mark.parametrize(
    "text",
    ['größe A jelszó: "', "größe A jelszó: '", 'password: "', 'ключ: пароль: "', 'x\nKennwort=""\ny'],
)
def test_a_quote_at_the_end_of_a_line_opens_no_value(text: str) -> None:
    """There is nothing to hide, and a place after the end of a text is no place in it."""
    redactor = Redactor()
    assert all(0 <= start < end <= len(text) for start, end in redactor.secret_spans(text))
    assert redactor.value(text) == redactor.text(text)
