package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Credentials say where to log in, and as which user.
type Credentials struct {
	URL      string // "https://10.0.0.1:9443"; https:// may be left out
	Username string
	Password string
	Tenant   string // default "admin"
	// Fingerprint is the hex SHA-256 of the controller's certificate. If it is empty, the system's CAs decide, and an
	// unknown certificate gives an *UnknownCertificate.
	Fingerprint string
	// Dial replaces net.Dialer, for a controller in another network than this process; nil: net.Dialer.
	Dial Dial
}

// Dial is as net.Dialer.DialContext.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Saved is what a later process needs to continue a session.
type Saved struct {
	URL         string `json:"url"`
	Fingerprint string `json:"fingerprint,omitempty"`
	CSRF        string `json:"csrf"`
	SessionID   string `json:"session_id"`
	Cookie      string `json:"cookie"`
	Username    string `json:"username"`
	Tenant      string `json:"tenant"`
}

// Login opens a session.
func Login(ctx context.Context, c Credentials) (*Session, error) {
	session, err := open(Saved{URL: c.URL, Fingerprint: c.Fingerprint, Username: c.Username, Tenant: c.Tenant}, c.Dial)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]string{"username": c.Username, "password": c.Password})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, session.base.String()+"/login",
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := session.http.Do(request)
	if err != nil {
		return nil, session.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	return session, session.admitted(request, answer)
}

// admitted stores the answer to a login.
func (s *Session) admitted(request *http.Request, answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax))
	if err != nil {
		return fmt.Errorf("read answer of login: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return problemOf(request, answer.StatusCode, body)
	}
	var said struct {
		Cookie string `json:"session_cookie_name"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return fmt.Errorf("answer of login is not what was asked for: %w", err)
	}
	s.saved.Cookie = said.Cookie
	for _, cookie := range answer.Cookies() {
		switch cookie.Name {
		case "csrftoken":
			s.saved.CSRF = cookie.Value
		case said.Cookie:
			s.saved.SessionID = cookie.Value
		}
	}
	if s.saved.CSRF == "" || s.saved.SessionID == "" {
		return errors.New("the controller answered the login without a session")
	}
	return nil
}

// Resume continues a saved session.
func Resume(saved Saved) (*Session, error) { return open(saved, nil) }

func open(saved Saved, dial Dial) (*Session, error) {
	address := strings.TrimSuffix(saved.URL, "/")
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	base, err := url.Parse(address)
	if err != nil || base.Hostname() == "" || base.Scheme != "https" || base.Path != "" {
		return nil, fmt.Errorf("%q is not the address of a controller: give https://HOST:PORT", saved.URL)
	}
	if saved.Tenant == "" {
		saved.Tenant = "admin"
	}
	saved.URL = base.String()
	transport := &http.Transport{TLSClientConfig: trust(base, saved.Fingerprint), MaxIdleConnsPerHost: 8,
		DialContext: dial}
	return &Session{base: base, http: &http.Client{Transport: transport, Timeout: callTimeout}, saved: saved,
		tenant: saved.Tenant}, nil
}

// Saved returns what Resume needs.
func (s *Session) Saved() Saved { return s.saved }

func (s *Saved) sign(request *http.Request) {
	request.Header.Set("X-CSRFToken", s.CSRF)
	if s.SessionID != "" {
		request.AddCookie(&http.Cookie{Name: "csrftoken", Value: s.CSRF})
		request.AddCookie(&http.Cookie{Name: s.Cookie, Value: s.SessionID})
	}
}

// trust checks the controller's certificate against a pinned fingerprint, or else against the system's CAs.
func trust(base *url.URL, fingerprint string) *tls.Config {
	verify := func(state tls.ConnectionState) error {
		leaf := state.PeerCertificates[0]
		sum := sha256.Sum256(leaf.Raw)
		seen := hex.EncodeToString(sum[:])
		if fingerprint != "" {
			if !strings.EqualFold(seen, strings.ReplaceAll(fingerprint, ":", "")) {
				return &ChangedCertificate{Host: base.Host, Known: fingerprint, Seen: seen}
			}
			return nil
		}
		intermediates := x509.NewCertPool()
		for _, certificate := range state.PeerCertificates[1:] {
			intermediates.AddCert(certificate)
		}
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: base.Hostname(), Intermediates: intermediates})
		if err != nil {
			return &UnknownCertificate{Host: base.Host, Fingerprint: seen}
		}
		return nil
	}
	// The check above replaces the default one: a pinned certificate needs no CA.
	return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, VerifyConnection: verify}
}
