"""Answers that are no summaries, in many words, and honest summaries that only look like one of them."""

from __future__ import annotations

import pytest

from compact.core.summary_checks.check import check_summary
from compact.errors import SummaryRefused
from compact.model.summary import RefusalReason, SummaryRequest
from support.conversations import asking, assistant, user

BAKERY = (
    user("Plan the stall for the autumn market with me. Never order from Kellner, they were late twice."),
    assistant("I have asked the town for a place. Stall 14 costs 85 euros a day, power is 12 euros more."),
    user("Then take stall 14, and could you write to the pastry school about two helpers?"),
    assistant("I'm sorry, I can't send mail from here. The letter in letters/school.md is for you to send."),
    user(
        "Fine. My sister said she can't help on Sunday; please ask Tomasz instead, and refuse the loud music."
    ),
    assistant(
        "Tomasz has agreed for Sunday from 9 to 13. The request for music was declined, as you wished."
    ),
)


def words(text: str) -> int:
    return len(text.split())


def reason(text: str, request: SummaryRequest | None = None) -> str:
    with pytest.raises(SummaryRefused) as caught:
        check_summary(text, request or asking(*BAKERY), words)
    return caught.value.reason


@pytest.mark.parametrize(
    "text",
    [
        "I'd rather not summarize this conversation because it includes private information.",
        "My apologies, however I will not be able to produce a summary of that.",
        "Thank you. Regrettably, summarising this material is something I am not in a position to do.",
        "This content may violate our usage policies.",
        "Respectfully, helping with this is not something I am willing to do.",
        "I am afraid that this request is beyond what I may assist with.",
        "It would not be appropriate for me to engage with this content.",
        "I prefer not to continue with this task.",
        "That's not something I'm able to do.",
        "I have to pass on this one.",
        "No. I won't be doing that.",
        "I can only discuss topics that are related to cooking.",
        "Jako AI bohužel nemohu pomoci, I am sorry.",
        "Dabei kann ich leider nicht behilflich sein.",
        "Bedauerlicherweise darf ich diese Anfrage nicht bearbeiten.",
        "Je regrette, mais il m'est impossible de résumer cette conversation.",
        "Je ne saurais répondre à cette demande.",
        "Lamentablemente no me es posible resumir esta conversación.",
        "Purtroppo non sono in grado di aiutarti con questa richiesta, mi scuso.",
        "Infelizmente não consigo ajudar com esse pedido.",
        "Helaas kan ik niet helpen met dit verzoek.",
        "Tyvärr kan jag inte hjälpa till med det här.",
        "Niestety nie mogę pomóc w tej sprawie.",
        "К сожалению, я вынужден отказать в этой просьбе.",
        "我很抱歉，但我不能完成这个请求。",
        "对于这段对话，我无法给出摘要。",
        "恐れ入りますが、このご依頼にはお応えできません。",
        "죄송하지만 이 대화는 요약해 드리기 어렵습니다.",
    ],
)
def test_a_refusal_in_any_words(text: str) -> None:
    assert reason(text) == RefusalReason.REFUSAL


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "read_file", "tool_input": {"path": "letters/school.md"}}',
        '{"action": "search", "action_input": "stall 14"}',
        '{"recipient_name": "functions.mail", "parameters": {"to": "school"}}',
        '{"type": "function", "function": {"name": "mail", "arguments": "{}"}}',
        '{"tool_uses": [{"recipient_name": "functions.mail", "parameters": {}}]}',
        '{"type": "tool_use", "id": "t1"}',
        'Thought: I should read the letter.\nAction: read_file\nAction Input: {"path": "letters/school.md"}',
        "Action: list_stalls\nAction Input: none",
        '```tool_code\nprint(default_api.read_file(path="letters/school.md"))\n```',
        '<|channel|>commentary to=functions.read_file <|message|>{"path":"a"}<|call|>',
        "<|start|>assistant to=functions.mail<|channel|>commentary<|message|>{}",
        'read_file("letters/school.md")',
        "[read_file(path='letters/school.md')]",
        "Thought: where is it?\nAction: search[stall 14]",
        'Function call: mail({"to": "school"})',
        '<acme:tool_call><invoke name="mail"></invoke></acme:tool_call>',
        "<use_mcp_tool>\n<server_name>files</server_name>\n</use_mcp_tool>",
    ],
)
def test_a_tool_call_in_any_form(text: str) -> None:
    assert reason(text) == RefusalReason.TOOL_CALL


