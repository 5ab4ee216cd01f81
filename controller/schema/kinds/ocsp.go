package kinds

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// OCSPConfig says how answers about a certificate are fetched.
type OCSPConfig struct {
	RequestIntervalS uint32   `json:"ocsp_req_interval" min:"60" max:"31536000" default:"86400"`
	ResponseTimeoutS uint32   `json:"ocsp_resp_timeout" max:"60"` // 0: 10 s
	ResponderURLs    []string `json:"responder_url_lists" items:"10"`
	URLAction        string   `json:"url_action" enum:"OCSPURLAction" default:"OCSP_RESPONDER_URL_FAILOVER"`
	RetryIntervalS   uint32   `json:"failed_ocsp_jobs_retry_interval" min:"60" max:"86400" default:"3600"`
}

// OCSPResponseInfo is what a responder has said about a certificate.
type OCSPResponseInfo struct {
	Status       string `json:"cert_status" enum:"OCSPCertStatus" computed:"true"`
	NextUpdate   string `json:"next_update" computed:"true"` // "2017-06-11 04:44:28", UTC; the others likewise
	ResponderURL string `json:"ocsp_resp_from_responder_url" computed:"true"`
	Response     string `json:"ocsp_response" computed:"true"` // base64 of the DER
	Reason       string `json:"revocation_reason" enum:"OCSPRevocationReason" computed:"true"`
	RevokedAt    string `json:"revocation_time" computed:"true"`
	ThisUpdate   string `json:"this_update" computed:"true"`
}

// Values of cert_status, and of url_action.
const (
	OCSPGood     = "OCSP_CERTSTATUS_GOOD"
	OCSPRevoked  = "OCSP_CERTSTATUS_REVOKED"
	OCSPUnknown  = "OCSP_CERTSTATUS_UNKNOWN"
	OCSPOverride = "OCSP_RESPONDER_URL_OVERRIDE"
)

var (
	_ = schema.Enum("OCSPCertStatus", OCSPGood, OCSPRevoked, OCSPUnknown)
	_ = schema.Enum("OCSPURLAction", "OCSP_RESPONDER_URL_FAILOVER", OCSPOverride)
	_ = schema.Enum("OCSPErrorStatus", "OCSP_ERR_CERTSTATUS_DISABLED", "OCSP_ERR_CERTSTATUS_GOOD",
		"OCSP_ERR_CERTSTATUS_REVOKED", "OCSP_ERR_CERTSTATUS_UNKNOWN", "OCSP_ERR_CERTSTATUS_REQUEST")
	// ocspReasons are those of RFC 5280 §5.3.1, by their numbers.
	ocspReasons = schema.Enum("OCSPRevocationReason",
		"OCSP_REVOCATION_REASON_UNSPECIFIED", "OCSP_REVOCATION_REASON_KEY_COMPROMISE",
		"OCSP_REVOCATION_REASON_CA_COMPROMISE", "OCSP_REVOCATION_REASON_AFFILIATION_CHANGED",
		"OCSP_REVOCATION_REASON_SUPERSEDED", "OCSP_REVOCATION_REASON_CESSATION_OF_OPERATION",
		"OCSP_REVOCATION_REASON_CERTIFICATE_HOLD", "OCSP_REVOCATION_REASON_REMOVE_FROM_CRL",
		"OCSP_REVOCATION_REASON_PRIVILEGE_WITHDRAWN", "OCSP_REVOCATION_REASON_AA_COMPROMISE")
)

// OCSP is how answers are fetched, with defaults.
func (c *SSLKeyAndCertificate) OCSP() OCSPConfig {
	if c.OCSPConfig != nil {
		return *c.OCSPConfig
	}
	return OCSPConfig{RequestIntervalS: 86400, URLAction: "OCSP_RESPONDER_URL_FAILOVER", RetryIntervalS: 3600}
}

// Staple is what engines add to handshakes, and until when it is valid; nil: nothing.
func (c *SSLKeyAndCertificate) Staple() (answer []byte, until time.Time) {
	info := c.OCSPResponseInfo
	if !c.EnableOCSPStapling || info == nil || info.Status != OCSPGood {
		return nil, until
	}
	answer, err := base64.StdEncoding.DecodeString(info.Response)
	if err != nil {
		return nil, until
	}
	if until, err = time.Parse(certificateTime, info.NextUpdate); err != nil {
		return nil, until
	}
	return answer, until
}

// featureOID is the object identifier of the extension in which a certificate says that answers must be stapled (RFC
// 7633 §4.1), in DER.
var featureOID = []byte{0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x18}

