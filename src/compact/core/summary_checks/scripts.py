"""Ranges of letters, for the inside of a regular expression's set."""

KANA = r"\u3040-\u30ff"
HAN = r"\u3400-\u9fff"
HANGUL = r"\uac00-\ud7af"
SOUTHEAST_ASIAN = r"\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
"""Thai, Lao, Tibetan, Burmese, Khmer, Tai."""
