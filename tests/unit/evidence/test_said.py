"""What the user said and what the assistant stated, as units."""

from __future__ import annotations

from unicodedata import normalize

import pytest

import compact
from compact.evidence.reading import sentences
from compact.evidence.said import SHOWN, concluded_in, option_of, question_in, said_in


def values(text: str, asked: str = "") -> list[str]:
    return [unit.value for unit in said_in(text, 3, asked)]


def test_a_short_message_stays_whole() -> None:
    assert values("Use the blue one. Not before Friday.") == ["Use the blue one. Not before Friday."]


@pytest.mark.parametrize(
    "text",
    [
        "测试库里的数据你可以随便改，改坏了我再恢复。",
        "가격표는 금요일까지 바꾸지 말아 주세요.",
        "निरीक्षण 11 जनवरी को है, उससे पहले सब तैयार चाहिए।",
        "Personalens telefonnummer får inte lämna huset.",
    ],
)
def test_words_of_any_language_rank_as_statements(text: str) -> None:
    (unit,) = said_in(text, 0, "")
    assert unit.value == text and unit.rank >= 1.2


def test_only_the_first_sentence_of_an_answer_carries_the_question() -> None:
    answer = (
        "Yes, the second one. " + "The crates go to the northern gate, and the drivers know the way there. "
    )
    contexts = [unit.context for unit in said_in(answer + "Ask Runa.", 3, "asked in [m2]: Which?")]
    assert contexts[0] == "asked in [m2]: Which?"
    assert not any(contexts[1:])


def test_a_long_answer_stands_by_itself() -> None:
    text = "The harbor office wants forms in three copies. " * 5
    assert all(not unit.context for unit in said_in(text, 3, "asked in [m2]: What do they want?"))


def test_thanks_before_a_wish_are_no_unit() -> None:
    text = (
        "Great, thanks! "
        + "The drawing of the second floor lacks the stairs to the attic, and the doors open inwards."
    )
    assert not any(
        value.startswith("Great") for value in values(text + " Could you add both before Monday noon?")
    )


def test_questions_rank_below_statements() -> None:
    asked, stated = (next(iter(said_in(text, 0, ""))).rank for text in ("Where is it?", "It is in the shed."))
    assert asked < stated


def test_a_long_question_states_something_too() -> None:
    told = (
        "The gray and the green lamps look the same to me, I see green as gray, could you please use blue "
        "and orange for them?"
    )
    short, long = (said_in(text, 3, "")[0].rank for text in ("Could you use blue and orange for them?", told))
    assert short < long == said_in("The lamps are blue and orange from now until May.", 3, "")[0].rank


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The serial number is QX-77120-B. The light blinks.", 2),
        ("Ask Dr. Lund about it. He knows.", 2),
        ("1. Yes, ignore accents. 2. New rule: round up.", 2),
        ("納品日は6月18日です。テストもお願いします。", 2),
        ("वह कल आएगा। चाबी उसके पास है। बाकी बाद में।", 3),
        ("we saw both on tuesday. the small one has a garden! he starts there in may", 3),
        ("it takes e.g. the small one, i.e. 4 m. wide. then we order", 2),
        ("Version two. the old one stays", 1),
    ],
)
def test_where_a_sentence_ends(text: str, count: int) -> None:
    assert len(list(sentences(text))) == count


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("sem emoji nas legendas, tá?", "It is in the shed."),
        ("ok Lisbon it is then", "It is in the shed."),
        ("which one is it, the small or the large?", "Where is it?"),
        ("Should I use tabs, or spaces?", "Where is it?"),
        ("So, why?", "Where is it?"),
        ("ok, thanks!", "Thanks."),
    ],
)
def test_a_tag_makes_no_question_and_an_okay_no_thanks(text: str, like: str) -> None:
    assert [unit.rank for unit in said_in(text, 0, "")] == [unit.rank for unit in said_in(like, 0, "")]


def test_a_lead_in_is_worth_less_than_what_it_leads_in() -> None:
    lead, point = concluded_in("Open, please decide:\n- The old format stays readable.", 4, closes=True)
    assert lead.rank < point.rank


