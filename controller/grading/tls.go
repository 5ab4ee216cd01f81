package grading

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// chain is what is to say about a certificate and those above it.
type chain struct {
	ends   time.Time // of the one that ends first
	weak   bool      // signed with MD5 or SHA-1
	broken bool      // one is not signed by the next
}

// chains are those of the certificates of virtual services. To read one takes longer than to grade a virtual service,
// and a certificate never changes: another one has another pointer.
type chains map[*model.Certificate]chain

// offered are the facts about TLS of a virtual service; nil: it has none.
func (c chains) offered(vs *model.VirtualService, now time.Time) *score.TLS {
	secure := slices.ContainsFunc(vs.Ports(), func(port kinds.Service) bool { return port.EnableSSL })
	if !secure || vs.SSLProfile == nil || len(vs.Certificates) == 0 {
		return nil
	}
	// Engines implement TLS 1.2 and 1.3, and of their ciphers those with forward secrecy and at least 128 bits
	// (dataplane/tls): they offer nothing weaker, whatever the profile names.
	facts := &score.TLS{WeakestVersion: score.TLS13, WeakestBits: 128, NoHSTS: vs.HTTP != nil &&
		!tellsBrowsers(vs.HTTP)}
	for _, profile := range vs.SSLProfiles() {
		for _, version := range profile.AcceptedVersions {
			if version.Type == "SSL_VERSION_TLS1_2" {
				facts.WeakestVersion = score.TLS12
			}
		}
	}
	for i, certificate := range vs.Certificates {
		chain, known := c[certificate]
		if !known {
			chain = chainOf(certificate.ChainDER)
			c[certificate] = chain
		}
		if left := chain.ends.Sub(now); i == 0 || left < facts.ExpiresIn {
			facts.ExpiresIn = left
		}
		facts.WeakSignature = facts.WeakSignature || chain.weak
		facts.BrokenChain = facts.BrokenChain || chain.broken
	}
	return facts
}

// tellsBrowsers tells whether responses have the field Strict-Transport-Security.
func tellsBrowsers(http *kinds.HTTPProfile) bool { return http.HSTSEnabled || http.SSLEverywhere }

var weakSignatures = []x509.SignatureAlgorithm{x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1,
	x509.ECDSAWithSHA1}

// chainOf reads a chain, the certificate of the virtual service first. A certificate that signs itself needs no
// signature that others trust.
func chainOf(der [][]byte) (c chain) {
	var above *x509.Certificate
	for i := len(der) - 1; i >= 0; i-- {
		one, err := x509.ParseCertificate(der[i])
		if err != nil {
			c.broken = true
			continue
		}
		signsItself := bytes.Equal(one.RawIssuer, one.RawSubject)
		c.weak = c.weak || !signsItself && slices.Contains(weakSignatures, one.SignatureAlgorithm)
		// A weak signature is a fault of its own, and Go verifies none.
		if above != nil && !slices.Contains(weakSignatures, one.SignatureAlgorithm) &&
			one.CheckSignatureFrom(above) != nil {
			c.broken = true
		}
		if c.ends.IsZero() || one.NotAfter.Before(c.ends) {
			c.ends = one.NotAfter
		}
		above = one
	}
	return c
}

// forget forgets certificates that no virtual service has any more.
func (c chains) forget(m *model.Model) {
	used := map[*model.Certificate]bool{}
	for _, vs := range m.VirtualServices {
		for _, certificate := range vs.Certificates {
			used[certificate] = true
		}
	}
	for certificate := range c {
		if !used[certificate] {
			delete(c, certificate)
		}
	}
}
