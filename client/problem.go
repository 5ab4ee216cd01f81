package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Problem is an answer that says no.
type Problem struct {
	Method, Path string
	Status       int
	Message      string // what the controller said, for people
}

// Error is the controller's message. Where the controller itself failed (5xx), the call is added.
func (p *Problem) Error() string {
	if p.Status >= http.StatusInternalServerError {
		return fmt.Sprintf("%s (%s %s: %d)", p.Message, p.Method, p.Path, p.Status)
	}
	return p.Message
}

// IsStatus tells whether err is a Problem with this HTTP status.
func IsStatus(err error, status int) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Status == status
}

// ErrNotFound says that a name has no object.
var ErrNotFound = errors.New("not found")

// SessionOver says that the controller does not know the session, or no longer knows it.
type SessionOver struct {
	URL     string
	Problem *Problem
}

func (s *SessionOver) Error() string { return fmt.Sprintf("the session with %s is over", s.URL) }
func (s *SessionOver) Unwrap() error { return s.Problem }

const statusSessionExpired = 419 // Avi's; not registered

func (s *Session) sessionOver(problem *Problem) error {
	if problem.Status == http.StatusUnauthorized || problem.Status == statusSessionExpired {
		return &SessionOver{URL: s.URL(), Problem: problem}
	}
	return problem
}

// UnknownCertificate is the error of a controller whose certificate no CA has signed.
type UnknownCertificate struct {
	Host        string
	Fingerprint string
}

func (u *UnknownCertificate) Error() string {
	return fmt.Sprintf("the certificate of %s is signed by nobody this machine trusts; its SHA-256 fingerprint is %s",
		u.Host, u.Fingerprint)
}

// ChangedCertificate is the error of a controller that shows another certificate than before.
type ChangedCertificate struct {
	Host        string
	Known, Seen string // fingerprints
}

func (c *ChangedCertificate) Error() string {
	return fmt.Sprintf("the certificate of %s has fingerprint %s, and not %s", c.Host, c.Seen, c.Known)
}

// Unreachable says that no answer came.
type Unreachable struct {
	URL   string
	Cause error
}

func (u *Unreachable) Error() string {
	return fmt.Sprintf("no answer from %s: %v", u.URL, reason(u.Cause))
}
func (u *Unreachable) Unwrap() error { return u.Cause }

// unreachable says why a call got no answer: the caller gave up, a certificate was refused, or the network failed.
func (s *Session) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var unknown *UnknownCertificate
	var changed *ChangedCertificate
	switch {
	case errors.As(err, &unknown):
		return unknown
	case errors.As(err, &changed):
		return changed
	}
	return &Unreachable{URL: s.URL(), Cause: err}
}

// reason is the part of a network error that says more than the address.
func reason(err error) error {
	var (
		wrapped   *url.Error
		operation *net.OpError
		call      *os.SyscallError
		name      *net.DNSError
		notTLS    tls.RecordHeaderError
	)
	if errors.As(err, &wrapped) && wrapped.Timeout() {
		return fmt.Errorf("none within %v", callTimeout)
	}
	switch {
	case errors.As(err, &name):
		return errors.New(name.Err)
	case errors.As(err, &notTLS), errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("what listens there does not speak TLS")
	case errors.As(err, &call):
		return call.Err
	case errors.As(err, &operation):
		return operation.Err
	case wrapped != nil:
		return wrapped.Err
	}
	return err
}

// problemOf reads {"error": "text"} and its relatives.
func problemOf(request *http.Request, status int, body []byte) *Problem {
	message := strings.TrimSpace(string(body))
	var said struct {
		Error any `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error != nil {
		message = fmt.Sprint(said.Error)
	}
	if message == "" {
		message = http.StatusText(status)
	}
	return &Problem{Method: request.Method, Path: request.URL.Path, Status: status, Message: message}
}
