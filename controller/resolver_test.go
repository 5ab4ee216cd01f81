package controller

import (
	"context"
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// answerDNS answers each question for an IPv4 address, and fails for others.
func answerDNS(t *testing.T, failsFor dnsmessage.Type) (address string) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			bytes, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(buffer[:bytes]) != nil || len(message.Questions) == 0 {
				continue
			}
			question := message.Questions[0]
			answer := dnsmessage.Message{Questions: message.Questions,
				Header: dnsmessage.Header{ID: message.ID, Response: true, RecursionAvailable: true}}
			switch question.Type {
			case failsFor:
				answer.RCode = dnsmessage.RCodeServerFailure
			case dnsmessage.TypeA:
				answer.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 60},
					Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}}}
			}
			if packed, err := answer.Pack(); err == nil {
				_, _ = socket.WriteTo(packed, from)
			}
		}
	}()
	return socket.LocalAddr().String()
}

func TestNameIsResolvedOnlyIfBothFamiliesOfAddressesAreAnswered(t *testing.T) {
	for _, test := range []struct {
		fails dnsmessage.Type
		want  int
	}{{0, 1}, {dnsmessage.TypeAAAA, 0}, {dnsmessage.TypeA, 0}} {
		server := answerDNS(t, test.fails)
		resolver := resolverBy(func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", server)
		})
		found, err := resolver.LookupNetIP(t.Context(), "ip", "origin.test.")
		if len(found) != test.want || (err == nil) != (test.want > 0) {
			t.Errorf("a server that fails for %v: %v, %v", test.fails, found, err)
		}
	}
}
