"""Invented conversations with probes, in the structure of evaluation data that `load_cases` reads.

A service run (short turns, tools with JSON) and a coding run (one task, long outputs) have values that the
agent uses again after the cut. A conversation of two people has questions with the keys of their answers. The
probes are found in the same way as in the data: a value of the first 60% that occurs again in the last 20%.
"""

from __future__ import annotations

import json
import random
from typing import Any

Line = dict[str, Any]

NAMES = ["mara_voss", "jonas_pike", "ilka_brandt", "tomas_reyes", "edda_lund", "karim_aziz"]
GOODS = ["kettle", "lantern", "compass", "hammock", "parasol", "skillet", "easel", "trowel"]
TOWNS = ["Tarvisio", "Odemira", "Kalmar", "Vigo", "Sopot", "Trogir", "Visby", "Lecce"]
SMALL_TALK = [
    "It rained the whole day, and I stayed in and read a bit. How are you?",
    "Oh nice! I think I will go for a walk later, if the weather holds.",
    "Ha, that sounds like you. We should meet again some time soon.",
    "I did not sleep well, the neighbors had people over. But it is fine.",
    "That is good to hear. I am still looking for something to cook tonight.",
]


def called(number: int, name: str, arguments: Any, output: str, says: str | None = None) -> list[Line]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number:024x}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": says, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": output},
    ]


def service(seed: int) -> Line:
    """A customer with several orders; what was settled early is carried out at the end."""
    chance = random.Random(seed)
    user, town = chance.choice(NAMES) + f"_{chance.randint(1000, 9999)}", chance.choice(TOWNS)
    orders = [f"#W{chance.randint(1_000_000, 9_999_999)}" for _ in range(10)]
    items = [str(chance.randint(10**9, 10**10 - 1)) for _ in orders]
    card = f"credit_card_{chance.randint(10**6, 10**7 - 1)}"
    messages: list[Line] = [
        {"role": "system", "content": "You help the customers of a shop. Ask before you change an order."},
        {"role": "user", "content": f"Hello, my user id is {user}. Some of my orders to {town} are wrong."},
        *called(
            seed * 100, "get_user_details", {"user_id": user}, json.dumps({"user": user, "payment": card})
        ),
        {"role": "assistant", "content": f"I found you, {user}. You pay with {card}. Which order is it?"},
    ]
    for number, (order, item) in enumerate(zip(orders, items, strict=True)):
        good = chance.choice(GOODS)
        lines = [{"item_id": item, "name": good, "price": chance.randint(900, 9900) / 100}]
        events = [{"day": day, "event": "scanned", "hall": chance.randint(1, 40)} for day in range(12)]
        detail = {"order_id": order, "status": "pending", "city": town, "items": lines, "events": events}
        messages += [
            {"role": "user", "content": f"Please look at {order}. I would like the {good} in another color."},
            *called(seed * 100 + number + 1, "get_order_details", {"order_id": order}, json.dumps(detail)),
            {
                "role": "assistant",
                "content": f"Order {order} has the {good}, item {item}. Shall I exchange it?",
            },
            {"role": "user", "content": "Yes, but wait with it until I went through the other orders."},
            {"role": "assistant", "content": f"I wait. The exchange of {item} in {order} stays open."},
        ]
    messages.append({"role": "user", "content": "That is all. Please make the first three exchanges now."})
    for number, (order, item) in enumerate(zip(orders[:3], items[:3], strict=True)):
        made = {"order_id": order, "item_ids": [item], "payment_method_id": card, "user_id": user}
        messages += called(seed * 100 + 50 + number, "exchange_items", made, json.dumps({"status": "done"}))
    return probed(f"service-{seed}", messages, [user, card, *orders, *items])


def coding(seed: int) -> Line:
    """One task and many steps; files and tests seen early are changed late."""
    chance = random.Random(seed)
    module = chance.choice(GOODS)
    files = [f"src/{module}/{chance.choice(TOWNS).lower()}_{number}.py" for number in range(12)]
    tests = [f"test_{chance.choice(GOODS)}_{number}_{chance.choice(TOWNS).lower()}" for number in range(12)]
    task = f"`{module}.price()` returns None for an empty cart. Find out why, fix it, and add a test."
    messages: list[Line] = [
        {"role": "system", "content": "You fix bugs in a shell, one command at a time."},
        {"role": "user", "content": f"<issue>\n{task}\n</issue>"},
    ]
    for number, (path, test) in enumerate(zip(files, tests, strict=True)):
        body = "\n".join(f"    total += cart[{chance.randint(0, 999)}].price" for _ in range(25))
        messages += called(
            seed * 100 + number,
            "bash",
            {"command": f"cat {path}"},
            f"<returncode>0</returncode>\n<output>\ndef {test}():\n{body}\n</output>",
            f"{path} has {test}, which does not cover an empty cart. I look at the next file.",
        )
    for number, (path, test) in enumerate(zip(files[:5], tests[:5], strict=True)):
        command = {"command": f"sed -i s/None/0/ {path} && pytest -k {test}"}
        messages += called(seed * 100 + 50 + number, "bash", command, "<returncode>0</returncode>\n1 passed")
    return probed(f"coding-{seed}", messages, [*files, *tests])


def talk(seed: int) -> Line:
    """Two people who talk about their days, and questions about what they said."""
    chance = random.Random(seed)
    messages: list[Line] = []
    probes: list[Line] = []
    for day in range(240):
        town, good = chance.choice(TOWNS), chance.choice(GOODS)
        price = f"{chance.randint(20, 900)} euros"
        who, role = ("Ada", "user") if day % 2 == 0 else ("Bo", "assistant")
        told = f"{who}: {chance.choice(SMALL_TALK)}"
        if day % 24 == 0:
            told = f"{who}: I was in {town} on day {day} and bought a {good} for {price}. What a day."
            probes.append(
                {
                    "kind": "single_hop",
                    "question": f"What did {who} pay on day {day}, and where?",
                    "answer_keys": [town, price],
                    "evidence_message_indexes": [day],
                }
            )
        messages.append({"role": role, "content": told})
    return {"id": f"talk-{seed}", "source": "made-up/talk", "messages": messages, "probes": probes}


def probed(identity: str, messages: list[Line], values: list[str]) -> Line:
    texts = [json.dumps(message) for message in messages]
    early, cut = int(len(texts) * 0.6), int(len(texts) * 0.8)
    probes = []
    for value in values:
        seen = [index for index in range(cut) if value in texts[index]]
        again = [index for index in range(cut, len(texts)) if value in texts[index]]
        if not seen or seen[0] >= early or not again or messages[again[0]]["role"] != "assistant":
            continue
        probe = {"kind": "reused_identifier", "value": value, "hard": seen[-1] < cut * 0.75}
        probes.append({**probe, "first_seen_index": seen[0], "last_seen_index": seen[-1]})
    return {
        "id": identity,
        "source": f"made-up/{identity.partition('-')[0]}",
        "messages": messages,
        "probe_cut_index": cut,
        "probes": probes,
    }
