"""Secrets that only their place gives away, one group a mechanism, and what looks like them."""

from __future__ import annotations

import json

from .secret_corpus import Case

WORD = "horse" + "staple"
TYPED = "Tr0ub" + "adour&3"
MIXED = "k7Qp" + "2vXw9Lm4"
SMALL = "otter" + "5521"
HEX = "6231336539" + "666234306139"


def _below() -> list[tuple[str, str, str]]:
    return [
        ("block-scalar", f"db_password: |2-  # rotate in May\n    {WORD}\nuser: bob\n", WORD),
        ("block-scalar", f"clientSecret: >+\n  {WORD}\n\nnext: 1\n", WORD),
        ("block-scalar", f"passphrase: !!str |\n  purple {WORD} monkey\nx: y\n", f"purple {WORD} monkey"),
        ("block-scalar", f"secret: &shared !!str |\n  {WORD}\nx: y\n", WORD),
        ("encrypted-block", f"secret: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  {HEX}\n  {HEX}\nx: y\n", HEX),
        ("block-scalar", f"  password: >-\n    {WORD}\n    {WORD[::-1]}\n  user: bob\n", WORD[::-1]),
        ("line-below", f"The root password for the new box is:\n\n{TYPED}\n\nPlease change it.", TYPED),
        ("line-below", f"Das Passwort für die Datenbank lautet:\n{TYPED}\n", TYPED),
    ]


def _tables() -> list[tuple[str, str, str]]:
    return [
        ("csv", f"user,password,role\nbob,{WORD},admin\nal,x,guest\n", WORD),
        ("csv", f'"User";"Initial Password"\n"bob";"{WORD}, with comma"\n', f"{WORD}, with comma"),
        ("csv", f"host\tuser\tapi_key\nweb1\tbob\t{MIXED}\n", MIXED),
        ("csv", f"name,city,Passwort\nbob,Ulm,{WORD}\n", WORD),
        (
            "markdown",
            f"\n| Service | User | Password |\n|:--|---|--:|\n| mail | bob | {WORD} |\n\nDone.",
            WORD,
        ),
        ("markdown", f"Host | Secret\n---|---\nweb | {WORD}\n", WORD),
        ("psql", f" id | name | password \n----+------+----------\n  1 | bob  | {WORD}\n(1 row)\n", WORD),
        (
            "mysql",
            f"+------+----------+\n| user | password |\n+------+----------+\n| bob  | {WORD} |\n+------+\n",
            WORD,
        ),
        (
            "columns",
            f"USER      PASSWORD        HOST\nbob       {WORD}     web1\neve                       web2\n",
            WORD,
        ),
        ("columns", f"Name   Secret\n----   ------\nbob    {WORD}\n", WORD),
        ("pins", "card,pin\n4711,82645\n", "82645"),
    ]


def _hidden() -> list[tuple[str, str, str]]:
    return [
        ("color", f"\x1b[1mpass\x1b[32mword\x1b[0m: {WORD}", WORD),
        ("color", f"api\x1b[0m_key\x1b[1;31m = {WORD}", WORD),
        ("color-escaped", f'{{"log": "pass\\u001b[0mword: {WORD}"}}', WORD),
        ("zero-width", f"pass\u200bword={WORD}", WORD),
        ("zero-width", f"client\u2060_sec\ufeffret: '{WORD}'", WORD),
        ("soft-hyphen", f"pass\u00adword: {WORD}", WORD),
        ("escaped-name", f'{{"pass\\u0077ord": "{WORD}"}}', WORD),
        ("escaped-name", f'{{\\"client\\\\u005fsecret\\": \\"{WORD}\\"}}', WORD),
        ("json-in-json", json.dumps({"body": json.dumps({"db": {"password": WORD}})}), WORD),
        ("escaped-words", json.dumps(f"密码是{TYPED}"), TYPED),
        ("percent-codes", f"grant_type%3Dx%26client_secret%3D{WORD}%26a%3D1", WORD),
        ("percent-codes", f"next=https%3a%2f%2fh%2f%3faccess_token%3d{MIXED}{MIXED}", MIXED + MIXED),
        ("percent-codes", f"body=%7B%22password%22%3A%22{WORD}%22%7D", WORD),
        ("percent-codes", f"https://h/?u=%2Fcb%253Fapi_key%253D{WORD}%2526b", WORD),
        ("percent-codes", f"mot%20de%20passe%3A%20{TYPED}", TYPED),
    ]


