"""How rules are stated in other languages than English, each form with words that all its sentences have.

The forms are those that people use of orders: always and never, must and may not, only, limits, "from now
on", and imperatives of using, avoiding and keeping. A request to do something once ("read the file") is none.
"""

from __future__ import annotations

import re

_PLEASE = (
    r"^(?:bitte,?\s+|por favor,?\s+|per favore,?\s+|s['’]il (?:te|vous) pla[iî]t,?\s+|alsjeblieft,?\s+)?"
)

_FORMS: tuple[tuple[str, str], ...] = (
    # German
    (
        "immer niemals nie keinesfalls keinen keine kein muss müssen darf dürfen verboten zwingend stets "
        "soll ausschließlich vergiss vergesst",
        r"\b(?:immer|niemals|keinesfalls|auf keinen fall|unter keinen umständen|muss|müssen|stets|"
        r"darf (?:\w+ )?(?:nicht|nur|kein\w*)|dürfen (?:\w+ )?(?:nicht|nur|kein\w*)|verboten|zwingend|"
        r"ausschließlich|soll(?:en|te|ten)? (?:\w+ )?(?:nicht|nur|nie))\b"
        r"|^(?:bitte )?(?:nie\b|vergiss(?:t)? nie)"
        r"|^bitte,? keine?[nr]?\s[\w -]{3,40}[.!]?$"
        r"|^(?:bitte )?keine?[nr]?\s(?!ahnung|problem|sorge|frage|angst|idee)\w+[^?]{3,}"
        r"(?:\b(?:ohne|am|im|in|an|auf|vor|nach|mehr|unter|über)\b)",
    ),
    (
        "ab jetzt, ab sofort, künftig, in zukunft, nur auf, nur noch, nur in, nur mit, höchstens, "
        "maximal, mindestens, "
        "nicht mehr als, vor jedem, vor jeder, nach jedem, nach jeder, im format, ohne rücksprache, ohne "
        "meine, "
        "nicht ändern, nicht löschen, nicht anfassen",
        r"\bab (?:jetzt|sofort)\b|\bkünftig\b|\bin zukunft\b|\bnur (?:noch )?(?:auf|in|mit)\b|"
        r"\bohne (?:rücksprache|meine)\b"
        r"|\b(?:höchstens|maximal|mindestens|nicht mehr als)\s\S+|\b(?:vor|nach) jede[mr]\b|\bim format\b"
        r"|\bnicht (?:ändern|löschen|anfassen)\b",
    ),
    (
        "verwende, benutze, nutze, vermeide, halte, achte, stell, antworte, formatiere, runde, frag",
        _PLEASE + r"(?:(?:verwende|benutze|nutze|vermeide|runde|formatiere)n?\s|halten?\s|"
        r"achten? (?:sie )?(?:bitte )?(?:darauf|auf)\b"
        r"|stellen? (?:sie )?(?:bitte )?sicher\b|antworten? (?:sie )?(?:nur|auf|in|immer)\b|"
        r"fragen? (?:sie )?mich\b)",
    ),
    # French
    (
        "toujours jamais doit doivent faut interdit obligat aucun uniquement exclusivement désormais "
        "dorénavant",
        r"\b(?:toujours|jamais|doit|doivent|il faut|il ne faut pas|interdit\w*|obligatoire\w*|en aucun cas|"
        r"uniquement|exclusivement|désormais|dorénavant)\b",
    ),
    (
        "n' n’ ne pas avant après chaque sans maximum plus",
        r"^(?:merci de )?(?:ne\s|n['’])[^.!?]{0,60}?\b(?:pas|jamais|plus|rien|aucun)\b"
        r"|^pas (?:de|d['’])\s?(?!problème|souci|panique|chance|quoi)\w{3}|\b(?:avant|après) chaque\b|"
        r"\bà chaque fois\b"
        r"|\b(?:au maximum|pas plus de|au plus)\b.{0,20}\d|\d.{0,20}\bmaximum\b|\bsans (?:mon|me|"
        r"autorisation)\b",
    ),
    (
        "évite utilise réponds répondez respecte assure assurez limite",
        _PLEASE + r"(?:évite[zr]?\b|utilise[zr]?\s|répond(?:s|ez) (?:en|uniquement|toujours|seulement)\b|"
        r"respecte[zr]?\s"
        r"|assure[- ]toi\b|assurez[- ]vous\b|limite[zr]?\s)",
    ),
    # Spanish and Portuguese
    (
        "siempre nunca jamás debe prohibid obligatori ninguna hay sempre deve proibid obrigatóri",
        r"\b(?:siempre|nunca|jamás|debe[ns]?|prohibid[oa]s?|obligatori[oa]s?|bajo ninguna circunstancia|"
        r"hay que|"
        r"sempre|devem?|proibid[oa]s?|obrigatóri[oa]s?)\b",
    ),
    (
        "no não",
        _PLEASE + r"(?:no\s+(?:uses|toques|borres|modifiques|cambies|elimines|hagas|env[ií]es|pongas|"
        r"añadas|escribas|"
        r"llames|ejecutes|compartas|olvides|incluyas|abras|publiques|reveles|respondas|superes|gastes|"
        r"menciones)\b|"
        r"não\s+\w+[ea]\s)|\bno se (?:puede|debe|permite)\b|\bno más de\b.{0,20}\d",
    ),
    (
        "partir ahora agora adelante solo sólo solamente únicamente apenas somente máximo mínimo sin sem",
        r"\b(?:a partir de (?:ahora|agora)|de ahora en adelante|de agora em diante)\b"
        r"|\b(?:s[oó]lo|solamente|únicamente|apenas|somente) (?:en|em|con|com|la|el|los|las|o|a|os|as|se|"
        r"puede[ns]?)\b"
        r"|\b(?:como|no) máximo\b|\bmáximo (?:es |é )?(?:de )?[\w$€]*\d|\b(?:sin|sem) (?:mi|mis|minha|"
        r"permiso|autorizaci[oó]n|preguntar)\b",
    ),
    (
        "usa utiliza evita evite responde responda asegúrate asegúrese mantén garanta",
        _PLEASE + r"(?:us[ae] (?:s[oó]lo|solamente|únicamente|apenas|somente|siempre|sempre|la|el|los|las|"
        r"o|os|as)\b|utili[zc][ae]\s"
        r"|evit[ae]\s|respond[ae] (?:en|em|s[oó]lo|apenas)\b|aseg[uú]r[ae](?:te|se)\b|mant[eé]n\s|garanta\s)",
    ),
    # Italian
    (
        "sempre mai deve devono bisogna vietat obbligatori solo soltanto evita rispondi assicurati ora in "
        "poi massimo non",
        r"\b(?:sempre|deve|devono|bisogna|vietat[oaie]|obbligatori[oaie]?|d['’]ora in poi)\b|"
        r"\bnon\b.{1,40}\bmai\b"
        + "|" + _PLEASE + r"(?:non \w+(?:are|ere|ire)\b|evita\s|rispondi (?:solo|in|soltanto)\b|"
        "assicurati\b|usa (?:solo|soltanto|sempre)\b)"
        r"|\bal massimo\b.{0,20}\d",
    ),
    # Dutch
    (
        "altijd nooit moet mag mogen verboden verplicht vanaf maximaal hooguit gebruik vermijd alleen",
        r"\b(?:altijd|nooit|moeten?|(?:mag|mogen) (?:\w+ )?(?:niet|geen|alleen)|verboden|verplicht|"
        r"vanaf nu|hooguit)\b"
        r"|\bmaximaal\b.{0,20}\d|" + _PLEASE + r"(?:gebruik (?:alleen|altijd|geen)\b|vermijd\s|"
        r"antwoord (?:alleen|in)\b)",
    ),
    # Russian and Polish
    (
        "всегда никогда нельзя долж запрещен обязательно случае только впредь отныне используй zawsze "
        "nigdy musi wolno",
        r"\b(?:всегда|никогда|нельзя|долж(?:ен|на|но|ны)|запрещен[оаы]?|обязательно|ни в коем случае|"
        r"впредь|отныне)\b"
        r"|^(?:пожалуйста,?\s+)?(?:не \w+(?:й|йте|ь|ьте)\b|используй(?:те)?\s|отвечай(?:те)? (?:только|на)\b)"
        r"|\b(?:zawsze|nigdy|musi|muszą|nie wolno)\b",
    ),
    # Money and time, in most of them
    (
        "budget presupuesto orçamento frist deadline plazo prazo délai échéance scadenza",
        r"\b(?:budget|presupuesto|orçamento|frist|deadline|plazo|prazo|délai|échéance|scadenza)\b[^?]{0,30}"
        r"(?::|\b(?:beträgt|ist|liegt|es|é|est|è|is)\b)[^?]{0,30}\d",
    ),
)  # fmt: skip


