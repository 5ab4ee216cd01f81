package kinds

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// PKIProfile is the certificate authorities that are trusted, and the lists of the certificates that they have revoked.
type PKIProfile struct {
	Identity
	Named
	Owned
	Markers             []Marker      `json:"markers"`
	CreatedBy           string        `json:"created_by"`
	CACerts             []Certificate `json:"ca_certs" items:"200"`
	IgnorePeerChain     bool          `json:"ignore_peer_chain" default:"false"`
	CRLCheck            bool          `json:"crl_check"`
	CRLs                []CRL         `json:"crls" items:"200"`
	ValidateOnlyLeafCRL bool          `json:"validate_only_leaf_crl" default:"true"`
	AllowPKIErrors      []string      `json:"allow_pki_errors" enum:"PKIError" items:"1"`
	IsFederated         bool          `json:"is_federated" default:"false"`
}

// CRL is a list of the certificates that an authority has revoked.
type CRL struct {
	Body              string `json:"body"` // with server_url: what was fetched
	ServerURL         string `json:"server_url"`
	UpdateIntervalMin uint32 `json:"update_interval" min:"30" max:"525600" default:"1440"`
	ETag              string `json:"etag" computed:"true"`
	LastRefreshed     string `json:"last_refreshed" computed:"true"`
	CommonName        string `json:"common_name" computed:"true"`
	DistinguishedName string `json:"distinguished_name" computed:"true"` // of the issuer
	LastUpdate        string `json:"last_update" computed:"true"`
	NextUpdate        string `json:"next_update" computed:"true"`
	Fingerprint       string `json:"fingerprint" computed:"true"`
}

const (
	allowExpiredCRL = "ALLOW_EXPIRED_CRL"
	allowAllErrors  = "ALLOW_ALL_ERRORS"
)

var _ = schema.Enum("PKIError", allowExpiredCRL, allowAllErrors)

func init() {
	schema.Register[PKIProfile](schema.Definition{
		Short:     []string{"pki"},
		Serving:   schema.PartOfService,
		DerivedBy: derivePKIProfile,
		Example: `  weir pki create internal ca_certs[0].certificate="$(cat ca.pem)"
  weir pki create staff ca_certs[0].certificate="$(cat ca.pem)" crls[0].body="$(cat crl.pem)"`,
		Kept: []schema.Rule{
			schema.Closes("there are no files of the controller: give the list itself as body, or server_url",
				"crls.file_ref"),
			schema.NoEffect(computed, ""),
		},
		Unread: []schema.Rule{
			schema.NoEffect(noSites, "is_federated"),
		},
	})
}

// Authorities returns the certificates of a stored object, as DER.
func (p *PKIProfile) Authorities() [][]byte {
	var authorities [][]byte
	for _, authority := range p.CACerts {
		authorities = append(authorities, blocks(authority.PEM, "CERTIFICATE")...)
	}
	return authorities
}

// Lists returns the lists of revoked certificates of a stored object, as DER.
func (p *PKIProfile) Lists() [][]byte {
	var lists [][]byte
	for _, list := range p.CRLs {
		lists = append(lists, blocks(list.Body, "X509 CRL")...)
	}
	return lists
}

// AllowsExpiredLists tells whether a list counts after its next_update, too.
func (p *PKIProfile) AllowsExpiredLists() bool {
	return slices.Contains(p.AllowPKIErrors, allowExpiredCRL)
}

// ListURLs are the places where lists are fetched.
func (p *PKIProfile) ListURLs() (urls []string) {
	for _, list := range p.CRLs {
		if list.ServerURL != "" {
			urls = append(urls, list.ServerURL)
		}
	}
	return urls
}

// Complete asks the lists that are there. The body of a list that is fetched is what was fetched, and no operator's.
func (*PKIProfile) Complete(o schema.Object) {
	for _, list := range objects(o["crls"]) {
		if url, _ := list["server_url"].(string); url != "" {
			for _, field := range []string{"body", "common_name", "distinguished_name", "last_update", "next_update",
				"fingerprint"} {
				delete(list, field)
			}
		}
	}
	if _, said := o["crl_check"]; !said {
		o["crl_check"] = len(objects(o["crls"])) > 0
	}
}