def test_the_option_that_an_answer_takes() -> None:
    assert option_of("b, please", "a) paint it\nb) leave it bare") == "b: leave it bare"
    assert question_in("I can paint it now. Shall I take the gray of the northern wall?") == (
        "Shall I take the gray of the northern wall?"
    )


def test_a_question_that_says_little_stands_with_its_paragraph_unless_that_is_long() -> None:
    asked = "I can use spot instances or the reserved pool. Which do you prefer?"
    assert question_in(f"The job needs eight cores.\n\n{asked}") == asked
    assert question_in("Which paint for the stairwell? A: matte, B: satin") == (
        "Which paint for the stairwell? A: matte, B: satin"
    )
    assert question_in(f"{'The walls are dry by now. ' * 9}Which color?") == "Which color?"


def test_an_answer_in_json_is_read_by_its_sentences() -> None:
    text = '{"price": 45.13, "next": ["The lamp ships on Monday.", {"note": "Pay on delivery, please."}]}'
    assert [unit.value for unit in concluded_in(text, 2, closes=True)] == [
        "The lamp ships on Monday.",
        "Pay on delivery, please.",
    ]


@pytest.mark.parametrize("text", ['{"a": "The lamp ships on', "[1] The lamp ships on Monday."])
def test_what_only_begins_like_json_is_read_as_it_is(text: str) -> None:
    assert len(concluded_in(text, 2, closes=True)) == 1


def test_a_bare_name_is_no_statement() -> None:
    text = "I read the refresh setting there.\n\nengine/settings.py\n\nThen I pass it on."
    assert [unit.value for unit in concluded_in(text, 2, closes=True)] == [
        "I read the refresh setting there.",
        "Then I pass it on.",
    ]
    assert concluded_in("新しい設定は保存されて再起動後に読み込まれます。", 2, closes=True)


@pytest.mark.parametrize("dump", ["[" * 100_000, "File=inline=1:" + "iVBORw0KGgoAAAANSUhEUg" * 20])
def test_a_dump_is_nobodys_statement(dump: str) -> None:
    (stated,) = concluded_in(f"The lamp ships on Monday.\n{dump}", 2, closes=True)
    assert stated.value == "The lamp ships on Monday."


def test_a_sentence_with_a_long_address_is_a_statement() -> None:
    text = f"The cause is described at https://example.org/{'issues/' * 20}4711 in full."
    assert [unit.value for unit in concluded_in(text, 2, closes=True)] == [text]


def test_a_sentence_keeps_its_closing_quote() -> None:
    text = 'The page says "A server error occurred." It should say what failed. (See the log.) Odile knows.'
    assert [unit.value for unit in concluded_in(text, 2, closes=True)] == [
        'The page says "A server error occurred."',
        "It should say what failed.",
        "(See the log.)",
        "Odile knows.",
    ]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("**Clean file:** 3024 rows, **504** a sensor.", "Clean file: 3024 rows, 504 a sensor."),
        ("The batteries last until 25 March.**", "The batteries last until 25 March."),
        ("It takes 2**10 bytes, or 2**12.", "It takes 2**10 bytes, or 2**12."),
        ("It reads src/**/*.py and docs/** too.", "It reads src/**/*.py and docs/** too."),
    ],
)
def test_what_is_set_in_bold_is_read_without_its_marks(text: str, read: str) -> None:
    assert [unit.value for unit in concluded_in(text, 2, closes=True)] == [read]


def test_a_stack_with_its_frames_is_shown_not_said() -> None:
    text = (
        "It fails like this:\n"
        "    at readFileSync (node:fs:443:20)\n    at async onImport.tracePromise (loader:547:26)\n"
        "Find out why."
    )
    units = said_in(text, 0, "")
    assert [unit.context for unit in units if "readFileSync" in unit.value] == [SHOWN]
    assert "Find out why." in [unit.value for unit in units if unit.context != SHOWN]


def test_places_and_times_with_a_note_are_said_not_frames_of_a_stack() -> None:
    lines = ["at Hamburg (harbor) on Monday", "at Bremen (station) on Friday", "at noon (12:30)"]
    units = said_in("\n".join(["We meet:", *lines]), 0, "")
    assert not any(unit.context == SHOWN for unit in units)
    assert [line for line in lines if not any(line in unit.value for unit in units)] == []


