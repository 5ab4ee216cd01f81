package monitor

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/http2"

	"github.com/weir-lb/weir/agent/plan"
)

// headBytesMax is how large the head of a response may be that is read as a whole.
const headBytesMax = 16 << 10

// probeHTTP2 sends the operator's request over HTTP/2.
func probeHTTP2(ctx context.Context, target Target, stream net.Conn) Outcome {
	check := &target.Monitor.HTTP
	asked, err := http2Request(ctx, target)
	if err != nil {
		return Outcome{Reason: err.Error()}
	}
	transport := &http2.Transport{AllowHTTP: true, DisableCompression: true, MaxHeaderListSize: headBytesMax}
	client, err := transport.NewClientConn(stream)
	if err != nil {
		return failed(target, err)
	}
	defer client.Close()
	response, err := client.RoundTrip(asked)
	if err != nil {
		return failed(target, err)
	}
	defer response.Body.Close()
	head := bytes.NewBuffer(make([]byte, 0, check.Searched))
	fmt.Fprintf(head, "HTTP/2.0 %d\r\n", response.StatusCode)
	response.Header.Write(head)
	head.WriteString("\r\n")
	answer := head.Bytes()[:min(head.Len(), check.Searched)]
	if !decided(check, answer) {
		answer, _ = read(response.Body, answer, func(answer []byte) bool { return decided(check, answer) })
	}
	return judge(check, uint32(response.StatusCode), answer)
}

// http2Request makes of the operator's text a request of HTTP/2, which has no version and no Connection.
func http2Request(ctx context.Context, target Target) (*http.Request, error) {
	check := &target.Monitor.HTTP
	lines := requestLines(check)
	words := strings.Fields(lines[0])
	if len(words) < 2 {
		return nil, fmt.Errorf("http_request begins with %q: that is not METHOD PATH VERSION", lines[0])
	}
	scheme := "http"
	if target.Monitor.Type == plan.HTTPS {
		scheme = "https"
	}
	asked, err := http.NewRequestWithContext(ctx, words[0], scheme+"://"+host(target)+words[1],
		strings.NewReader(check.Body))
	if err != nil {
		return nil, fmt.Errorf("http_request: %w", err)
	}
	if check.Body == "" {
		asked.Body, asked.ContentLength = http.NoBody, 0
	}
	asked.Header.Set("User-Agent", userAgent)
	asked.Header.Set("Accept", "*/*")
	if authorization := basic(target); authorization != "" {
		asked.Header.Set("Authorization", authorization)
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); http.CanonicalHeaderKey(name) {
		case "Host":
			asked.Host = value
		case "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Content-Length": // RFC 9113 §8.2.2
		default:
			asked.Header.Set(name, value)
		}
	}
	return asked, nil
}