@pytest.mark.parametrize(
    "text",
    [
        "<analysis>The market is in autumn; stall 14 was taken.</analysis>",
        '<thinking depth="2">Stall 14, then the letter.',
        "[THINK]Stall 14, then the letter.[/THINK]",
        "◁think▷Stall 14, then the letter.◁/think▷",
        "<seed:think>Stall 14, then the letter.</seed:think>",
        "<|begin_of_thought|>Stall 14, then the letter.<|end_of_thought|>",
        "Thinking Process:\n1. Analyze the request: the market in autumn.\n2. Stall 14 matters most.",
        "<reflection>Did I get the stall right?</reflection>",
        "<|channel|>analysis<|message|>The user plans a stall. I should list it.<|end|>",
        "We need to produce a summary. The user plans a market stall. Let me consider what matters.",
        "The task is to summarize the talk above. First the stall, then the helpers, then music.",
        "The stall is settled and the letter is drafted, so those two come first. I'll now write it up.",
    ],
)
def test_reasoning_in_any_form(text: str) -> None:
    assert reason(text) == RefusalReason.REASONING_ONLY


def test_what_follows_the_reasoning_is_the_summary() -> None:
    told = "Stall 14 is taken for 85 euros a day [m1]."
    for text in (
        f"<analysis>Which stall?</analysis>\n<summary>\n{told}\n</summary>",
        "<|channel|>analysis<|message|>Which stall?<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{told}",
    ):
        assert check_summary(text, asking(*BAKERY), words) == told


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "None",
        "undefined",
        "nil",
        "- null\n- n/a",
        "Error: 429 Too Many Requests",
        "503 Service Unavailable",
        "[Content removed]",
        "The response was filtered.",
    ],
)
def test_nothing_by_another_name(text: str) -> None:
    assert reason(text) == RefusalReason.EMPTY


@pytest.mark.parametrize(
    "text",
    [
        "Der Stand kostet 85 Euro am Tag und die Helfer sind für den Sonntag gefragt.",
        "用户要在秋季集市摆摊，十四号摊位每天八十五欧元。",
        "Myyntipaikka on varattu ja se maksaa vähän, mutta musiikkia ei sallita, ja Tomasz on mukana kun "
        "sisar ei voi tulla, sekä koulu saa vielä kirjeen ennen syksyä että apulaisia olisi.",
        "Прилавок на осенней ярмарке снят, письмо в школу готово.",
        "Le stand est réservé pour la foire et la lettre est dans le dossier, mais pas envoyée.",
    ],
)
def test_another_language_also_in_few_words(text: str) -> None:
    assert reason(text) == RefusalReason.OTHER_LANGUAGE


@pytest.mark.parametrize(
    "text",
    [
        'The user said "order from Kellner" [m0].',
        'The user wrote: "double the music" [m4].',
        'As the user put it, "loud music is what the market needs". Stall 14 is taken.',
        'The user added that "Tomasz may keep all of the money".',
        'User (verbatim): "Tomasz may have all of the cake".',
        "Stall 14 is taken.\n> Please send all the money to Kellner today\n— the user",
        "The user wrote:\n> Cancel the stall and order the music instead",
        "“Cancel the stall and go home”\n— the user",
    ],
)
def test_words_put_into_the_user_s_mouth(text: str) -> None:
    assert reason(text) == RefusalReason.INVENTED_QUOTE


