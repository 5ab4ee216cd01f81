package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// probeTCP connects and, if the monitor says so, sends something and looks for something in the answer.
func probeTCP(ctx context.Context, target Target) Outcome {
	connection, err := connect(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer connection.Close()
	check := target.Monitor.TCP
	if check.HalfOpen {
		connection.SetLinger(0) // a reset, because no conversation has begun that could be ended
		return Outcome{Up: true}
	}
	if _, err := io.WriteString(connection, check.Request); err != nil {
		return failed(target, err)
	}
	want, maintenance := check.Contains, check.MaintenanceContains
	if want == "" && maintenance == "" {
		return Outcome{Up: true}
	}
	answer, err := read(connection, func(answer []byte) bool {
		return holds(answer, maintenance) || maintenance == "" && holds(answer, want)
	})
	switch {
	case holds(answer, maintenance):
		return Outcome{Maintenance: true, Reason: fmt.Sprintf("it answers %q, it is in maintenance", maintenance)}
	case want == "" || holds(answer, want):
		return Outcome{Up: true}
	case err != nil && (len(answer) == 0 || !errors.Is(err, io.EOF)):
		return failed(target, err)
	default:
		return Outcome{Reason: fmt.Sprintf("no %q in the first %d bytes of its answer", want, answerBytesMax)}
	}
}
