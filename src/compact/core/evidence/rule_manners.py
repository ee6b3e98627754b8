"""How a sentence settles a manner: in the imperative, on a condition, or without a verb."""

from __future__ import annotations

from compact.core.evidence.rule_statements import NOBODY, NUMBER, WORD

MANNERS: tuple[str, ...] = (
    # Manner in the imperative: "Give temperatures in Celsius", "Be brief", "Speak Dutch with me"
    r"be\s+(?!back|there|here|done|able|sure|right|my\s+guest|that)(?:as\s+|\w+ly\s+|very\s+|more\s+|"
    r"less\s+)?[a-z]+\b(?!\s*[:?])",
    r"(?:stay|remain|act|behave)\s+(?!tuned|put|there|here)\w+",
    r"(?:steer|keep|stay|stand|shy)\s+(?:clear|away|off|well\s+clear)\b",
    r"(?:think\s+of|picture|consider|regard|see)\s+(?:the|our|my|your|all|every|any|yourself|"
    r"\d)\b[^?]{2,60}\b(?:as|done|closed|"
    r"final|frozen|fixed|settled|given)\b",
    r"(?:pretend|imagine|suppose|assume|presume)\s+(?:that\s+)?(?:the|our|my|your|all|every|any|no|you|we|"
    r"i|nobody)\b",
    r"(?:mind|watch|respect|observe|honou?r|obey|heed|follow)\s+(?:out\s+for\s+)?(?:the|our|my|all|every|"
    r"any|pep|iso)\b",
    r"(?:speak|talk|write|answer|reply|respond|report|explain)\s+(?:to\s+me\s+|with\s+me\s+|to\s+us\s+|"
    r"it\s+|everything\s+|things\s+)?"
    r"(?:in|like|as|without|with|briefly|plainly|simply|at\s+(?:a|the)|only|(?-i:[A-Z])\w+\s+(?:with|"
    r"to)\s+(?:me|us))\b",
    r"(?:answer|address|write\s+to|reply\s+to|greet|mail|serve)\s+(?:the\s+|our\s+|my\s+|all\s+|"
    r"any\s+)?[\w -]{2,40}s\s(?:in|with|by|as)\b",
    rf"(?!{NOBODY}|add\b|fix\b|the\b|my\b)" r"[a-z]+\s+[^?]{0,80}\b(?:every\s+(?:single\s+|"
    rf"other\s+)?(?:day|week|month|year|morning|evening|night|hour|quarter|"
    rf"\w+day|{NUMBER}\s+\w+)|on\s+\w+days|daily|weekly|monthly)\b(?:\s+(?:at|by|before|from|in|"
    rf"on)\s+[\w: ]+)?(?:,?\s+please)?[.!]?$",
    r"(?:speak|talk|write)\s+(?-i:[A-Z])[a-z]+(?:[.!]|\s+(?:please|only|throughout))",
    r"(?:call|address)\s+(?:me|us|my|our|the\s+[\w-]+s)\b(?!\s+(?:back|at|on|when|if|tomorrow|later|now|"
    r"again))",
    r"(?:give|quote|express|state|present|spell|phrase|word|abbreviate|capitali[sz]e|price|display|render|"
    r"note|hyphenate|"
    r"denote|print|report|provide|convert|round|sort|align|pad|list|show|write|put|return|name|mark|set)\s+"
    r"(?:all\s+|any\s+|every\s+|each\s+|both\s+)?(?!this|its?\b|the\b|is\b|us\b|tests\b|"
    r"results\b)[\w-]+(?:s|code|text|copy|currency|money|"
    r"data)\s+(?:[\w-]+\s+)?(?:in|as|with|without|net|before|after|like|out|to|first|by|inside|under|next|"
    r"on\s+(?:one|its|their)|"
    r"per)\b",
    r"(?:give|quote|state|write|spell|put|pronounce|translate|format)\s+(?:all|every|each|any)\b",
    r"(?:skip|spare\s+me|omit|drop|lose|cut|leave\s+out|save\s+me|no\s+need\s+for)\s+(?:the\s+|all\s+|"
    r"any\s+)?[\w'’ -]*?s\b"
    r"(?:\s+(?:in|from|when|at|before|unless|altogether|entirely|please)\b[^?]*)?[.!]?$",
    rf"(?:hold|keep|stop|cap|limit|restrict|confine|aim|shoot|go|target)\b[^?]{{0,50}}\b(?:at|to|under|"
    rf"below|within|for|over|beyond|"
    rf"around|between)\s+(?:about\s+|around\s+)?[$€£]?{NUMBER}\b",
    r"(?:spend|use|take|allow|order|book|buy|invite|add|make|send|write|plan|reserve|pay|wait|try|hire|"
    r"show|offer|give)\b"
    r"[^?]{0,50}(?:\b(?:at\s+most|at\s+least|max(?:imum)?|up\s+to|tops|or\s+(?:less|fewer)|not\s+more|"
    r"no\s+more|per\s+\w+|a\s+(?:day|week|"
    r"month)|each)\b)",
    r"keep\s+(?!\w+ing\b|up|on|it\s+up|me\s+posted|at\s+it|in\s+mind|"
    r"in\s+touch)[^?]{2,60}\b(?:in\s+cc|in\s+the\s+loop|"
    r"short|brief|simple|light|formal|informal|neutral|small|low|dry|plain|apart|away|anonymous|updated|"
    r"informed|"
    r"out|in|to|from|under|within|at|for|safe|consistent|minimal|current|clean|tidy|alphabetical)\b",
    r"keep\s+(?:it|things|everything)\s+(?!up|going)\w+",
    r"(?:make|get)\s+(?:it\s+)?(?:a\s+(?:habit|rule|point|practice)|in(?:to)?\s+the\s+habit)\b",
    r"(?:go|be)\s+easy\s+on\b|err\s+on\b|(?:default|defer|adhere|conform)\s+to\b|opt\s+for\b|lean\s+(?:on|"
    r"towards?)\b|"
    r"favou?r\s+\w|resist\s+\w|"
    r"rely\s+(?:on|only)\b|work\s+(?:only|in|on\s+(?:a|one)|off|from)\b|touch\s+(?:only|nothing|no)\b|"
    r"trust\s+(?:only|no|nothing)\b",
    r"(?:tell|inform|show)\s+(?:me|us)\s+(?:before|first|whenever|every|each|as\s+soon|in\s+advance)\b",
    r"(?:ask|check|consult|warn|alert|notify|ping|remind)\s+(?:me|us|with\s+me|"
    r"(?-i:[A-Z])\w+)\b[^?]{0,60}\b(?:before|"
    r"first|whenever|every|each|if|when|as\s+soon|once|in\s+advance|beforehand)\b",
    r"(?:cc|bcc|copy)\s+\w+[^?]{0,30}\b(?:on|in)\b",
    rf"(?!{NOBODY}|add\b|fix\b|list\b)" r"[a-z]+\s+[^?]{2,90}\b(?:throughout|every\s+time|each\s+time|"
    rf"everywhere|at\s+all\s+times|by\s+default|until\s+further\s+notice|"
    r"as\s+a\s+rule|without\s+exception|no\s+exceptions?|in\s+everything|before\s+(?:each|every|any)|"
    r"after\s+(?:each|every|any)|"
    r"at\s+all\s+costs|at\s+any\s+(?:cost|price|point)|on\s+principle|for\s+good|in\s+(?:all|every)\s+\w+|"
    r"with\s+every|with\s+each)\b",
    r"(?:schedule|plan|book|promise|publish|send|share|sign|buy|order|change|delete|touch|install|assume|"
    r"add|commit|merge|"
    r"accept|write|put)\s+(?:nothing|no)\b",
    r"let['’]?s\s+(?:not\s+(?!forget)|stay|stick|avoid|agree|always|never|only|hold\s+(?!off|on)|limit|"
    r"refer|make\s+it\s+a|call\s+|"
    r"keep\s+(?!\w+ing|on\b|at\s+it|the\b)|"
    r"leave\s+[\w -]{2,40}\s(?:out|alone|as|untouched|off)\b|use\s+(?!it\b|that\b|this\b|the\b))[^?]*",
    # A condition: "If a test is flaky, mark it and tell me"
    rf"(?:if|when|whenever|before|after|once|as\s+soon\s+as|in\s+case)\s+(?:an?|any|anything|something|"
    rf"someone|anyone|one|"
    r"(?:you|in)\s+(?:are|['’]re|find|see|need|get|change|add|write|delete|commit|edit|touch|doubt|hit|"
    r"meet|quote|send|"
    rf"mention|make|want|must|cannot|can['’]t|don['’]t|refactor|deploy|merge|publish|book|"
    rf"order))\b[^,?]{{0,80}},\s+"
    rf"(?:then\s+|please\s+|just\s+)?(?!(?!let\b){NOBODY}|the\b|an?\b|my\b|our\b|its\b|thanks)[a-z]+",
    r"in\s+doubt,?\s+\w",
    # What may and may not be
    r"(?:it(?:['’]s|\s+is)|that(?:['’]s|\s+is))\s+(?:really\s+|absolutely\s+)?(?:not|"
    r"never)\s+(?:ok(?:ay)?|fine|acceptable|allowed|"
    r"an\s+option|on)\b(?:\s+(?:to|for|if|that)\b)",
    r"there\s+(?:should|must|may|can|shall|is\s+to|are\s+to|needs?\s+to)\s+(?:be\s+)?(?:no|not|never|"
    r"always|only|nothing|at\s+(?:most|least)|an?\s+[\w-]+\s+(?:per|for|in|with)\s+(?:every|each|all)|"
    r"one\s+[\w-]+\s+per)\b",
    r"(?:the|my|our)\s+(?:[\w-]+\s+){0,3}(?:budget|limit|deadline|cap|maximum|minimum|ceiling|allowance|"
    r"quota|cut-?off)\s+"
    r"(?:for\s+[\w -]{2,30}\s+)?(?:is|are|stands|ends|falls|=)\b",
    # Without a verb: "Under 2 MB per image.", "Two spaces, no tabs."
    rf"(?:under|below|over|above|at\s+(?:most|least)|up\s+to|max\.?|min\.?|no\s+more\s+than|within|"
    rf"between|less\s+than|fewer\s+than|"
    rf"more\s+than)\s+[$€£]?{NUMBER}\b(?:\s+{WORD}){{0,6}}[.!]?$",
    rf"[$€£]?{NUMBER}\s+(?:{WORD}\s+){{1,6}}(?:at\s+(?:most|least)|max(?:imum)?|min(?:imum)?|tops|"
    rf"or\s+(?:less|fewer|more)|(?:per|a|each)\s+\w+)[.!]?$",
    rf"(?:{WORD}\s+){{1,4}}{WORD},\s+max\.?\s+{NUMBER}\b[^?]*",
    rf"(?!{NOBODY}|thanks|sorry|great|good|nice|well|sure|fine|hm+|true|hi|"
    rf"hello)(?:{WORD}\s+){{0,4}}{WORD},\s+(?:please,\s+)?(?:no|never|nothing|not\s+(?:a|an|"
    rf"the)\s)\s*(?!problem|worries|mind|objection|rush|thanks|need|idea|else\b){WORD}(?:\s+{WORD}){{0,4}}[.!]?$",
    rf"(?!{NOBODY})(?:[\w-]+\s+){{1,3}}in\s+[\w-]+(?:\s[\w-]+)?,\s+(?:and\s+)?(?:[\w-]+\s+){{1,3}}in\s+[\w-]+(?:\s[\w-]+)?[.!]?$",
    r"(?!errors\b|changes\b|bugs\b|things\b|thanks\b|problems\b|yes\b|thats\b|lets\b|this\b|his\b|hers\b|"
    r"ours\b|its\b|as\b|us\b|sounds\b|looks\b|seems\b|"
    r"makes\b|works\b|means\b|goes\b|lets\b|does\b|has\b|is\b|always\b|sometimes\b|steps\b|results\b|"
    r"tests\b)[\w-]*[^\Ws]s\s+(?:[\w-]+\s+)?"
    r"(?:in|as|with|without|on|at|under|via|by)\s+"
    r"(?!the\b|this\b|that\b|my\b|which\b|it\b)[\w:+.’'-]+(?:\s[\w:+’'-]+){0,4}(?:,?\s+please)?[.!]?$",
    r"[\w-]+(?:\s[\w-]+)?\s+(?:over|before|rather\s+than|instead\s+of|above)\s+[\w-]+(?:\s[\w-]+)?[.!]?$",
    r"(?:[\w-]+\s+){1,3}first,\s+(?:[\w-]+\s+){1,4}(?:second|later|then|after|last)\b",
    r"(?:strictly|exclusively)\s+[\w-]+\s?[^?]{0,60}",
    r"(?:[\w'’-]+\s+){1,6}(?:only|exclusively|throughout|everywhere|at\s+all\s+times)(?:,?\s+please)?[.!]?$",
)  # fmt: skip