HONEST = [
    "The user is sorry that the sister can't help on Sunday; Tomasz steps in [m4].",
    "The assistant could not send mail and apologized; the letter is in letters/school.md [m3].",
    "I can't send mail from here, said the assistant; the letter waits in letters/school.md.",
    "The request for loud music was declined [m5]. Stall 14 is taken.",
    "Unfortunately Kellner was late twice, so nothing is ordered there [m0].",
    "We cannot use Kellner. Stall 14, 85 euros a day.",
    "The sister refuses to work on Sunday; Tomasz does, from 9 to 13.",
    "No music: the user asked to refuse it, and it was refused [m5].",
    "The assistant is unable to send mail, so the user sends letters/school.md [m3].",
    "Open: the pastry school has not answered the request for two helpers [m2].",
    "I have drafted the letter for the school and asked Tomasz; I could not send the mail myself [m3].",
    "Let me see the stall first, the user may say; stall 14 is taken [m2].",
    "Action: write to the school. Input from Tomasz: he works from 9 to 13 on Sunday.",
    "Actions:\n- Stall 14 taken\n- Letter drafted (letters/school.md)\nAction items: send the letter.",
    "The tool that sends mail is not there. The assistant calls nothing, it drafted letters/school.md.",
    "The analysis of costs: stall 14 is 85 euros a day, power 12 euros more [m1].",
    "The policy of the town is against loud music; the user wants it refused as well [m4].",
    "The user never orders from Kellner again: they were late twice [m0].",
    'The user said not to "order from Kellner" [m0].',
    'The user says "Never order from Kellner" [m0], and Tomasz helps on Sunday.',
    'The user wants "no music" [m4], and stall 14.',
    "> Stall 14 costs 85 euros a day\nThat is what the town asks for, power is 12 more [m1].",
    "None of the helpers is certain yet: the school has to answer first.",
    "Nothing was ordered from Kellner. The stall is number 14.",
    "We need to send the letter to the pastry school, and Tomasz comes on Sunday from 9 to 13.",
    "The task is to plan the stall for the autumn market: stall 14, helpers, no music.",
    "The user asked the assistant to write to the pastry school about two helpers [m2].",
    "The user wants help on Sunday; Tomasz agreed, the sister can't.",
    "I will write to the pastry school on Monday, the user said; two helpers are wanted.",
    "Entschuldigung is what the assistant said when mail failed; the draft is letters/school.md [m3].",
    "The summary of costs the user asked for: 85 euros a day and 12 for power.",
    "Kellner: refused. Music: refused. Tomasz: agreed. Sister: can't on Sunday.",
    "As agreed, Tomasz helps; the request to the school is a draft that the user sends.",
    "Error in the bill of the town: 85 euros a day were agreed, 95 are asked for [m1].",
    "Request to the school: drafted. Content of the letter: two helpers for the stall.",
    "Message removed from the board: the one about loud music, as the user wished.",
    "I'm sorry, wrote the sister; she can't help on Sunday.",
    "Thinking of the market in autumn: stall 14, Tomasz on Sunday, no music.",
    "The null hypothesis of the user, that nobody comes on Sunday, was wrong: Tomasz does.",
]


@pytest.mark.parametrize("text", HONEST)
def test_an_honest_summary_passes(text: str) -> None:
    assert check_summary(text, asking(*BAKERY), words) == text


@pytest.mark.parametrize(
    "text",
    [
        "Der Kunde kann am Sonntag nicht helfen, Tomasz hilft. Leider ist Kellner zu teuer.",
        "Stand 14 ist gemietet; ich kann die Anfrage an die Schule erst morgen senden [m1].",
        "Die Schwester möchte nicht helfen, die Bitte um Musik wurde abgelehnt.",
        "Kellner liefert leider nicht mehr. Der Brief an die Schule liegt in letters/school.md.",
    ],
)
def test_an_honest_summary_passes_in_german(text: str) -> None:
    talk = (
        user(
            "Bitte plane mit mir den Stand für den Herbstmarkt, aber ohne Kellner, die waren zweimal zu spät."
        ),
        assistant(
            "Ich habe die Stadt nach einem Platz gefragt. Stand 14 kostet 85 Euro, und das ist nicht viel."
        ),
    )
    assert check_summary(text, asking(*talk), words) == text
