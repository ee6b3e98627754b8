"""What a run of characters is: a path, an id, a symbol, a date, an amount, a name, or just a word."""

from __future__ import annotations

import re

from compact.model.summary import EvidenceKind

RUN = re.compile(
    r"[$€£]?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?|(?:(?<!<)/|[\w$#€£~@.])[\w./:@#%+\-~$€£]*|--[A-Za-z][\w-]*"
)
"""Everything in a text that could be a value, with its inner punctuation. None of it holds a blank."""

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|"
    r"Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_MONTH_ELSEWHERE = (
    r"(?:Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember|janvier|février|mars|avril|mai|juin|juillet|"
    r"août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|"
    r"octubre|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre)"
)
DATE_WORDS = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}\b(?:,? \d{{4}})?"
    rf"|{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|{_MONTH} \d{{4}}\b)"
)
DATES_ELSEWHERE = re.compile(
    rf"[0-9](?<!\w.)\d?(?:er|\.|º)? (?:de )?{_MONTH_ELSEWHERE}\b(?: (?:de )?\d{{4}}\b)?"
)
MONTH = re.compile(rf"\W*(?:{_MONTH}|{_MONTH_ELSEWHERE})\b")
SMALL_MONTHS = frozenset(filter(str.islower, _MONTH_ELSEWHERE[3:-1].split("|")))
"""A word that a date may hold; the pattern above is dear, so it is for texts with such a word only."""
SPACED = re.compile(
    r"[+(0-9](?<![\w.,:/+(-].)(?:"
    r"(?:(?<=\+)\d{1,3}(?: \d(?=-))?|(?<=0)[1-9]\d{0,3}|(?<=\()0?\d{2,4}\))"
    r"(?:[ /.-]{1,3}\(?\d{2,8}\)?){1,6}(?![\w:])"
    r"|(?<=[1-9])\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?:,\d\d?)?[ \u00a0\u202f]?(?:€|[Ee]uros?\b|kr\b|zł|CHF\b))"
)
"""Values with blanks in them: telephone numbers, and amounts of money as they are written in French."""


