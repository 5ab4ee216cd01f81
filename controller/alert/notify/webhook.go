package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
)

// Webhook is a receiver by HTTP.
type Webhook struct {
	URL         string
	Token       string         // signs what is sent
	Authorities *x509.CertPool // nil: those of the machine
}

// answerMost is how much of an answer is read.
const answerMost = 1 << 10

// Signature is the value of X-Weir-Signature: HMAC-SHA256 with the token over the time of X-Weir-Timestamp, a dot, and
// the body. A receiver compares it, and refuses old times: then nobody can make or repeat a notice.
func Signature(token, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Post sends the JSON of what is said to a webhook once: a notice, or an order to scale a pool. id is of this delivery.
// An answer other than 2xx is a failure, also a redirect: it could lead to where the controller must not send.
func (s *Sender) Post(ctx context.Context, to Webhook, id string, said any) Result {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	began := s.Now()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	status, answer, err := s.post(ctx, to, id, said)
	result := s.result(began, answer, err)
	result.Status, result.Open = status, err != nil && sent.Load() && isOpen(status)
	return result
}

// isOpen tells whether a receiver that did not accept what was sent may have taken it: there was no answer (0), or only
// the end of it is missing, or a gateway before the receiver has answered.
func isOpen(status int) bool {
	return status < 300 || status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}

func (s *Sender) post(ctx context.Context, to Webhook, id string, said any) (status int, answer string, err error) {
	body, err := json.Marshal(said)
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return 0, "", withoutURL(err)
	}
	timestamp := strconv.FormatInt(s.Now().Unix(), 10)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "weir", "X-Weir-Delivery": id,
		"X-Weir-Timestamp": timestamp, "X-Weir-Signature": Signature(to.Token, timestamp, body),
	} {
		request.Header.Set(name, value)
	}
	transport := &http.Transport{
		DialContext: s.dialer().DialContext, Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		TLSClientConfig: &tls.Config{RootCAs: to.Authorities, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	got, err := client.Do(request)
	if err != nil {
		if forbidden, is := errors.AsType[*Forbidden](err); is {
			return 0, "", forbidden
		}
		return 0, "", withoutURL(err)
	}
	defer got.Body.Close()
	told, err := io.ReadAll(io.LimitReader(got.Body, answerMost))
	answer = got.Status
	if len(told) > 0 {
		answer += ": " + string(told)
	}
	switch {
	case got.StatusCode >= 300 && got.StatusCode < 400:
		return got.StatusCode, answer, fmt.Errorf("redirects are not followed: give the URL that it leads to")
	case got.StatusCode < 200 || got.StatusCode > 299:
		return got.StatusCode, answer, fmt.Errorf("the receiver did not accept it")
	}
	return got.StatusCode, answer, err
}

// withoutURL is an error without the URL that net/http puts into it: the URL of a webhook often is its secret, and
// others read the error.
func withoutURL(err error) error {
	if of, is := errors.AsType[*url.Error](err); is {
		return of.Err
	}
	return err
}