// MustStaple tells whether clients that know the extension refuse the certificate without a stapled answer.
func (c *SSLKeyAndCertificate) MustStaple() bool {
	if c.Certificate == nil {
		return false
	}
	all := blocks(c.Certificate.PEM, "CERTIFICATE")
	if len(all) == 0 || !bytes.Contains(all[0], featureOID) {
		return false
	}
	leaf, err := x509.ParseCertificate(all[0])
	return err == nil && slices.ContainsFunc(leaf.Extensions, func(extension pkix.Extension) bool {
		return extension.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24})
	})
}

func (c *OCSPConfig) check() *schema.FieldError {
	if c == nil {
		return nil
	}
	if c.URLAction == OCSPOverride && len(c.ResponderURLs) == 0 {
		return refuse("ocsp_config.responder_url_lists", "is empty; %s needs it", OCSPOverride)
	}
	for i, text := range c.ResponderURLs {
		if problem := checkFetchURL(fmt.Sprintf("ocsp_config.responder_url_lists[%d]", i), text); problem != nil {
			return problem
		}
	}
	return nil
}

// checkFetchURL refuses what the controller cannot fetch.
func checkFetchURL(field, text string) *schema.FieldError {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return refuse(field, "%s is no URL; give http://host/path or https://host/path", schema.Show(text))
	}
	if parsed.User != nil {
		return refuse(field, "cannot have a user and a password")
	}
	return nil
}

// OCSPResponse is what the controller has fetched about a certificate.
type OCSPResponse struct {
	Status                            string
	DER                               []byte
	ResponderURL                      string
	ThisUpdate, NextUpdate, RevokedAt time.Time
	Reason                            int
}

// WithOCSPResponse returns a copy of an object of this kind, with what was fetched about it.
func WithOCSPResponse(object schema.Object, from OCSPResponse) schema.Object {
	info := schema.Object{
		"cert_status": from.Status, "ocsp_resp_from_responder_url": from.ResponderURL,
		"ocsp_response": base64.StdEncoding.EncodeToString(from.DER),
		"this_update":   from.ThisUpdate.UTC().Format(certificateTime),
		"next_update":   from.NextUpdate.UTC().Format(certificateTime),
	}
	if from.Status == OCSPRevoked {
		info["revocation_time"] = from.RevokedAt.UTC().Format(certificateTime)
		if reasons := ocspReasons; from.Reason >= 0 && from.Reason < len(reasons) {
			info["revocation_reason"] = reasons[from.Reason]
		}
	}
	copied := maps.Clone(object)
	copied["ocsp_response_info"] = info
	return copied
}

// deriveOCSP sets what the certificate and the last answer say.
func deriveOCSP(o schema.Object, responders []string) {
	delete(o, "ocsp_responder_url_list_from_certs")
	if len(responders) > 0 {
		list := make([]any, len(responders))
		for i, responder := range responders {
			list[i] = responder
		}
		o["ocsp_responder_url_list_from_certs"] = list
	}
	status := "OCSP_ERR_CERTSTATUS_DISABLED"
	if enabled, _ := o["enable_ocsp_stapling"].(bool); enabled {
		info, _ := o["ocsp_response_info"].(schema.Object)
		switch info["cert_status"] {
		case OCSPGood:
			status = "OCSP_ERR_CERTSTATUS_GOOD"
		case OCSPRevoked:
			status = "OCSP_ERR_CERTSTATUS_REVOKED"
		case OCSPUnknown:
			status = "OCSP_ERR_CERTSTATUS_UNKNOWN"
		default:
			status = "OCSP_ERR_CERTSTATUS_REQUEST"
		}
	}
	o["ocsp_error_status"] = status
}

// LeafDER is the first certificate of an object of this kind; nil: there is none.
func LeafDER(o schema.Object) []byte {
	certificate, _ := o["certificate"].(schema.Object)
	text, _ := certificate["certificate"].(string)
	if all := blocks(text, "CERTIFICATE"); len(all) > 0 {
		return all[0]
	}
	return nil
}

// FetchedList is a list of revoked certificates that the controller has fetched.
type FetchedList struct {
	DER     []byte
	Fetched time.Time
	ETag    string
}

// WithFetchedLists returns a copy of a PKI profile, with the lists that were fetched, by their URL.
func WithFetchedLists(object schema.Object, lists map[string]FetchedList) schema.Object {
	var all []any
	for _, list := range objects(object["crls"]) {
		url, _ := list["server_url"].(string)
		if fetched, there := lists[url]; there && url != "" {
			list = maps.Clone(list)
			list["body"] = string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: fetched.DER}))
			list["last_refreshed"] = fetched.Fetched.UTC().Format(certificateTime)
			if fetched.ETag != "" {
				list["etag"] = fetched.ETag
			}
		}
		all = append(all, list)
	}
	copied := maps.Clone(object)
	copied["crls"] = all
	return copied
}