DUMPS = {
    "listing": "\n".join(f"api-{row:05x}   {row % 2}/1   Running   {row}   3d" for row in range(12)),
    "compiler": "\n".join(f"src/tree.c:{row}:7: warning: unused variable 'depth_{row}'" for row in range(12)),
    "table": "\n".join(f"2031-02-{row},{row * 7},{row}.50,EUR" for row in range(10, 22)),
    "code": "def walk(tree):\n" + "\n".join(f"    seen.append(tree[{row}])" for row in range(12)),
}


@pytest.mark.parametrize("kind", DUMPS)
def test_many_lines_of_a_program_are_shown_not_said(kind: str) -> None:
    units = said_in(f"Why does this happen?\n\n{DUMPS[kind]}\n\nAlways answer in metric units.", 4, "")
    own = [unit.value for unit in units if unit.context != SHOWN]
    assert {"Why does this happen?", "Always answer in metric units."} <= {*own, *" ".join(own).split("  ")}
    assert sum(map(len, own)) < 90


def test_a_list_with_times_and_sums_is_said() -> None:
    plan = [f"{9 + hour}:30 call number {hour}, about {hour * 25} EUR" for hour in range(6)]
    rent = [f"- rent of house {number}: {number * 900} EUR" for number in range(12)]
    for lines in (plan, rent):
        units = said_in("\n".join(["Please keep this in mind:", *lines]), 4, "")
        assert not any(unit.context == SHOWN for unit in units)


def test_a_question_stands_with_its_own_paragraph() -> None:
    asked = "I can use the spot pool or the reserved one. Which one?"
    for after in (
        "See https://cranes.example/docs?page=2 for both.",
        "```\ncurl 'https://x.example/?y=1'\n```",
    ):
        assert question_in(f"{asked}\n\n{after}") == asked


ORDERS = {
    "Hindi": "कृपया पहले परीक्षण चलाना।|रिपोर्ट शुक्रवार तक चाहिए।|डेटाबेस को मत हटाना।",
    "Tamil": "முதலில் சோதனைகளை இயக்கவும்.|தரவுத்தளத்தை நீக்க வேண்டாம்.|அறிக்கை வெள்ளிக்கிழமை வேண்டும்.",
    "Bengali": "সবসময় আগে পরীক্ষা চালাবে।|ডেটাবেস মুছবে না।|শুক্রবারের মধ্যে রিপোর্ট চাই।",
    "Arabic": "شَغِّلِ الاِخْتِبَارَاتِ أَوَّلًا.|لَا تَحْذِفْ قَاعِدَةَ الْبَيَانَاتِ.|أُرِيدُ التَّقْرِيرَ غَدًا.",
    "decomposed": normalize("NFD", "Luôn chạy kiểm thử.|Đừng xóa cơ sở dữ liệu.|Gửi báo cáo trước thứ sáu."),
}


@pytest.mark.parametrize("language", ORDERS)
def test_many_lines_of_words_are_said_in_any_script(language: str) -> None:
    lines = ORDERS[language].split("|") * 4
    units = said_in("\n".join(lines[:12]), 4, "")
    assert not any(unit.context == SHOWN for unit in units)


def test_a_message_that_a_program_indents_is_said() -> None:
    orders = [f"Never touch the {part} of the old harbor crane" for part in "abcdefghijkl"]
    for first in ("", "Mend the crane."):
        units = said_in("\n    ".join([first, *orders]), 4, "")
        assert not any(unit.context == SHOWN for unit in units)


def test_a_question_is_no_conclusion_to_keep_before_others() -> None:
    asked, stated = concluded_in("Shall I mend the pump today? The filter holds sand.", 3, closes=True)
    assert asked.rank < 0.5 * stated.rank


def test_the_fields_of_an_answer_in_json_are_no_statements() -> None:
    text = 'Here is what I found.\n{\n"order_id": "W-4711 of the harbor",\n"price": 200.8,\n}'
    assert [unit.value for unit in concluded_in(text, 3, closes=True)] == ["Here is what I found."]


def test_sentences_of_scripts_without_spaces_get_none() -> None:
    text = "私たちは旅館を経営しています。朝食は七時から出してください！予約は電話だけで受けます。"
    assert values(text) == [text]
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "The inn is open. " * 60}]
    assert text in compact.summarize(messages, 400).text