TIMES = re.compile(
    # The digit comes first, and what must not stand before it after: a search leaps to a set of characters.
    r"\d(?<![\w:.]\d)\d?(?:(?::\d\d)? ?[AaPp]\.?[Mm]\b|(?<=at \d):\d\d(?![\d:])|(?<=at \d\d):\d\d(?![\d:])"
    r"|(?:st|nd|rd|th) of (?:this|next|last) month\b)"
)
"""When something is: "3:05 pm", "at 18:30", "the 5th of this month"; bare clock times are those of logs."""
EASTERN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Kana, Chinese characters and Hangul: a sentence of them is one word to `str.split`."""
EASTERN_DAY = re.compile(r"(?:\d{4}[年년] ?)?\d{1,2}[月월] ?\d{1,2}[日일]|\d{4}年(?:\d{1,2}月)?")
EASTERN_AMOUNT = re.compile(r"\d[\d,.]*(?:[百千万億亿만억]+[円元圆원]?|[円元圆원])")
# From Ā on capitals and small letters take turns: as a range they would be one for the other.
_TURNS = [chr(code) for code in range(0x100, 0x180)]
UPPER = "A-ZÀ-ÖØ-ÞΑ-ΩА-ЯЁ" + "".join(filter(str.isupper, _TURNS))
LOWER = "a-zß-öø-ÿα-ωά-ώа-яё" + "".join(filter(str.islower, _TURNS))
NAMES = re.compile(
    rf"[{UPPER}](?:(?<!\w.)[{LOWER}]+(?: (?:of |the |de |van |von )?[{UPPER}][{LOWER}]+)+(?!\w)"
    rf"|(?<=[{LOWER},;] .)[{LOWER}]{{2,}}(?!\w))"
)
"""People, places, products: capitalized sequences, and one capitalized word amid a sentence."""

_EXTENSIONS = frozenset(
    "py pyi pyx ipynb js jsx ts tsx mjs cjs vue svelte java kt kts scala go rs rb php pl pm lua c h cc cpp "
    "hpp cs fs swift sh bash zsh fish ps1 bat sql html htm css scss sass less xml svg json jsonl json5 "
    "yaml yml toml ini cfg conf env lock md mdx rst txt log csv tsv parquet pdf doc docx xls xlsx ppt pptx "
    "png jpg jpeg gif webp ico mp3 mp4 wav zip gz tgz tar bz2 xz whl jar so dll exe sqlite proto tf "
    "gradle cmake mk dockerfile patch diff tex bib dcm".split()
)
_KNOWN_ENDINGS = _EXTENSIONS | {
    "backup",
    "bak",
    "orig",
    "old",
    "tmp",
    "example",
    "template",
    "new",
    "rej",
    "swp",
}
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DATE = re.compile(
    r"\d{4}-\d\d?-\d\d?(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?|\d\d?[/.]\d\d?[/.](?:\d{4}|\d\d)|"
    r"\d{4}/\d\d?/\d\d?"
)
_NUMBER = re.compile(
    r"[#$€£+]?\d[\d.,:]*(?:%|[kKMBGT]?[bB]|[kKMBx]|ms|[smhd]|px|em|pt|k?g|lbs?|[kcm]?m|mi|ft|am|pm|AM|PM|"
    r"st|nd|rd|th)?"
)
_PHONE = re.compile(r"\+?\d{1,4}(?:-\d{2,5}){2,4}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_WORDLIKE = re.compile(r"[^\W\d_]+(?:[-'’/][^\W\d_]+)*")
_LINES = re.compile(r":\d+(?::\d+|-\d+)?$")
_OWN = re.compile(r"(?:self|this)\.(?=\w)")
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:[+-]\d+)?")
_NOISE = frozenset(
    {
        "/dev/null",
        "/usr/bin/env",
        "/bin/bash",
        "__name__",
        "__main__",
        "__init__",
        "__future__",
        "__file__",
        "/tmp",
        "/usr/bin",
        "stdin",
        "N/A",
        "--help",
        "--version",
        "utf-8",
        "utf-8-sig",
        "UTF-8",
        "python3",
        "sha256sum",
        "md5sum",
    }
)
_SHORTHAND = frozenset(
    "ID IDS PR OK API URL URI HTTP HTTPS UTC ISO JSON CSV SQL HTML CSS PDF FYI PS TODO".split()
)
"""Capitals that name nothing of this conversation."""
_COMMON_ROOTS = frozenset(
    "os sys re io json math time datetime logging traceback subprocess shutil pathlib random copy typing "
    "functools itertools collections unittest argparse warnings inspect textwrap string np numpy pd pandas "
    "plt str dict list console Math Object Array JSON Promise process fs path document window module "
    "exports args kwargs".split()
)
"""Libraries that every model knows by heart; `os.path.join` needs no keeping."""
_LIBRARIES = frozenset(
    "fmt strings strconv bytes bufio errors context slog log sync sort filepath http ioutil reflect testing "
    "System Arrays Collections Collectors Objects Optional Assert Integer Long Date Number String Symbol "
    "Reflect Buffer std url util crypto events stream torch tf ax axes ast csv tempfile contextlib hashlib "
    "glob unicodedata threading asyncio struct uuid decimal statistics dataclasses heapq urllib pickle "
    "zipfile difflib".split()
)
"""Roots that say nothing of this project either, but whose members are too many to know by heart."""
_PRODUCTS = frozenset("Node.js Next.js Nuxt.js Vue.js React.js Express.js Three.js Chart.js D3.js".split())
_CALLED = frozenset("console Math math np numpy torch logger res response req request r resp".split())
"""`console.log` and `response.json` are calls, not files."""
_COMMON_ENDS = frozenset(
    "items keys values lower upper strip split splitlines join append extend add get pop sort sorted seek "
    "read readline readlines write close execute executemany fetchall fetchone commit format replace "
    "startswith endswith encode decode exists mkdir open copy update insert count parent parents stem suffix "
    "stdout stderr returncode isoformat fromisoformat strftime strptime match search findall group groups "
    "length push map filter then catch log trim slice forEach toString write_text read_text read_bytes "
    "write_bytes resolve add_argument parse_args readouterr loads dumps load dump index remove clear text "
    "flush find sum min max mean any all setdefault rstrip lstrip strerror".split()
)
"""Methods that any variable has: `rows.append` names little of this project."""
_COMMON_ERROR = re.compile(
    r"(?:Value|Type|Key|Index|Attribute|Import|ModuleNotFound|Name|Runtime|Assertion|Syntax|OS|IO|"
    r"FileNotFound|"
    r"NotImplemented|StopIteration|Deprecation|User|Future|Reference|Range)(?:Error|Warning)?"
    r"|assert[A-Z]\w*|(?:setUp|tearDown)(?:Class)?|TestCase|NamedTuple"
)
_HOST = re.compile(
    r"[a-z][\w-]*(?:\.[a-z][\w-]*)*\.(?:com|org|net|io|dev|land|edu|gov|ai|app|in)/[\w.-]+[/\w]"
)
"""`github.com/owner/name`, as imports and people write links."""
_SEGMENT = re.compile(r"[\w.@+~$-]+")
_HIDDEN = re.compile(
    r"\.[a-z][\w-]+(?:/[\w.-]*[A-Za-z]|\.(?:json|ya?ml|toml|[cm]?js|local|example)$)"
    r"|\.(?:env|[a-z]+(?:rc|ignore|config|attributes|modules))$"
)
"""`.github/workflows`, `.env.local`, `.gitignore`: their dot belongs to the name."""


def trim(run: str) -> str:
    """The value inside a run: sentence punctuation and dangling signs taken off."""
    value = run.rstrip(".:/-+@#~$€£") if run[-1] in ".:-+@#~$€£" else run
    if value[:1] in ".@:" and not value.startswith(("./", "../")) and "/" not in value[:3]:
        value = value if _HIDDEN.match(value) else value.lstrip(".@:")
    return _OWN.sub("", value, count=1) if value[:5] in ("self.", "this.") else value


_MACHINE = re.compile(
    r"(?:u?int|float|complex|datetime|timedelta)\d{1,3}|-\w|0\d?[a-z]|000\d+|\d+(?:,\d+)?[acd]\d+|\w+-\d{1,2}\.\d+|[\w.]+%\d+|\d+Z-\d+"
)
"""Types of numbers, options of one letter, formats, offsets, addresses of a diff, sums in code."""


def classify(value: str) -> EvidenceKind | None:
    """Kind of a trimmed value, or None when it is an ordinary word, a small number or noise."""
    size = len(value)
    if size < 2 or size > 200 or value in _NOISE or "..." in value or _MACHINE.fullmatch(value):
        return None
    if value.isalpha():
        return _classify_letters(value)
    if "://" in value:
        return EvidenceKind.URL if size > 10 else None
    if "@" in value:
        return EvidenceKind.ID if _EMAIL.fullmatch(value) else None
    if value[0] == "-":
        return EvidenceKind.SYMBOL
    if value[0].isdigit() or value[0] in "$€£+#":
        found = _classify_digits(value)
        if found is not None:
            return found
    if "/" in value:
        return _classify_slashed(value)
    if "." in value:
        return _classify_dotted(value)
    return _classify_plain(value)


def is_common_access(value: str) -> bool:
    """True for what any program says of its variables and libraries: `new_rows.append`, `fmt.Errorf`."""
    head, _, end = value.rpartition(".")
    return bool(head) and ((end in _COMMON_ENDS and head.islower()) or head in _LIBRARIES)


def _is_idiom(value: str) -> bool:
    """True for `rows.append` and `parent.parent`: a plain word and a method of everybody's say nothing."""
    head = value.rpartition(".")[0]
    return head.isalpha() and is_common_access(value)


