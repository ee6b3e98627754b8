"""What is likely a rule by its form in other languages than English."""

from __future__ import annotations

import re

_PLEASE = (
    r"(?:bitte,?\s+|und\s+|auch\s+|merci\s+de\s+|s['’]il\s+(?:te|vous)\s+pla[iî]t,?\s+|"
    r"por\s+favor,?\s+|et\s+|y\s+|per\s+favore,?\s+|graag\s+|alsjeblieft,?\s+)*"
)
_LATIN = re.compile(
    _PLEASE + r"(?:"
    # German
    r"(?:duze|sieze|nenne?|ruf)\s+(?:mich|uns|sie|bitte)\b|(?:sprich|sprechen|rede|schreib|schreiben|"
    r"antworte)e?\s+(?:sie\s+)?"
    r"(?:bitte\s+)?(?:mit\s+mir\s+|mir\s+)?(?:auf|in|deutsch|englisch|wie|kurz|ohne|nur|im)\b|"
    r"ich\s+(?:möchte|will|mag|brauche|wünsche|esse|trinke|fliege|vertrage|"
    r"hasse)\s+(?:\w+\s+)?(?:keine?[nmr]?|nichts|nur|nicht|jede[nrs]?)\b|"
    r"ich\s+hasse\s+\w|ich\s+bin\s+(?:allergisch|vegetarier|veganer|diabetiker|schwerhörig|laktose|gluten|"
    r"farbenblind|schwanger)\w*|"
    r"(?:jede[rsnm]?|alle|sämtliche|kein(?:e[rnm]?)?|niemand|nichts|"
    r"nur)\s+(?:[\w'’-]+\s+){1,7}?(?:braucht|brauchen|bekommt|bekommen|"
    r"geht|gehen|kommt|kommen|endet|enden|beginnt|beginnen|bleibt|bleiben|gehört|gehören|hat|haben|wird|"
    r"werden|soll|"
    r"sollen|ohne|in|auf|mit|verlässt|über|unter|nach|vor|unterschreibt|entscheidet|darf)\b|"
    r"(?!ich\b|wir\b|er\b|sie\b|es\b|das\s+ist)(?:[\w'’-]+\s+){1,5}(?:bleibt|bleiben|gehört|gehören|"
    r"sind\s+tabu|ist\s+tabu|"
    r"hat\s+vorrang|sind\s+(?:in|auf)|gilt|gelten)\b|"
    r"(?:fasse?|fassen)\s+(?:dich|sie\s+sich)\s+kurz|(?:lass|"
    r"lassen)\s+(?:sie\s+)?(?:bitte\s+)?(?:die\s+finger|\w+\s+\w+\s+(?:weg|in\s+ruhe|stehen))|"
    r"finger\s+weg\b|(?:sei|seien\s+sie)\s+\w+|(?:bleib|bleiben\s+sie)\s+(?:bei|unter|in)\b|grundsätzlich\b|"
    r"(?:unter|über|bis|zwischen|nicht\s+(?:vor|nach|über|unter|mehr|länger)|"
    r"weniger\s+als)\s+(?:\w+\s+)?\d[\d.,]*|"
    r"(?:[\w-]+(?:e|en|s)\s+)(?:bitte\s+)?(?:in|auf|als|ohne|mit)\s+(?!der\b|die\b|dem\b|den\b|"
    r"das\b)[\w-]+(?:\s[\w-]+){0,2}[.!]?$|"
    r"wir\s+(?:rechnen|schreiben|duzen|siezen|nutzen|verwenden|deployen|testen|liefern|zahlen|bezahlen|"
    r"arbeiten)\s+\w|"
    r"(?:gib|geben\s+sie|nenne|schreibe?|runde|zeige?)\s+(?:[\w-]+\s+){1,3}(?:in|auf|als|mit|ohne|an)\b|"
    r"(?:sag|frag|warn|informiere)e?\s+mi[rc]h?\b.{0,40}\b(?:bevor|vorher|wenn|sobald|immer|jedes)\b|"
    r"(?:wenn|falls|sobald|bevor)\s+[^,]{4,60},\s+(?:bitte\s+)?(?!ich\b|wir\b|ist\b|dann\s+ist|das\b|"
    r"es\b)\w+|"
    r"(?:nach|vor|ab|bis|am|an|im|bei|während|zwischen)\s+[^,?]{2,30}\s+(?:keine?[nr]?|nichts|nur|"
    r"niemand)\s\w|"
    # French
    r"(?:tutoie|vouvoie|appelle|tutoyez|vouvoyez|appelez)[- ](?:moi|nous|les?)\b|(?:parle|écris|réponds|"
    r"parlez|écrivez|répondez)(?:-moi)?\s+(?:en|comme|sans|avec)\b|"
    r"(?:sois|soyez|reste|restez)\s+\w+|je\s+(?:suis\s+(?:allergique|végétarien|végan|diabétique|"
    r"intolérant)\w*|(?:déteste|hais)\s\w|"
    r"ne\s+(?:veux|mange|bois|supporte|prends|souhaite)\s+(?:pas|plus|aucun|jamais|que)\b|veux\s+(?:des|"
    r"que|tou)\w*|préfère\s\w)|"
    r"(?:chaque|tou(?:t|te|s|tes)(?:\s+l\w+)?|aucune?|rien|personne|seul(?:e|s|"
    r"es)?)\s+(?:[\w'’-]+\s+){1,7}?(?:ne|commence\w*|fini\w+|se\s+termine\w*|passe\w*|"
    r"reste\w*|va|vont|porte\w*|contient|contiennent|est\s+à|sont\s+à|en|au|dans|peut|peuvent|signe\w*|"
    r"décide\w*)\b|"
    r"(?:les?|la|l['’]|nos|mes)\s*(?:[\w'’-]+\s+){1,5}(?:restent?|est\s+tabou|sont\s+tabous?|"
    r"vont\s+(?:dans|en)|"
    r"passent?\s+(?:par|avant)|se\s+(?:met|mettent|termine|terminent))\b|"
    r"(?:les|nos|mes)\s+[\w'’-]+\s+(?:en|au|sans|avec|par)\s+[\w'’-]+(?:\s[\w'’-]+){0,3}[.!]?$|"
    r"on\s+(?:écrit|facture|utilise|tutoie|vouvoie|déploie|paie|livre|signe)\s\w|(?:moins|plus|pas\s+plus|"
    r"pas\s+moins)\s+de\s+\d[\d.,]*|"
    r"(?:garde|laisse|gardez|laissez)[sz]?\s+(?:les?|la|tous|toutes|l['’])|"
    # Spanish, Portuguese
    r"(?:tutéame|llámame|háblame|escríbeme|trátame|me\s+chame|me\s+trate|fale\s+comigo)\b|(?:sé|sea|"
    r"seja)\s+\w+|"
    r"(?:soy|sou)\s+(?:alérgic|vegetarian|vegan|diabétic|celíac|intolerante)\w*|(?:no\s+quiero|"
    r"não\s+quero|odio|odeio|detesto|"
    r"no\s+como|no\s+bebo|não\s+como)\s+\w|(?:cada|tod[oa]s?(?:\s+[lo]?[oa]s)?|ningun[oa]?|ningún|"
    r"nenhum\w?|nada\s+de|nadie|ninguém)\s+(?:[\w'’-]+\s+){0,7}?"
    r"(?:va|van|vai|vão|lleva|llevan|leva|empieza\w*|começa\w*|termina\w*|necesita\w*|precisa\w*|tiene\w*|"
    r"tem|queda\w*|fica\w*|pasa\w*|en|em|sin|sem|después|"
    r"antes|sale|firma|decide|es|é|\w+[.!]?$)|"
    r"(?:los|las|el|la|os|as)\s+(?:[\w'’-]+\s+){1,5}(?:se\s+quedan?|permanecen?|ficam?|van\s+en|vão\s+em|"
    r"se\s+escriben?|se\s+mantienen?)\b|"
    r"(?:los|las|os|as)\s+[\w'’-]+\s+(?:en|em|con|com|sin|sem)\s+[\w'’-]+(?:\s[\w'’-]+){0,3}[.!]?$|"
    r"(?:menos|más|mais|hasta|até)\s+(?:de\s+)?\d[\d.,]*|(?:mantén|mantenha|deja|deje)\s+\w|"
    # Italian, Dutch
    r"(?:chiamami|dammi\s+del\s+\w+|parlami|scrivimi)\b|(?:sii|resta)\s+\w+|sono\s+(?:allergic|vegetarian|"
    r"vegan|celiac|diabetic)\w*|"
    r"(?:ogni|tutti\s+[ig]l?i?|tutte\s+le|nessun\w*|niente|nulla)\s+\w+[^?]{3,}|non\s+voglio\s\w|odio\s\w|"
    r"i\s+\w+\s+(?:restano|vanno)\b|"
    r"noem\s+me\b|tutoyeer\b|(?:spreek|praat|schrijf|antwoord)\s+(?:met\s+mij\s+)?(?:nederlands|engels|"
    r"in\b|kort|zonder)|"
    r"(?:wees|blijf)\s+\w+|ik\s+(?:wil|eet|drink|haat|lust)\s+(?:geen|alleen|nooit)\b|"
    r"ik\s+ben\s+(?:allergisch|vegetari|veganist|diabeet)\w*|"
    r"(?:elke?|iedere?|alle|geen|niets|niemand|alleen)\s+(?:[\w'’-]+\s+){1,7}?(?:krijgt|krijgen|gaat|gaan|"
    r"komt|komen|eindigt|begint|blijft|blijven|hoort|"
    r"heeft|moet|in|op|zonder|na|voor|boven|onder|tekent|beslist|mag)\b|(?:de\s+|"
    r"het\s+)?(?:[\w-]+\s+){1,3}(?:blijft|blijven|hoort|horen)\s+\w|"
    r"(?:minder|meer|niet\s+meer)\s+dan\s+\d[\d.,]*|houd?\s+(?:het|alles|de)\s\w"
    r")",
    re.IGNORECASE,
)
_ENGLISH = frozenset(
    "the of and to you this that with for from is are it they what can be have by not your i we me my".split()
)
_UNSPACED = re.compile(
    r"[^。、]{1,16}(?:は[^。]{1,24}|を[^。]{1,12})(?:(?<![んい])で|に|として|ずに)[^。]{0,14}(?:ください|下さい|お願い|ほしい|欲しい|統一)"
    r"|避けて(?:ください|ほしい|下さい)|アレルギー|苦手|抜きで|は不要|はいりません|(?:いら|要ら)ない|(?:と|って)呼んで|"
    r"(?:まで|以降|以上|未満|以下)(?:に|で|は|の)?[^。]{0,12}(?:ください|下さい|お願い|こと|まで)|(?:敬語|タメ口|簡潔|短く|丁寧)[^。]{0,12}(?:ください|"
    r"で|お願い)"
    r"|过敏|過敏|一律|叫我|请叫|请保持|請保持|尽量|控制在|统一(?:用|使用)|别(?:用|写|加|碰|改|删|动)|都要|我不吃|我吃素|不吃|以后"
    r"|알레르기|(?:라고|으로) 불러|만 (?:써|사용|답)|지 말아|빼 ?주세요|채식"
)
_TOLD = re.compile(r"(?:でした|ました|ですか|でしょう|了。?$|吗|么)。?$")


def likely_elsewhere(sentence: str) -> bool:
    """True for what reads as settled in another language than English."""
    if not sentence.isascii() and _UNSPACED.search(sentence):
        return not _TOLD.search(sentence)
    return _ENGLISH.isdisjoint(sentence.lower().split()) and _LATIN.match(sentence) is not None
