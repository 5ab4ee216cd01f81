package revocation

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// ListKind is the kind of the records with the lists of a PKI profile, whose uuid is that of the profile.
const ListKind = "revocationlists"

// listsMost is the limit of all fetched lists of a profile, in bytes: the store and every engine have them.
const listsMost = 3 << 20

// Lists are the lists of revoked certificates that were fetched for one PKI profile.
type Lists struct {
	UUID  string  `json:"uuid"` // of the profile
	Lists []*List `json:"lists"`
}

// List is a list of revoked certificates (RFC 5280 §5), verified.
type List struct {
	URL        string    `json:"url"`
	DER        []byte    `json:"list"`
	Number     string    `json:"number"` // decimal; empty: it has none
	ThisUpdate time.Time `json:"this_update"`
	NextUpdate time.Time `json:"next_update"`
	Fetched    time.Time `json:"fetched"`
	ETag       string    `json:"etag"`
}

// of returns the list of a URL; nil: there is none.
func (l *Lists) of(url string) *List {
	if l == nil {
		return nil
	}
	for _, list := range l.Lists {
		if list.URL == url {
			return list
		}
	}
	return nil
}

// with returns the lists with another one instead of the one of its URL, and without those of URLs that nobody wants.
func (l *Lists) with(profile string, list *List, wanted []string) *Lists {
	after := &Lists{UUID: profile}
	for _, url := range wanted {
		kept := l.of(url)
		if list != nil && list.URL == url {
			kept = list
		}
		if kept != nil {
			after.Lists = append(after.Lists, kept)
		}
	}
	return after
}

func (l *Lists) bytes() (sum int) {
	for _, list := range l.Lists {
		sum += len(list.DER)
	}
	return sum
}

// source is a place where a list of a profile is fetched.
type source struct {
	uuid, name, tenant string // of the profile
	url                string
	wanted             []string // all URLs of the profile
	interval           time.Duration
	authorities        [][]byte // in DER
}

func (s source) key() string {
	parts := []string{s.uuid, s.url}
	for _, authority := range s.authorities {
		parts = append(parts, fingerprintOf(authority))
	}
	return strings.Join(parts, " ")
}

// read verifies what was fetched: one of the authorities must have signed it, it must be valid now, and not older than
// the one before it: an old list could hide a revocation.
func (s source) read(body []byte, etag string, known *List, now time.Time) (*List, error) {
	if block, _ := pem.Decode(body); block != nil {
		body = block.Bytes
	}
	list, err := x509.ParseRevocationList(body)
	if err != nil {
		return nil, fmt.Errorf("it is no list of revoked certificates: %w", err)
	}
	if err := s.signed(list); err != nil {
		return nil, err
	}
	if err := enginesRead(list); err != nil {
		return nil, err
	}
	switch {
	case list.ThisUpdate.After(now.Add(clockSkew)):
		return nil, fmt.Errorf("the list is of the future: %s", list.ThisUpdate.UTC().Format(time.RFC3339))
	case list.NextUpdate.IsZero():
		return nil, fmt.Errorf("the list does not say until when it is valid")
	case !now.Before(list.NextUpdate):
		return nil, fmt.Errorf("the list was valid until %s", list.NextUpdate.UTC().Format(time.RFC3339))
	}
	if err := goesOn(list, known); err != nil {
		return nil, err
	}
	read := &List{URL: s.url, DER: list.Raw, ThisUpdate: list.ThisUpdate.UTC(), NextUpdate: list.NextUpdate.UTC(),
		Fetched: now.UTC(), ETag: etag}
	if list.Number != nil {
		read.Number = list.Number.String()
	}
	return read, nil
}

// numberBytes is the longest number of a list (RFC 5280 §5.2.3).
const numberBytes = 20

var (
	listNumber   = asn1.ObjectIdentifier{2, 5, 29, 20}
	partialLists = asn1.ObjectIdentifier{2, 5, 29, 28} // issuing distribution point
)

// enginesRead refuses lists that engines do not read: an engine refuses a Plan with such a list as a whole.
func enginesRead(list *x509.RevocationList) error {
	for _, extension := range list.Extensions {
		switch {
		case extension.Id.Equal(partialLists):
			return fmt.Errorf("the list is not about all certificates of its issuer, and engines need such a one")
		case extension.Critical:
			return fmt.Errorf(
				"engines do not know a part of it that they must know, the extension %s: lists of changes "+
					"are such lists; give the URL of a whole list", extension.Id)
		case extension.Id.Equal(listNumber) && list.Number != nil && list.Number.BitLen() >= 8*numberBytes:
			return fmt.Errorf("its number is longer than %d bytes", numberBytes)
		}
	}
	for _, entry := range list.RevokedCertificateEntries {
		for _, extension := range entry.Extensions {
			if extension.Critical {
				return fmt.Errorf("engines do not know a part of the entry %s that they must know, the extension %s",
					entry.SerialNumber, extension.Id)
			}
		}
	}
	return nil
}

func (s source) signed(list *x509.RevocationList) error {
	err := fmt.Errorf("none of ca_certs has the name of its issuer, %s", list.Issuer)
	for _, der := range s.authorities {
		authority, unreadable := x509.ParseCertificate(der)
		if unreadable != nil || !bytes.Equal(authority.RawSubject, list.RawIssuer) {
			continue
		}
		if err = list.CheckSignatureFrom(authority); err == nil {
			return nil
		}
		err = fmt.Errorf("its issuer has not signed it: %w", err)
	}
	return err
}

// before is what is known of the list, if one of the authorities of now has signed it.
func (s source) before(known *List) *List {
	if known == nil {
		return nil
	}
	list, err := x509.ParseRevocationList(known.DER)
	if err != nil || s.signed(list) != nil {
		return nil
	}
	return known
}

// goesOn refuses a list that is older than the one before it (RFC 5280 §5.2.3).
func goesOn(list *x509.RevocationList, known *List) error {
	if known == nil {
		return nil
	}
	before, numbered := new(big.Int).SetString(known.Number, 10)
	switch {
	case numbered && list.Number == nil:
		return fmt.Errorf("the list has no number, and the one before it had %s", known.Number)
	case numbered && list.Number.Cmp(before) < 0:
		return fmt.Errorf("the list has the number %s, and the one before it had %s", list.Number, known.Number)
	case list.ThisUpdate.Before(known.ThisUpdate):
		return fmt.Errorf("the list is older than the one before it")
	}
	return nil
}

// due is when to fetch it again.
func (l *List) due(interval time.Duration) time.Time { return half(l.Fetched, l.NextUpdate, interval) }

// into puts the lists into a copy of a PKI profile object.
func (l *Lists) into(object schema.Object) schema.Object {
	fetched := map[string]kinds.FetchedList{}
	for _, list := range l.Lists {
		fetched[list.URL] = kinds.FetchedList{DER: list.DER, Fetched: list.Fetched, ETag: list.ETag}
	}
	return kinds.WithFetchedLists(object, fetched)
}