def _classify_letters(value: str) -> EvidenceKind | None:
    if value.islower() or not value.isascii():
        return None
    if _CAMEL.search(value):
        return None if _COMMON_ERROR.fullmatch(value) else EvidenceKind.SYMBOL
    if value.isupper():
        return EvidenceKind.NAME if value not in _SHORTHAND else None
    return None


def _classify_digits(value: str) -> EvidenceKind | None:
    if _DATE.fullmatch(value):
        return EvidenceKind.DATE
    if _PHONE.fullmatch(value) and sum(map(str.isdigit, value)) >= 7:
        return EvidenceKind.ID
    if _TIME.fullmatch(value):
        return None
    if _NUMBER.fullmatch(value):
        digits = sum(map(str.isdigit, value))
        if digits >= 7 and value.isdigit():
            return EvidenceKind.ID
        marked = not value.isdigit()
        return EvidenceKind.NUMBER if digits >= 3 or (marked and digits >= 1) else None
    return None


_FILE_NUMBER = re.compile(r"[A-Z][A-Za-z]{0,5}[-.]?\d{1,7}[A-Za-z]?(?:/\d{1,6}[A-Za-z]?)+")
"""`OA-556/24`, as offices number their files."""


def _classify_slashed(value: str) -> EvidenceKind | None:
    if _FILE_NUMBER.fullmatch(value) and sum(map(str.isdigit, value)) > 3:
        return EvidenceKind.ID
    body = _LINES.sub("", value)
    if _HOST.match(body):
        return EvidenceKind.URL
    segments = [segment for segment in body.split("/") if segment]
    if len(segments) < 2 or not all(_SEGMENT.fullmatch(segment.replace(":", "")) for segment in segments):
        return None
    if (body[-1] == "/" and body[0] not in "/~.") or body.startswith("s/"):
        return None  # a folder in passing, or a sed expression
    last = segments[-1]
    dotted = "." in last.strip(".")
    if dotted and body[0] not in "/~." and last.rsplit(".", 1)[1].split(":")[0].lower() not in _KNOWN_ENDINGS:
        return None  # "foo.bar/self.baz" is code or a pattern
    if dotted or body[0] in "/~." or "_" in body or (len(segments) > 2 and body.islower()):
        return EvidenceKind.PATH if any(map(str.isalpha, body)) else None
    return None


