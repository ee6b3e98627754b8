"""Decides whether a value is a secret or only in a place for one, for the few candidates of the patterns."""

from __future__ import annotations

import re

_RUNS = re.compile(rb"[A-Za-z0-9]+")
_LETTER = re.compile(rb"[A-Za-z]")
_DIGIT = re.compile(rb"[0-9]")
_BASE64_RUN = re.compile(rb"(?:[A-Za-z0-9+/=]|%2[BbFf]|%3[Dd]){24}")
_CODE = re.compile(rb"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)+|[A-Za-z_]*env(?:iron)?[\[.(].*")
_NOT_TOKENS = re.compile(
    rb"(?i)(?:next|page|continuation|cancel(?:l?ation)?|eos|bos|pad|sep|cls|mask|unk|stop|start|end|special|"
    rb"prompt|completion|output|input|max|min|total|per|image|text|count|first|last|new|sync|resume|cursor)"
    rb"[_-]?\Z"
)
# compass, bypass, trespass, surpass, overpass, underpass
_ENDS_IN_PASS = re.compile(rb"(?i)(?:\A|[^a-z])(?:(?:en)?com|by|tres|sur|over|under)\Z")
# "password Reset2024 flow" names a part of a program.
_PART_OF_A_PROGRAM = re.compile(
    rb"(?i)(?:re)?(?:set|new|policy|change|manager|recovery|rotation|update|field|form|flow|page|rules?|prompt|"
    rb"validat(?:or|ion)|check(?:er)?|hash(?:er)?|input|generator|strength|test)[a-z]{0,12}\d{0,4}"
)
# Where a secret is, not what it is: a variable, a template, an environment setting, a vault path.
_REFERENCE = re.compile(
    rb"!(?:vault|secret|env|env_var|Ref|Sub|GetAtt|ImportValue)|\$\{\{?[^{}\n]*\}?\}?|\$\([^()\n]*\)?|\$[A-Za-z_]\w*|\$env:\w+|%[A-Za-z_]\w*%|\{\{.*|<%.*|"
    rb"[!&(]*(?:[A-Za-z_]\w*(?:\.|::|->))*(?:environ|env|secrets|ENV|GetEnvironmentVariable|getpass|keyring|config|settings|"
    rb"(?:get|load|read|fetch|find|lookup|generate|prompt|ask|input|random|decrypt|require|resolve|from|access)\w*)(?:\.[\w.]+)?[\[(].*|"
    rb"(?:[A-Za-z_$]\w*\.)*process\.env\.\w+\S*|(?:import\.meta\.env|Deno\.env|os\.environ|secrets|vars|var|local|data|each|self|this|"
    rb"settings|config|conf|cfg|args|opts|options|params|env|ctx|context|request|req|props|state)(?:\.[A-Za-z_]\w*)+[,;)]*|"
    rb"(?:vault|secretsmanager|ssm|op|akv|keyvault|doppler|sops|arn:aws:secretsmanager|arn:aws:ssm|resolve:\w+|file|env|"
    rb"ref\+\w+):\S+|projects/[\w-]+/secrets/\S+|/run/secrets/\S+|secret/(?:data/)?[\w/-]+(?:#\S+)?",
    re.DOTALL,
)
_PLACEHOLDER = re.compile(
    rb"(?i)<(?:your|the|my|new|old|an?|some|insert|enter)|"
    rb"<[a-z_ -]*(?:pass\w*|key|token|secret|pwd|here|value|credential\w*)[a-z_ -]*>|"
    rb"[\[{<]?(?:your|insert|enter|replace)[-_ ](?:\w+[-_ ])*"
    rb"(?:pass\w*|key|token|secret|pwd|here|value|me)[-_a-z]*[\]}>]?|x{3,}|\*{3,}|\.{3,}|_{3,}"
)
_HIDDEN = re.compile(rb"[\s\"'`(]*(?:<REDACTED>|\xe2\x80\xa6)(?:[\s\"'`.,;:!?)\]]|\xe2\x80\x9d)*")  # … and ”
_ADDRESS = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@]+(?:[/?#]\S*)?")
# The start of the line below `if not password:`.
_STATEMENT = re.compile(
    rb"(?:raise|return|pass|break|continue|if|elif|else:?|for|while|try:?|with|def|class|import|from|print|assert|del|yield|"
    rb"await|throw|exit|echo|case|switch|const|let|var|then|fi|do|done)|[A-Za-z_][\w.]*\(.*"
)
# The most frequent answer first: hostile texts ask tens of thousands of times.
_REFERENCE_STARTS = frozenset(bytes([byte]) for byte in b"$%{<!&(abcdefgikoprstvADEGPS/")
_PLACEHOLDER_FIRST = frozenset(bytes([byte]) for byte in b"<[{yYmMiIeErRxX*._")
_ALGORITHM = re.compile(
    rb"(?i)(?:sha|md|(?:b|s|yes)crypt|aes|des|rsa|ed|hs|rs|es|base|utf|iso|pbkdf|argon|rot|crc|blake|tls|ssl|http|oauth|ip|ipv|rfc|cve|"
    rb"python|node|php|java|v)[-_/]?\d"
)
_FILE = re.compile(
    rb"~?\.{0,2}/.*|.*\.(?:pem|key|txt|json|ya?ml|crt|cer|p12|pfx|gpg|env|jks|pub|ini|conf|toml|csv|md|py|js|ts)|"
    rb"(?:id|src|env|type)=.*"
)
_SIGN = re.compile(rb"[!@#$%^&*+~]")
# Words and numbers joined together; a version or an encoding is mostly numbers.
_PARTED = re.compile(
    rb"[A-Za-z]*[A-Za-z]{4}[A-Za-z]*(?:[-_.][A-Za-z0-9]+)*[-_.](?:[0-9]{2,}|[0-9]+[A-Za-z]+|[A-Za-z]+[0-9]+)"
)
_EMPTY_WORDS = {b"null", b"none", b"nil", b"true", b"false", b"undefined", b"redacted"}
# The type of a field, in place of its value.
_TYPE = re.compile(
    rb"(?i)(?:[a-z_]+\.)?(?:str(?:ing)?|bytes|bytearray|int(?:eger)?|bool(?:ean)?|any|object|text|secretstr|securestring|"
    rb"(?:var)?char(?:\(\d+\))?)|(?:[a-z_]+\.)?(?:optional|union|annotated|list|sequence|array|option)[\[<(].*"
)
PLACEHOLDER_STARTS = (b"$", b"<", b"{", b"%", b"[", b"(", b"&")


def has_key_run(value: bytes) -> bool:
    """True if some alphanumeric run looks random: six or more characters, letters and digits mixed.

    A rejected match has no such run at all, so nothing secret can hide inside it.
    """
    for run in _RUNS.findall(value):
        if len(run) >= 6 and _DIGIT.search(run) and _LETTER.search(run):
            return True
        if len(run) >= 24 and run.lower() != run and run.upper() != run:
            return True
    return False


def is_surely_random(value: bytes) -> bool:
    """A run of twenty or more with upper case, lower case and digits: no name or hash looks like that."""
    for run in _RUNS.findall(value):
        if len(run) >= 20 and not run.islower() and not run.isupper() and _DIGIT.search(run):
            return True
    return False


def is_typed_password(value: bytes) -> bool:
    """A password as people type it, unlike the words that follow "password" in prose."""
    if len(value) < 8 or (len(value) < 24 and _DIGIT.search(value) is None) or not has_key_run(value):
        return False
    if _PART_OF_A_PROGRAM.fullmatch(value) or _ALGORITHM.match(value) or names_file(value):
        return False
    if (not value.islower() and not value.isupper()) or any(char in b"!@#$%^&*+?" for char in value):
        return True
    return value.isalnum() and mixes_letters_and_digits(value)


def mixes_letters_and_digits(value: bytes) -> bool:
    """Several digits, or one among the letters; a single digit at the end numbers a thing ("step2")."""
    if _LETTER.search(value) is None or names_file(value):
        return False
    return len(_DIGIT.findall(value)) > 1 or _DIGIT.search(value[:-1]) is not None


def names_file(value: bytes) -> bool:
    return _FILE.fullmatch(value) is not None


def looks_typed(value: bytes) -> bool:
    """A value where one is expected: letters and digits, or letters and a symbol.

    Less strict than `is_typed_password`, which is for values that no name announces.
    """
    if _ALGORITHM.match(value):
        return False
    if has_key_run(value) or (len(value) >= 5 and _SIGN.search(value) and not value.isdigit()):
        return True
    if len(value) < 8 or _DIGIT.search(value) is None:
        return False
    mixed = value.lower() != value and value.upper() != value
    return mixed or _PARTED.fullmatch(value) is not None


def is_code(value: bytes) -> bool:
    """`settings.token`, `process.env.X`: where a secret is, not what it is."""
    return _CODE.fullmatch(value) is not None


def is_reference(value: bytes) -> bool:
    """`os.environ["X"]`, `${X}`, `vault:secret/db#password`: it says where a secret is."""
    return value[:1] in _REFERENCE_STARTS and len(value) <= 300 and _REFERENCE.fullmatch(value) is not None


def is_template(value: bytes) -> bool:
    """`<your-password>`, `YOUR_API_KEY`: a placeholder for the reader to fill in."""
    return value[:1] in _PLACEHOLDER_FIRST and len(value) <= 80 and _PLACEHOLDER.fullmatch(value) is not None


def is_statement(word: bytes) -> bool:
    """Code, not a value: the `raise` in the line below `if not password:`."""
    return len(word) <= 300 and _STATEMENT.fullmatch(word) is not None


def is_no_value(value: bytes) -> bool:
    """`None`, `str`: no value, or the type of the value."""
    return value.lower() in _EMPTY_WORDS or (len(value) <= 80 and _TYPE.fullmatch(value) is not None)


def is_address(value: bytes) -> bool:
    """Where a secret is set or requested: a URL without a user name."""
    return b"://" in value and _ADDRESS.fullmatch(value) is not None


def is_hidden(value: bytes) -> bool:
    """A mark that stands where a secret was, and the quotes or marks of the sentence around it."""
    return len(value) <= 40 and _HIDDEN.fullmatch(value) is not None


def is_placeholder(value: bytes) -> bool:
    stripped = value.strip(b" \t\"'`")
    return (
        not stripped
        or stripped.startswith(PLACEHOLDER_STARTS)
        or is_no_value(stripped)
        or stripped.count(stripped[0]) == len(stripped)
        or is_reference(stripped)
        or is_template(stripped)
    )


def is_random(value: bytes) -> bool:
    """A bare or weakly named value that is long and mixed enough, and neither code nor a placeholder."""
    has_digit = _DIGIT.search(value) is not None
    if len(value) < 8 or (not has_digit and (len(value) < 20 or not value.isalnum())):
        return False  # The most frequent answer first: hostile texts ask tens of thousands of times.
    if is_placeholder(value) or b"(" in value or b"[" in value:
        return False
    if (b"." in value or b">" in value or b":" in value) and is_code(value):
        return False
    if has_digit and value.lower() != value.upper():
        return True
    # Letters only: camel-case names have a few upper-case letters, keys have many.
    capitals = sum(65 <= byte <= 90 for byte in value)
    return len(value) >= 20 and value.isalnum() and 0.25 * len(value) < capitals < 0.75 * len(value)


def names_no_secret(before: bytes) -> bool:
    """True if the text before "token" makes it a unit of text or a cursor, not a credential."""
    if not (before[-1:].isalpha() or before.endswith((b"_", b"-"))):
        return False
    return _NOT_TOKENS.search(before) is not None or _ENDS_IN_PASS.search(before) is not None


def holds_key_material(value: bytes) -> bool:
    """A PEM body, unlike prose that only quotes the BEGIN line."""
    return _BASE64_RUN.search(value) is not None


def is_bearer(value: bytes) -> bool:
    return not is_placeholder(value) and (
        (_DIGIT.search(value) is not None and _LETTER.search(value) is not None) or len(value) >= 24
    )


def passes_luhn(value: bytes) -> bool:
    digits = [byte - 48 for byte in value if 48 <= byte <= 57]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    total = 0
    for index, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if index % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def is_phone(value: bytes) -> bool:
    digits = sum(48 <= byte <= 57 for byte in value)
    if not 9 <= digits <= 15:
        return False
    groups = value.split(b".")
    looks_like_address = len(groups) >= 3 and all(group.isdigit() for group in groups)
    looks_like_date = re.match(rb"(?:19|20)\d\d[-. ](?:0[1-9]|1[0-2])", value) is not None
    return not looks_like_address and not looks_like_date