func (p *PKIProfile) Validate() *schema.FieldError {
	switch {
	case len(p.CACerts) == 0:
		return &schema.FieldError{Field: "ca_certs", Problem: "is empty; give at least one certificate of an authority"}
	case slices.Contains(p.AllowPKIErrors, allowAllErrors):
		return refuse("allow_pki_errors", "cannot be %s: a certificate that cannot be verified says nothing; "+
			"allow_invalid_client_cert of a virtual service lets its clients in, as clients without one",
			allowAllErrors)
	case !p.CRLCheck && len(p.CRLs) > 0:
		return refuse("crls", "needs crl_check: lists that nobody asks let revoked certificates in")
	case p.CRLCheck && len(p.CRLs) == 0:
		return &schema.FieldError{
			Field:   "crl_check",
			Problem: "needs crls: without a list of its issuer, every certificate is refused",
		}
	}
	for i, authority := range p.CACerts {
		if _, problem := parseAuthority(i, authority.PEM); problem != nil {
			return problem
		}
	}
	for i, list := range p.CRLs {
		if list.ServerURL != "" {
			if problem := checkFetchURL(fmt.Sprintf("crls[%d].server_url", i), list.ServerURL); problem != nil {
				return problem
			}
		}
		if slices.ContainsFunc(p.CRLs[:i], func(other CRL) bool {
			return list.ServerURL != "" && other.ServerURL == list.ServerURL
		}) {
			return refuse(fmt.Sprintf("crls[%d].server_url", i), "is there twice")
		}
		if list.Body == "" {
			continue
		}
		if _, problem := parseCRL(i, list.Body); problem != nil {
			return problem
		}
	}
	return nil
}

// derivePKIProfile sets the fields that each PEM contains.
func derivePKIProfile(o schema.Object, now time.Time) *schema.FieldError {
	for i, authority := range objects(o["ca_certs"]) {
		text, _ := authority["certificate"].(string)
		first, problem := parseAuthority(i, text)
		if problem != nil {
			return problem
		}
		describeCertificate(authority, first, now)
	}
	for i, list := range objects(o["crls"]) {
		text, _ := list["body"].(string)
		switch {
		case text == "" && !isFetched(list):
			return refuse(fmt.Sprintf("crls[%d].body", i), "is empty; give the list in PEM, or server_url")
		case text == "":
			continue // it is not fetched yet
		}
		read, problem := parseCRL(i, text)
		if problem != nil {
			return problem
		}
		list["common_name"], list["distinguished_name"] = read.Issuer.CommonName, read.Issuer.String()
		list["last_update"] = read.ThisUpdate.UTC().Format(certificateTime)
		delete(list, "next_update")
		if !read.NextUpdate.IsZero() {
			list["next_update"] = read.NextUpdate.UTC().Format(certificateTime)
		}
		list["fingerprint"] = "SHA1 Fingerprint=" + fingerprint(read.Raw) + "\n"
	}
	return nil
}

// isFetched tells whether a list is to come from elsewhere: it has a field that closes virtual services.
func isFetched(list schema.Object) bool {
	for _, field := range []string{"server_url", "file_ref"} {
		if text, _ := list[field].(string); text != "" {
			return true
		}
	}
	return false
}

func parseAuthority(position int, text string) (*x509.Certificate, *schema.FieldError) {
	first, problem := parseLeaf(text)
	if problem != nil {
		problem.Field = fmt.Sprintf("ca_certs[%d].certificate", position)
	}
	return first, problem
}

// parseCRL reads all lists of a text, and returns the first.
func parseCRL(position int, text string) (first *x509.RevocationList, problem *schema.FieldError) {
	field := fmt.Sprintf("crls[%d].body", position)
	for _, der := range blocks(text, "X509 CRL") {
		list, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, refuse(field, "is no list of revoked certificates: %v", err)
		}
		if first == nil {
			first = list
		}
	}
	if first == nil {
		return nil, refuse(field, "holds no list of revoked certificates in PEM (X509 CRL)")
	}
	return first, nil
}
