#!/usr/bin/env python3
"""Golden tokenizers of tests/test_tokenizer_foreign.c: small ones of every kind that is understood, and their ids.

They are trained and run by the library `tokenizers` (0.23 here). The test never runs this; run it by hand to make
tests/golden/interop/tokenizer_* anew. Special tokens in a text are encoded as text there too (encode_special_tokens).
"""
import json
import os

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "interop")
END = "<|endoftext|>"

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

WORDS = """the cat sat on the mat and the dog's bone isn't there; they'll've been I'm DON'T naïve café élan größe 12 345 1999
return int(x) if (a != b) else c->d; // a comment  with   blanks
你好世界 こんにちは 한국어 привет мир שלום مرحبا हिन्दी ไทย αβγ don't can't we're you've he'd she'll it's
    indented\tcode\r\n\r\nlines\n\n\nend 3.14159 1,000,000 0x1F""".split("\n")

HARD = [
    "", " ", "a", " a", "  ", "   a", "a ", "a  b   c", "\n", "\n\n\n", "\r\n", " \n \n ", "a\n", "\ta\t", "a\t\tb",
    "Hello, world!", "I'll say it's what they've DON'T'VE done, he'd I'm we're", "'s 't 'S 'LL 'ſ ſ's 'K", "''''", "don't'st",
    "0 1 12 123 1234 12345 123456789", "3.14159 1,000,000 1e-5 0x1F", "١٢٣ ४५६ Ⅻ ½ ² ①②", "a1b2c3 abc123def456",
    "return int(x) if (a != b) else c->d; // a comment  with   blanks", "x=[1,2];{}()!!!???...", "/path/to\\file //\n\n/",
    "café cafe\u0301 \u212b \u2126 \u1e9b\u0323 \uac00 \u1100\u1161\u11a8 \u0958 \ufb1d \U0001d15e", "e\u0301\u0301 q\u0307\u0323 q\u0323\u0307",
    ">\u0338 <|x|>\u0338 =\u0338", "你好，世界！こんにちは。한국어 テスト", "привет, МИР! שָׁלוֹם مَرْحَبًا हिन्दी ภาษาไทย",
    "😀👨‍👩‍👧❤️🇫🇷 👍🏽", "\u00a0nbsp\u2003em\u3000wide\u180emongolian\u200bzero\u2028line\u2029para\u0085next", "\x00\x01\x7f\x1b[0m",
    "ǅ ǆ Ǆ İ ı ß ẞ ﬁ ﬀ ΣΑΣ", "UPPERlowerTitleCASE camelCaseWords XMLHttpRequest", "a\u0300\u0301b\u0300 \u0300", "<|endoftext|>",
    "x<|endoftext|>y <|im_start|>user", "<tool>call</tool> <tool><tool>>  a<tool>", "caf<tool>\u0301e", "  <tool>  ",
    "line one\nline two\r\nline three\n\n\n  four  \n", "trailing   \n   \n", " \u00a0 \u2003 x", "_ __ a_b -- — … “q” «q»", "𝒜𝓑 𝟘𝟙 𐐷",
    "word " * 50, "ab" * 200, " " * 100, "\n" * 50 + "x", "9" * 40,
]


def train(tokenizer, special):
    trainer = trainers.BpeTrainer(vocab_size=480, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(WORDS * 3 + HARD, trainer)
    return tokenizer


def byte_level(**options):
    return pre_tokenizers.ByteLevel(add_prefix_space=options.get("add_prefix_space", False), use_regex=options.get("use_regex", True))


def make(name, pre, special=(END,), normalizer=None, added=(), bos=None, end=END, change=None):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre
    if normalizer:
        t.normalizer = normalizer
    t.decoder = decoders.ByteLevel()
    train(t, list(special))
    t.add_tokens(list(added))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    if bos:
        t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B:1", special_tokens=[(bos, t.token_to_id(bos))])])
    if change:
        raw = json.loads(t.to_str())
        change(raw)
        t = Tokenizer.from_str(json.dumps(raw))
    t.encode_special_tokens = True
    folder = os.path.join(HERE, "tokenizer_" + name)
    os.makedirs(folder, exist_ok=True)
    raw = json.loads(t.to_str())
    with open(os.path.join(folder, "tokenizer.json"), "w") as f:
        json.dump(raw, f, ensure_ascii=False, separators=(",", ":"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"eos_token": end if name != "llama3" else {"content": end, "special": True}}, f)
    cases = [{"text": s.encode().hex(), "ids": t.encode(s).ids} for s in HARD]
    with open(os.path.join(folder, "ids.json"), "w") as f:
        json.dump({"vocab": t.get_vocab_size(), "cases": cases}, f)


def whole(raw):
    """Entries that no merge makes are found as whole pieces only."""
    model = raw["model"]
    model["ignore_merges"] = True
    model["merges"] = [m for m in model["merges"] if "".join(m if isinstance(m, list) else m.split(" ")) not in ("Ġthe", "Ġb")]


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def main():
    make("gpt2", byte_level())
    make("llama3", pre_tokenizers.Sequence([split(LLAMA3), byte_level(use_regex=False)]), bos="<|begin_of_text|>", end="<|end_of_text|>",
         special=("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"), change=whole)
    make("qwen2", pre_tokenizers.Sequence([split(QWEN2), byte_level(use_regex=False)]), normalizer=normalizers.NFC(),
         special=(END, "<|im_start|>", "<|im_end|>"), end="<|im_end|>",
         added=(AddedToken("<tool>", normalized=False), AddedToken("</tool>", normalized=True), AddedToken("<|x|>", normalized=True),
                AddedToken("<tool><tool>>", normalized=False)))
    make("digits", pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]))
    make("prefix", byte_level(add_prefix_space=True), added=(AddedToken("<tool>", normalized=False),))
    make("splits", pre_tokenizers.Sequence([split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
        byte_level(use_regex=False)]))
    make("cased", pre_tokenizers.Sequence([split(O200K), byte_level(use_regex=False)]))
    make("literal", pre_tokenizers.Sequence([pre_tokenizers.Split("a.", "isolated"), pre_tokenizers.Digits(), split(r"(?=[A-Z])|\s++$"),
                                             byte_level()]))
    make("uncut", byte_level(use_regex=False))


if __name__ == "__main__":
    main()
