"""Lines with a secret that must vanish, and ordinary lines that must stay byte for byte.

The secrets are made when the tests run, so that no scanner takes this file for a leak.
"""

import base64
import hashlib
import json

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
UPPER = LETTERS[:26] + LETTERS[52:]
HEX = "0123456789abcdef"


def made(size: int, seed: str = "", alphabet: str = LETTERS) -> str:
    """`size` characters that look random and are the same in every run; always with a digit."""
    found = ""
    while len(found) < size:
        digest = hashlib.sha512(f"{seed}/{size}/{len(found)}".encode()).digest()
        found += "".join(alphabet[byte % len(alphabet)] for byte in digest)
    return found[: size - 1] + "7"


def token(*parts: bytes) -> str:
    """A JSON web token's outer form."""
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


PASS = "hunter" + "2x"
LONG = made(40)
KEYS = {  # format: (kind of the mask, secret)
    "openai": ("key", "sk-" + made(48)),
    "openai project": ("key", "sk-proj-" + made(60) + "_-" + made(60)),
    "openai service account": ("key", "sk-svcacct-" + made(50)),
    "anthropic": ("key", "sk-ant-api03-" + made(90) + "-AA"),
    "openrouter": ("key", "sk-or-v1-" + made(64, alphabet=HEX)),
    "hugging face": ("key", "hf_" + made(34)),
    "groq": ("key", "gsk_" + made(52)),
    "xai": ("key", "xai-" + made(80)),
    "replicate": ("key", "r8_" + made(37)),
    "google ai": ("google", "AIza" + made(35)),
    "google ai, new": ("key", "AQ." + made(50)),
    "google oauth": ("google", "ya29." + made(60)),
    "google client": ("google", "GOCSPX-" + made(28)),
    "google refresh": ("google", "1//0" + made(40)),
    "aws": ("aws", "AKIA" + made(16, alphabet=UPPER)),
    "aws session": ("aws", "ASIA" + made(16, alphabet=UPPER)),
    "github": ("github", "ghp_" + made(36)),
    "github app": ("github", "ghs_" + made(36)),
    "github fine-grained": ("github", "github_pat_" + made(22) + "_" + made(59)),
    "gitlab": ("package", "glpat-" + made(20)),
    "gitlab, routable": ("package", "glpat-" + made(27) + ".01." + made(9, alphabet=HEX)),
    "npm": ("package", "npm_" + made(36)),
    "pypi": ("package", "pypi-AgEIcHlwaS5vcmc" + made(60)),
    "docker": ("package", "dckr_pat_" + made(27)),
    "slack bot": ("slack", "xoxb-" + made(12, alphabet="0123456789") + "-" + made(24)),
    "slack app": ("slack", "xapp-1-" + made(60)),
    "stripe": ("key", "sk_live_" + made(24)),
    "stripe restricted": ("key", "rk_live_" + made(24)),
    "sendgrid": ("key", "SG." + made(22) + "." + made(43)),
    "telegram": ("telegram", made(10, alphabet="123456789") + ":AA" + made(33)),
    "discord": ("discord", "M" + made(25) + "." + made(6) + "." + made(38)),
    "azure client": ("azure", made(3) + "8Q~" + made(34)),
    "databricks-like vault": ("key", "hvs." + made(24)),
    "shopify": ("key", "shpat_" + made(32, alphabet=HEX)),
    "alibaba": ("key", "LTAI" + made(20)),
    "zhipu": ("key", made(32, alphabet=HEX) + "." + made(16)),
    "age": ("key", "AGE-SECRET-KEY-1" + made(58, alphabet=UPPER)),
    "jwt": ("jwt", token(b'{"alg":"HS256"}', b'{"sub":"1234567890"}', made(32).encode())),
}
PLACES = [  # (line, secret)
    (f"https://me:{PASS}@host/x", PASS),
    (f"postgres://app:{PASS}@db:5432/shop?sslmode=require", PASS),
    (f"redis://:{PASS}@cache:6379/0", PASS),
    (f"mongodb+srv://app:p@{PASS}@cluster0.mongodb.net", f"p@{PASS}"),
    (f"git clone https://{LONG}@git.example.org/a/b.git", LONG),
    (f"git clone https://{LONG}:x-oauth-basic@git.example.org/a/b.git", LONG),
    (f"curl https://hooks.slack.com/services/T{made(9)}/B{made(9)}/{made(24)}", made(24)),
    (f"https://discord.com/api/webhooks/{made(18, alphabet='123456789')}/{made(68)}", made(68)),
    (f"Authorization: Bearer {LONG}", LONG),
    (f"-H 'authorization: bearer {made(24)}'", made(24)),
    (f"Authorization: Basic {base64.b64encode(b'me:' + PASS.encode()).decode()}", "bWU6"),
    (f"Authorization: token {LONG}", LONG),
    (f'{{"Authorization": "{LONG}"}}', LONG),
    (f"Cookie: session={made(32)}; theme=dark", made(32)),
    (f"Set-Cookie: sid={made(26)}; Path=/; HttpOnly", made(26)),
    (f"AccountName=a;AccountKey={LONG}+/==;EndpointSuffix=core", LONG),
    (f"Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey={LONG}=", LONG),
    (f"https://a.blob.core.windows.net/c?sv=2024&sig={LONG}%3D", LONG),
    (
        f"https://b.s3.amazonaws.com/k?X-Amz-Signature={made(64, alphabet=HEX)}",
        made(64, alphabet=HEX),
    ),
    (f"Server=db;User Id=sa;Password={PASS};Encrypt=yes", PASS),
    (f"Server=db;Uid=sa;Pwd={PASS};", PASS),
    (f"curl -sS -u me:{PASS} https://host/api", PASS),
    (f"sshpass -p {PASS} ssh me@host", PASS),
    (f"machine host login me password {PASS}", PASS),
    (f"PGPASSWORD={PASS} psql -h db", PASS),
    (f"export GITLAB_TOKEN={LONG}", LONG),
    (f"export API_TOKEN='{LONG}'", LONG),
    (f"aws_secret_access_key = {made(20)}/{made(19)}", made(20)),
    (f"AWS_SECRET_ACCESS_KEY=/{made(39)}", made(39)),
    (f"MYSQL_PASS={PASS}", PASS),
    ("DB_PASSWORD=correct" + "horse", "correct" + "horse"),
    (f"docker run -e POSTGRES_PASSWORD={PASS} postgres", PASS),
    (f"deploy --token {LONG} --verbose", LONG),
    (f"deploy --token={LONG}", LONG),
    (f"login --password {PASS}", PASS),
    (f"login --password={PASS}", PASS),
    (f"login --api-key '{PASS}'", PASS),
    (f"vault login -token {LONG}", LONG),
    (f"password: {PASS}", PASS),
    (f"  api_token: {LONG}", LONG),
    (f'client_secret: "{PASS}"', PASS),
    (f'{{"password": "{PASS}"}}', PASS),
    (f'{{"apiKey":"{LONG}","n":1}}', LONG),
    (f"{{'api_key': '{LONG}'}}", LONG),
    (json.dumps(json.dumps({"password": PASS, "n": 1})), PASS),
    (json.dumps(json.dumps(json.dumps({"access_token": LONG}))), LONG),
    (f'password = "{PASS}"', PASS),
    (f'const token: string = "{LONG}";', LONG),
    (f'let secret: &str = "{PASS}";', PASS),
    (f'config["password"] = "{PASS}"', PASS),
    (f"'password' => '{PASS}',", PASS),
    (f"<password>{PASS}</password>", PASS),
    (f"**Password**: `{PASS}`", PASS),
    ('passphrase = "correct horse battery ' + 'staple"', "battery"),
    (f"connect(user='me', password='{PASS}')", PASS),
    (f"connect(password={PASS})", PASS),
    (f"ALTER USER me WITH PASSWORD '{PASS}'", PASS),
    (f"CREATE USER me IDENTIFIED BY '{PASS}'", PASS),
    (f"//registry.npmjs.org/:_authToken={LONG}", LONG),
    (f"https://host/cb?access_token={LONG}&state=1", LONG),
    (f"the password is {PASS}.", PASS),
    (f"密码：{PASS}", PASS),
    (f"密码是{PASS}。", PASS),
    (f"数据库口令: {PASS}，用户 me", PASS),
    (f"密钥＝{LONG}", LONG),
    ("密码：open" + "sesame", "open" + "sesame"),
    (f"访问令牌为 {LONG}", LONG),
    (f"DB_PASSWORD={PASS}\\nDB_HOST=db", PASS),
    (f"token={LONG}...", LONG),
]
BODY = "\n".join(made(64, seed=str(line)) for line in range(12))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"

