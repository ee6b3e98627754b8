"""How a sentence states what is settled: of things in general, of all of a kind, of a house, of oneself."""

from __future__ import annotations

NOBODY = (
    r"(?:I|we|he|she|it|they|there|you|this|that|these|those|what|which|who|where|when|why|how|if|"
    r"here|let|yes|no|not)\b"
)
NUMBER = (
    r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|"
    r"fifty|a hundred)"
)
WORD = r"(?:[$€£]?\d[\d.,]*\d|[\w'’\"“”`/.&+#@-]+)"
IN_SUBJECT = (
    rf"(?:(?!(?:I|we|you|he|she|they|it|to|what|which|that|where|how|who|some|does|do|did|not|is|are|can|"
    rf"will|lets|let['’]s)\b){WORD}\s+)"
)
"""A word of a subject: no clause begins in it."""
_SETTLED = (
    r"(?:stays?|remains?)\s+(?!the same|unclear|unknown|to be seen|a (?:mystery|problem))\w|"
    r"go(?:es)?\s+(?:first|last|second|to|in|into|through|past|via|under|over|on|at|before|after|out|only|"
    r"without|with|"
    r"by)\b|ends?\s+(?:with|in|on|at)\b|starts?\s+(?:with|at|on)\b|begins?\s+(?:with|at|on)\b|"
    r"comes?\s+(?:with|before|after|first|last|from|in|out)\b|defaults?\s+to\b|belongs?\s+(?:in|to|on|"
    r"under)\b|"
    r"takes?\s+precedence\b|ha(?:s|ve)\s+priority\b|leaves?\s+the\b|wins?\b|"
    r"counts?\s+as\b|(?:is|are)\s+due\b|"
    r"(?:is|are)\s+(?:strictly\s+|absolutely\s+|simply\s+)?(?:out(?!\s+of)|taboo|sacred|off|a\s+no-?go|"
    r"no-?gos?|"
    r"non-negotiable|"
    r"unacceptable|not\s+acceptable|not\s+an\s+option|no\s+option|not\s+ok(?:ay)?|frozen|a\s+must|compulsory|"
    r"king|enough|plenty|preferred|the\s+(?:default|norm|rule|standard|limit|maximum|minimum|floor|"
    r"ceiling|cap|"
    r"most|least)|not\s+(?:wanted|welcome|negotiable)|unwelcome|undesired|confidential|private|internal)\b"
)
_MANNER = (
    r"(?:written|spel(?:led|t)|shown|rounded|quoted|formatted|named|capitali[sz]ed|abbreviated|signed|"
    r"dated|billed|"
    r"invoiced|paid|approved|reviewed|indented|translated|addressed|given|stated|expressed|measured|cited|"
    r"numbered|"
    r"prefixed|tagged|label+ed|titled|worded|kept|left|preferred|avoided|expected|wanted|welcome|priced|"
    r"booked|"
    r"served|cooked|delivered|reported|documented|encrypted|anonymi[sz]ed|redacted|archived|deleted|pinned)"
)
_EVERY = r"(?:all|every|each|any)"
_TASK = (
    r"(?:time|now|good|right|done|set|clear|fine|yours?|the\s+best|in\s+all|that|this|i|we|you(?:['’]|\s)|"
    r"idea|chance|luck|"
    r"thoughts?|updates?|news|questions?|tests?\s+pass|help)\b"
)

_NO_NEWS = (
    r"[^.]*\b(?:applied|found|made|needed|yet|available|left|happened|changed|included|exists?)\b|"
    r"no\W+(?:objections?|problems?|worries|idea|way|need|thanks|luck|doubt|wonder|clue|issues?|"
    r"questions?|comments?|rush|"
    r"hurry|matter|one|such|more|changes?|errors?|matches|results?|output|difference|surprises?|news|not|"
    r"no|that|thats|"
    r"this|these|i|im|on|is|it|its|we|you|he|she|they|man|wait|please|thank|but|and|or|just|what|the|my|"
    r"in|at|for|there|as|"
    r"actually|because|support|proper|match|build|other\s+items)\b"
)
"""What begins with "no" and forbids nothing."""

