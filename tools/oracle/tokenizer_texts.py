"""The little training text and the strings of the tokenizer goldens. All written for this project."""

CORPUS = """
The smallest hummingbird weighs less than a coin, and it can hover in front of a flower without moving its head.
A hummingbird drinks nectar; the flower gives sugar, and the bird carries pollen from one flower to another.
When the night is cold the bird slows its heart, its breath and its heat, and when the sun returns it wakes again.
It's said that they'll remember every flower they've visited, that they don't forget, and that we're slower than they are.
I'd watch them all day, and I'm sure you'd watch them too; they're small, but they've won the garden.
Numbers: 1 12 123 1234 12345 123456 1234567; the year 2024, the price 99.95, the ratio 3:1, the range 10-20.
The wings beat fifty times per second, the heart beats a thousand times per minute, the tongue moves ten times per second.
Le colibri boit le nectar des fleurs; l'oiseau est tr\u00e8s l\u00e9ger, et la for\u00eat est \u00e0 lui.
Der Kolibri schwebt \u00fcber der Bl\u00fcte; er ist kleiner als ein Blatt, und schneller als man sieht.
El colibr\u00ed vuela hacia atr\u00e1s; la ma\u00f1ana es fr\u00eda, y el p\u00e1jaro despierta con el sol.
\u041a\u043e\u043b\u0438\u0431\u0440\u0438 \u043f\u044c\u0451\u0442 \u043d\u0435\u043a\u0442\u0430\u0440, \u0438 \u0446\u0432\u0435\u0442\u043e\u043a \u0436\u0434\u0451\u0442 \u043f\u0442\u0438\u0446\u0443.
\u8702\u9e1f\u559d\u82b1\u871c\uff0c\u8702\u9e1f\u5f88\u5c0f\u3002\u82b1\u5f88\u7f8e\u3002
def hover(bird, flower):
    for beat in range(50):
        if bird.energy < 10:
            return bird.rest()
        bird.energy -= 1
    return flower.nectar(bird)

int main(int argc, char** argv) {
    for (int i = 0; i < argc; i++) {
        print("%s\\n", argv[i]);
    }
    return 0;
}
{"name": "hover", "arguments": {"bird": "small", "flower": "red", "count": 3}}
the bird the flower the garden the nectar the night the day the sun the wing the heart the tongue the feather the nest
bird flower garden nectar night day sun wing heart tongue feather nest
birds flowers gardens nights days wings hearts tongues feathers nests
sat say sand sap save sail talk tall re red rest vest very mat may lamp llama drop do did
\u017fatz \u017fatz \u017fand \u017fand \u017fa \u017fa
78 78 78 45 45 45 90 90 56 34 34 67 67 789 456 234
and   then    wait     here\u00a0\u00a0now\u3000\u3000or\u2003\u2003never
hovering flying drinking waking sleeping watching carrying moving resting returning
""".strip("\n").splitlines(keepends=True)

