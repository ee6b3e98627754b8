"""Secrets and look-alikes, all synthetic and put together at run time.

No line of this file holds a whole secret, so that scanners which read the repository stay quiet.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import string
import uuid
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
URLSAFE = ALNUM + "-_"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_dice = random.Random(20_240)


@dataclass(frozen=True)
class Case:
    kind: str
    text: str
    secret: str


def body(length: int, alphabet: str = ALNUM) -> str:
    """A random stretch with at least one letter and one digit, as every real key of these lengths has."""
    while True:
        made = "".join(_dice.choice(alphabet) for _ in range(length))
        if any(c.isdigit() for c in made) and any(c.isalpha() for c in made) and made[0].isalnum():
            return made


def key(*pieces: str) -> str:
    return "".join(pieces)


def pem(label: str, lines: int = 8) -> tuple[str, str]:
    """A private key block and its body."""
    content = "\n".join(body(64, ALNUM + "+/") for _ in range(lines))
    dashes = "-" * 5
    return f"{dashes}BEGIN {label}{dashes}\n{content}\n{dashes}END {label}{dashes}", content


def jwt() -> str:
    def part(data: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")

    return ".".join(
        [part({"alg": "HS256", "typ": "JWT"}), part({"sub": body(10), "iat": 1516239022}), body(43)]
    )


def _tokens() -> list[Case]:
    shapes = [
        ("openai", key("sk", "-", body(48))),
        ("openai-project", key("sk", "-proj-", body(120, URLSAFE))),
        ("openai-service", key("sk", "-svcacct-", body(80, URLSAFE))),
        ("openrouter", key("sk", "-or-v1-", body(64, HEX))),
        ("anthropic", key("sk", "-ant-api03-", body(93, URLSAFE))),
        ("google-api", key("AI", "za", body(35, URLSAFE))),
        ("google-oauth", key("ya", "29.", body(60, URLSAFE))),
        ("google-client", key("GOC", "SPX-", body(28, URLSAFE))),
        ("huggingface", key("h", "f_", body(34))),
        ("groq", key("gs", "k_", body(52))),
        ("replicate", key("r", "8_", body(37))),
        ("perplexity", key("pp", "lx-", body(48))),
        ("xai", key("xa", "i-", body(80))),
        ("nvidia", key("nv", "api-", body(64, URLSAFE))),
        ("langsmith", key("ls", "v2_pt_", body(32, HEX), "_", body(10, HEX))),
        ("pinecone", key("pc", "sk_", body(6), "_", body(50))),
        ("tavily", key("tv", "ly-", body(32))),
        ("aws-access-key", key("AK", "IA", body(16, UPPER))),
        ("aws-temporary", key("AS", "IA", body(16, UPPER))),
        ("alibaba", key("LT", "AI", body(20))),
        ("digitalocean", key("do", "p_v1_", body(64, HEX))),
        ("databricks", key("da", "pi", body(32, HEX))),
        ("github-classic", key("gh", "p_", body(36))),
        ("github-oauth", key("gh", "o_", body(36))),
        ("github-server", key("gh", "s_", body(36))),
        ("github-fine", key("github", "_pat_", body(22), "_", body(59))),
        ("gitlab", key("gl", "pat-", body(20, URLSAFE))),
        ("slack-bot", key("xo", "xb-", body(12, string.digits + "a"), "-", body(24))),
        ("slack-user", key("xo", "xp-", body(40))),
        ("slack-app", key("xa", "pp-1-", body(11, UPPER), "-", body(64, HEX))),
        ("stripe-live", key("sk", "_live_", body(24))),
        ("stripe-restricted", key("rk", "_live_", body(24))),
        ("stripe-webhook", key("wh", "sec_", body(32))),
        ("twilio", key("S", "K", body(32, HEX))),
        ("sendgrid", key("S", "G.", body(22, URLSAFE), ".", body(43, URLSAFE))),
        ("mailgun", key("key", "-", body(32, HEX))),
        ("mailchimp", key(body(32, HEX), "-us", "14")),
        ("npm", key("np", "m_", body(36))),
        ("pypi", key("py", "pi-AgEIcHlwaS5vcmc", body(80, URLSAFE))),
        ("docker", key("dc", "kr_pat_", body(27, URLSAFE))),
        ("telegram", key("110201543", ":", "AA", body(33, URLSAFE))),
        ("discord", key("M", body(23), ".", body(6), ".", body(38))),
        ("shopify", key("sh", "pat_", body(32, HEX))),
        ("vault", key("hv", "s.", body(90))),
        ("terraform", key(body(14), ".atlas", "v1.", body(67))),
        ("linear", key("lin", "_api_", body(40))),
        ("notion", key("nt", "n_", body(46))),
        ("airtable", key("pa", "t", body(14), ".", body(64, HEX))),
        ("figma", key("fi", "gd_", body(40, URLSAFE))),
        ("postman", key("PM", "AK-", body(24, HEX), "-", body(34, HEX))),
        ("newrelic", key("NR", "AK-", body(27, UPPER))),
        ("grafana", key("gl", "sa_", body(32), "_", body(8, HEX))),
        ("sentry", key("snt", "rys_", body(60))),
        ("supabase", key("sb", "p_", body(40, HEX))),
        ("planetscale", key("ps", "cale_tkn_", body(43, URLSAFE))),
        ("atlassian", key("AT", "ATT3x", body(180, URLSAFE))),
        ("doppler", key("dp", ".pt.", body(43))),
        ("square", key("sq", "0atp-", body(22, URLSAFE))),
        ("brevo", key("xkey", "sib-", body(64, HEX), "-", body(16))),
        ("tailscale", key("ts", "key-auth-", body(12), "-", body(32))),
        ("age", key("AGE-SECRET", "-KEY-1", body(58, UPPER))),
        ("rubygems", key("ruby", "gems_", body(48, HEX))),
        ("resend", key("r", "e_", body(8), "_", body(24))),
        ("azure-client", key(body(3), "8Q", "~", body(31))),
        ("jwt", jwt()),
        ("slack-cookie", key("xo", "xd-", body(60, URLSAFE))),
        ("aws-session", key("IQoJb3Jp", "Z2luX2Vj", body(120, ALNUM + "+/"))),
        ("aws-session", key("FwoGZXIv", "YXdzE", body(120, ALNUM + "+/"))),
        ("cloudflare-origin", key("v1", ".0-", body(24, HEX), "-", body(146, HEX))),
        ("firebase", key("AA", "AA", body(7), ":", "APA91b", body(134, URLSAFE))),
        ("asana", key("1", "/1204467701935528:", body(32, HEX))),
        ("asana", key("2", "/1204467701935528/1207730046118235:", body(32, HEX))),
        ("clickup", key("pk", "_4412345_", body(32, UPPER))),
        ("adafruit", key("ai", "o_", body(28))),
        ("frameio", key("fi", "o-u-", body(64, URLSAFE))),
        ("duffel", key("duf", "fel_live_", body(43, URLSAFE))),
        ("infracost", key("ic", "o-", body(32))),
        ("lob", key("li", "ve_", body(35, HEX))),
        ("scalingo", key("tk", "-us-", body(48, URLSAFE))),
        ("llama-cloud", key("ll", "x-", body(48))),
        ("apify", key("api", "fy_api_", body(36))),
        ("browserbase", key("b", "b_live_", body(27, URLSAFE))),
        ("firecrawl", key("f", "c-", body(32, HEX))),
        ("anyscale", key("esec", "ret_", body(28, string.ascii_lowercase + string.digits))),
        ("friendli", key("fl", "p_", body(46))),
        ("retool", key("ret", "ool_01", body(26, UPPER))),
        ("vercel-blob", key("vercel_", "blob_rw_", body(16), "_", body(30))),
        ("nuget", key("oy", "2", body(43, string.ascii_lowercase + string.digits))),
        ("jetbrains", key("per", "m:", body(8), "=.", body(8), "=.", body(30))),
        ("intercom", key("dG9", "rO", body(54, ALNUM + "_="))),
        ("bitcoin-wif", key("5", "K", "b", body(48, BASE58))),
        ("bitcoin-extended", key("xp", "rv9s21ZrQH143K", body(97, BASE58))),
        ("key-in-base64", key("LS0tLS1CRUdJTi", "BSU0EgUFJJVkFURSBLRVkt", body(200, ALNUM + "+/"))),
        ("key-in-base64", key("LS0tLS1CRUdJTi", "BQUklWQVRFIEtFWS0t", body(200, ALNUM + "+/"))),
        ("key-in-base64", key("LS0tLS1CRUdJTi", "BPUEVOU1NIIFBSSVZBVEUgS0VZ", body(200, ALNUM + "+/"))),
        ("gitlab-deploy", key("gl", "dt-", body(20, URLSAFE))),
        ("sourcegraph", key("sg", "p_", body(16, HEX), "_", body(40, HEX))),
        ("snowflake-like-pat", key("ver:1-hint:", body(11, string.digits + "a"), "-ETMsDgAAA", body(60))),
        ("mercury", key("secret-token:", "mercury_production_", "rma_", body(40))),
        ("maxmind", key(body(6), "_", body(29), "_", "mmk")),
        ("zuplo", key("zpk", "a_", body(32), "_", body(8))),
        ("ionic", key("ion", "_", body(42, string.ascii_lowercase + string.digits))),
    ]
    frames = [
        "use {} for the call",
        '{{"content": "key {}"}}',
        "export X={}",
        "line one\\n{}\\nline two",
        "[{}]",
        "https://example.com/?q={}&x=1",
    ]
    return [Case(kind, frames[i % len(frames)].format(s), s) for i, (kind, s) in enumerate(shapes)]


def _named() -> list[Case]:
    password = "".join(["c0rrect", "-", "H0rse", "!", body(6)])
    spaced = " ".join(["purple", "monkey", "dish" + "washer", body(5)])
    secret40 = body(40, ALNUM + "+/")
    azure = base64.b64encode(body(64).encode()).decode()
    opaque = body(40)
    at_sign = f"{opaque[:10]}@{opaque[10:20]}"
    basic = base64.b64encode(f"admin:{password}".encode()).decode()
    rows = [
        ("password-assignment", f"password={password}", password),
        ("password-assignment", f'db_password: "{spaced}"', spaced),
        ("password-assignment", f"PGPASSWORD='{spaced}' psql", spaced),
        ("password-assignment", f'self.password: str = "{password}"', password),
        ("password-assignment", f"Password := {password}", password),
        ("password-assignment", f"**Password:** {password}", password),
        ("password-json", json.dumps({"user": "bob", "password": spaced}), spaced),
        ("password-json-escaped", json.dumps(json.dumps({"password": spaced})), spaced),
        ("password-yaml", f"password: |\n  {password}\n", password),
        ("password-flag", f"mysqladmin --password {password} status", password),
        ("password-flag", f"curl -u admin:{password} https://api.example.com", password),
        ("password-prose", f"the password is {password}", password),
        ("password-prose", f"user bob password {password} works", password),
        ("key-prose", f"my API key is {opaque}", opaque),
        ("api-key-spaced", f"API key: {opaque}", opaque),
        ("plain-key", f"key={opaque}", opaque),
        ("password-sql", f"CREATE USER bob IDENTIFIED BY '{password}';", password),
        ("password-xml", f"<server><password>{password}</password></server>", password),
        ("password-netrc", f"machine example.com login bob password {password}", password),
        ("api-key-assignment", f"api_key={opaque}", opaque),
        ("api-key-assignment", f"API-KEY : {opaque}", opaque),
        ("api-key-header", f"X-Api-Key: {opaque}", opaque),
        ("api-key-camel", f"const apiKey = '{opaque}';", opaque),
        ("aws-secret", f"aws_secret_access_key = {secret40}", secret40),
        ("aws-secret", f'"SecretAccessKey": "{secret40}"', secret40),
        ("aws-secret", key("AK", "IA", body(16, UPPER)) + f",{secret40}", secret40),
        ("azure-storage", f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={azure};", azure),
        ("azure-bus", f"Endpoint=sb://x.example.net/;SharedAccessKeyName=n;SharedAccessKey={azure}", azure),
        ("azure-sas", f"https://a.blob.example.net/c?sv=2022&sig={opaque}%3D", opaque),
        ("url-password", f"postgresql://app:{password}@db.internal:5432/app", password),
        ("url-password", f"redis://:{opaque}@cache:6379/0", opaque),
        ("url-password", f"mongodb+srv://app:{opaque}@cluster0.example.net", opaque),
        ("url-password", f"amqp://guest:{at_sign}@mq:5672/", at_sign),
        ("url-token", f"git clone https://{opaque}@git.example.com/a/b.git", opaque),
        (
            "connection-string",
            f"Server=tcp:sql;Database=d;User ID=sa;Password={password};Encrypt=True",
            password,
        ),
        ("connection-string", f"Driver=x;Uid=sa;Pwd={password};", password),
        ("jdbc", f"jdbc:oracle:thin:scott/{password}@db:1521:orcl", password),
        ("bearer", f"Authorization: Bearer {opaque}", opaque),
        ("bearer", f"sent bearer {opaque} upstream", opaque),
        ("basic", f"Authorization: Basic {basic}", basic),
        ("authorization-json", json.dumps({"headers": {"Authorization": f"token {opaque}"}}), opaque),
        ("cookie", f"Cookie: theme=dark; sid={opaque}", opaque),
        ("set-cookie", f"Set-Cookie: session={opaque}; Path=/; HttpOnly", opaque),
        ("cookie-json", json.dumps({"cookie": f"sid={opaque}"}), opaque),
        ("session-cookie", f"GET / JSESSIONID={opaque}", opaque),
        ("slack-webhook", key("https://hooks.sl", "ack.com/services/T0/B0/", opaque), opaque),
        ("discord-webhook", key("https://dis", "cord.com/api/webhooks/12345/", opaque), opaque),
        ("client-secret", f"client_secret={opaque}", opaque),
        ("client-secret", f"clientSecret: '{opaque}'", opaque),
        ("oauth-token", f"https://example.com/cb#access_token={opaque}&type=bearer", opaque),
        ("token-assignment", f"GITHUB_TOKEN={opaque}", opaque),
        ("token-assignment", f'"refresh_token": "{opaque}"', opaque),
        ("token-assignment", f"token: {opaque}", opaque),
        ("npmrc", f"//registry.example.com/:_authToken={opaque}", opaque),
        ("docker-auth", json.dumps({"auths": {"r": {"auth": basic}}}), basic),
        ("kubeconfig", f"    client-key-data: {azure}", azure),
        ("django", f"SECRET_KEY = '{opaque}'", opaque),
        ("environment", f"STRIPE_KEY={opaque}", opaque),
        ("jwk", json.dumps({"kty": "EC", "crv": "P-256", "d": opaque}), opaque),
        ("password-full-width", f"Password：{password}", password),
        ("okta", f"Authorization: SSWS 00{opaque}", opaque),
        ("opsgenie", f"Authorization: GenieKey {opaque}", opaque),
        ("dynatrace-header", f"Authorization: Api-Token {opaque}", opaque),
        ("discord-header", f'"Authorization": "Bot {opaque}"', opaque),
        ("splunk", f"Authorization: Splunk {opaque}", opaque),
        ("godaddy", f"Authorization: sso-key {opaque[:20]}:{opaque}", opaque),
        ("proxy", f"Proxy-Authorization: Basic {basic}", basic),
        ("azure-openai", f"api-key: {body(32, HEX)}", ""),
        ("header-list", json.dumps([{"name": "X-Auth-Token", "value": opaque}]), opaque),
        ("header-vendor", f"X-Vault-Token: {opaque}", opaque),
        ("header-vendor", f"PRIVATE-TOKEN: {opaque}", opaque),
        ("header-vendor", f"X-Shopify-Access-Token: {opaque}", opaque),
        ("header-vendor", f"DD-API-KEY: {opaque}", opaque),
        ("header-vendor", f"x-amz-security-token: {secret40}{secret40}", secret40),
        ("cloudinary", f"cloudinary://123456789012345:{opaque}@demo", opaque),
        ("sentry-dsn", f"https://{body(32, HEX)}@o12.ingest.example.io/45", ""),
        ("wireguard", f"PrivateKey = {azure[:43]}=", azure[:43]),
        ("wireguard", f"PresharedKey = {azure[:43]}=", azure[:43]),
        ("properties", f"spring.datasource.password={password}", password),
        ("toml", f'[db]\npassword = "{spaced}"', spaced),
        ("php", f"define('DB_PASSWORD', '{password}');", password),
        ("ruby", f"config.secret_key_base = '{opaque}'", opaque),
        ("go", f'os.Setenv("API_TOKEN", "{opaque}")', opaque),
        ("powershell", f'$env:API_TOKEN = "{opaque}"', opaque),
        ("powershell", f'ConvertTo-SecureString "{password}" -AsPlainText -Force', password),
        ("helm", f"helm upgrade app . --set auth.password={password}", password),
        ("git-credentials", f"https://bob:{opaque}@git.example.com", opaque),
        ("subversion", f"svn co --username bob --password {password} https://svn.example.com", password),
        ("ldap", f"ldapsearch -D cn=admin -w {password} -b dc=example", password),
        ("smb", f"mount -t cifs -o username=bob,password={password} //host/share /mnt", password),
        ("redis-cli", f"redis-cli -h cache -a {password} ping", password),
        ("openssl", f"openssl rsa -in key.pem -passin pass:{password}", password),
        ("piped", f"echo {password} | sudo -S apt-get update", password),
        ("piped", "echo 'correct horse battery' | sudo -kS ls /root", "correct horse battery"),
        ("piped", 'echo "correcthorse" | docker login -u bob --password-stdin ghcr.io', "correcthorse"),
        ("piped", "printf 'bob:correcthorse\\n' | sudo chpasswd", "bob:correcthorse"),
        ("piped", "sudo -S true <<< 'correcthorse'", "correcthorse"),
        ("one-time-code", "npm publish --otp=48291375", "48291375"),
        ("one-time-code", "Your verification code is 48291375.", "48291375"),
        ("totp", f"otpauth://totp/a:b?secret={body(32, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}&issuer=a", ""),
    ]
    # Where no secret is named, the longest word is it.
    longest = [(kind, text, secret or max(re.findall(r"\w+", text), key=len)) for kind, text, secret in rows]
    return [Case(*row) for row in longest]


def _private_keys() -> list[Case]:
    labels = [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ]
    cases = []
    for label in labels:
        block, content = pem(label)
        cases.append(Case("private-key", f"here:\n{block}\ndone", content))
    block, content = pem("PRIVATE KEY")
    account = {"type": "service_account", "private_key_id": body(40, HEX), "private_key": block + "\n"}
    cases.append(Case("private-key-json", json.dumps(account), content))
    cases.append(Case("private-key-json-twice", json.dumps({"args": json.dumps(account)}), content))
    indented = "\n".join("    " + line for line in block.split("\n"))
    cases.append(Case("private-key-indented", f"key: |\n{indented}", content))
    half = block[: len(block) // 2]
    cases.append(Case("private-key-cut", f"log: {half}", half.split("\n", 1)[1]))
    return cases


SECRETS: tuple[Case, ...] = tuple(_tokens() + _named() + _private_keys())

_PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(6000)).decode()
_SHA1 = hashlib.sha1(b"commit").hexdigest()
_SHA256 = hashlib.sha256(b"file").hexdigest()
_UUID = str(uuid.UUID(int=random.Random(3).getrandbits(128), version=4))

# Secrets of plain words, which only their place gives away.
SECRETS += tuple(
    Case(kind, text, secret or max(re.findall(r"\w+", text), key=len))
    for kind, text, secret in (
        ("env-list", "env:\n  - name: DB_PASSWORD\n    value: correcthorse\n", "correcthorse"),
        ("env-list", '- name: API_TOKEN\n  value: "plainwordtoken"', "plainwordtoken"),
        ("pgpass", "db.example.org:5432:shop:alice:horsestaple", "horsestaple"),
        ("pgpass", "*:*:*:postgres:horsestaple", "horsestaple"),
        ("docker-login", "docker login -u bob -p horsestaple registry.example", "horsestaple"),
        ("htpasswd", "htpasswd -b /etc/nginx/users alice horsestaple", "horsestaple"),
        ("htpasswd", "htpasswd -nb alice horsestaple", "horsestaple"),
        ("dockerfile", "FROM alpine\nENV API_TOKEN horsestaple\nRUN ls", "horsestaple"),
        ("setx", "setx API_TOKEN horsestaple", "horsestaple"),
        ("setter", "config.set('password','horsestaple')", "horsestaple"),
        ("setter", 'config.set("api_key", "horse staple")', "horse staple"),
        ("environment-words", "JWT_SECRET=mysupersecretvalue", "mysupersecretvalue"),
        ("environment-words", "export DB_PASS=correcthorse", "correcthorse"),
        ("environment-words", 'SMTP_PASS="abcd efgh ijkl"', "abcd efgh ijkl"),
        ("url-signs", "postgres://u:horse@st/aple@db/shop", "horse@st/aple"),
        ("url-signs", "postgres://u:horse/st@aple@db/shop", "horse/st@aple"),
        ("app-settings", '<add key="ApiKey" value="horsestaple"/>', "horsestaple"),
        ("bearer-words", "Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
        ("german", "Passwort: horsestaple", "horsestaple"),
        ("french", "mot de passe : horsestaple", "horsestaple"),
        ("spanish", "contraseña: horsestaple", "horsestaple"),
        ("chinese", "密码：horsestaple", "horsestaple"),
        ("settings-words", "smtp_pass = 'horsestaple'", "horsestaple"),
        ("settings-words", "SMTP_PASS: horsestaple\n", "horsestaple"),
        ("settings-words", '{"smtpPass": "horsestaple"}', "horsestaple"),
        ("settings-words", "jwtSecret: 'horse and staple'", "horse and staple"),
        ("settings-words", "jwt.secret: horse-and-staple\n", "horse-and-staple"),
        ("settings-words", "grant_type=x&client_secret=horsestaple&code=1", "horsestaple"),
        ("settings-words", "DJANGO_SECRET_KEY=horsestaplebattery", "horsestaplebattery"),
        ("ansible", "ansible_become_pass: horsestaple\nansible_user: bob", "horsestaple"),
        ("ansible", "web1 ansible_host=10.0.0.1 ansible_ssh_pass=horsestaple", "horsestaple"),
        ("wifi", 'network={\n ssid="home"\n psk="horse and staple"\n}', "horse and staple"),
        ("redis-file", "requirepass horsestaple", "horsestaple"),
        ("netrc-turned", "machine api.example.org password horsestaple login bob", "horsestaple"),
        ("keytool", "keytool -genkey -storepass horsestaple -keystore k.jks", "horsestaple"),
        ("openssl-words", "openssl pkcs12 -in a.p12 -passin pass:horsestaple", "horsestaple"),
        ("openssl-words", "openssl enc -aes-256-cbc -in a -k horsestaple", "horsestaple"),
        ("httpie", "http --auth bob:horsestaple https://example.org", "horsestaple"),
        ("mysql-words", "mysql -u root -phorsestaple shop", "horsestaple"),
        ("fish", "set -gx API_TOKEN horsestaple", "horsestaple"),
        ("requests", "requests.get(url, auth=('bob', 'horsestaple'))", "horsestaple"),
        ("requests", 'HTTPBasicAuth("bob", "horse staple")', "horse staple"),
        ("workflow", "::add-mask::horsestaple", "horsestaple"),
        ("workflow", "::set-output name=deploy_token::horsestaple", "horsestaple"),
        ("header-words", "curl -H 'X-Auth-Token: horsestaplebatterycorrect' x", "horsestaplebatterycorrect"),
        ("fragment-words", "https://a.example/#access_token=horsestaplebattery&x=1", "horsestaplebattery"),
        ("cookie-table", "set-cookie\tsession=horsestaple; Path=/", "session=horsestaple"),
        ("aws-table", "| SecretAccessKey | " + body(40) + " |", ""),
        ("unseal", "Unseal Key 1: " + body(43) + "=", ""),
        (
            "seed-phrase",
            "mnemonic: " + "abandon ability able " * 3 + "about above absent",
            "ability able about",
        ),
    )
)

_CERTIFICATE = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\nMIID" + random.Random(9).randbytes(300)
).decode()

LOOK_ALIKES: tuple[str, ...] = (
    f"ca.crt: {_CERTIFICATE}",
    "from sklearn import sk_metrics; pip install scikit-learn==1.5.2",
    "task-force-2024-planning-notes",
    "pk_customer_id_4412345 bigint NOT NULL",
    "fc-list : family style | sort -u",
    "ico-arrow-left-circle-24px-outlined",
    "tk-us-east-1-production-cluster-a",
    "perm:read perm:write perm:admin.users.list",
    "aio_pika.connect_robust and aio_pika.RobustConnection",
    "live_stream_2024_recording_final_v2",
    "duffel_test_suite_runs_in_ci",
    "retool_apps/01_orders/main.json",
    "version v1.0-beta.3 and v1.0-rc1",
    "AAAA record: 2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "xpub" + "6CUGRUonZSQ4TWtTMmzXdrXDtypWKiKrhko4egpiMZbpiaQL2jkwSB1icqYh2cfDfVxdx4df189",
    "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPqXn",
    "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
    "0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
    "tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "id=V1StGXR8_Z5jdHi6B-myT",
    "arn:aws:iam::123456789012:role/deploy-prod",
    "projects/acme-prod-1234/locations/europe-west1/services/api",
    "vpc-0a1b2c3d4e5f67890 subnet-0123456789abcdef0 i-0abcd1234efgh5678",
    "00:1B:44:11:3A:B7 is up, 10.0.0.12/24",
    "ISBN 978-3-16-148410-0, DOI 10.1000/xyz123",
    "Authorization: required for every request to /v2",
    "authorization header missing or malformed (401)",
    "helm upgrade app . --set image.tag=2024.11.3-alpine",
    "ldapsearch -x -b dc=example,dc=org uid=alice",
    "openssl x509 -in cert.pem -noout -fingerprint",
    "llx-prefixed names belong to the cloud edition",
    "nuget install oy2-tools",
    "Basic usage: see the guide in docs/basic-usage.md",
    "the intercom at door dG9 rings twice",
    "mmk and zpka are abbreviations",
    "Bot accounts need approval from two maintainers",
    "react-dom@18.2.0-next-3ba7add60-20221201",
    "/nix/store/3n58xw4373jp0ljirf06d8077j15pc4j-glibc-2.37-8/lib",
    "k8s pod web-7d4b9c6f5d-x2vlq restarted",
    f"commit {_SHA1}",
    f"git checkout {_SHA1[:12]}",
    f"HEAD is now at {_SHA1[:7]} Fix the parser",
    f"index {_SHA1[:7]}..{_SHA1[7:14]} 100644",
    f"sha256:{_SHA256}",
    f"md5 {hashlib.md5(b'x').hexdigest()}  archive.tar.gz",
    f"sha512-{base64.b64encode(hashlib.sha512(b'x').digest()).decode()}",
    f'"integrity": "sha512-{base64.b64encode(hashlib.sha512(b"y").digest()).decode()}"',
    "$2b$12$" + "K" * 3 + "u1Wq9ZxY0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdefgh",
    f"id={_UUID}",
    f"request_id: {_UUID}",
    f"urn:uuid:{_UUID}",
    f'{{"session_id": "{_UUID}", "trace_id": "{_SHA256[:32]}"}}',
    f"data:image/png;base64,{_PNG}",
    f'{{"type": "image", "data": "{_PNG}"}}',
    "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
    "eyJmb28iOiAiYmFyIn0=",
    "The token limit is 128000 tokens per request.",
    "max_tokens=4096, temperature=0",
    '{"max_tokens": 4096, "prompt_tokens": 118, "total_tokens": 2210}',
    '{"tokensBefore": 108800, "tokensAfter": 9120}',
    "Your password must have at least 12 characters.",
    "I forgot my password and need a reset link.",
    "The password is required.",
    "Passwords are hashed with argon2 before they are stored.",
    "the password sha256 and argon2id variants",
    "password reset2024 page",
    "the key is 16 characters long",
    "key=user_2024_settings1",
    f"key: {_SHA256}",
    "a secret garden behind the house",
    "keep it secret, keep it safe",
    "the secretary wrote a token of thanks",
    "def get_token(self) -> str:",
    "token = get_token(request)",
    "token = tokens[index]",
    "token = self.tokenizer.next_token()",
    'tokenizer = "o200k_base"',
    'eos_token = "<|endoftext|>"',
    'next_page_token: "CAoQAA3x9Z1"',
    "secrets.token_hex(16)",
    "secret = os.environ['APP_SECRET']",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "bearer authentication is described in RFC 6750",
    "basic understanding of authorization",
    "accept the cookie policy",
    "cookies: chocolate chip, oatmeal",
    "https://example.com:8443/path/to@file.png",
    "ssh://git@github.com/org/repo.git",
    "git@github.com:org/repo.git",
    "https://example.com/search?q=token&page=2",
    "postgres://localhost:5432/app",
    "a task-force for risk-averse desk-bound users",
    "sk-learn and sk-SK are not keys",
    'class="sk-folding-cube sk-cube-wrapper-large"',
    "disk-or-network-failure-detected",
    "ghp and gho are prefixes",
    "hf_hub_download(repo_id=repo)",
    "npm_lifecycle_event npm_config_registry",
    "pypi-attestations is a package",
    "AKIAB is a short word",
    "SKU 12345-ABCDE",
    "xoxo and love",
    "PWD=/home/user/project1/src",
    "pwd: /srv/app2/data",
    "public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx0123456789abcdefABCDEFGHIJKLMNOPQRS",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQy0123456789abcdefABCDEF\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0123456789\n-----END PUBLIC KEY-----",
    "a PEM file starts with -----BEGIN PRIVATE KEY----- and ends with a similar line.",
    "2024-05-17T08:15:30.123456Z INFO server started on 127.0.0.1:8080",
    "version 1.24.0-rc.1+build.5114f85",
    "toolu_01A09q90qw90lq917835lq9",
    "call_abc123XYZ789def456",
    "chatcmpl-9xYzAbCdEfGhIjKlMnOpQrStUvWx",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
    "arn:aws:iam::123456789012:role/deploy-role",
    "s3://bucket/prefix/2024/05/file-000123.parquet",
    "docker run -u 1000:1000 alpine",
    "PRIMARY_KEY = users_pkey_2024",
    '{"type": "object", "properties": {"api_key": {"type": "string"}}}',
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "/usr/lib/python3.11/site-packages/token_utils/secret_store.py",
    "monkey-patching key-value stores",
    "GET /api/v1/users/42 HTTP/1.1\nHost: example.com\nAccept: */*",
    "bob@example.com and +1 415 555 0100 and 4111 1111 1111 1111",
    "compass: north2024",
    "Basic understanding1",
    "password Reset2024 flow",
    "docker run -p 8080:80 nginx",
    "ENV PATH /usr/local/bin",
    "- name: LOG_LEVEL\n  value: debugging",
    "src/app.py:5431:warning:unused:x",
    'fields = ["username", "password", "email"]',
    "NEXT_TOKEN=continueplease",
    "https://u@registry.example.org/@scope/pkg@1.0",
    "Das Passwort wurde geändert.",
    "f(client_id=cid, client_secret=secret)",
    "client_secret: string;",
    "db_pass: str\n",
    "user_pass = get_pass()",
    "app_secret = settings.APP_SECRET",
    '"forgot_user_pass": "Forgot your password?"',
    "render_pass: shadow\n",
    "jwt.secret: ${JWT_SECRET}\n",
    "machine learning password managers compared",
    "auth=(user, password)",
    "https ok, ls -a foo:bar",
    "cat /etc/passwd: permission denied",
    "set -e pipefail",
    "mysqldump --single-transaction db | gzip -p",
    "--from-literal=LEVEL=debug",
    "recovery phrase should be written down on paper, never shared with anyone",
    'echo "$SUDO_PASSWORD" | sudo -S true',
    "echo 1 | sudo tee /proc/sys/net/ipv4/ip_forward",
    "echo done | tee log; sudo -S true",
    "cat token.txt | docker login --password-stdin",
    "Erlang/OTP 26 and OTP 27.1.2",
    "error code 404, exit code 127, status code 200",
    "the verification code in src/verify.py:120456 is short",
    "one-time codes expire after 600 seconds",
    "sudo systemctl restart nginx <<< yes",
)
