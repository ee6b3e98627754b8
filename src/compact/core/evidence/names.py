"""People, places and products that a text names, in languages that capitalize names only and in German."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from compact.core.evidence.lexicon import HUMMING, LOWER, NAMES, UPPER

_NOT_NAMES = frozenset(
    "I May The This That These Those It Its He She We They You Your My Our His Her Their And But So If In On "
    "At For From With "
    "Yes No Not Ok Okay Let Now Here There What When Where Why How Who Which Please Thanks Thank Um Uh "
    "Yeah Yep Oh Wow "
    "Well Right Hmm Mm Huh Ah Hey Hi Hello Also Then Maybe Though Whatever Actually Hopefully Isn Don "
    "Doesn Didn Can "
    "Could Would Should Will Is Are Was Were Do Does Did Have Has As To Of Or Because Since While After "
    "Before All Any "
    "Some Just Like One Two Sorry Sure Great Good Nice Cool Alright Lots Everything Something Nothing Each "
    "Every Around Near About Above Below Behind Between Beyond Across Along Through Under Over Into Onto By "
    "Mention Ask Tell Call Write Send Give Get Put Take Make Keep Use Add Check Book See Look Find Read Try "
    "Remove Drop Change Update Create Start Stop Open Close Move Remember Confirm Note Meet Bring Dear Next "
    "Last First Second Finally However Meanwhile Today Tomorrow Yesterday Only Even Still Once Until Unless "
    "Whether Both Either Neither Another Such Same Other Most Many Few Monday Tuesday Wednesday Thursday "
    "Friday Saturday Sunday January February March April June July August September October November "
    "December Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays Mon Tue Wed Thu Fri Sat "
    "Sun Die Der Das Dem Ein Eine Einen Einem Einer Diese Dieser Dieses Sie Ihr Ihre Wir Ich Du Er Es Und "
    "Oder Aber Wenn Bitte Nein Ja Auch Nicht Mit Für Im Am Zum Zur Beim Doch Hier Dann Dort "
    "Cause Cuz Coz Cos Excuse Anyway Anyways Besides Plus Wait Gosh Ugh Welcome Perhaps Otherwise Therefore "
    "Thus Hence Instead Moreover Furthermore Overall Again Already Always Never Often Sometimes Later Soon "
    "Speaking Talking Regarding Given Considering Depending According Based Yet Nor Nope Bye Cheers".split()
)
_ADVERB = re.compile(
    r"\w{3,}(?:[aeiou]l|ent|ant|ar|ous|ive|ate|ute|ete|able|ible|ab|ib|ed|ing|ful|less|ic|ct|re|se)ly"
)
"""`Essentially` and `Particularly` stand first in a sentence and name nobody; Emily and Kelly do."""

# Where every noun is capitalized a name needs more than a capital letter.
_WORD = rf"[{UPPER}][{LOWER}]+(?:-[{UPPER}][{LOWER}]+)?"
_GERMAN = re.compile(
    rf"(?<!\w)(?:(?:Herrn?|Frau|Familie|Firma|Dr\.|Prof\.)(?: (?:Dr|Prof|med)\.)* {_WORD}(?: {_WORD})?"
    rf"|(?<=[{LOWER},;(:] ){_WORD}(?: (?:& |von |van |zu )?{_WORD})+"
    rf"|(?<=(?<!\w)(?:in|an) )(?!Prof|Dr){_WORD}|(?<=(?<!\w)(?:aus|bei|von) )(?!Prof|Dr){_WORD}"
    rf"|(?<=(?<!\w)nach ){_WORD}"
    rf"|{_WORD} & {_WORD}"
    rf"|[{UPPER}][{LOWER}]*(?:straße|strasse|platz|allee|gasse|damm|ufer)(?: \d{{1,4}}[a-z]?)?)(?!\w)"
)
_NOUN = re.compile(
    r".*(?:ung|heit|keit|schaft|tion|tät|nis|tum|ment|ling|chen|ungen|heiten|keiten|tionen|enz|anz|ismus|age|"
    r"hilfe|fall|zeit|weise)"
)
_PLAIN_NOUNS = frozenset(
    "Anfang Mitte Ende Bedarf Hause Haus Ordnung Frage Regen Fuß Deutsch Englisch Französisch Papier Holz "
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag Januar Februar März April Mai Juni Juli "
    "August September Oktober November Dezember Uhr Euro Prozent Beginn Ablauf Eingang Wunsch Plan Kraft "
    "Betrieb Form Zukunft Summe Kürze Absprache Kunden Kosten Anruf Fehlern Problemen".split()
)
_SAMPLE_TEXTS = 60
_SAMPLE_CHARS = 600
_GERMAN_CUES = (" und ", " nicht ", " der ", " ist ")
_OTHER_CUES = (" the ", " and ", " to ", " is ")


class _Known(dict[str, str]):
    def __init__(self, bare: Callable[[str], str]) -> None:
        self._bare = bare

    def __missing__(self, run: str) -> str:
        self[run] = name = self._bare(run)
        return name


class Names:
    """Remembers each sequence that it has looked at, since the same names come again and again."""

    def __init__(self) -> None:
        self._german = False
        self._known = _Known(_bare_name)

    def prepare(self, texts: Sequence[str]) -> None:
        """Find out whether these are German texts, from a few of them."""
        sample = [text[:_SAMPLE_CHARS] for text in texts[:: len(texts) // _SAMPLE_TEXTS + 1]]
        self._german = _holding(sample, _GERMAN_CUES) > _holding(sample, _OTHER_CUES)
        self._known = _Known(_german_name if self._german else _bare_name)

    def of(self, text: str) -> list[str]:
        runs = (_GERMAN if self._german else NAMES).findall(text)
        return list(filter(None, map(self._known.__getitem__, runs)))


def _holding(texts: Sequence[str], cues: Sequence[str]) -> int:
    return sum(any(cue in text for cue in cues) for text in texts)


def _german_name(run: str) -> str:
    words = run.split()
    while len(words) > 1 and words[0] in _PLAIN_NOUNS:
        words.pop(0)
    while len(words) > 1 and words[-1] in _PLAIN_NOUNS:
        words.pop()
    alone = len(words) == 1 and (words[0] in _PLAIN_NOUNS or _NOUN.fullmatch(words[0]))
    return "" if alone or words[0] in _NOT_NAMES else " ".join(words)


def _bare_name(run: str) -> str:
    """A capitalized sequence without the words that are capitalized for standing first ("Um But Nancy")."""
    words = run.split()
    while words and _is_filler(words[0]):
        words.pop(0)
        if words and words[0].islower():  # "Around the Veluwe"
            words.pop(0)
    while words and _is_filler(words[-1]):
        words.pop()
    if len(words) > 1 and len(set(words)) == 1:  # "Adam Adam"
        words = words[:1]
        run = words[0]
    # What is left of a sequence may itself be capitalized for standing first.
    return " ".join(words) if len(words) > 1 or " " not in run else ""


def _is_filler(word: str) -> bool:
    return word in _NOT_NAMES or _ADVERB.fullmatch(word) is not None or HUMMING.fullmatch(word) is not None
