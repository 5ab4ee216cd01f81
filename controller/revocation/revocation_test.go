package revocation

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// authority signs certificates, answers and lists.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: noon.Add(-time.Hour), NotAfter: noon.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte(name)}
	return authority{signed(t, template, template, key, key), key}
}

func signed(t *testing.T, template, parent *x509.Certificate, key, by crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// issue signs a certificate with a serial number; more changes it before.
func (a authority) issue(t *testing.T, serial int64, more func(*x509.Certificate)) (*x509.Certificate, crypto.Signer) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "shop"},
		NotBefore: noon.Add(-time.Hour), NotAfter: noon.AddDate(0, 3, 0), OCSPServer: []string{"http://first.test/"}}
	if more != nil {
		more(template)
	}
	key := newKey(t)
	return signed(t, template, a.certificate, key, a.key), key
}

func (a authority) asked(t *testing.T) question {
	leaf, _ := a.issue(t, 7, nil)
	return question{uuid: "u", name: "shop", leaf: leaf, issuer: a.certificate,
		config: (&kinds.SSLKeyAndCertificate{}).OCSP()}
}

// answer says that the certificate is good, for a day from now on; more changes that before.
func (a authority) answer(t *testing.T, q question, more func(*ocsp.Response)) []byte {
	t.Helper()
	template := ocsp.Response{Status: ocsp.Good, SerialNumber: q.leaf.SerialNumber, ThisUpdate: noon,
		NextUpdate: noon.Add(24 * time.Hour)}
	if more != nil {
		more(&template)
	}
	der, err := ocsp.CreateResponse(a.certificate, a.certificate, template, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestAnswerIsTakenIfItsIssuerSignedItForTheCertificateAndItIsValid(t *testing.T) {
	ca, other := newAuthority(t, "CA"), newAuthority(t, "CA")
	q := ca.asked(t)
	known, err := q.read(ca.answer(t, q, nil), "http://first.test/", nil, noon)
	if err != nil || known.Status != kinds.OCSPGood || !known.NextUpdate.Equal(noon.Add(24*time.Hour)) {
		t.Fatalf("%+v, %v", known, err)
	}
	for name, c := range map[string]struct {
		body []byte
		now  time.Time
		want string
	}{
		"of another issuer of the same name": {other.answer(t, q, nil), noon, "has not signed"},
		"about another certificate": {ca.answer(t, q, func(r *ocsp.Response) { r.SerialNumber = big.NewInt(8) }), noon,
			"no response matching"},
		"that has ended": {ca.answer(t, q, nil), noon.Add(24 * time.Hour), "was valid until"},
		"of the future":  {ca.answer(t, q, nil), noon.Add(-time.Hour), "of the future"},
		"without an end": {ca.answer(t, q, func(r *ocsp.Response) { r.NextUpdate = time.Time{} }), noon, "until when"},
		"older than before": {ca.answer(t, q, func(r *ocsp.Response) { r.ThisUpdate = noon.Add(-time.Minute) }), noon,
			"older"},
		"that is an error": {ocsp.TryLaterErrorResponse, noon, "try later"},
		"that is none":     {[]byte("<html>"), noon, "cannot be used"},
	} {
		if got, err := q.read(c.body, "u", known, c.now); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want an error with %q", name, got, err, c.want)
		}
	}
}

func TestAnswerOfADelegateNeedsACertificateForThatWhichIsValid(t *testing.T) {
	ca := newAuthority(t, "CA")
	q := ca.asked(t)
	signs := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning} }
	for name, c := range map[string]struct {
		make func(*x509.Certificate)
		want string
	}{
		"that begins in a minute": {func(c *x509.Certificate) {
			signs(c)
			c.NotBefore = noon.Add(time.Minute)
		}, ""},
		"for signing answers": {signs, ""},
		"for servers": {func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} },
			"not for signing answers"},
		"that has ended": {func(c *x509.Certificate) {
			signs(c)
			c.NotAfter = noon.Add(-time.Minute)
		}, "not valid now"},
		"of another issuer": {signs, "issuer has not signed the certificate"},
	} {
		by := ca
		if name == "of another issuer" {
			by = newAuthority(t, "CA")
		}
		delegate, key := by.issue(t, 9, c.make)
		body, err := ocsp.CreateResponse(ca.certificate, delegate,
			ocsp.Response{Status: ocsp.Good, Certificate: delegate,
				SerialNumber: q.leaf.SerialNumber, ThisUpdate: noon, NextUpdate: noon.Add(time.Hour)}, key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.read(body, "u", nil, noon)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// aboutOf is an answer that the authority signs about the number of a certificate at another issuer.
func (a authority) aboutOf(t *testing.T, q question, issuer *x509.Certificate, hash crypto.Hash) []byte {
	t.Helper()
	der, err := ocsp.CreateResponse(issuer, a.certificate, ocsp.Response{Status: ocsp.Good, IssuerHash: hash,
		SerialNumber: q.leaf.SerialNumber, ThisUpdate: noon, NextUpdate: noon.Add(time.Hour)}, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestAnswerMustNameTheIssuerByItsNameAndItsKeyWithWhicheverHash(t *testing.T) {
	ca := newAuthority(t, "CA")
	q := ca.asked(t)
	otherKey := newAuthority(t, "CA").certificate
	renamed := *ca.certificate
	renamed.Subject, renamed.RawSubject = pkix.Name{CommonName: "Other"}, nil
	otherName := signed(t, &renamed, &renamed, ca.key, ca.key)
	for _, hash := range []crypto.Hash{crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		if _, err := q.read(ca.aboutOf(t, q, ca.certificate, hash), "u", nil, noon); err != nil {
			t.Errorf("%v: %v", hash, err)
		}
		for name, issuer := range map[string]*x509.Certificate{"another key": otherKey, "another name": otherName} {
			_, err := q.read(ca.aboutOf(t, q, issuer, hash), "u", nil, noon)
			if err == nil || !strings.Contains(err.Error(), "at another issuer") {
				t.Errorf("an issuer with %s, %v: %v", name, hash, err)
			}
		}
	}
}

func TestAnswerAboutSeveralCertificatesCountsForTheOneOfTheIssuer(t *testing.T) {
	ca := newAuthority(t, "CA")
	q := ca.asked(t)
	said := func(issuer *x509.Certificate, status int) statement {
		body := ca.answer(t, q, func(r *ocsp.Response) { r.Status, r.RevokedAt = status, noon })
		r, err := ocsp.ParseResponse(body, nil)
		if err != nil {
			t.Fatal(err)
		}
		one, err := statementAbout(r, q.leaf, ca.certificate)
		if err != nil {
			t.Fatal(err)
		}
		key, err := keyOf(issuer)
		if err != nil {
			t.Fatal(err)
		}
		one.About.Name, one.About.Key = hashed(crypto.SHA1, issuer.RawSubject), hashed(crypto.SHA1, key)
		return *one
	}
	other := newAuthority(t, "Other").certificate
	both := ca.wrap(t, said(other, ocsp.Good), said(ca.certificate, ocsp.Revoked))
	if got, err := q.read(both, "u", nil, noon); err != nil || got.Status != kinds.OCSPRevoked {
		t.Errorf("%+v, %v: want the second statement", got, err)
	}
}

// wrap signs an answer with several statements.
func (a authority) wrap(t *testing.T, statements ...statement) []byte {
	t.Helper()
	marshal := func(value any) []byte {
		der, err := asn1.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	name := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: a.certificate.RawSubject}
	part := marshal(signedPart{Responder: name, ProducedAt: noon, Statements: statements})
	sum := sha256.Sum256(part)
	signature, err := a.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	withSHA256 := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}} // ECDSA
	basic := marshal(struct {
		Part      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{asn1.RawValue{FullBytes: part}, withSHA256, asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}})
	type typed struct {
		Type asn1.ObjectIdentifier
		Body []byte
	}
	return marshal(struct {
		Status asn1.Enumerated
		Answer typed `asn1:"explicit,tag:0"`
	}{0, typed{asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 1}, basic}})
}

func TestIssuerBelowAnotherMaySendItsCertificateWithItsAnswer(t *testing.T) {
	root := newAuthority(t, "Root")
	below, key := root.issue(t, 3, func(c *x509.Certificate) {
		c.Subject, c.IsCA, c.BasicConstraintsValid = pkix.Name{CommonName: "Below"}, true, true
		c.KeyUsage = x509.KeyUsageCertSign
	})
	ca := authority{below, key}
	q := ca.asked(t)
	body := ca.answer(t, q, func(r *ocsp.Response) { r.Certificate = below })
	if _, err := q.read(body, "u", nil, noon); err != nil {
		t.Error(err)
	}
}

func TestRevokedIsKnownWithItsTimeAndReason(t *testing.T) {
	ca := newAuthority(t, "CA")
	q := ca.asked(t)
	body := ca.answer(t, q, func(r *ocsp.Response) {
		r.Status, r.RevokedAt, r.RevocationReason = ocsp.Revoked, noon.Add(-time.Hour), ocsp.KeyCompromise
	})
	got, err := q.read(body, "u", nil, noon)
	if err != nil || got.Status != kinds.OCSPRevoked || got.Reason != 1 || !got.RevokedAt.Equal(noon.Add(-time.Hour)) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestItIsFetchedAgainAfterHalfOfItsValidity(t *testing.T) {
	config := (&kinds.SSLKeyAndCertificate{}).OCSP()
	for life, want := range map[time.Duration]time.Duration{
		2 * time.Hour: time.Hour, 10 * time.Second: time.Minute, 30 * 24 * time.Hour: 24 * time.Hour,
	} {
		answer := Answer{Fetched: noon, NextUpdate: noon.Add(life)}
		if got := answer.due(config).Sub(noon); got != want {
			t.Errorf("valid for %v: again after %v, want %v", life, got, want)
		}
	}
}

func TestRespondersAreThoseOfTheCertificateThenThoseOfTheConfigurationOrOnlyThese(t *testing.T) {
	q := newAuthority(t, "CA").asked(t)
	q.config.ResponderURLs = []string{"http://second.test/", "http://first.test/"}
	if got := strings.Join(q.responders(), " "); got != "http://first.test/ http://second.test/" {
		t.Error(got)
	}
	q.config.URLAction = kinds.OCSPOverride
	if got := strings.Join(q.responders(), " "); got != "http://second.test/ http://first.test/" {
		t.Error(got)
	}
}

func (a authority) list(t *testing.T, number int64, more func(*x509.RevocationList)) []byte {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: noon, NextUpdate: noon.Add(24 * time.Hour)}
	if more != nil {
		more(template)
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.certificate, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestListIsTakenIfAnAuthorityOfTheProfileSignedItAndItGoesOn(t *testing.T) {
	ca, other, forged := newAuthority(t, "CA"), newAuthority(t, "Other"), newAuthority(t, "CA")
	from := source{uuid: "u", url: "http://crl.test/", interval: time.Hour, authorities: [][]byte{ca.certificate.Raw}}
	known, err := from.read(ca.list(t, 5, nil), "tag", nil, noon)
	if err != nil || known.Number != "5" || known.ETag != "tag" || !known.due(time.Hour).Equal(noon.Add(time.Hour)) {
		t.Fatalf("%+v, %v", known, err)
	}
	if _, err := from.read(ca.list(t, 5, nil), "", known, noon); err != nil {
		t.Errorf("the same again: %v", err)
	}
	whole := ca.list(t, 6, nil)
	if list, err := from.read(append(slices.Clone(whole), 0), "", known, noon); err == nil &&
		!bytes.Equal(list.DER, whole) {
		t.Error("a byte behind the list stays")
	}
	if renewed := (source{authorities: [][]byte{other.certificate.Raw}}); renewed.before(known) != nil {
		t.Error("a list of the authority before counts for the one of now")
	}
	critical := func(id ...int) func(*x509.RevocationList) {
		return func(list *x509.RevocationList) {
			list.ExtraExtensions = []pkix.Extension{{Id: id, Critical: true, Value: []byte{2, 1, 1}}}
		}
	}
	for name, c := range map[string]struct {
		body []byte
		now  time.Time
		want string
	}{
		"of changes":                   {ca.list(t, 6, critical(2, 5, 29, 27)), noon, "lists of changes"},
		"of some certificates":         {ca.list(t, 6, critical(2, 5, 29, 28)), noon, "not about all"},
		"of another authority":         {other.list(t, 6, nil), noon, "none of ca_certs"},
		"of an authority of that name": {forged.list(t, 6, nil), noon, "has not signed it"},
		"with a lower number":          {ca.list(t, 4, nil), noon, "has the number 4"},
		"that is older": {ca.list(t, 6, func(l *x509.RevocationList) { l.ThisUpdate = noon.Add(-time.Hour) }), noon,
			"older"},
		"that has ended": {ca.list(t, 6, nil), noon.Add(25 * time.Hour), "was valid until"},
		"of the future":  {ca.list(t, 6, nil), noon.Add(-time.Hour), "of the future"},
		"that is none":   {[]byte("<html>"), noon, "no list"},
	} {
		if got, err := from.read(c.body, "", known, c.now); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want an error with %q", name, got, err, c.want)
		}
	}
}
