package revocation

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	answerMost    = 64 << 10 // of OCSP, in bytes
	timeoutUsual  = 10 * time.Second
	timeoutOfList = 30 * time.Second
)

// fetcher asks servers of authorities. It connects only to where dialer does, and follows no redirect: that could lead
// to where the controller must not send.
type fetcher struct {
	dialer *net.Dialer
}

// ask sends a question to a responder (RFC 6960 appendix A.1).
func (f fetcher) ask(ctx context.Context, to string, question []byte, timeout time.Duration) ([]byte, error) {
	header := http.Header{"Content-Type": {"application/ocsp-request"}, "Accept": {"application/ocsp-response"}}
	body, _, err := f.do(ctx, http.MethodPost, to, question, header, answerMost, timeout)
	return body, err
}

// get fetches a list. unchanged: it is the one with the etag.
func (f fetcher) get(ctx context.Context, from, etag string) (body []byte, newTag string, unchanged bool, err error) {
	header := http.Header{}
	if etag != "" {
		header.Set("If-None-Match", etag)
	}
	body, answer, err := f.do(ctx, http.MethodGet, from, nil, header, listsMost, timeoutOfList)
	if err != nil {
		return nil, "", false, err
	}
	return body, answer.Header.Get("ETag"), answer.StatusCode == http.StatusNotModified, nil
}

func (f fetcher) do(ctx context.Context, method, to string, body []byte, header http.Header, most int,
	timeout time.Duration) ([]byte, *http.Response, error) {
	if err := checkURL(to); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header = header
	request.Header.Set("User-Agent", "weir")
	transport := &http.Transport{
		DialContext: f.dialer.DialContext, Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	got, err := client.Do(request)
	if err != nil {
		if of, is := errors.AsType[*url.Error](err); is {
			err = of.Err
		}
		return nil, nil, err
	}
	defer got.Body.Close()
	switch {
	case got.StatusCode == http.StatusNotModified && header.Get("If-None-Match") != "":
		return nil, got, nil
	case got.StatusCode >= 300 && got.StatusCode < 400:
		return nil, nil, fmt.Errorf("it answers %s, and redirects are not followed: give the URL that it leads to",
			got.Status)
	case got.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("it answers %s", got.Status)
	}
	received, err := io.ReadAll(io.LimitReader(got.Body, int64(most)+1))
	if err == nil && len(received) > most {
		err = fmt.Errorf("it sends more than %d KiB", most>>10)
	}
	return received, got, err
}
