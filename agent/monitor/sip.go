package monitor

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
)

// probeSIP asks a server for its options (RFC 3261 §11), and looks for a text in the answer.
func probeSIP(ctx context.Context, target Target) Outcome {
	check := &target.Monitor.SIP
	socket, err := dialSIP(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer socket.Close()
	if _, err := io.WriteString(socket, options(target, socket.LocalAddr().String())); err != nil {
		return failed(target, err)
	}
	answer, err := read(socket, make([]byte, 0, answerBytesMax), func(answer []byte) bool {
		return holds(answer, check.Contains) || !check.TCP && len(answer) > 0
	})
	switch {
	case holds(answer, check.Contains):
		return Outcome{Up: true}
	case len(answer) == 0 && err != nil:
		return failed(target, err)
	default:
		return Outcome{Reason: lacks(check.Contains)}
	}
}

func dialSIP(ctx context.Context, target Target) (net.Conn, error) {
	if target.Monitor.SIP.TCP {
		return connect(ctx, target)
	}
	return connectUDP(ctx, target)
}

func options(target Target, local string) string {
	transport := "UDP"
	if target.Monitor.SIP.TCP {
		transport = "TCP"
	}
	to := "sip:" + target.at().String()
	return strings.Join([]string{
		"OPTIONS " + to + " SIP/2.0",
		fmt.Sprintf("Via: SIP/2.0/%s %s;branch=z9hG4bK%s;rport", transport, local, rand.Text()),
		"Max-Forwards: 70",
		"To: <" + to + ">",
		fmt.Sprintf("From: <sip:weir-monitor@%s>;tag=%s", local, rand.Text()),
		"Call-ID: " + rand.Text(),
		"CSeq: 1 OPTIONS",
		fmt.Sprintf("Contact: <sip:weir-monitor@%s>", local),
		"Accept: application/sdp",
		"User-Agent: " + userAgent,
		"Content-Length: 0", "", "",
	}, "\r\n")
}