_PLAIN = [
    "",
    " ",
    "  ",
    "   ",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    "\t",
    "\t\t",
    " \n ",
    "\n \n",
    "a",
    "ab",
    "the",
    " the",
    "The",
    "the bird",
    "the  bird",
    "the   bird",
    " the bird ",
    "the bird\n",
    "\nthe bird",
    "the bird\n\n\nthe flower",
    "hummingbird",
    " hummingbird hovering over a flower",
    "colibri",
    " colibri",
    " colibri!",
    "zzq",
    "zzq zzq",
    "treetop",
    " treetop nest",
    "Hello, world!",
    "hello world",
    "HELLO WORLD",
    "a.b,c;d:e!f?",
    "...",
    " ...",
    "!!!???",
    "(a) [b] {c} <d>",
    "a/b\\c",
    "@#$%^&*()",
    "snake_case camelCase kebab-case",
    "one-two--three---four",
    "\u201cquoted\u201d \u2018text\u2019 \u2014 dash\u2026",
]
_DIGITS = [
    "1",
    "12",
    "123",
    "1234",
    "12345",
    "123456",
    "1234567",
    " 1",
    " 12",
    " 1234567",
    "1 2 3",
    "3.14159",
    "1,000,000",
    "1e-5",
    "0x1F",
    "v1.2.3",
    "2024-11-29",
    "12:34:56",
    "\u0661\u0662\u0663\u0664",
    "\u00bd\u00bc",
    "\u2167\u2168",
    "a1b22c333d4444",
    "\u00b2\u00b3",
    "\uff11\uff12\uff13\uff14",
    "-5 +7 \u22123",
    "5678",
    "123456789",
    "4567890",
    "34567",
    "\u00b9234567",
]
_CONTRACTIONS = [
    "it's",
    "IT'S",
    "it'\u017f",
    "'\u017f",
    "they're they'RE they'Re",
    "we've",
    "I'm",
    "I'M",
    "you'll",
    "you'LL",
    "he'd",
    "don't",
    "DON'T",
    "'s't're've'm'll'd",
    "'sa",
    "o'clock",
    "rock'n'roll",
    "l'oiseau",
    "''s",
    "'",
    "''",
    "it\u2019s",
    "'K\u212a",
    " 's",
    "a's b's",
    "'sat",
    "it'sat",
    "'\u017fand",
    "it'\u017fatz",
    "'SAT",
    "'tall",
    "'rest",
    "'vest",
    "'mat",
    "'llama",
    "'drop",
    "we'rest",
]
_SCRIPTS = [
    "colibr\u00ed",
    "\u00e9t\u00e9 na\u00efve fa\u00e7ade",
    "e\u0301te\u0301",
    "n\u0303 a\u0308 o\u0302\u0323",
    "\u1e9b\u0323",
    "\u212b \u00c5 A\u030a",
    "\u041a\u043e\u043b\u0438\u0431\u0440\u0438 \u043f\u044c\u0451\u0442",
    "\u0439 \u0438\u0306",
    "\u03ba\u03bf\u03bb\u03b9\u03bc\u03c0\u03c1\u03af",
    "\u8702\u9e1f\u559d\u82b1\u871c",
    "\u8702\u9e1f\uff0c\u5f88\u5c0f\u3002",
    "\u30cf\u30c1\u30c9\u30ea",
    "\u30cf\u30c1\u30c8\u3099\u30ea",
    "\u3070\u3068\u3073",
    "\ubc8c\uc0c8",
    "\u1107\u1165\u11af\u1109\u1162",
    "\u0637\u0627\u0626\u0631 \u0637\u0646\u0627\u0646",
    "\u05d9\u05d5\u05e0\u05e7 \u05d3\u05d1\u05e9",
    "\u0917\u0941\u0902\u091c\u0928 \u092a\u0915\u094d\u0937\u0940",
    "\u0e19\u0e01\u0e2e\u0e31\u0e21\u0e21\u0e34\u0e48\u0e07\u0e40\u0e1a\u0e34\u0e23\u0e4c\u0e14",
    "\u10d9\u10dd\u10da\u10d8\u10d1\u10e0\u10d8",
    "\ud83d\udc26".encode("utf-16", "surrogatepass").decode("utf-16"),
    "\u01c5 \u02b0 \u00aa\u00ba",
    "\U0001d400\U0001d7ce",
    "\U00010330\U00010331",
    "\ufb01\ufb02",
    "Stra\u00dfe STRASSE",
    "\u0130stanbul \u0131",
]
_EMOJI = [
    "\U0001f426",
    "\U0001f426\U0001f338",
    "a\U0001f426b",
    " \U0001f426 ",
    "\U0001f469\u200d\U0001f33e",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\u2764\ufe0f",
    "\U0001f44d\U0001f3fd",
    "\U0001f1e8\U0001f1ed\U0001f1eb\U0001f1f7",
    "1\ufe0f\u20e3",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\U0001f426\n\U0001f426",
    "\u200b",
    "a\u200bb",
    "\ufeffa",
    "\ue000\uf8ff",
    "\U0010ffff",
    "\ufffd",
]
_SPACES = [
    f"a{c}{c}b{c}"
    for c in "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u2003\u200a\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
]
_SPACES += [
    "a\u00a0b",
    "a\u3000b",
    "a\u2028b",
    "a\u2029b",
    "a\u0085b",
    "a\u1680b",
    "a\u180eb",
    "a\u2003\u2003b",
    "a\u202fb",
    "a\u205fb",
    "a\x1cb",
    "a\x1fb",
    "a\x0bb\x0cc",
    "a \u00a0 b",
    "a \tb",
    "a\t b",
    "trailing   ",
    "   leading",
    "a\n   b",
    "a   \nb",
    "a \n\n  b",
    "\x00",
    "a\x00b",
    "\x00\x00\x00",
    "\x01\x02\x7f",
    "\r",
    "a\rb",
    "a\r\nb",
    "a\r\n\r\nb",
    "a \r\n b",
    "\n\r",
    ".\n",
    "!\r\n\r\n!",
    ". \n.",
]
_CODE = [
    "def hover(bird):\n    return bird.rest()\n",
    "    indented",
    "        twice",
    "\tif (x) {\n\t\treturn 1;\n\t}\n",
    "for (int i = 0; i < 10; i++) {\n    sum += i;\n}",
    "x = {'a': 1, \"b\": [2, 3]}",
    "a  =  b  # two spaces",
    "if x:\n\n\n    pass",
    "#include <vector>\r\nint main() {\r\n    return 0;\r\n}\r\n",
    "https://example.org/a?b=c&d=e#f",
    "C:\\birds\\nest.txt",
    "SELECT * FROM birds WHERE weight < 2;",
    "<b>bold</b> &amp; <i>it</i>",
    "```cpp\nauto x = y->z;\n```",
    "a==b!=c>=d<=e&&f||g",
    "// comment\n/* more */",
]
_SPECIAL = [
    "<|user|>",
    "<|user|>the bird",
    "the bird<|user|>",
    "the bird <|user|> the flower",
    ".<|user|>",
    "!<|endoftext|>",
    "?!<|observation|>\n",
    "[gMASK]<sop><|system|>S<|user|>hi<|assistant|><think></think>",
    "[gMASK]<sop><|user|>hi<|assistant|><think>",
    "[gMASK]",
    "[gMASK][MASK]",
    "<|user|><|assistant|>",
    "<|user",
    "|user|>",
    "<|user|",
    "< |user|>",
    "<|USER|>",
    "<<|user|>>",
    "<|user|>\n\n<|user|>",
    "  <|user|>  ",
    "<think>the bird</think>the flower",
    "<think>",
    "a<think>b",
    "<think><|user|></think>",
    "<tool_call>hover<arg_key>bird</arg_key><arg_value>small</arg_value></tool_call>",
    "<tool_response>42</tool_response>",
    "<tool_call",
    "</think",
    "<|endoftext|><|endoftext|>",
    "caf\u00e9<|user|>caf\u00e9",
    "e<|user|>\u0301",
    "\u0301<|user|>",
    "1234<|user|>1234",
    "it<|user|>'s",
    "\U0001f426<|user|>\U0001f426",
    "<|begin_of_image|><|image|><|end_of_image|>",
    "<|image|",
    "/nothink",
    "text /nothink",
    "a/nothinkb",
]

