"""Recognize a model that declines in its own words: short, first person, about the task, not the session.

No list of phrases is complete, so what counts is what such an answer lacks: a real summary, however short,
names something (a number, a path, a name, a quotation) or cites a message, and talks about others.
"""

from __future__ import annotations

import re

from compact.core.summary_checks.citations import cited_positions
from compact.core.summary_checks.scripts import HAN, HANGUL, KANA

_MOST_CHARS = 500
_SHORT_CHARS = 160
"""One sentence in the model's own voice that names nothing need not even say what it will not do."""

_UNWILLING = re.compile(
    r"\b(?:sorry|apolog(?:y|ies|i[sz]e)|regret(?:tably|s)?|unfortunately|afraid|unable|can(?:no|['’]?)t|"
    r"could(?: not|n['’]t)|won['’]?t|(?:will|would|may|must|do|shall|am|is) not|"
    r"(?:rather|prefer(?: to)?|choose|chose) not|isn['’]t|not (?:able|comfortable|willing|permitted|allowed|"
    r"possible|appropriate|something)|declin(?:e|ing)|refus(?:e|ing)|refrain|abstain|violat\w+|against|"
    r"pass on|only (?:discuss|talk|answer|help)|"
    r"leider|leid|bedaue?r\w*|entschuldig\w*|verzeih\w*|kann|darf|möchte|nicht|ablehn\w*|weiger\w*|"
    r"désolée?s?|regrette|malheureusement|impossible|peux|puis|saurais|refuse|excuse\w*|"
    r"siento|lament\w+|desgraciadamente|puedo|posible|niego|disculp\w*|perd[oó]n\w*|"
    r"dispiace|purtroppo|posso|impossibile|grado|rifiut\w+|scus\w+|"
    r"desculp\w*|sinto|infelizmente|consigo|possível|recus\w+|"
    r"helaas|spijt|kan|mag|weiger|mogelijk|tyvärr|ledsen|kan inte|beklag\w*|desværre|"
    r"niestety|przykro|mogę|przeprasz\w*|üzgün\w*|maalesef|valitettavasti|pahoittel\w*|en voi|"
    r"извин\w*|прост\w*|сожалени\w*|не могу|невозможно|отказ\w*)\b|"
    r"抱歉|对不起|對不起|不能|无法|無法|不可以|遗憾|拒绝|拒絕|申し訳|すみません|ごめん|できません|出来ません|"
    r"かねます|お断り|控えさせ|죄송|미안|없습니다|어렵습니다|불가",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:summar\w+|requests?|conversation\w*|transcripts?|contents?|material|assist\w*|help\w*|comply|"
    r"fulfil\w*|tasks?|engage|policy|policies|guidelines|"
    r"zusammenfass\w*|zusammenzufass\w*|anfrage\w*|gespräch\w*|unterhaltung\w*|inhalt\w*|helfen|behilflich|"
    r"weiterhelfen|"
    r"résum\w*|demande\w*|aider|aide|contenu|répondre|resum\w*|solicitud|petición|conversaci[oó]n\w*|ayud\w*|"
    r"riassum\w*|richiesta|aiut\w*|conversazion\w*|pedido|solicitação|ajud\w*|conversa|"
    r"samenvat\w*|verzoek|helpen|gesprek|sammanfatt\w*|hjälp\w*|begäran|"
    r"podsumow\w*|prośb\w*|pomóc|rozmow\w*|özet\w*|yardım\w*|auttaa|pyyntö\w*|tiivist\w*|"
    r"резюм\w*|запрос\w*|просьб\w*|помо\w+|бесед\w*|разговор\w*|содержани\w*)\b|"
    r"总结|總結|概括|摘要|请求|請求|要求|对话|對話|协助|協助|帮助|幫助|任务|内容|要約|会話|リクエスト|依頼|対応|"
    r"手伝い|요약|요청|대화|도와|도움|내용",
    re.IGNORECASE,
)
_OWN_VOICE = re.compile(
    r"\b(?:i|i['’]m|i['’]d|i['’]ll|me|my|our (?:\w+ )?(?:polic|guideline|terms)\w*|"
    r"ich|mir|meine?|je|j['’]\w+|m['’]\w+|moi|yo|me|mi|puedo|"
    r"posso|consigo|sinto|lamento|siento|io|eu|ik|mij|jag|mig|mogę|mi|en voi|üzgünüm|я|мне|не могу)\b|"
    rf"[{KANA}{HAN}{HANGUL}]",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:users?|assistants?|customers?|clients?|agents?|they|their|he|she|said|says|told|asked|"
    r"benutzer\w*|nutzer\w*|kunde\w*|assistent\w*|utilisat\w+|usuari\w+|utente\w*|gebruiker\w*|"
    r"пользовател\w*)\b|用户|用戶|助手|客户|ユーザー|アシスタント|사용자",
    re.IGNORECASE,
)
_SPECIFIC = re.compile(r"\d|[`/_@#=<>{}\\]|[\"“”„«»「」『』]|\w[.:]\w|^\s*(?:[-*•]|\d+[.)])\s", re.MULTILINE)
_NAMED = re.compile(r"(?<=[\w,;:] )(?!I\b|AI\b|I['’])[A-Z][\w-]+")
_CAPITAL_NOUNS = re.compile(r"\b(?:ich|leider|nicht|kann|mir)\b", re.IGNORECASE)
"""German capitalizes every noun, so there a capital is not a name."""


def declines(text: str) -> bool:
    """True for a short text in the model's own voice that refuses the task and says nothing else."""
    if len(text) > _MOST_CHARS or not _UNWILLING.search(text):
        return False
    if len(text) > _SHORT_CHARS and not _TASK.search(text):
        return False
    if _OTHERS.search(text) or _SPECIFIC.search(text) or cited_positions(text):
        return False
    if _NAMED.search(text) and not _CAPITAL_NOUNS.search(text):
        return False
    return bool(_OWN_VOICE.search(text))