def _languages() -> list[tuple[str, str, str]]:
    return [
        ("german", f"Das WLAN-Passwort lautet {TYPED}.", TYPED),
        ("german", f"Das Passwort lautet {WORD}.", WORD),
        ("german", f"Das Passwort lautet immer noch {WORD}.", WORD),
        ("german", "Das Passwort lautet „überall“.", "überall"),
        ("german", f"Kennwort für den Drucker: {TYPED}", TYPED),
        ("french", f"Le mot de passe du serveur est {TYPED}", TYPED),
        ("french", f"Clé API : {MIXED}", MIXED),
        ("spanish", f"La contraseña de la base de datos es {TYPED}, no la pierdas", TYPED),
        ("portuguese", f"A senha é {TYPED}", TYPED),
        ("italian", f"La parola d'ordine è {TYPED}", TYPED),
        ("dutch", f"Het wachtwoord luidt {TYPED}", TYPED),
        ("polish", f"Hasło to {TYPED}", TYPED),
        ("czech", f"Heslo do systému je {TYPED}", TYPED),
        ("swedish", f"Lösenordet är {TYPED}", TYPED),
        ("hungarian", f"A jelszó: {WORD}", WORD),
        ("turkish", f"Yeni şifre: {WORD}", WORD),
        ("turkish", f"Parolanız {TYPED} olarak ayarlandı", TYPED),
        ("russian", f"ПАРОЛЬ: {WORD}", WORD),
        ("russian", f"Пароль от сервера — {TYPED}", TYPED),
        ("greek", f"Ο κωδικός πρόσβασης είναι {TYPED}", TYPED),
        ("vietnamese", f"Mật khẩu là {TYPED}", TYPED),
        ("arabic", f"كلمة المرور هي {TYPED}", TYPED),
        ("hindi", f"पासवर्ड: {WORD}", WORD),
        ("chinese", f"数据库密码是{TYPED}。", TYPED),
        ("chinese", f"密码已改为 {TYPED}", TYPED),
        ("japanese", f"パスワードは{WORD}です", WORD),
        ("japanese", f"パスワード「{TYPED}」を使う", TYPED),
        ("korean", f"비밀번호는 {TYPED}입니다", TYPED),
    ]


def _calls() -> list[tuple[str, str, str]]:
    return [
        ("call", f'user.setPassword("{WORD}");', WORD),
        ("call", f"client.with_password('{WORD}').connect()", WORD),
        ("call", f"set_password(user, '{WORD}')", WORD),
        ("call", f'check_password("{TYPED}", stored)', TYPED),
        ("call", f"login('me', '{WORD}')", WORD),
        ("call", f'smtp.login(sender, "{WORD}")', WORD),
        ("call", f'new NetworkCredential("bob", "{WORD}", "corp")', WORD),
        ("call", f'smtp.PlainAuth("", "bob@example.org", "{TYPED}", host)', TYPED),
        ("call", f'DriverManager.getConnection(url, "bob", "{TYPED}")', TYPED),
        ("call", f"mysqli_connect('localhost', 'root', '{TYPED}', 'shop')", TYPED),
        ("call", f'session.authenticate(username, b"{WORD}")', WORD),
    ]


