package monitor

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// answerBytesMax is how much of an answer is searched: the first 2 KiB, as in Avi.
const answerBytesMax = 2048

// Probe makes one check over the network. It takes at most the monitor's receive timeout.
func Probe(ctx context.Context, target Target) Outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, target.Monitor.Timeout)
	defer cancel()
	outcome := probe(ctx, target)
	outcome.Took = time.Since(began)
	return outcome
}

func probe(ctx context.Context, target Target) Outcome {
	switch target.Monitor.Type {
	case plan.HTTP, plan.HTTPS:
		return probeHTTP(ctx, target)
	case plan.TCP:
		return probeTCP(ctx, target)
	case plan.Ping:
		return probePing(ctx, target)
	case plan.UDP:
		return probeUDP(ctx, target)
	case plan.DNS:
		return probeDNS(ctx, target)
	case plan.External:
		return probeExternal(ctx, target)
	case plan.GRPC:
		return probeGRPC(ctx, target)
	default:
		return Outcome{Reason: fmt.Sprintf("this engine has no health monitor of type %d", target.Monitor.Type)}
	}
}

// connect opens a connection that ends with ctx.
func connect(ctx context.Context, target Target) (*net.TCPConn, error) {
	dialer := net.Dialer{KeepAlive: -1}
	connection, err := dialer.DialContext(ctx, "tcp", target.at().String())
	if err != nil {
		return nil, err
	}
	endWith(ctx, connection)
	return connection.(*net.TCPConn), nil
}

// endWith makes pending reads and writes fail when ctx ends: at its deadline, or because the agent stops.
func endWith(ctx context.Context, socket interface{ SetDeadline(time.Time) error }) {
	context.AfterFunc(ctx, func() { socket.SetDeadline(time.Unix(1, 0)) })
}

// failed is the outcome of a check that failed in the network.
func failed(target Target, err error) Outcome {
	return Outcome{Reason: explain(target, err)}
}

func explain(target Target, err error) string {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no answer within %d ms", target.Monitor.Timeout.Milliseconds())
	case errors.As(err, &record):
		return "its answer is not TLS"
	case errors.As(err, &alert):
		return err.Error()
	case errors.Is(err, io.EOF):
		return "it closed the connection without an answer"
	case errors.As(err, &errno):
		return errno.Error()
	default:
		return err.Error()
	}
}

// read reads until done accepts the text, or until the response ends or reaches the search limit.
func read(from io.Reader, done func(answer []byte) bool) ([]byte, error) {
	answer := make([]byte, 0, answerBytesMax)
	for len(answer) < cap(answer) {
		n, err := from.Read(answer[len(answer):cap(answer)])
		answer = answer[:len(answer)+n]
		if done(answer) {
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
	}
	return answer, nil
}

// holds tells whether the answer contains this text; an empty one is in no answer.
func holds(answer []byte, text string) bool {
	return text != "" && bytes.Contains(answer, []byte(text))
}
