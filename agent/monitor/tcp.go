package monitor

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// probeTCP connects and, if the monitor says so, sends something and looks for something in the answer.
func probeTCP(ctx context.Context, target Target) Outcome {
	if target.Monitor.TCP.HalfOpen {
		return probeHalfOpen(ctx, target)
	}
	connection, err := connect(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer connection.Close()
	check := target.Monitor.TCP
	if _, err := io.WriteString(connection, check.Request); err != nil {
		return failed(target, err)
	}
	want, maintenance := check.Contains, check.MaintenanceContains
	if want == "" && maintenance == "" {
		return Outcome{Up: true}
	}
	answer, err := read(connection, make([]byte, 0, answerBytesMax), func(answer []byte) bool {
		return holds(answer, maintenance) || maintenance == "" && holds(answer, want)
	})
	switch {
	case holds(answer, maintenance):
		return inMaintenance(maintenance)
	case want == "" || holds(answer, want):
		return Outcome{Up: true}
	case err != nil && (len(answer) == 0 || !errors.Is(err, io.EOF)):
		return failed(target, err)
	default:
		return Outcome{Reason: lacks(want)}
	}
}

// probeHalfOpen sends a SYN, and a reset when the SYN-ACK comes. The server's program does not notice: for it there was
// no connection.
func probeHalfOpen(ctx context.Context, target Target) Outcome {
	dialer := net.Dialer{KeepAlive: -1, Control: delayACK}
	connection, err := dialer.DialContext(ctx, "tcp", target.at().String())
	if err != nil {
		return failed(target, err)
	}
	connection.(*net.TCPConn).SetLinger(0)
	connection.Close()
	return Outcome{Up: true}
}

// delayACK has the kernel wait before it acknowledges the SYN-ACK, so that the reset comes first. Without
// quick acknowledgements the kernel expects that data follow soon, and takes the acknowledgement along with them.
func delayACK(_, _ string, socket syscall.RawConn) error {
	var err error
	inside := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0)
	})
	return cmp.Or(inside, err)
}