_STATES = (
    r"(?:perfect|right|in[,.;]|correct|confirmed|missing|broken|wrong|slow|fast|great|nice|fun|empty|gone|back|here|there|good|"
    r"bad|fine|ok|ready|"
    r"done|available|"
    r"different|similar|the\s|in\s+(?:the|a|this|my)\b|at\b|\w+ing\b|not\s|still|all\b|so\b|very|too|just|"
    r"now)"
)
"""How things are by themselves; nobody orders it."""

STATEMENTS: tuple[str, ...] = (
    # Things in general: "Drafts are marked with a D", "Orders above 2,000 euros need my signature"
    rf"(?!{NOBODY}|(?:the|an?|my|our|your|all|some|many|most|both|as|us|his|hers|its|was|is|has|does|"
    rf"thanks|sometimes|"
    rf"perhaps|always|unless|besides|lets|let['’]s|news|tests|results|errors|bugs|things|guys|needs|looks|"
    rf"sounds|"
    rf"seems|makes|means|works|goes|steps|sorry|ok|great|nice|people|kids|folks)\b)(?:[\w-]+\s+){{0,2}}"
    rf"[\w-]*[^\W\ds]s\s+(?:(?!(?:I|we|you|he|she|they|it|is|was|should|can|could|would|will|"
    rf"have)\b){WORD}\s+){{0,5}}?"
    rf"(?:are\s+(?!{_STATES})\w|(?:get|go|need|have|take|come|stay|start|end|run|wait|belong|live|require|"
    rf"carry|follow|"
    rf"use|cost|count|want|deserve|close|open|begin|include|bear|mean|must|ship|leave)\s+(?!wrong|fine|"
    rf"on\s+and|a\s+look)\w)",
    rf"{NUMBER}\s+(?:[\w-]+\s+){{1,3}}?(?:look|sign|check|review|approve|read|agree|decide|are|go|stay|"
    rf"get|must)\s[^?]*\b"
    r"(?:every|each|all|any|always|before|required|needed|enough|per)\b",
    r"(?:everything|anything|all|whatever)\s+(?:that\s+)?(?:we|you|I)\s+\w+(?:\s+[\w-]+){0,4}?,?\s+(?:is|"
    r"are|goes|go|has|have|needs?|gets?|must|"
    r"should|stays?|comes?|ends?|starts?|uses?)\s+(?!fine|ok|good|great|clear|that|there|this)\w",
    r"(?:nobody|no[ -]one|nothing|only(?:\s+[\w-]+){1,3}?)\s+(?!(?:is|has|was|knows|cares|works|happens|"
    r"helps|changes|"
    r"shows|seems|wants|responds|answers|understands|likes|appears|loads|prints|matters|does|fails|this)\b)"
    r"[a-z]{2,}s\s+\w",
    rf"(?:not|never)\s+(?:more|less|fewer|longer|later|earlier)\s+than\s+{NUMBER}\b",
    rf"(?!{NOBODY}){IN_SUBJECT}{{1,7}}(?:at\s+(?:the\s+)?most|no\s+more\s+than|not\s+more\s+than|a\s+(?:maximum|"
    rf"minimum)\s+of)\s+[$€£]?{NUMBER}\b",
    rf"(?!{NOBODY}){IN_SUBJECT}{{1,4}}must\s+(?!have\s+been|be\s+(?:a|the|some|something)\b)\w",
    rf"(?!{NOBODY}){IN_SUBJECT}{{1,4}}(?:is|are)\s+(?:fine|ok(?:ay)?|allowed|acceptable|possible|"
    rf"welcome)\s+(?:up\s+to|below|under|only|as\s+long\s+as|"
    rf"with(?:in|out)?|above|from|between|provided)\b",
    r"(?:after|before|on|during|until|outside)\s+[\w:.' -]{2,30}?,?\s+(?:no|nothing|nobody|only|never)\s+\w+",
    r"(?:the|our|my)\s+(?:[\w-]+\s+){1,3}?(?:now\s+)?[a-z]+s\s+(?:[\w-]+\s+){0,3}?(?:on\s+\w+days|"
    r"every\s+\w+|each\s+\w+|daily|weekly|monthly)"
    r"(?:\s+at\s+[\w: ]+)?[.!]?$",
    r"(?!(?:there|found|got|did|saw|heard|had|know|see|have|has|is|was|know|knows|says?|means?|does|"
    r"do)\b)[a-z]{2,}\s+(?:nothing|nobody|no\s+[\w-]+s)\s+"
    r"(?:that|which|before|after|without|unless|until|but|else|to|on|in|from|for|over)\b",
    rf"(?!{NOBODY}|(?:fix|run|add|list|find|show|read|check|see|does|is|has|was)\b)"
    r"[a-z]{2,}(?:\s+(?:out|up|off|"
    r"down))?\s+(?:[\w-]+\s+)?(?!\w*(?:fails|crashes|errors|happens|works|breaks|hangs|"
    r"shows|occurs|stops|starts)\b)[\w-]*[^\Ws]s\s+(?:when|whenever|unless|the\s+first\s+time|only|"
    r"as\s+soon\s+as|wherever)\b",
    r"(?!the\b|a\b|i\b|an\b)(?:[\w-]+\s+){1,3}?(?:below|above|under|over|without|near|not|no|before|"
    r"after)\s+[\w -]{3,40},\s+please[.!]?$",
    r"(?:[\w-]+\s+){1,3}?(?:in|without|with|on|at|"
    r"as)\s+(?!the\b)(?:[\w-]+\s*){1,3},\s+(?:[\w-]+\s+){1,3}?(?:in|without|with|on|at|as)\s+"
    r"(?!the\b)(?:[\w-]+\s*){1,3}[.!]?$",
    rf"(?:charge|bill)\s+[$€£]?{NUMBER}\b[^?]{{0,20}}\sfor\b|(?:budget|tip|heat|chill|store|serve|bake|"
    rf"wash)\b[^?]{{0,40}}?"
    rf"[$€£]?{NUMBER}\b",
    rf"(?!{NOBODY}){IN_SUBJECT}{{1,3}}needs?\s+(?:at\s+(?:most|least)|no\s|my\b|our\b|[\w’']+[’']s\b|{NUMBER}\b)",
    # Whatever is one of these is to be so: "Each migration comes with a rollback script"
    rf"{_EVERY}\s+(?!{_TASK})(?:{WORD}\s+){{1,9}}?(?:{_SETTLED}|needs?\s+\w|requires?\s+\w|should\b|gets?\s+\w|"
    rf"carr(?:y|ies)\b|follows?\b|uses?\b|passes\b|includes?\b|bears?\b|wants?\b|deserves?\b|waits?\b|"
    rf"(?:is|are)\s+(?:to\b|{_MANNER}|in\s+(?!the\b|a\b|an\b|this\b|my\b)|no\b|at\s+(?:most|least)))",
    rf"any\s+(?!{_TASK})(?:{WORD}\s+){{1,6}}(?:is|are|has|have)\s+(?!not\s+(?:working|here)|there|fine|ok|"
    rf"good|great|welcome)\w",
    r"(?:whoever|anyone\s+who|anybody\s+who|everyone\s+who)\s+\w+[^,!?]{3,60}\s(?:also\s+)?\w+s\b",
    r"(?:anything|everything|nothing|nobody|no[ -]one|none|everyone|everybody|anyone)\s+(?!(?:is|works?|"
    r"looks?|else|happens?|"
    r"happened|changes?|changed|helps?|shows?|knows?|cares?|i|we|in\s+the|fine|good|ok)\b)(?:but\s+|"
    r"except\s+|"
    rf"outside\s+|over\s+|above\s+|below\s+|under\s+|other\s+than\s+)?(?:{WORD}\s+){{0,7}}(?:{_SETTLED}|"
    rf"needs?|gets?|touches|"
    r"leaves|sees|talks|speaks|signs|decides|merges|edits|approves|pays|buys|ships|reads|writes|uses|"
    r"enters|without|"
    r"after|before|until|unless|should|can|may|is\s+to|has\s+to|with\s+\w|longer|larger|bigger|fancy)\b",
    r"nothing\s+(?:[\w-]+-specific|fancy|too\s+\w+|over|above|below|under|before|after|but|with|without|"
    r"from|on|in)\b",
    rf"(?!{_NO_NEWS})no\s+(?:{WORD}\s+){{1,5}}?(?:goes|leaves|gets|lands|enters|ships|merges|reaches|uses|"
    rf"touches|should|can|longer|"
    r"larger|bigger|higher|older|shorter|smaller|earlier|later|over|above|below|than|please|whatsoever|"
    r"at\s+all|"
    r"ever|anywhere|either|there|here|allowed|wanted|exceptions?)\b",
    rf"(?!{_NO_NEWS})"
    r"no\s+[\w'’-]+(?:\s+[\w'’-]+){0,2}(?:,?\s+(?:and\s+|or\s+)?no\s+[\w'’ -]+)*(?:,?\s+please)?",
    r"not\s+(?:a\s+(?:word|single|soul|cent|penny)|one\s+(?:word|cent)|before\s+\S|after\s+\S|"
    r"later\s+than|earlier\s+than|"
    r"on\s+\w+days|in\s+(?:my|our)\s)[^?]*",
    # How such things are: "Secrets stay in Vault", "Times are in CET"
    rf"(?!{NOBODY})(?:(?:the|our|my|your|new|old)\s+)?{IN_SUBJECT}{{1,5}}?(?:{_SETTLED})",
    rf"(?!{NOBODY})(?!(?:the|a|an|my)\s)(?:{WORD}\s+){{0,4}}?[\w-]+s\s+(?:{WORD}\s+){{0,3}}?(?:are|"
    rf"get)\s+(?:only\s+|always\s+|never\s+|to\s+be\s+)?{_MANNER}\b",
    rf"(?!{NOBODY})(?!(?:a|an)\s)(?:(?!(?:the|my|this|our)\b)|(?=(?:the|our|"
    rf"my)\s(?:[\w-]+\s){{0,3}}?[\w-]*[^\Ws]s\s))"
    rf"{IN_SUBJECT}{{1,4}}?(?:should|ought\s+to|(?:has|have)\s+to|needs?\s+to)\s+"
    r"(?!\w+\s+soon\b|work\b|be\s+(?:fixed|done|fine|easy|able|possible|there|here|working|ready)\b)\w",
    r"(?!the\s)(?:[\w-]+\s+){0,2}[\w-]+s\s+(?:are|go)\s+in\s+(?!the\b|a\b|this\b|"
    r"my\b)[\w-]+(?:\s[\w-]+){0,2}[.!]?$",
    r"new\s+(?:[\w-]+\s+){1,4}(?:needs?|ha(?:s|ve)\s+to|gets?|goes?)\s+\w",
    r"(?:the|our|my)\s+(?:house\s+(?:style|rule)|convention|policy|standard|default|"
    r"rule(?:\s+of\s+thumb)?|preferred\s+\w+|"
    r"style|norm|working\s+(?:hours|language)|limit|ceiling|floor|cut-?off|target\s+(?:group|audience)|"
    r"(?:target\s+)?audience|"
    r"readers?|pronouns)\s+(?:(?:for|on|of|in|here)\s+(?:[\w-]+\s+){0,4})?(?:is|are)\s+\w",
    # The house: "We bill in Swiss francs"
    r"(?:here\s+|at\s+\w+\s+)?we\s+(?:always\s+|never\s+|only\s+|all\s+)?(?:use|write|call|say|spell|bill|"
    r"invoice|charge|pay|"
    r"quote|price|deploy|ship|release|merge|review|sign|format|round|prefix|tag|log|document|commit|publish|"
    r"address|answer|reply|treat|follow|stick\s+to|prefer|avoid|require|accept|allow|indent|count|measure|"
    r"speak|"
    r"test|pin|ban|forbid|buy|order|serve|cook|eat|rent|recycle|insure|save|favou?r|value|"
    r"target)\s+(?!it\b|this\b|that\b)\w",
    r"we\s+(?:don['’]t|do\s+not|never)\s+(?!know|have|need|see|want|think|care|understand|get|seem|mean|"
    r"really)\w+\s+\w",
    r"we(?:['’]re|\s+are)\s+an?\s+(?:[\w-]+\s+){1,3}(?:shop|house|household|team|company|family|office|"
    r"firm|kitchen|school)(?:,?\s+(?:so|and\s+so|which\s+means)\b|,\s+(?:no|never|nothing)\b|\s+here|[.!]?$)",
    # You and I
    r"you(?:['’]re|\s+are)\s+(?:not\s+|only\s+|never\s+)?to\s+\w",
    r"you\s+(?:don['’]t|do\s+not|never|only|always|leave|stay|keep|ask|report)\s+(?!know|have|need|want|"
    r"see|think|understand|"
    r"seem|mean|get|say|like|look|sound)\w",
    r"I(?:['’]m|\s+am)\s+(?:an?\s+|also\s+|very\s+|strictly\s+|severely\s+)*(?:allergic|vegetarian|vegan|"
    r"pescatarian|diabetic|"
    r"coeliac|celiac|(?:lactose|gluten)[ -]intolerant|intolerant|colou?r-?blind|deaf|blind|dyslexic|"
    r"pregnant|teetotal|"
    r"kosher|halal|left-handed|hard\s+of\s+hearing|in\s+a\s+wheelchair|afraid\s+of|not\s+a\s+fan\s+of|"
    r"only\s+(?:free|available|in|interested))\b",
    r"my\s+(?:\w+\s+){0,2}(?:is|are)\s+(?:allergic|vegetarian|vegan|diabetic|intolerant|afraid\s+of)\b",
    r"I\s+(?:really\s+|simply\s+|just\s+)?(?:hate|dislike|detest|loathe|(?:can['’]t|cannot)\s+(?:stand|"
    r"bear|eat|drink|"
    r"have|fly|drive|do)|"
    r"(?:don['’]t|do\s+not|never)\s+(?:like|eat|drink|fly|drive|work|do|wear|use|accept|take|touch|read)|"
    r"only\s+(?:eat|drink|"
    r"read|use|work|take|want\s+(?!to\b)|accept|pay|fly))\s+(?!it\b|that\b|this\b|how\b|when\b|"
    r"to\s+(?:say|admit|bother|ask)|you\b|them\b)\w",
    r"I\s+(?:expect|insist|demand|require)\s+(?!it\b|that\s+(?:it|this|he|she|they)\b|this\b|to\b)\w",
    r"I\s+(?:like|love|want|prefer|['’]?d\s+like|would\s+like)\s+(?:my\s+[\w-]+\s+(?:in|on|to|as|with|"
    r"without|short|plain)|short|long|brief|plain|simple|concise|every|"
    r"each|all|no|everything|things|answers|replies|explanations)\s+\w",
    r"I\s+(?:go\s+by|live\s+by)\s\w",
    r"I\s+(?:decide|approve|merge|sign|publish|send|pay|choose)\b.{0,40}\b(?:you|nobody|myself|alone)\b",
)