ORDINARY = """\
9fceb02d0ae598e95dc970b74767f19372d61af8
commit 9fceb02d0ae598e95dc970b74767f19372d61af8 (HEAD -> main)
123e4567-e89b-42d3-a456-426614174000
swapcache wake --session-key 123e4567-e89b-42d3-a456-426614174000 --form full
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
claude-opus-4-5-20251101 gpt-5.2-codex-2026-01-01 qwen3-coder-480b-a35b-instruct
deepseek-v3.2-exp, kimi-k2-0905-preview, glm-4.6, gemini-3-pro
src/tokens.py and tests/test_secret_sharing.py
task-force-with-a-very-long-dashed-name
risk-adjusted-return-on-capital-employed-2026
sk-learn-contrib-is-a-collection-of-packages
https://host:8080/path?x=1
http://localhost:3000?next=a@b
me@example.org, git@github.com:owner/repo.git
ssh://git@host:22/owner/repo
it used 120000 tokens, max_tokens=8192, token_count = 120000
tokens: 120k in, 8k out; cached_tokens: 99000
password: no
password: str
password: Optional[str] = None
The secret is out. What a token of trust!
password=$DB_PASSWORD
PGPASSWORD="${PGPASSWORD:?}" psql
password: ${{ secrets.DB_PASSWORD }}
password=<your password here>
--password <password>
--token TOKEN
--token "$GITHUB_TOKEN"
--password-stdin < file
--api-key your-api-key-here
password = "********"
password=xxxxxxxx
password = None
token: null
"password": null, "token": true
secret = os.environ["APP_SECRET1"]
password=getpass.getpass("Password: ")
token = os.getenv("TOKEN_2026")
api_key=settings.api_key
api_key = config.get("api_key", "")
const token = process.env.API_TOKEN;
token = tokenizer.next_token()
token = tokens[index2]
self.token = token2_of_list
def f(token: "re.Match[str]", secret: bytes = b"") -> str:
token: Uint8Array, secret: bytes32, api_key: u128
if token == "identifier" and password != "":
key: value, keys = sorted(table), primary_key=True
"type": "password", "name": "password"
"password": {"type": "string", "minLength": 8}
password: "must be at least 8 characters"
<input type="password" name="password">
<label for="password">Password</label>
password_file=/run/secrets/db_password
secret: /etc/ssl/private/key1.pem
token_file: tokens-2026.json
PWD=/home/me/project1 OLDPWD=/tmp/build2
token_url=https://host/oauth2/token
TOKEN_TYPE=bearer2 token_limit=200000x
api_key: https://host/keys/key1 password: vault:secret/data/db2
api_key = "your-api-key-2026", password="enter_password_1", token="put-4-tokens_here"
secret: 2026-11-30, api_key: 2026-11-30T12:00:00Z
password=self.password2 token=request.token1.value secret = keys2.first
api_key: API_KEY_V2 password=DB_PASSWORD_2
password: swordfish is wrong, secret: keeper, connect(password=plain, user=me)
secretName: db-credentials
arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC123
Bearer of bad news: authorization: required
WWW-Authenticate: Bearer realm="example2"
the token is base64-encoded, the password is utf-8-encoded
Password authentication failed for user "app1"
Cookie: see RFC 6265, section 4.2.1
the cookie: name=value
-----BEGIN PUBLIC KEY-----
grep -r "BEGIN RSA PRIVATE KEY" . | head -20
it looks for -----BEGIN PRIVATE KEY----- in 20 files
AKIA is a prefix, and so are ghp_, sk-ant-, xoxb- and glpat-
npm_config_registry=https://registry.npmjs.org npm_package_version_2026_10
hf_hub_download_with_a_long_name_and_more_2026
eyJ is how a web token begins, eyJhbGciOiJIUzI1NiJ9 alone is none
12:30:45 INFO worker 10.0.0.1:8080 took 1234567890:42 ms
docker run -u 1000:1000 image; curl -u "$USER:$PASS" https://host
first_pass: 15/20 tests, second pass 20/20
secret[:4000] + password[8:16000]
密码：见下文
密码不能为空，请先设置密码。
密钥：$SECRET_KEY
令牌数：120000，口令：********
请把密码放进环境变量 DB_PASSWORD，不要写进 config.yaml
合言葉は秘密です。パスワード: なし
diff --git a/secret.py b/secret.py index 83db48f..bf2a5c1 100644
@@ -1,7 +1,7 @@ def token(self) -> str:
[redacted:key:0123abcd] password=[redacted:value:0123abcd]
https://[redacted:url:0123abcd]@host token: "[redacted:value:0123abcd]"
""".splitlines()
