package enrollment

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
)

func sample() Token {
	return Token{Fingerprint: sha256.Sum256([]byte("certificate")), Secret: bytes.Repeat([]byte{7}, SecretBytes)}
}

func TestTokenSurvivesPrinting(t *testing.T) {
	want := sample()
	got, err := ParseToken(" " + want.String() + "\n")
	if err != nil || got.Fingerprint != want.Fingerprint || !bytes.Equal(got.Secret, want.Secret) {
		t.Errorf("%s became %s, %v", want, got, err)
	}
}

func TestRefusesWhatIsNoToken(t *testing.T) {
	text := sample().String()
	for _, damaged := range []string{
		"", "weir1", "weir1..", text[:len(text)-4], text[:strings.LastIndexByte(text, '.')+1], "weir2" +
			text[5:], text + ".x",
		strings.Replace(text, "weir1.", "weir1.!", 1), "weir1." + text[7:],
	} {
		if _, err := ParseToken(damaged); !errors.Is(err, ErrTokenFormat) {
			t.Errorf("%q: got %v", damaged, err)
		}
	}
}

func FuzzTokenThatParsesPrintsAsItWas(f *testing.F) {
	f.Add(sample().String())
	f.Add("weir1..")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			return
		}
		if again, err := ParseToken(token.String()); err != nil || again.String() != token.String() {
			t.Errorf("%q became %s, %v", text, again, err)
		}
	})
}
