package revocation

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// AnswerKind is the kind of the records with the answers about certificates, whose uuid is that of the certificate.
const AnswerKind = "ocspanswer"

// clockSkew is how far the clock of an authority may be ahead of ours.
const clockSkew = 5 * time.Minute

// Answer is what a responder has said about a certificate (RFC 6960), verified.
type Answer struct {
	UUID       string    `json:"uuid"` // of the certificate
	Leaf       string    `json:"leaf"` // SHA-256 of the DER that it is about
	DER        []byte    `json:"answer"`
	Status     string    `json:"status"` // of OCSPCertStatus
	URL        string    `json:"responder"`
	ThisUpdate time.Time `json:"this_update"`
	NextUpdate time.Time `json:"next_update"`
	RevokedAt  time.Time `json:"revoked_at"`
	Reason     int       `json:"reason"`
	Fetched    time.Time `json:"fetched"`
}

// question is a certificate whose state is to be asked for.
type question struct {
	uuid, name, tenant string
	leaf, issuer       *x509.Certificate
	problem            string // why nobody can be asked; empty: somebody can
	config             kinds.OCSPConfig
}

// key differs when a known answer is none to the question any more, or others are to be asked.
func (q question) key() string {
	parts := append([]string{q.uuid, q.fingerprint(), q.problem}, q.responders()...)
	if q.issuer != nil {
		parts = append(parts, fingerprintOf(q.issuer.Raw))
	}
	return strings.Join(parts, " ")
}

func (q question) fingerprint() string { return fingerprintOf(q.leaf.Raw) }

func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// respondersMost is how many of them are asked: a certificate can name any number.
const respondersMost = 10

// responders are the URLs to ask, in order.
func (q question) responders() []string {
	if q.config.URLAction == kinds.OCSPOverride && len(q.config.ResponderURLs) > 0 {
		return q.config.ResponderURLs
	}
	urls := slices.Clone(q.leaf.OCSPServer)
	for _, other := range q.config.ResponderURLs {
		if !slices.Contains(urls, other) {
			urls = append(urls, other)
		}
	}
	return urls[:min(len(urls), respondersMost)]
}

// request is the body to send (RFC 6960 §4.1).
func (q question) request() ([]byte, error) {
	return ocsp.CreateRequest(q.leaf, q.issuer, &ocsp.RequestOptions{Hash: crypto.SHA1})
}

// read verifies what a responder has sent: it must be about the certificate, signed by its issuer or for it, and valid
// now. known is the answer before; an older one than that is refused, because it could hide a revocation.
func (q question) read(body []byte, from string, known *Answer, now time.Time) (*Answer, error) {
	got, err := ocsp.ParseResponseForCert(body, q.leaf, nil)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be used: %w", err)
	}
	if err := q.mayAnswer(got, now); err != nil {
		return nil, err
	}
	said, err := statementAbout(got, q.leaf, q.issuer)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be used: %w", err)
	}
	switch {
	case said.ThisUpdate.After(now.Add(clockSkew)):
		return nil, fmt.Errorf("the answer is of the future: %s", said.ThisUpdate.UTC().Format(time.RFC3339))
	case said.NextUpdate.IsZero():
		return nil, fmt.Errorf("the answer does not say until when it is valid")
	case !now.Before(said.NextUpdate): // clients would refuse it, so that the clock of the authority does not matter
		return nil, fmt.Errorf("the answer was valid until %s", said.NextUpdate.UTC().Format(time.RFC3339))
	case known != nil && known.Leaf == q.fingerprint() && said.ThisUpdate.Before(known.ThisUpdate):
		return nil, fmt.Errorf("the answer is older than the one before it")
	}
	answer := &Answer{UUID: q.uuid, Leaf: q.fingerprint(), DER: body, URL: from, Status: statuses[said.status()],
		ThisUpdate: said.ThisUpdate.UTC(), NextUpdate: said.NextUpdate.UTC(), Fetched: now.UTC()}
	if said.status() == ocsp.Revoked {
		answer.RevokedAt, answer.Reason = said.Revoked.At.UTC(), int(said.Revoked.Reason)
	}
	return answer, nil
}

// mayAnswer refuses an answer that neither the issuer has signed nor a certificate that the issuer has made for that
// (RFC 6960 §4.2.2.2). The library has checked that the certificate in the answer, if there is one, has signed it.
func (q question) mayAnswer(got *ocsp.Response, now time.Time) error {
	delegate := got.Certificate
	if delegate == nil || bytes.Equal(delegate.Raw, q.issuer.Raw) {
		if err := got.CheckSignatureFrom(q.issuer); err != nil {
			return fmt.Errorf("the issuer of the certificate has not signed the answer: %w", err)
		}
		return nil
	}
	if err := delegate.CheckSignatureFrom(q.issuer); err != nil {
		return fmt.Errorf("the issuer has not signed the certificate of the responder: %w", err)
	}
	switch {
	case !bytes.Equal(delegate.RawIssuer, q.issuer.RawSubject):
		return fmt.Errorf("the certificate of the responder names another issuer: %s", delegate.Issuer)
	case now.Add(clockSkew).Before(delegate.NotBefore) || now.After(delegate.NotAfter):
		return fmt.Errorf("the certificate of the responder is not valid now")
	case !slices.Contains(delegate.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
		return fmt.Errorf("the certificate of the responder is not for signing answers")
	}
	return nil
}

var statuses = map[int]string{ocsp.Good: kinds.OCSPGood, ocsp.Revoked: kinds.OCSPRevoked,
	ocsp.Unknown: kinds.OCSPUnknown}

// due is when to ask again after an answer: after half of the time that it is still valid.
func (a *Answer) due(config kinds.OCSPConfig) time.Time {
	return half(a.Fetched, a.NextUpdate, time.Duration(config.RequestIntervalS)*time.Second)
}

// half is the time in the middle, but at most so long after the first, and not at once.
func half(from, until time.Time, most time.Duration) time.Time {
	return from.Add(max(min(until.Sub(from)/2, most), refreshMin))
}

// into puts the answer into a copy of a certificate object, if it is about that certificate.
func (a *Answer) into(object schema.Object) (schema.Object, bool) {
	leaf := kinds.LeafDER(object)
	if leaf == nil || fingerprintOf(leaf) != a.Leaf {
		return object, false
	}
	return kinds.WithOCSPResponse(object, kinds.OCSPResponse{
		Status: a.Status, DER: a.DER, ResponderURL: a.URL, ThisUpdate: a.ThisUpdate, NextUpdate: a.NextUpdate,
		RevokedAt: a.RevokedAt, Reason: a.Reason,
	}), true
}

// checkURL refuses what is no responder's URL.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Errorf("%q is no URL of HTTP", text)
	}
	return nil
}