def _classify_dotted(value: str) -> EvidenceKind | None:
    if value[0] == ".":
        return EvidenceKind.PATH if _HIDDEN.match(value) else None
    stem, _, extension = value.rpartition(".")
    bare = extension.split(":")[0].lower()
    if bare in _EXTENSIONS and stem and "." not in stem[1:].replace(".", "", 1):
        if value in _PRODUCTS:
            return EvidenceKind.NAME
        return None if bare in ("log", "json") and stem in _CALLED else EvidenceKind.PATH
    if value.partition(".")[0] in _COMMON_ROOTS or _is_idiom(value):
        return None
    if _DOTTED.fullmatch(value.split("::")[0].rstrip(":")):
        # "e.g" and "f.read" are words of prose and of the language; "Model.save" and "q.as_sql" are names.
        first, second = value.split(".")[:2]
        named = len(first) > 1 or "_" in second or _CAMEL.search(second)
        return EvidenceKind.SYMBOL if len(second) > 1 and named else None
    return EvidenceKind.ID if any(map(str.isdigit, value)) and any(map(str.isalpha, value)) else None


_ADJECTIVE = re.compile(r"\d{1,4}-[a-z]{2,}|[a-z]\w?-\w{1,3}(?:\.\d+)?|\d+-[a-z]")
"""`20-minute` is a measure in words, `t-T0` and `2900-a` are sums in code."""


HUMMING = re.compile(
    r"(?:(?:m+h*m*|h+m+|u+h+|u+m+|a+h+|o+h+|huh|nuh|yeah|yep|yes|no|ha|la|ok)(?:-|$))+", re.I
)
"""`Mm-hmm` and `Uh-huh` name nobody."""


def _classify_plain(value: str) -> EvidenceKind | None:
    has_digit = any(map(str.isdigit, value))
    has_letter = any(map(str.isalpha, value))
    if not has_letter or "+" in value or "%" in value or _ADJECTIVE.fullmatch(value):
        return None
    if "_" in value:
        stripped = value.strip("_")
        if not stripped or len(value) < 4:
            return None
        return EvidenceKind.ID if has_digit else EvidenceKind.SYMBOL
    if has_digit:
        # "2550p" in a sed command is an address, not an id.
        return EvidenceKind.ID if len(value) > 3 and (len(value) > 6 or not value[:-1].isdigit()) else None
    if "-" in value:
        if value.islower() or not _WORDLIKE.fullmatch(value) or HUMMING.fullmatch(value):
            return None
        return EvidenceKind.NAME
    return EvidenceKind.SYMBOL if value[0] == "#" else None
