package peers

import (
	"crypto/tls"
	"os"
	"testing"
)

func TestCertificateAndKeyBelongTogether(t *testing.T) {
	for _, kind := range []string{"ec", "rsa"} {
		c, err := MakeCertificate(kind, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tls.LoadX509KeyPair(c.File, c.File); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if info, err := os.Stat(c.File); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: others may read the key: %v %v", kind, info.Mode(), err)
		}
	}
}