def _commands() -> list[tuple[str, str, str]]:
    return [
        ("option", f"az login --service-principal --client-secret {WORD}", WORD),
        ("option", f'["deploy", "--db-password", "{WORD}"]', WORD),
        ("option", f"tool --clientSecret {MIXED} run", MIXED),
        ("option", f"New-User -Name bob -Password {WORD}", WORD),
        ("option", f"runner register --registration-token {MIXED}", MIXED),
        ("client", f"mongosh -u admin -p {WORD} --host db1", WORD),
        ("client", f"sqlcmd -S db -U sa -P {WORD} -Q 'select 1'", WORD),
        ("client", f"mariadb -u root -p{WORD} shop", WORD),
        ("client", f"smbclient //srv/share -U bob%{WORD}", WORD),
        ("client", f"net use Z: \\\\nas\\team {TYPED} /user:bob", TYPED),
        ("client", f"net use \\\\srv\\c$ /user:CORP\\bob {WORD}", WORD),
        ("client", f"net user bob {TYPED} /add", TYPED),
        ("client", f"aws configure set aws_secret_access_key {WORD}", WORD),
        ("client", f"aws configure set profile.dev.aws_session_token {MIXED}", MIXED),
        ("client", f"plink -ssh bob@host -pw {WORD} uptime", WORD),
        ("client", f"snmpwalk -v2c -c {WORD} 10.0.0.1", WORD),
        ("client", f"rabbitmqctl add_user bob {WORD}", WORD),
        ("client", f"lftp -u bob,{WORD} ftp.example.org", WORD),
        ("client", f"ipmitool -H 10.0.0.1 -U admin -P {WORD} power status", WORD),
        ("client", f"nmcli dev wifi connect home password {WORD}", WORD),
        ("client", f"xfreerdp /v:host /u:bob /p:{WORD}", WORD),
        ("client", f"mosquitto_pub -h mq -u bob -P {WORD} -t x -m y", WORD),
        ("client", f"vault login {MIXED}", MIXED),
        ("client", f"7z a -p{WORD} out.7z dir", WORD),
        ("client", f"npm config set //registry.example.org/:_authToken {MIXED}", MIXED),
    ]


def _appliances() -> list[tuple[str, str, str]]:
    return [
        ("appliance", f"snmp-server community {WORD} RO", WORD),
        ("appliance", f"switch1(config)# enable secret 0 {WORD}\n", WORD),
        ("appliance", f"\nusername admin privilege 15 secret 0 {WORD}\n", WORD),
        ("appliance", f"tacacs-server host 10.0.0.5 key {WORD}", WORD),
        ("appliance", f"radius-server key 7 {MIXED}", MIXED),
        ("appliance", f"crypto isakmp key {WORD} address 10.1.1.1", WORD),
        ("appliance", f"\n neighbor 10.0.0.2 password {WORD}\n", WORD),
        ("appliance", f"base dc=example,dc=org\nbindpw {WORD}\n", WORD),
        ("appliance", f"rootpw {WORD}", WORD),
        ("appliance", f"rocommunity {WORD} 10.0.0.0/8", WORD),
        ("appliance", f"    auth_pass {WORD}\n", WORD),
        ("appliance", f"\nset psksecret {WORD}\n", WORD),
        ("appliance", f"ntp authentication-key 1 md5 {WORD}", WORD),
    ]


def _pins() -> list[tuple[str, str, str]]:
    return [
        ("pin", "PIN: 8264", "8264"),
        ("pin", "The PIN for the alarm is 82645.", "82645"),
        ("pin", '{"pin": "826451"}', "826451"),
        ("pin", "Die PIN lautet 8264", "8264"),
        ("pin", "code PIN : 8264", "8264"),
        ("pin", "暗証番号は8264です", "8264"),
        ("one-time", "otp code 482913", "482913"),
        ("one-time", "the code for the login is 482913", "482913"),
        ("one-time", "2FA: 482-913", "482-913"),
        ("one-time", "Your one time passcode for Acme is 482 913", "482 913"),
        ("one-time", '{"verification_code": "482913"}', "482913"),
        ("one-time", "Ihr Bestätigungscode lautet 482913", "482913"),
        ("one-time", "验证码：482913", "482913"),
    ]