_MORE_SCRIPTS = [
    "\u09ac\u09be\u0982\u09b2\u09be \u09aa\u09be\u0996\u09bf",
    "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0baa\u0bb1\u0bb5\u0bc8",
    "\u0c24\u0c46\u0c32\u0c41\u0c17\u0c41 \u0c2a\u0c15\u0c4d\u0c37\u0c3f",
    "\u0a2a\u0a70\u0a1b\u0a40 \u0a2a\u0a70\u0a1c\u0a3e\u0a2c\u0a40",
    "\u0d15\u0d3f\u0d33\u0d3f \u0d2a\u0d31\u0d15\u0d4d\u0d15\u0d41\u0d28\u0d4d\u0d28\u0d41",
    "\u0dc3\u0dd2\u0d82\u0dc4\u0dbd",
    "\u1004\u103e\u1000\u103a\u1015\u103b\u1036\u101c\u1031\u1038",
    "\u1794\u1780\u17d2\u179f\u17b8\u178f\u17bc\u1785",
    "\u0e99\u0ebb\u0e81\u0e99\u0ec9\u0ead\u0e8d",
    "\u0f56\u0fb1\u0f60\u0f74\u0f0b\u0f46\u0f74\u0f44\u0f0b\u0f0d",
    "\u12c8\u134d \u1275\u1295\u123d \u1363 \u1366",
    "\u0570\u0561\u0575\u0565\u0580\u0565\u0576 \u0569\u057c\u0579\u0578\u0582\u0576",
    "\u13e3\u13b3\u13a9 \u13e5\u13cd\u13c6",
    "\u1820\u1822\u182a\u180e\u1823",
    "\u10a0\u10b1\u2d00 \u2c00\u2c30",
    "chim ru\u1ed3i nh\u1ecf b\u00e9, \u0111\u1eb9p",
    "chim ruo\u0302\u0300i nho\u0309 be\u0301",
    "ko\u010dka \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148",
    "\u0645\u064f\u062d\u064e\u0645\u064e\u0651\u062f\u064c",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "a\u202eb\u202c \u2067c\u2069",
    "\u5927\u5bb6\u597d123\u4f60\u597dabc",
    "\u6771\u4eac\u3078\u884c\u304f\u3002\u30c6\u30b9\u30c8\uff01",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4.",
    "\u4e00\u9fa5\u9fa6\u9fff\u3040\u309f\u30a0\u30ff\u3400",
    "\U00020000\U0002a6d6",
    "\uff21\uff22\uff23 \uff41\uff42\uff43 \uff01\uff1f",
    "z\u0335\u0321\u0353a\u0334\u0315\u0345l\u0337\u033d\u032ag\u0336\u0352o\u0338\u0311",
    "e" + "\u0301\u0327" * 20,
    "\u0301\u0302 \u0303",
    "A\u030a\u0323 a\u0323\u030a",
    "\u01c4\u01c5\u01c6 \u01f1\u01f2",
    "XMLHttpRequest iPhone McDonald's eBay",
    "CamelCASEWords ABCdef DEF's ABC'S x'LL",
    "\u00c9T\u00c9 \u00e9t\u00e9s \u00dcBER\u00fcber",
]
# Assigned by Unicode 15 and 16: a regular-expression library may be too old to know them.
_NEW_CHARACTERS = [
    "a\U00013460\U00013461 b",
    "x\u1c89\u1c8a\ua7cb\ua7dc y",
    "1\U00010d40\U00010d412 3",
    " \u2427\u2428!",
    "\U00031350\U00031351 \U0002ebf0",
    "e\u0897\u0ece f",
    "\U0001fadf\U0001fae8",
    "a\U0001cc00\U00016d6d\U00010d6eb",
    "\U00016121\U00011383",
]
_MORE_EMOJI = [
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\u2764\ufe0f\u200d\U0001f525",
    "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "\U0001f468\U0001f3fb\u200d\U0001f91d\u200d\U0001f468\U0001f3ff",
    "\U0001f9d1\u200d\U0001f9d1\u200d\U0001f9d2",
    "\U0001f441\ufe0f\u200d\U0001f5e8\ufe0f",
    "\U0001f408\u200d\u2b1b \U0001f43b\u200d\u2744\ufe0f",
    "ok\U0001f44d\U0001f3ff!\U0001f44d\U0001f3fb",
    "\u00a9\u2122\u00ae \u2605\u2606",
    "#\ufe0f\u20e3 *\ufe0f\u20e3",
    "\U0001f1ef\U0001f1f5\U0001f1e9",
    "\u200d\U0001f33e \ufe0f",
    "x\U0001f600y\U0001f601z\U0001f602",
]
_MORE_CODE = [
    "int main(void)\n{\n\tprintf(\"%d\\n\", 42);\n\treturn 0;\n}\n",
    "class A {\r\n  constructor() {\r\n    this.x = [1,2,3];\r\n  }\r\n}\r\n",
    "fn f<'a>(x: &'a str) -> Option<&'a str> { x.get(0..1) }",
    "let s = `a${b}c`; // don't\n/* we've */\n",
    "{\n    \"key\": [1, 2.5e-3, null],\n    \"text\": \"a\\u00e9\\n\"\n}\n",
    "<div class=\"a\" id='b'>\n  <p>Hi &mdash; there</p>\n</div>",
    "| a | b |\n|---|:-:|\n| 1 | **2** |\n",
    "# Title\n\n* one\n* two\n    1. three\n\n> quoted\n",
    "diff --git a/x b/x\n@@ -1,2 +1,3 @@\n-old\n+new\n",
    "SGVsbG8sIFdvcmxkIQ==",
    "d41d8cd98f00b204e9800998ecf8427e",
    "2026-01-31T23:59:59.123Z [INFO] pid=1234 ms=0.5",
    "\\frac{a}{b} + \\sum_{i=0}^{n} x_i^2",
    "def f(a,b):\n\treturn a//b  \n\n\n\nprint(f(10,3))\n",
    "a\n\n\n\n\n\n\n\nb",
    "x" + " " * 40 + "y" + "\t" * 9 + "z",
    "=" * 80,
    "-" * 79 + "\n" + "*" * 33,
    "/usr/local/bin/../lib//x.so.1",
    "a/b/c\n/d\n//e\n",
    "mail@example.org <x@y.z>; +41 44 123 45 67",
]
_MORE_SPECIAL = [
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|start|>system<|message|>S<|end|>",
    "<\uff5cUser\uff5c>hi<\uff5cAssistant\uff5c>",
    "<\uff5cUser\uff5c> \n hi",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>",
    "\x00<|endoftext|>\x00",
    "\r\n<|endoftext|>\r\n\r\n",
]

TEXTS = list(
    dict.fromkeys(
        _PLAIN
        + _DIGITS
        + _CONTRACTIONS
        + _SCRIPTS
        + _MORE_SCRIPTS
        + _NEW_CHARACTERS
        + _EMOJI
        + _MORE_EMOJI
        + _SPACES
        + _CODE
        + _MORE_CODE
        + _SPECIAL
        + _MORE_SPECIAL
    )
)

# Parts that are repeated to texts of 1 MiB.
LONG_PARTS = ["a", " ", "\n", "0123456789", "!?", "\U0001f468\u200d\U0001f469\u200d\U0001f467"]
