"""Texts that try to get out of the page they are shown on."""

import random

HOSTILE = [
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 2</script>",
    "</style><script>window.owned = 3</script>",
    "</title></head><body onload=window.owned=4>",
    '"><img src=x onerror="window.owned=5">',
    "' onmouseover='window.owned=6' x='",
    "<svg onload=window.owned=7><a href='javascript:window.owned=8'>x</a></svg>",
    "javascript:window.owned=9",
    "<iframe srcdoc='<script>parent.owned=10</script>'></iframe>",
    "<link rel=stylesheet href=https://evil.example/a.css>",
    "<style>@import url(https://evil.example/b.css); * { display: none }</style>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/><form action=https://evil.example><input name=q></form>",
    "{{7*7}} {% for x in range(9) %} ${7*7} #{7*7} <%= 7*7 %> {{ config }}",
    "<!-- comment --> <![CDATA[ x ]]> &lt;b&gt; &amp;amp; &#0; &nbsp;",
    "nul \x00 bell \x07 escape \x1b[2J\x1b[31m red \x9b31m",
    "\u202eoverride\u202c \u2066isolate\u2069 \u202aembed",
    "\u202e" * 500 + "many overrides",
    "zero\u200bwidth\u2060joiner\ufeffbom\u00adsoft" + "\u200b" * 3000,
    "شارع النهر غمرته المياه الليلة",
    "הגשר הישן התמוטט בלילה (abc) 123",
    "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🙏🏽 ❤️‍🔥 🇺🇳",
    "lone \ud800 surrogate \udfff",
    "line\u2028separator\u2029paragraph\r\nnew\x85line\x0b\x0c",
    "Z" + "\u0301\u0489\u0334" * 400 + " zalgo",
    "x" * 100_000,
    "<" * 3000 + '"' * 3000 + "&" * 3000,
    "﷽" * 300,
    "",
    "   \t \n ",
]


def hostile_text(number: int) -> str:
    """One of the texts, alone or with others, so that no two posts are copies of each other."""
    chance = random.Random(number)
    if number < len(HOSTILE):
        return HOSTILE[number]
    parts = [text for text in chance.sample(HOSTILE, 3) if len(text) < 10_000]
    return f"{number} " + f" {chance.getrandbits(64):x} ".join(parts)
