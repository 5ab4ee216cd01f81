package text

import (
	"testing"
	"unicode/utf8"
)

func FuzzComesBackAsItWas(f *testing.F) {
	for _, raw := range []string{"", "plain", "é", "\xff", "\x00\n\"\\", "a\xe2\x80", "\U0010FE80",
		"\U0010FEFF\xf4\x8f",
		"\u202eevil", "\xed\xa0\x80"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		encoded := Encode(raw)
		if !utf8.ValidString(encoded) {
			t.Errorf("%q is written as %q, which is not UTF-8", raw, encoded)
		}
		if got := Decode(encoded); got != raw {
			t.Errorf("%q came back as %q", raw, got)
		}
	})
}

func TestLeavesOrdinaryTextAlone(t *testing.T) {
	for _, plain := range []string{"", "GET /a?b=c", "Grüße, 世界", "\U0010FFFF", "\u202e"} {
		if got := Encode(plain); got != plain {
			t.Errorf("%q is written as %q", plain, got)
		}
	}
	if got := Encode("a\xff"); got != "a\U0010FEFF" {
		t.Errorf("got %q", got)
	}
}