def _weak_separators() -> list[tuple[str, str, str]]:
    return [
        ("arrow", f"password -> {SMALL}", SMALL),
        ("arrow", f"Das Kennwort → {TYPED}", TYPED),
        ("dash", f"Password - {SMALL}", SMALL),
        ("dash", f"db password — {TYPED}", TYPED),
        ("bar", f"passwd | {SMALL}", SMALL),
        ("note", f"Password (new): {SMALL}", SMALL),
        ("note", f"Password [staging]: {SMALL}", SMALL),
        ("note", f"password (old) {SMALL}", SMALL),
        ("blank", f"root password {SMALL} for db1", SMALL),
        ("blank", f"user bob, pw {SMALL}", SMALL),
        ("blank", f"username bob, pass {SMALL}", SMALL),
        ("comma", f"the new password, {SMALL}, works", SMALL),
        ("blank", f"aws_secret_access_key {MIXED}{MIXED}", MIXED + MIXED),
        ("blank", f"ENV SECRET_KEY_BASE {MIXED.lower()}", MIXED.lower()),
        ("blank", f"api-key {MIXED} works", MIXED),
        ("owner", f"wifi key: {SMALL}", SMALL),
        ("owner", f"Wi-Fi key {MIXED}", MIXED),
        ("owner", f"pre-shared key = {SMALL}", SMALL),
        ("pair", f"creds: bob/{SMALL}", SMALL),
        ("pair", f"credentials bob:{SMALL}", SMALL),
        ("pair", f"login bob / {SMALL}", SMALL),
        ("store", f"vault kv put secret/x user=bob value={SMALL}", SMALL),
        ("store", f"heroku config:set STUFF={SMALL}", SMALL),
        ("codes", "recovery codes: a1b2-c3d4 e5f6-g7h8", "a1b2-c3d4 e5f6-g7h8"),
        ("codes", "Backup codes:\na1b2c-3d4e5\nf6g7h-8i9j0\n", "f6g7h-8i9j0"),
        ("codes", "scratch codes 11223344 55667788", "11223344 55667788"),
        ("codes", "the access code 12345678", "12345678"),
    ]


def _look_alike_letters() -> list[tuple[str, str, str]]:
    return [
        ("full-width", f"ｐａｓｓｗｏｒｄ: {SMALL}", SMALL),
        ("full-width", f"ａｐｉ＿ｋｅｙ＝{MIXED}", MIXED),
        ("full-width", "ｐａｓｓｗｏｒｄ: ｏｔｔｅｒ５５２１ｘｙｚｑｒ", "ｏｔｔｅｒ５５２１ｘｙｚｑｒ"),
        ("mathematics", f"𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝: {SMALL}", SMALL),
        ("circles", f"ⓟⓐⓢⓢⓦⓞⓡⓓ: {SMALL}", SMALL),
        ("cyrillic", f"p\u0430ssw\u043erd: {SMALL}", SMALL),
        ("cyrillic", f"\u0420ASSWORD = {SMALL}", SMALL),
        ("greek", f"t\u03bfken: '{MIXED}'", MIXED),
    ]


PLACED: tuple[Case, ...] = tuple(
    Case(*row)
    for row in (
        *_below(),
        *_tables(),
        *_hidden(),
        *_languages(),
        *_calls(),
        *_commands(),
        *_appliances(),
        *_pins(),
        *_weak_separators(),
        *_look_alike_letters(),
    )
)

