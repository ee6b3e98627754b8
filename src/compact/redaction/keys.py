"""Field names that indicate a secret, whatever their value looks like."""

from __future__ import annotations

import functools
import re

from compact.redaction.plain import PASS_OWNERS
from compact.redaction.words import words

PIN = 3
"""The strength of a name whose value is secret if it has four to eight digits."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\s._:/-]+")

# Any value is redacted.
_STRONG = re.compile(
    r"(?:^|_)(?:api_?keys?|x_api_key|passwords?|passwd|passphrase|passcode|pwd|secrets?|secret_value|"
    r"client_secret|secret_(?:access_)?key|access_key|(?:access|refresh|auth|bearer|id|session|security|oauth|csrf|"
    r"xsrf|personal_access|api|bot|app|user|github|gitlab|slack|npm|deploy|device|admin)_token|"
    r"private_key(?:_id)?|signing_key|encryption_key|master_key|account_key|shared_access_key|"
    r"(?:proxy_)?authorization|(?:set_)?cookies?|credentials?|connection_string|client_key_data|"
    rf"auth_key|webhook_secret|signing_secret|psk|(?:{PASS_OWNERS})_?pass)(?:_?\d+)?$"
)
# Only a value that looks random is redacted: "token" is also a unit of text.
_WEAK = re.compile(r"(?:^|_)(?:token|auth|jwt|bearer|sid|sessid|key|[a-z]*pass|dsn|database_url)$")
_ENDS_IN_PASS = re.compile(r"(?:^|_)(?:(?:en)?com|by|tres|sur|over|under)pass$")
_PIN = re.compile(r"(?:^|_)pin(?:_?(?:code|number|no))?$")
_UNIT_OF_TEXT = re.compile(
    r"(?:next|page|continuation|eos|bos|pad|sep|cls|mask|unk|stop|start|end|special|cursor|sync|public|"
    r"primary|foreign|cache|sort|partition|idempotency|dedupe|group|object|s3)_(?:page_)?(?:token|key)$"
)


@functools.lru_cache(maxsize=4096)
def strength(key: str) -> int:
    """2: any value is secret; 1: one that looks random; PIN: a short number; 0: the name says nothing."""
    if len(key) > 128:
        return 0
    name = _SEPARATORS.sub("_", _CAMEL.sub("_", key)).strip("_").lower()
    if _UNIT_OF_TEXT.search(name) or _ENDS_IN_PASS.search(name):
        return 0
    if _STRONG.search(name) or _in_other_languages(name):
        return 2
    if _PIN.search(name) or name.replace("_", " ") in words("one_time", False):
        return PIN
    return 1 if _WEAK.search(name) else 0


def _in_other_languages(name: str) -> bool:
    return name.rpartition("_")[2] in _foreign() or name.replace("_", " ") in _foreign()


@functools.cache
def _foreign() -> frozenset[str]:
    return frozenset(word.lower() for joined in (False, True) for word in words("password", joined))
