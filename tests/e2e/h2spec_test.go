package e2e

import (
	"testing"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

const (
	// h2specCases is the number of cases of h2spec.
	h2specCases = 146
	// noPreface is the case that a plain port cannot pass: what does not begin as HTTP/2 is HTTP/1 there, and gets a
	// 400.
	noPreface = "Sends invalid connection preface"
)

func TestH2specFindsNothing(t *testing.T) {
	s := setUp(t, echo(t))
	speakHTTP2(s)
	for name, settings := range map[string]config.Config{
		"plain": {Port: plainPort},
		"TLS":   {Port: tlsPort, TLS: true, Insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			want := h2specCases
			if !settings.TLS {
				want--
			}
			settings.Host, settings.Path, settings.Timeout, settings.Strict = vip, "/", eventTimeout, true
			settings.MaxHeaderLen = 4000
			passed := 0
			for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
				group.Test(&settings)
				passed += group.PassedCount
				report(t, group, settings.TLS)
			}
			if passed != want {
				t.Errorf("%d of %d cases passed", passed, want)
			}
		})
	}
}

// report names the cases of a group that have failed.
func report(t *testing.T, group *spec.TestGroup, secure bool) {
	t.Helper()
	for _, test := range append(group.Tests, group.StrictTests...) {
		if result := test.Result; result != nil && result.Failed &&
			(secure || test.Desc != noPreface) {
			t.Errorf("%s, %s: %s (%s): %v", group.ID(), group.Name, test.Desc, test.Requirement, result.Error)
		}
	}
	for _, child := range group.Groups {
		report(t, child, secure)
	}
}