PLACED_LOOK_ALIKES: tuple[str, ...] = (
    "if not password:\n    raise ValueError('missing')",
    "if password:\n    return connect(user)",
    "password = os.environ['DB_PASSWORD']",
    'password: os.getenv("DB_PASSWORD"),',
    "api_key = settings.API_KEY",
    "apiKey: process.env.OPENAI_API_KEY,",
    "password: ${DB_PASSWORD}",
    "password={{ vault_db_password }}",
    "password: vault:secret/data/db#password",
    "api_key: <your-api-key>",
    "password = getpass.getpass('Password: ')",
    "secret: !vault |\n          $ANSIBLE_VAULT;1.1;AES256\n",
    "secret: |\n  $DB_PASSWORD\n  $DB_USER\n",
    "description: |\n  The password is required.\nname: x\n",
    "https://h/?redirect_uri=https%3A%2F%2Fapp.example.com%2Ftoken&state=open",
    "printf('token%3d%22s', key)",
    "mfa token lifetime: 3600, otp length is 6",
    "2fa is required since 20240101",
    "sort key: created_at_2024, network keys are cached",
    "| Field | Type |\n|---|---|\n| password | string |\n",
    "| User | Password set |\n|---|---|\n| bob | yes |\n",
    "user,password\nbob,\nal,\n",
    "NAME      SECRETS   AGE\ndefault   1         4d\n",
    "step,tokens,loss\n1,4096,0.3\n",
    "\x1b[32mtokens used:\x1b[0m 1024",
    'net.createConnection(port, "127.0.0.1")',
    "the kernel's rpcauthrefresh counter",
    "Das Passwort ist falsch.",
    "Das Passwort lautet wie folgt:",
    "Das Passwort lautet anders als gestern.",
    "Das Passwort lautet unverändert.",
    "Hasło brzmi inaczej",
    "Reset your password:\nhttps://id.example.com/reset/4711?next=/home\n",
    "api_key:\n  https://console.example.com/keys\n",
    "Das Passwort muss mindestens 12 Zeichen haben.",
    "Le mot de passe est obligatoire.",
    "La contraseña es demasiado corta",
    "密码长度至少8位",
    "密码使用bcrypt加密",
    "パスワードを忘れた場合",
    'getPassword("db")',
    'get_secret("prod/db/password")',
    "login(user, password)",
    'signal.connect("clicked", handler)',
    'passwordField("Your password")',
    'validatePassword("password is too short")',
    "use --password to set it, or --token and go on",
    "docker build --secret id=npmrc,src=.npmrc .",
    "openssl req --key server.key",
    "mkdir -p build/output && cp -p a b",
    "docker run -p 8080:80 nginx",
    "psql -p 5432 -U bob shop",
    "redis-cli -p 6379 ping",
    "ssh -p 2222 bob@host",
    "mysql -u root -p shop < dump.sql",
    "set password policy for all users",
    "GPIO pin: 13 is high",
    "pin 4 of the connector",
    "pin the version to 2024",
    "the snmp community is active",
    "set -euo pipefail",
    "The article is 20240517abcdef99 in the archive",
    "The password rotates weekly.",
    "a password manager such as KeePass2",
    "password - at least 12 characters",
    "the password policy - 8 characters or more",
    "password -> hash -> store",
    "password → see 1Password",
    "cat password.txt | sha256sum",
    'echo "$password" | base64',
    "username, password, oauth2",
    "password, sha256, salt",
    "password bcrypt, cost 12",
    "password reset flow2024",
    "password form step2",
    "password ticket ABC-1234",
    "Password (8+ chars)",
    "Password (optional): leave empty",
    "pwd /home/user12",
    "cd src; pwd | tee log20240517.txt",
    "| password | VARCHAR(64) | no |",
    "The password was reset by user4711 on 2024-05-17",
    "password for db01 is in the vault",
    "api key rotation 2024-05",
    "access token lifetime 15min",
    "signing key ES256",
    "private key id_rsa",
    "webhook secret docs https://docs.example.com/hooks/v2/a1b2c3",
    "cache key 9f86d081884c7d659a2feaa0c55ad015",
    "credentials: config/credentials.yml",
    "login page / home2",
    "login at 10:30",
    "backup codes: 10 left",
    "vault kv put secret/x value=$VALUE",
    "heroku config:set NODE_ENV=production",
    "password: !vault",
    "Пароль - обязательное поле",
    "Пароль должен быть не короче 12 символов",
)
