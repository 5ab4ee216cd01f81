package score

import (
	"fmt"
	"math"
	"time"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// TLS are the facts about what a virtual service offers.
type TLS struct {
	ExpiresIn       time.Duration // of the certificate that ends first
	WeakSignature   bool          // MD5 or SHA-1, of a certificate that does not sign itself
	BrokenChain     bool          // a certificate of the chain is not signed by the next, or has expired
	WeakestVersion  Version
	WeakestBits     int // of a cipher
	RC4             bool
	NoForwardSecret bool // a cipher without forward secrecy is offered
	NoHSTS          bool // of HTTP: browsers are not told to use TLS only
}

// Version is a version of SSL or TLS.
type Version int

const (
	SSL30 Version = iota
	TLS10
	TLS11
	TLS12
	TLS13
)

var versionNames = [...]string{"SSL 3.0", "TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3"}

// best is the best score of TLS, and the highest level of attacks.
const best = 5

// pointsEach is what a level of either costs.
const pointsEach = 20

// SSL says how good TLS is, from 0 to 5: the worst of certificate, protocol and cipher, less penalties.
type SSL struct {
	Score                         float64
	Certificate, Protocol, Cipher float64
	Penalty                       float64
}

const day = 24 * time.Hour

// graded is a fact about TLS with what it is worth.
type graded struct {
	score      float64
	text, attr string
}

func (t *TLS) certificate(p *kinds.SecurityScores) graded {
	days := int(math.Ceil(float64(t.ExpiresIn) / float64(day)))
	in := fmt.Sprintf("certificate expires in %d days", days)
	if days == 1 {
		in = "certificate expires within a day"
	}
	score := p.CertOver30Days
	switch {
	case t.ExpiresIn <= 0:
		score, in = p.CertExpired, "certificate has expired"
	case t.ExpiresIn <= 7*day:
		score = p.CertUnder7Days
	case t.ExpiresIn <= 30*day:
		score = p.CertUnder30Days
	}
	return graded{score, in, "earliest_cert_expiry"}
}

func (t *TLS) protocol(p *kinds.SecurityScores) graded {
	scores := [...]float64{p.SSL30, p.TLS10, p.TLS11, p.TLS12, p.TLS13}
	return graded{scores[t.WeakestVersion], versionNames[t.WeakestVersion] + " is offered", "min_ssl_protocol_strength"}
}

func (t *TLS) cipher(p *kinds.SecurityScores) graded {
	of := graded{p.CipherOver128, fmt.Sprintf("a cipher of %d bits is offered", t.WeakestBits), "min_cipher_strength"}
	switch {
	case t.WeakestBits == 0:
		of = graded{min(p.CipherNone, p.EncryptionNone), "a cipher without encryption is offered",
			"min_cipher_strength"}
	case t.WeakestBits < 128:
		of.score = p.CipherUnder128
	}
	if t.RC4 && p.EncryptionRC4 < of.score {
		of = graded{p.EncryptionRC4, "RC4 is offered", "weakest_enc_algo"}
	}
	return of
}

// faults are the penalties.
func (t *TLS) faults(p *kinds.SecurityScores) (faults []graded) {
	for _, fault := range []struct {
		is bool
		graded
	}{
		{t.NoHSTS, graded{p.PenaltyNoHSTS, "browsers are not told to use TLS only (HSTS)", "hsts_enabled"}},
		{t.NoForwardSecret, graded{p.PenaltyNoPFS, "a cipher without forward secrecy is offered", "pfs_support"}},
		{t.WeakSignature, graded{p.PenaltyWeakSign, "certificate has a weak signature", "weak_signature_algorithm"}},
		{t.BrokenChain, graded{p.PenaltyBadChain, "the chain of the certificate is broken", "cert_chain_verified"}},
	} {
		if fault.is {
			faults = append(faults, fault.graded)
		}
	}
	return faults
}

// grade returns the score of TLS, and what costs it points.
func (t *TLS) grade(p *kinds.SecurityScores) (*SSL, []Reason) {
	certificate, protocol, cipher := t.certificate(p), t.protocol(p), t.cipher(p)
	worst := certificate
	for _, other := range []graded{protocol, cipher} {
		if other.score < worst.score {
			worst = other
		}
	}
	ssl := &SSL{Certificate: certificate.score, Protocol: protocol.score, Cipher: cipher.score}
	reasons := nonZero(Reason{Security, pointsEach * max(0, best-worst.score), worst.text, worst.attr})
	for _, fault := range t.faults(p) {
		ssl.Penalty += fault.score
		reasons = append(reasons, nonZero(Reason{Security, pointsEach * fault.score, fault.text, fault.attr})...)
	}
	ssl.Score = max(0, worst.score-ssl.Penalty)
	return ssl, reasons
}

// attackLevel is 0 below the least rate of an attack, 1 at that rate, and one more with each doubling.
func attackLevel(perS float64, least uint32) float64 {
	if perS < float64(least) {
		return 0
	}
	return min(best, 1+math.Log2(perS/float64(least)))
}

// security is what costs points: TLS or attacks, whichever is worse.
func (s *Service) security() (reasons []Reason, ssl *SSL, level float64) {
	unsafe := 0.0
	if s.TLS != nil {
		ssl, reasons = s.TLS.grade(&s.Profile.SecurityScores)
		unsafe = best - ssl.Score
	}
	if level = attackLevel(s.AttacksPerS, s.Profile.MinDosRate); level > unsafe {
		reasons = []Reason{{Security, pointsEach * level, fmt.Sprintf("%.0f attacks a second", s.AttacksPerS),
			"dos_attack_level"}}
	}
	return reasons, ssl, level
}
