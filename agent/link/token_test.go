package link

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"testing"
)

func TestReadsTheFingerprintOfAToken(t *testing.T) {
	want := sha256.Sum256([]byte("certificate"))
	token, err := ParseToken(" weir1." + base64.RawURLEncoding.EncodeToString(want[:]) + ".c2VjcmV0\n")
	if err != nil || token.Fingerprint != want {
		t.Errorf("got %x, %v", token.Fingerprint, err)
	}
}

func TestRefusesWhatIsNoToken(t *testing.T) {
	fingerprint := base64.RawURLEncoding.EncodeToString(make([]byte, sha256.Size))
	for _, text := range []string{
		"", "weir1", "weir1..", "weir1." + fingerprint, "weir1." + fingerprint + ".", "weir2." + fingerprint + ".c2VjcmV0",
		"weir1." + fingerprint[1:] + ".c2VjcmV0", "weir1.!" + fingerprint[1:] + ".c2VjcmV0", "weir1." + fingerprint + ".a.b",
	} {
		if _, err := ParseToken(text); !errors.Is(err, ErrToken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
