"""Texts of many kinds, made the same way every time: prose in many languages, code, data, logs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

SENTENCES: dict[str, tuple[str, ...]] = {
    "english": (
        "The deployment failed because the migration ran before the new column existed.",
        "Could you check whether the customer's refund has already been approved?",
        "We agreed on Tuesday to keep the old endpoint alive until the end of the quarter.",
        "I would rather not change the schema now; let's write a small adapter instead.",
        "Three of the nine tests are flaky, and all of them touch the same temporary folder.",
        "Please send me the invoice again, the attachment was empty.",
        "It rained all morning, so we moved the interviews to the library on the second floor.",
    ),
    "german": (
        "Die Lieferung verzögert sich, weil die Zollpapiere unvollständig ausgefüllt waren.",
        "Könnten Sie bitte prüfen, ob die Rückerstattung schon überwiesen wurde?",
        "Wir haben beschlossen, die alte Schnittstelle bis zum Quartalsende weiterzubetreiben.",
        "Der Datenbankserver wurde über Nacht auf die neue Hauptversion aktualisiert.",
        "Für das Abendessen brauchen wir noch Kartoffeln, Zwiebeln und frische Petersilie.",
        "Die Geschwindigkeitsbegrenzung gilt auch auf der Umgehungsstraße.",
    ),
    "french": (
        "La livraison a été retardée parce que les papiers de douane étaient incomplets.",
        "Pourriez-vous vérifier si le remboursement a déjà été effectué ?",
        "Nous avons décidé de garder l'ancienne interface jusqu'à la fin du trimestre.",
        "Le serveur de base de données a redémarré trois fois pendant la nuit.",
        "Pour le dîner, il nous faut encore des pommes de terre, des oignons et du persil.",
        "L'été dernier, nous avons traversé la région à vélo sans aucune crevaison.",
    ),
    "spanish": (
        "El envío se retrasó porque los documentos de aduana estaban incompletos.",
        "¿Podría comprobar si el reembolso ya ha sido aprobado por el departamento?",
        "Decidimos mantener la interfaz antigua hasta el final del trimestre.",
        "El servidor de base de datos se reinició tres veces durante la noche.",
        "Para la cena todavía necesitamos patatas, cebollas y un poco de perejil.",
        "Mañana por la mañana el técnico revisará la instalación eléctrica.",
    ),
    "polish": (
        "Przesyłka jest opóźniona, ponieważ dokumenty celne były niekompletne.",
        "Czy mógłby pan sprawdzić, czy zwrot pieniędzy został już zatwierdzony?",
        "Postanowiliśmy utrzymać stary interfejs do końca kwartału.",
        "Serwer bazy danych uruchomił się ponownie trzy razy w ciągu nocy.",
        "Na kolację potrzebujemy jeszcze ziemniaków, cebuli i natki pietruszki.",
    ),
    "turkish": (
        "Gümrük belgeleri eksik olduğu için teslimat gecikti.",
        "Geri ödemenin onaylanıp onaylanmadığını kontrol edebilir misiniz?",
        "Eski arayüzü çeyreğin sonuna kadar çalıştırmaya karar verdik.",
        "Veritabanı sunucusu gece boyunca üç kez yeniden başladı.",
        "Akşam yemeği için hâlâ patates, soğan ve maydanoza ihtiyacımız var.",
    ),
    "vietnamese": (
        "Lô hàng bị chậm vì giấy tờ hải quan chưa đầy đủ.",
        "Anh có thể kiểm tra xem khoản hoàn tiền đã được duyệt chưa?",
        "Chúng tôi quyết định giữ giao diện cũ cho đến cuối quý.",
        "Máy chủ cơ sở dữ liệu đã khởi động lại ba lần trong đêm.",
        "Để nấu bữa tối, chúng ta vẫn cần khoai tây, hành và rau mùi.",
    ),
    "russian": (
        "Доставка задержалась, потому что таможенные документы были неполными.",
        "Не могли бы вы проверить, был ли уже одобрен возврат денег?",
        "Мы решили сохранить старый интерфейс до конца квартала.",
        "Сервер базы данных перезапускался три раза за ночь.",
        "На ужин нам ещё нужны картофель, лук и немного петрушки.",
    ),
    "greek": (
        "Η παράδοση καθυστέρησε επειδή τα έγγραφα του τελωνείου ήταν ελλιπή.",
        "Θα μπορούσατε να ελέγξετε αν έχει εγκριθεί η επιστροφή χρημάτων;",
        "Αποφασίσαμε να κρατήσουμε την παλιά διεπαφή μέχρι το τέλος του τριμήνου.",
        "Ο διακομιστής επανεκκινήθηκε τρεις φορές μέσα στη νύχτα.",
    ),
    "hebrew": (
        "המשלוח התעכב מכיוון שמסמכי המכס לא היו מלאים.",
        "האם תוכל לבדוק אם ההחזר כבר אושר?",
        "החלטנו לשמור על הממשק הישן עד סוף הרבעון.",
        "שרת מסד הנתונים הופעל מחדש שלוש פעמים במהלך הלילה.",
    ),
    "arabic": (
        "تأخرت الشحنة لأن أوراق الجمارك لم تكن كاملة.",
        "هل يمكنك التحقق مما إذا كان قد تمت الموافقة على استرداد المبلغ؟",
        "قررنا الإبقاء على الواجهة القديمة حتى نهاية الربع.",
        "أعيد تشغيل خادم قاعدة البيانات ثلاث مرات خلال الليل.",
    ),
    "hindi": (
        "सीमा शुल्क के कागज़ अधूरे होने के कारण सामान देर से पहुँचा।",
        "क्या आप देख सकते हैं कि पैसे वापस करने की मंज़ूरी मिल गई है या नहीं?",
        "हमने तय किया कि पुराना इंटरफ़ेस तिमाही के अंत तक चालू रहेगा।",
        "डेटाबेस सर्वर रात में तीन बार फिर से चालू हुआ।",
    ),
    "thai": (
        "การจัดส่งล่าช้าเพราะเอกสารศุลกากรไม่ครบถ้วน",
        "คุณช่วยตรวจสอบได้ไหมว่าการคืนเงินได้รับการอนุมัติแล้วหรือยัง",
        "เราตัดสินใจที่จะใช้ระบบเดิมต่อไปจนถึงสิ้นไตรมาส",
        "เซิร์ฟเวอร์ฐานข้อมูลเริ่มทำงานใหม่สามครั้งในตอนกลางคืน",
    ),
    "chinese": (
        "由于海关文件不完整，货物的交付被推迟了。",
        "您能否确认一下退款是否已经获得批准？",
        "我们决定把旧接口保留到本季度末。",
        "数据库服务器在夜间重新启动了三次。",
        "晚饭我们还需要土豆、洋葱和一些香菜。",
    ),
    "japanese": (
        "税関の書類に不備があったため、配送が遅れています。",
        "返金がすでに承認されているかどうか確認していただけますか。",
        "古いインターフェースは四半期の終わりまで残すことにしました。",
        "データベースサーバーは夜の間に三回再起動しました。",
        "夕食にはまだじゃがいもと玉ねぎとパセリが必要です。",
    ),
    "korean": (
        "세관 서류가 불완전해서 배송이 지연되었습니다.",
        "환불이 이미 승인되었는지 확인해 주시겠습니까?",
        "우리는 분기 말까지 기존 인터페이스를 유지하기로 결정했습니다.",
        "데이터베이스 서버가 밤사이에 세 번 다시 시작되었습니다.",
    ),
}

_NOUNS = (
    "account archive batch cache client cursor digest engine field handler index job ledger message".split()
)
_VERBS = (
    "append build check collect count decode expand fetch find load merge parse read render split".split()
)


def _prose(language: str) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        gap = "" if language in ("chinese", "japanese") else " "
        return gap.join(rng.choice(SENTENCES[language]) for _ in range(4)) + rng.choice(("\n\n", "\n"))

    return make


def _python(rng: random.Random) -> str:
    noun, verb, other = rng.choice(_NOUNS), rng.choice(_VERBS), rng.choice(_NOUNS)
    return (
        f"def {verb}_{noun}(self, {other}: dict[str, int], limit: int = {rng.randint(1, 500)}) -> list:\n"
        f'    """{verb.title()} every {noun} of the {other}."""\n'
        f"    found = [key for key, value in {other}.items() if value > limit]\n"
        f'    if not found:\n        raise ValueError(f"no {noun} in {{{other}!r}}")\n'
        f"    return sorted(found, key=lambda key: -{other}[key])\n\n\n"
    )


def _typescript(rng: random.Random) -> str:
    noun, verb = rng.choice(_NOUNS), rng.choice(_VERBS)
    name = f"{verb}{noun.title()}"
    return (
        f"export async function {name}(input: {noun.title()}Input): Promise<{noun.title()} | null> {{\n"
        f"  const response = await this.httpClient.get(`/api/{noun}s/${{input.{noun}Id}}`);\n"
        f"  if (response.statusCode !== 200) {{\n    this.logger.warn('{name} failed', {{ input }});\n"
        f"    return null;\n  }}\n  return response.body as {noun.title()};\n}}\n\n"
    )


def _sql(rng: random.Random) -> str:
    noun, other = rng.choice(_NOUNS), rng.choice(_NOUNS)
    return (
        f"SELECT {noun}.id, {noun}.created_at, COUNT(DISTINCT {other}.id) AS {other}_count\n"
        f"FROM {noun}s {noun}\nLEFT JOIN {other}s {other} ON {other}.{noun}_id = {noun}.id\n"
        f"WHERE {noun}.status IN ('open', 'waiting') AND {noun}.total > {rng.randint(10, 9000)}\n"
        f"GROUP BY {noun}.id, {noun}.created_at\nORDER BY {other}_count DESC LIMIT {rng.randint(5, 100)};\n\n"
    )


def _json(indent: int | None) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        row = {
            "id": f"{rng.choice(_NOUNS)}_{rng.randint(1000, 9_999_999)}",
            "status": rng.choice(("pending", "delivered", "cancelled")),
            "amount": round(rng.uniform(1, 900), 2),
            "items": [{"product_id": rng.randint(10**9, 10**10), "available": rng.random() < 0.5}],
            "address": {"city": "San Jose", "zip": str(rng.randint(10000, 99999)), "country": "USA"},
            "note": rng.choice(SENTENCES["english"]),
        }
        return json.dumps(row, indent=indent) + "\n"

    return make


def _log(rng: random.Random) -> str:
    level = rng.choice(("INFO", "WARN", "ERROR", "DEBUG"))
    return (
        f"2026-0{rng.randint(1, 9)}-{rng.randint(10, 28)}T{rng.randint(10, 23)}:{rng.randint(10, 59)}:"
        f"{rng.randint(10, 59)}.{rng.randint(100, 999)}Z {level:5} [worker-{rng.randint(1, 16)}] "
        f"app.{rng.choice(_NOUNS)}.{rng.choice(_VERBS)}: took {rng.randint(1, 5000)}ms "
        f"status={rng.choice((200, 404, 500))} path=/api/v1/{rng.choice(_NOUNS)}s/{rng.randint(1, 99999)}\n"
    )


def _markdown(rng: random.Random) -> str:
    noun = rng.choice(_NOUNS)
    return (
        f"## The {noun}\n\n{rng.choice(SENTENCES['english'])} {rng.choice(SENTENCES['english'])}\n\n"
        f"- **{rng.choice(_VERBS)}** the `{noun}`: {rng.choice(SENTENCES['english'])}\n"
        f"- See [the {noun} page](https://example.org/docs/{noun}.html#{rng.choice(_VERBS)})\n\n"
        f"| {noun} | count |\n|---|---:|\n| {rng.choice(_NOUNS)} | {rng.randint(1, 999)} |\n\n"
    )


def _diff(rng: random.Random) -> str:
    noun, verb, line = rng.choice(_NOUNS), rng.choice(_VERBS), rng.randint(1, 900)
    return (
        f"diff --git a/src/{noun}/{verb}.py b/src/{noun}/{verb}.py\n--- a/src/{noun}/{verb}.py\n"
        f"+++ b/src/{noun}/{verb}.py\n@@ -{line},7 +{line},9 @@ class {noun.title()}:\n"
        f"     def {verb}(self) -> None:\n-        return self.{noun}.{rng.choice(_VERBS)}()\n"
        f"+        if self.{noun} is None:\n+            return None\n"
        f"+        return self.{noun}.{rng.choice(_VERBS)}(strict=True)\n\n"
    )


def _listing(rng: random.Random) -> str:
    return (
        f"-rw-r--r-- 1 root root {rng.randint(100, 99999):>6} Mar {rng.randint(1, 28):>2} "
        f"{rng.randint(10, 23)}:{rng.randint(10, 59)} ./src/{rng.choice(_NOUNS)}/{rng.choice(_VERBS)}_"
        f"{rng.choice(_NOUNS)}.py\n"
    )


def _csv(rng: random.Random) -> str:
    return (
        f"{rng.randint(1, 99999)},{rng.choice(_NOUNS)},{rng.choice(_NOUNS)}@example.org,"
        f"{rng.uniform(0, 1000):.2f},2026-{rng.randint(10, 12)}-{rng.randint(10, 28)},{rng.choice(_VERBS)}\n"
    )


def _test_report(rng: random.Random) -> str:
    noun, verb = rng.choice(_NOUNS), rng.choice(_VERBS)
    outcome = rng.choice(("PASSED", "FAILED", "SKIPPED"))
    ruler = "=" * rng.randint(20, 70) if rng.random() < 0.1 else ""
    name = f"tests/unit/test_{noun}.py::Test{noun.title()}::test_{verb}_{noun}"
    return f"{name} {outcome} [{rng.randint(1, 99)}%]\n{ruler}"


KINDS: dict[str, Callable[[random.Random], str]] = {
    **{language: _prose(language) for language in SENTENCES},
    "python": _python,
    "typescript": _typescript,
    "sql": _sql,
    "json": _json(None),
    "indented json": _json(2),
    "log": _log,
    "markdown": _markdown,
    "diff": _diff,
    "listing": _listing,
    "csv": _csv,
    "test report": _test_report,
}


def sample_texts(each: int = 6, shortest: int = 2_000) -> list[tuple[str, str]]:
    """`each` texts of every kind, at least `shortest` characters long, as (kind, text)."""
    texts: list[tuple[str, str]] = []
    for kind, make in KINDS.items():
        for number in range(each):
            rng = random.Random(f"{kind} {number}")
            text = ""
            while len(text) < shortest * (1 + number % 3):
                text += make(rng)
            texts.append((kind, text))
    return texts
