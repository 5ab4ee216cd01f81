package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestTokensLetInAsTheDocumentSays(t *testing.T) {
	c := newCertified(t, "jwt.md")
	if len(c.blocks) != 4 {
		t.Fatalf("%d blocks of commands", len(c.blocks))
	}
	c.sh(c.blocks[0])
	c.sh(c.blocks[1])
	c.waitUp("shop")
	c.eventually("a token of the issuer lets in", func() error {
		if said := c.sh(c.blocks[2]); said != "200\n401\n" {
			return fmt.Errorf("%q", said)
		}
		return nil
	})
	c.countsOf("shop", "client_token_missing")
	makes, _, _ := strings.Cut(c.blocks[2], "curl")
	ask := func(change string) string {
		return c.sh(makes + change +
			"\ncurl -sk -D - -o /dev/null -H \"Authorization: Bearer $token\" https://127.0.0.1:8443/")
	}
	for _, version := range []string{"--http1.1", "--http2"} {
		contains(t, c.sh(makes+"curl -sk "+version+
			" -w '%{http_code}' -H \"Authorization: Bearer $token\" https://127.0.0.1:8443/"), "200")
	}
	contains(t, ask(`token="${token%????}AAAA"`), "401", `error="invalid_token"`, "signature")
	c.countsOf("shop", "client_token_untrusted")
	none := strings.Replace(makes, `"alg":"ES256"`, `"alg":"none"`, 1)
	contains(t, c.sh(none+`token="$signed."
curl -sk -D - -o /dev/null -H "Authorization: Bearer $token" https://127.0.0.1:8443/`), "401", "algorithm")

	// Keys of another issuer count at once, also for tokens that were good.
	c.sh("mv issuer.key old.key; mv jwks.json old.json")
	c.sh(c.blocks[0])
	_, keys, _ := strings.Cut(c.blocks[1], "jwks_keys=")
	keys, _, _ = strings.Cut(keys, "\n")
	c.sh("weir jwtserverprofile set login jwks_keys=" + keys)
	c.eventually("a token of the old key is refused", func() error {
		said := c.sh("cp issuer.key new.key; cp old.key issuer.key; " + c.blocks[2] + "\ncp new.key issuer.key")
		if said != "401\n401\n" {
			return fmt.Errorf("%q", said)
		}
		return nil
	})
	contains(t, c.sh(c.blocks[2]), "200\n401\n")
}

func TestTokensRulesAsTheirPageSays(t *testing.T) {
	c := newCertified(t, "jwt.md")
	c.sh(c.blocks[0])
	c.sh(c.blocks[1])
	c.waitUp("shop")
	c.eventually("rules say who may what", func() error {
		if said := c.sh(c.blocks[3]); said[max(len(said)-12, 0):] != "200\n403\n200\n" {
			return fmt.Errorf("%q", said)
		}
		return nil
	})
	c.countsOf("shop", "client_token_insufficient")
	makes, _, _ := strings.Cut(c.blocks[3], "ask https")
	_, makes, _ = strings.Cut(makes, "rules.json\nbase64url")
	ask := func(path, claims string) string {
		return c.sh("base64url" + makes + "ask --path-as-is -D - -H \"Authorization: Bearer $(token '" + claims +
			"')\" 'https://127.0.0.1:8443" + path + "'")
	}
	contains(t, ask("/admin", `"role":["admin"]`), "200")
	contains(t, ask("/admin", `"role":true`), "403", `error="insufficient_scope"`)
	contains(t, ask("/x/../admin", `"role":"admin"`), "403")
	contains(t, c.sh("curl -sk --path-as-is -D - https://127.0.0.1:8443/public/../admin"), "401")
	contains(t, c.sh("weir explain https://127.0.0.1:8443/admin -H \"Authorization: Bearer $(base64url"+
		makes+"token '\"sub\":\"alice\"')\""), "authorization rule no admin", "client_token_insufficient")
	c.eventually("a record names the rule", func() error {
		if said := c.sh("weir logs shop --filter 'authz_rule=no admin'"); !strings.Contains(said, "403") {
			return fmt.Errorf("%s", said)
		}
		return nil
	})
}
