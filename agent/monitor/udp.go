package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

// datagramBytesMax is the longest datagram over IP.
const datagramBytesMax = 65535

// probeUDP sends a datagram and judges the first answer. If the monitor looks for no text, silence is enough: the
// server's host would refuse a datagram that nobody waits for.
func probeUDP(ctx context.Context, target Target) Outcome {
	check := &target.Monitor.UDP
	socket, err := connectUDP(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer socket.Close()
	if _, err := io.WriteString(socket, check.Request); err != nil {
		return failed(target, err)
	}
	answer := make([]byte, answerBytesMax)
	n, err := socket.Read(answer)
	answer = answer[:n]
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == context.DeadlineExceeded && check.Contains == "":
		return Outcome{Up: true}
	case err != nil:
		return failed(target, err)
	case holds(answer, check.MaintenanceContains):
		return inMaintenance(check.MaintenanceContains)
	case check.Contains == "" || holds(answer, check.Contains):
		return Outcome{Up: true}
	default:
		return Outcome{Reason: lacks(check.Contains)}
	}
}

// connectUDP opens a socket that takes datagrams of the server only, and hears when its host refuses one.
func connectUDP(ctx context.Context, target Target) (*net.UDPConn, error) {
	socket, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(target.at()))
	if err != nil {
		return nil, err
	}
	endWith(ctx, socket)
	return socket, nil
}

func inMaintenance(text string) Outcome {
	return Outcome{Maintenance: true, Reason: fmt.Sprintf("it answers %q, it is in maintenance", text)}
}

// lacks says that a text is missing in the part of an answer that is searched.
func lacks(text string) string {
	return fmt.Sprintf("no %q in the first %d bytes of its answer", text, answerBytesMax)
}