def _cues(words: str) -> tuple[str, ...]:
    """Phrases when commas part them, else words."""
    return tuple(part.strip() for part in (words.split(",") if "," in words else words.split()))


_TONGUES = tuple((_cues(words), re.compile(pattern)) for words, pattern in _FORMS)
_ENGLISH = frozenset("the of and to you this that with for from are it they what can be have by not".split())
"""A sentence with one of these needs no look at other languages."""
_ASKED_FOR = r"(?:ください|下さい|お願い|こと)"
_ASKED = r"(?:ください|下さい|お願い|こと|とする|です|ます)"
_UNSPACED = re.compile(
    r"必须|必須|不要|不得|禁止|务必|務必|始终|总是|總是|绝不|絕不|永远不|一定要|不许|请勿|切勿|不超过|不超過|只能|只用|"
    r"从现在起|從現在起|今后|请用|請用|请使用|请避免|不能超过|以内|"
    r"必ず|決して|常に|絶対に|しないで|てはいけ|てはなら|なければな|ないでください|厳禁|厳守|今後|毎回|"
    rf"(?:のみ|だけ|以内|以下|形式|を避けて|を守って|に統一|を使って|を使用して|で統一)[^。]{{0,12}}{_ASKED}|(?:こと|のみ)。?$|のみとする"
    rf"|(?:日本語|英語|中国語|韓国語|敬語|丁寧語|メートル法|税込|税抜)み?で[^。]{{1,10}}{_ASKED_FOR}"
    r"|항상|절대|반드시|하지 ?마|금지|만 사용|지금부터|앞으로"
)
_OF_ONESELF = re.compile(
    r"^(?:ich|wir|er|sie|je|j['’]|nous|il a|elle|yo|nosotros|él|ella|eu|nós|ele|ela|io|noi|lui|lei|ik|wij|"
    r"we|hij|zij|"
    r"я|мы|он|она|ja|my)\b"
    r"|^(?:我|我们|他|她|私|僕|彼|나는|저는|우리)",
    re.IGNORECASE,
)
"""Who tells of a person tells a habit, no rule."""
_NON_ASCII_LEAST = 4


def orders_elsewhere(sentence: str, low: str) -> bool:
    """True for a rule in another language; `low` is the sentence in small letters and single blanks."""
    if not low.isascii() and is_unspaced_rule(sentence):
        return not _OF_ONESELF.match(sentence)
    if not _ENGLISH.isdisjoint(low.split()):
        return False
    for cues, pattern in _TONGUES:
        for cue in cues:
            if cue in low:
                if pattern.search(low):
                    return not _OF_ONESELF.match(sentence)
                break
    return False


def is_unspaced_rule(sentence: str) -> bool:
    """True for a rule in Chinese, Japanese or Korean, where a few characters say much."""
    return _UNSPACED.search(sentence) is not None
