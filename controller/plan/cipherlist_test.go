package plan

import (
	"slices"
	"strings"
	"testing"
)

func TestReadsCipherStringsAsOpenSSLDoes(t *testing.T) {
	// Each expectation is what `openssl ciphers -stdname` (3.0) prints for the string, without TLS 1.3.
	for text, want := range map[string]string{
		"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256": `
			TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`,
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, ECDHE-ECDSA-AES128-SHA": `
			TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA`,
		"AESGCM+ECDHE:-AES256:+aECDSA": `
			TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256`,
		"ECDHE+AES128:!SHA1:!SHA256:ALL+CHACHA20+aRSA+kECDHE": `
			TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
			TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256`,
		"kRSA+AES128:kRSA+AES256:@STRENGTH": `
			TLS_RSA_WITH_AES_256_GCM_SHA384 TLS_RSA_WITH_AES_256_CBC_SHA256 TLS_RSA_WITH_AES_256_CBC_SHA
			TLS_RSA_WITH_AES_128_GCM_SHA256 TLS_RSA_WITH_AES_128_CBC_SHA256 TLS_RSA_WITH_AES_128_CBC_SHA`,
		"HIGH:!ECDHE:!DHE:!AESGCM:-SHA256:!aNULL": `TLS_RSA_WITH_AES_256_CBC_SHA TLS_RSA_WITH_AES_128_CBC_SHA`,
		"aNULL:LOW": ``,
		"3DES:RC4+kRSA": `
			TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA
			TLS_RSA_WITH_3DES_EDE_CBC_SHA TLS_RSA_WITH_RC4_128_SHA TLS_RSA_WITH_RC4_128_MD5`,
	} {
		got, unknown := cipherList(text)
		if !slices.Equal(got, strings.Fields(want)) || unknown != nil {
			t.Errorf("%s:\n got %v, unknown %v\nwant %v", text, got, unknown, strings.Fields(want))
		}
	}
}

func TestDefaultOfAviNamesAllItsFamiliesStrongestExchangeFirst(t *testing.T) {
	got, unknown := cipherList("AES:3DES:RC4")
	if unknown != nil || got[0] != "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" {
		t.Errorf("got %v, unknown %v", got, unknown)
	}
	for _, family := range []string{"AES_128_GCM", "AES_256_CBC", "3DES", "RC4"} {
		if !slices.ContainsFunc(got, func(name string) bool { return strings.Contains(name, family) }) {
			t.Errorf("%s is missing", family)
		}
	}
	if slices.ContainsFunc(got, func(name string) bool { return strings.Contains(name, "CHACHA20") }) {
		t.Error("CHACHA20 was not asked for")
	}
}

func TestNamesWhatIsNoCipherAndGoesOn(t *testing.T) {
	got, unknown := cipherList("AES256-SHA:AES257-SHA:!nonsense:ECDHE+nonsense")
	if len(got) != 1 || !slices.Equal(unknown, []string{"AES257-SHA", "!nonsense", "ECDHE+nonsense"}) {
		t.Errorf("got %v, unknown %v", got, unknown)
	}
}

func TestReadsNoMoreRulesThanItsLimit(t *testing.T) {
	got, unknown := cipherList(strings.Repeat("AES128-SHA:", cipherRulesMax) + "AES256-SHA")
	if !slices.Equal(got, []string{"TLS_RSA_WITH_AES_128_CBC_SHA"}) || len(unknown) != 1 {
		t.Errorf("got %v, unknown %v", got, unknown)
	}
}

func TestTLS13SuitesComeByNameOnly(t *testing.T) {
	if got, _ := cipherList("ALL:AES"); slices.Contains(got, "TLS_AES_128_GCM_SHA256") {
		t.Error("a keyword matched a TLS 1.3 suite")
	}
	if got, _ := cipherList("TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"); len(got) != 2 ||
		got[0] != "TLS_AES_128_GCM_SHA256" {
		t.Errorf("got %v", got)
	}
}

func FuzzCipherListYieldsKnownSuitesOnce(f *testing.F) {
	for _, seed := range []string{"AES:3DES:RC4", "HIGH:!aNULL:+SHA1:-AES128:@STRENGTH", "!", "+", "A+B+", "::,; ",
		"DEFAULT:@SECLEVEL=2", "ALL:-ALL:ALL"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[string]bool{}
		names, _ := cipherList(text)
		for _, name := range names {
			known := slices.ContainsFunc(suites, func(s suite) bool { return s.iana == name })
			if !known || seen[name] {
				t.Errorf("%q yields %s", text, name)
			}
			seen[name] = true
		}
	})
}
