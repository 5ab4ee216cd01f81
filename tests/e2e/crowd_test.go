package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// letInWithin is how long anybody may wait for the controller, on a machine that is busy with the crowd. It is less
// than the 120 s after which the API closes idle connections, whether somebody waits or not.
const letInWithin = time.Minute

// crowd is a host that opens connections and does nothing with them.
type crowd struct {
	*stage
	dialer net.Dialer
}

func (s *stage) crowdAt(host int) *crowd {
	return &crowd{s, net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(loopback(host))}, Timeout: eventTimeout}}
}

func (c *crowd) open(address string) net.Conn {
	c.Helper()
	connection, err := c.dialer.DialContext(c.ctx, "tcp", address)
	c.must(err)
	c.Cleanup(func() { connection.Close() })
	return connection
}

func (c *crowd) secure(address, protocol string) net.Conn {
	c.Helper()
	connection := tls.Client(c.open(address), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
	c.must(connection.SetDeadline(time.Now().Add(letInWithin)))
	c.must(connection.Handshake())
	return connection
}

// idle opens a connection that is kept after a request.
func (c *crowd) idle(address string) {
	c.Helper()
	connection := c.secure(address, "http/1.1")
	_, err := fmt.Fprintf(connection, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", address)
	c.must(err)
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	c.must(err)
	_, err = io.Copy(io.Discard, answer.Body)
	c.must(err)
}

// asks has a host that is not the crowd's ask the API over a new connection each time, and says how long each took.
func (s *stage) asks(host, count int) []time.Duration {
	s.Helper()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(loopback(host))}}).DialContext(
				ctx, network, address)
		}}
	asker := &http.Client{Transport: transport, Timeout: letInWithin}
	var took []time.Duration
	for range count {
		began := time.Now()
		answer, err := asker.Get(s.controller.URL + "/healthz")
		s.must(err)
		s.must(answer.Body.Close())
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

func TestHostThatHoldsConnectionsKeepsNeitherOperatorsNorEnginesOut(t *testing.T) {
	const asked = 200
	s := bareStage(t)
	s.must(s.startController())
	atRest := s.asks(10, asked)
	api := strings.TrimPrefix(s.controller.URL, "https://")
	crowd := s.crowdAt(9)
	for range 2300 { // the API has 2,048 places
		crowd.idle(api)
	}
	for range 600 { // there are 512 for handshakes at the engine port
		crowd.open(s.controller.EngineAddress)
	}
	for range 300 { // and 256 for clients without a certificate
		crowd.secure(s.controller.EngineAddress, "h2")
	}
	meanwhile := s.asks(10, asked)
	t.Logf("at rest p50 %v, p99 %v; meanwhile p50 %v, p99 %v", atRest[asked/2], atRest[asked*99/100],
		meanwhile[asked/2], meanwhile[asked*99/100])
	s.asks(9, 1)
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{loopback(7) + ":9"})})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.eventually("the engine serves the virtual service", func() error {
		applied, _ := s.runtime("virtualservice", "web")["applied"].(map[string]any)
		if text := fmt.Sprint(applied["text"]); text != "applied on 1 of 1 engines" {
			return fmt.Errorf("it is %s", text)
		}
		return nil
	})
	var events struct {
		Results []struct {
			Name string `json:"obj_name"`
		} `json:"results"`
	}
	s.must(s.controller.Session.Get(s.ctx, "analytics/logs?type=2&event_id=CONTROLLER_CONNECTIONS_SHORT", &events))
	for _, want := range []string{"API on " + api, "TLS handshakes", "newcomers"} {
		if !strings.Contains(fmt.Sprint(events.Results), want) {
			t.Errorf("no event of %s: %v", want, events.Results)
		}
	}
}
