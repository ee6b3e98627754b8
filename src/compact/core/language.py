"""Is this text in another language than that one? Answers yes only when it is plain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

_SAMPLE_CHARS = 20_000
_MIN_UNITS = 25
"""Words (or pairs of ideographs) below which nothing is said about a text."""

# What names things rather than saying them: code, paths, urls, identifiers. Runs of ASCII are looked at one
# by one, because one pattern over all would take quadratic time on text without blanks.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_ASCII_RUN = re.compile(r"[!-~]+")
_NAMES_SOMETHING = re.compile(r"[/\\_@=<>{}#|\d]|\w[.:]\w")

# Scripts without blanks between words count by characters, two to a word.
_SCRIPTS: tuple[tuple[str, str, int], ...] = (
    ("latin", "A-Za-zÀ-ɏḀ-ỿ", 0),
    ("greek", "Ͱ-Ͽἀ-῿", 0),
    ("cyrillic", "Ѐ-ԯ", 0),
    ("armenian", "Ա-֏", 0),
    ("hebrew", "֐-׿", 0),
    ("arabic", "؀-ۿݐ-ݿ", 0),
    ("devanagari", "ऀ-ॿ", 0),
    ("bengali", "ঀ-৿", 0),
    ("tamil", "஀-௿", 0),
    ("thai", "฀-๿", 4),
    ("georgian", "Ⴀ-ჿ", 0),
    ("hangul", "가-힯", 0),
    ("kana", "ぁ-ヿ", 2),
    ("han", "一-鿿㐀-䶿", 2),
)
_SCRIPT_PATTERNS = [(name, re.compile(f"[{chars}]+"), width) for name, chars, width in _SCRIPTS]

_STOPWORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "english": "the and of to is was are were that this with for it not be have has from but they which "
        "you your will would should can been their there what when",
        "german": "der die das und ist nicht ein eine einen zu mit den dem des auf für sich wird wurde sind "
        "auch noch aber oder dass wenn werden ich sie wir nach bei",
        "french": "le la les des est une et que qui dans pour pas sur avec plus il elle sont été nous vous "
        "mais ou cette ces aux par être fait je ne du au",
        "spanish": "el los las y es una que en por con para no del se lo como más pero sus fue este esta son "
        "está hay muy ha al también usted",
        "italian": "il lo gli che di è una per non con del della sono alla anche ma dei nel questo questa "
        "più stato essere ha si al dal delle come",
        "portuguese": "o os as que não uma em por com para do da dos das no na é foi mas como mais ao ele "
        "ela são está também isso você nós",
        "dutch": "de het een en van is niet dat op te zijn voor met die er aan ook als maar wordt werd naar "
        "hij zij wij bij nog door deze dit",
        "swedish": "och att det som en på är av för med den inte till ett har om men vi jag kan ska eller "
        "från så också när vid efter blev",
        "polish": "i w nie na się że do jest z to jak po co ale za od przez o dla są być czy tak już był",
        "turkish": "ve bir bu için ile da de çok daha gibi ama olarak kadar ne var değil mi sonra",
    }.items()
}
_CLEAR_SHARE = 0.12
_CLEAR_LEAD = 1.8
_FOREIGN_REST = 0.34


def is_other_language(text: str, references: Sequence[str]) -> bool:
    """True when `text` is plainly in a language or script that none of the `references` is in."""
    prose = _prose(text)
    profile = _scripts(prose)
    if not profile:
        return False
    known = {said: found for said in map(_prose, references) if (found := _scripts(said))}
    if not known:
        return False
    if _other_script(profile, list(known.values())):
        return True
    if profile["latin"] < 0.7 or any(found["latin"] < 0.7 for found in known.values()):
        return False
    return _other_latin_language(prose, list(known))


def _other_script(profile: Mapping[str, float], known: Sequence[Mapping[str, float]]) -> bool:
    accepted = {script for found in known for script, share in found.items() if share >= 0.2}
    if sum(profile[script] for script in accepted) < 0.1:
        return True
    # Chinese and Japanese share ideographs; kana tell them apart.
    japanese = any(found["kana"] >= 0.1 for found in known)
    if japanese:
        return "latin" not in accepted and profile["han"] >= 0.6 and profile["kana"] < 0.01
    return "han" in accepted and profile["kana"] >= 0.2


def _other_latin_language(prose: str, known: Sequence[str]) -> bool:
    language, scores = _latin_language(prose)
    if language is None:
        return False
    accepted = set()
    for said in known:
        found, _ = _latin_language(said)
        if found is None:
            return False
        accepted.add(found)
    if not accepted or language in accepted:
        return False
    return all(scores[name] <= _FOREIGN_REST * scores[language] for name in accepted)


def _latin_language(prose: str) -> tuple[str | None, dict[str, float]]:
    """The language whose small words lead clearly, or None; with the share of small words of each."""
    words = Counter(re.findall(r"[^\W\d_]+", prose.lower()))
    total = sum(words.values())
    if total < _MIN_UNITS:
        return None, {}
    scores = {name: sum(words[word] for word in stop) / total for name, stop in _STOPWORDS.items()}
    first, second = sorted(scores.values(), reverse=True)[:2]
    if first < _CLEAR_SHARE or first < _CLEAR_LEAD * second:
        return None, scores
    return max(scores, key=scores.__getitem__), scores


def _scripts(prose: str) -> dict[str, float]:
    """Share of each script among the words of the prose; empty when there is too little of it."""
    units: dict[str, float] = {}
    for name, pattern, width in _SCRIPT_PATTERNS:
        runs = pattern.findall(prose)
        units[name] = sum(map(len, runs)) / width if width else float(len(runs))
    total = sum(units.values())
    return {name: amount / total for name, amount in units.items()} if total >= _MIN_UNITS else {}


def _prose(text: str) -> str:
    return _ASCII_RUN.sub(
        lambda run: " " if _NAMES_SOMETHING.search(run.group()) else run.group(),
        _CODE.sub(" ", text[-_SAMPLE_CHARS:]),
    )
