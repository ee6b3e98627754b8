"""Is this text in a different language from that one? Says yes only if it is obvious."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

_SAMPLE_CHARS = 20_000
_MIN_UNITS = 25
"""With fewer words (or pairs of ideographs) nothing is decided about a text."""
_FEW_UNITS = 8
"""This few are enough if the text has not one small word, or not one letter, of the conversation's."""
_FEW_SMALL_WORDS = 3

# Names rather than prose: code, paths, urls, identifiers. Runs of ASCII are checked one by one,
# because one pattern over everything would take quadratic time on text without spaces.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_ASCII_RUN = re.compile(r"[!-~]+")
_NAMES_SOMETHING = re.compile(r"[/\\_@=<>{}#|\d]|\w[.:]\w")

# Scripts without spaces between words count by characters, two per word.
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
_LATIN = _SCRIPT_PATTERNS[0][1]
_WORD = re.compile(r"[^\W\d_]+")

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
        "danish": "og det er en på til af for med den ikke at som har et vi men kan skal fra blev også hvis",
        "norwegian": "og det er en på til av for med den ikke som har et vi men kan skal fra ble også hvis å",
        "finnish": "ja on ei se että oli hän mutta niin kuin joka tämä myös sekä ovat kun jos tai niistä "
        "ilman kanssa ennen vielä sitä olla",
        "czech": "se na je že to ve ale jak by pro za nebo jako jsou byl bylo není také aby už jen když",
        "hungarian": "az és hogy nem is egy van meg ez azt csak de már volt vagy mint még kell lesz amely",
        "romanian": "și în la cu nu este un pe care să din mai pentru sunt dar sau ca fi cele prin după",
        "indonesian": "yang dan di dengan untuk ini itu dari tidak pada adalah akan dalam ke juga atau oleh",
        "vietnamese": "và của là có không được cho trong một này các với đã người để khi những vào",
    }.items()
}
_CLEAR_SHARE = 0.12
_CLEAR_LEAD = 1.8
_FOREIGN_REST = 0.34

Prose = Counter[str]
"""How often each run without spaces occurs; most of a conversation repeats few of them."""


def is_other_language(text: str, references: Iterable[str]) -> bool:
    """True if `text` is obviously in a language or script that none of the `references` is in."""
    prose = _prose(text)
    profile = _scripts(prose, _FEW_UNITS)
    if not profile:
        return False
    known: list[Prose] = []
    scripts: list[Mapping[str, float]] = []
    for said in map(_prose, references):
        if found := _scripts(said):
            known.append(said)
            scripts.append(found)
            both_latin = profile["latin"] >= 0.9 and found["latin"] >= 0.7
            if both_latin and not _other_latin_language(prose, [said]):
                return False  # one is enough: each further reference can only allow more languages
    if not known:
        return False
    if _other_script(profile, scripts, few=not _scripts(prose)):
        return True
    if profile["latin"] < 0.7 or any(found["latin"] < 0.7 for found in scripts):
        return False
    return _other_latin_language(prose, known)


def _other_script(profile: Mapping[str, float], known: Sequence[Mapping[str, float]], *, few: bool) -> bool:
    # A short text must be entirely in a script that hardly anybody used: it may be a name.
    accepted = {script for found in known for script, share in found.items() if share >= 0.2 - 0.15 * few}
    if sum(profile[script] for script in accepted) < (0.01 if few else 0.1):
        return True
    if few:
        return False
    # Chinese and Japanese share ideographs; kana distinguish them.
    japanese = any(found["kana"] >= 0.1 for found in known)
    if japanese:
        return "latin" not in accepted and profile["han"] >= 0.6 and profile["kana"] < 0.01
    return "han" in accepted and profile["kana"] >= 0.2


def _other_latin_language(prose: Prose, known: Sequence[Prose]) -> bool:
    total, scores, found = _small_words(prose)
    most = max(scores.values())
    accepted = set[str]()
    for said in known:
        _, theirs, _ = _small_words(said)
        leading = max(theirs.values())
        if leading < _CLEAR_SHARE:
            return False
        # Close relatives, such as Danish and Norwegian, cannot always be distinguished: either is fine.
        accepted.update(name for name, score in theirs.items() if score * _CLEAR_LEAD >= leading)
    if total < _MIN_UNITS:
        name = max(scores, key=scores.__getitem__)
        return found[name] >= _FEW_SMALL_WORDS and not any(scores[other] for other in accepted)
    return most >= _CLEAR_SHARE and all(scores[name] <= _FOREIGN_REST * most for name in accepted)


def _small_words(prose: Prose) -> tuple[int, dict[str, float], dict[str, int]]:
    """The number of words, the share of each language's small words, and how many different ones."""
    words = Counter[str]()
    for run, count in prose.items():
        for word in _WORD.findall(run.lower()):
            words[word] += count
    total = sum(words.values())
    found = {name: stop & words.keys() for name, stop in _STOPWORDS.items()}
    scores = {name: sum(words[word] for word in small) / max(1, total) for name, small in found.items()}
    return total, scores, {name: len(small) for name, small in found.items()}


def _scripts(prose: Prose, least: int = _MIN_UNITS) -> dict[str, float]:
    """Share of each script among the words of the prose; empty if there is too little of it."""
    units = dict.fromkeys((name for name, _, _ in _SCRIPTS), 0.0)
    if all(map(str.isascii, prose)):
        # Only Latin: the only question is whether there is enough of it.
        words = accumulate(count * len(_LATIN.findall(run)) for run, count in prose.items())
        return {**units, "latin": 1.0} if any(found >= least for found in words) else {}
    text = " ".join(prose.elements())
    for name, pattern, width in _SCRIPT_PATTERNS:
        runs = pattern.findall(text)
        units[name] = sum(map(len, runs)) / width if width else float(len(runs))
    total = sum(units.values())
    return {name: amount / total for name, amount in units.items()} if total >= least else {}


def _prose(text: str) -> Prose:
    text = text[-_SAMPLE_CHARS:]
    if "`" in text:
        text = _CODE.sub(" ", text)
    if not text.isascii():
        names = set(filter(_NAMES_SOMETHING.search, set(_ASCII_RUN.findall(text))))
        return Counter(_ASCII_RUN.sub(lambda run: " " if run.group() in names else run.group(), text).split())
    runs = Counter(text.split())
    for name in list(filter(_NAMES_SOMETHING.search, runs)):
        del runs[name]
    return runs
