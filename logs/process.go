package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	lookEvery     = time.Second
	lookTimeout   = 5 * time.Second
	silenceMax    = 3 // looks in a row without an answer: the store is stuck
	exitPatience  = 15 * time.Second
	lineBytesMax  = 1 << 10
	lastWordsMost = 512
)

// live runs one process of the store until it ends, or ctx does. It calls stable once the store has answered for a
// while, and silent if it does not answer for long after its start. The error says why the process ended.
func (k *Keeper) live(ctx context.Context, stable func(), silent func(reason string)) error {
	command := exec.Command(k.Program, "records", "--dir", k.Dir, "--days", strconv.Itoa(k.Days),
		"--disk-mib", strconv.Itoa(k.DiskMiB), "--request-days", strconv.Itoa(k.RequestDays),
		"--request-disk-mib", strconv.Itoa(k.RequestDiskMiB), "--memory-mib", strconv.Itoa(k.MemoryMiB))
	words := &lastWords{log: k.Log}
	command.Stdout, command.Stderr = words, words
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a signal to the terminal is for the controller
	leash, err := command.StdinPipe()                        // the store ends when this closes, however that happens
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	var ending error
	go func() {
		defer close(exited)
		ending = command.Wait()
	}()
	stuck := k.watch(ctx, command.Process.Pid, exited, stable, silent)
	leash.Close()
	if stuck != "" {
		_ = command.Process.Signal(os.Kill)
	}
	select {
	case <-exited:
	case <-time.After(exitPatience):
		_ = command.Process.Signal(os.Kill)
		<-exited
	}
	if stuck != "" {
		return errors.New("it was stuck: " + stuck)
	}
	return words.ending(ending)
}

// watch asks the store how it is until it exits, ctx ends, or it is stuck; then it returns why.
func (k *Keeper) watch(ctx context.Context, pid int, exited <-chan struct{}, stable func(),
	silent func(reason string)) (stuck string) {
	const starting = 20 * time.Millisecond
	began := time.Now()
	var since time.Time // when it first answered
	for silence, pause := 0, starting; ; {
		select {
		case <-exited:
			return ""
		case <-ctx.Done():
			return ""
		case <-time.After(pause):
		}
		state, err := k.look(ctx, pid)
		switch {
		case err == nil && since.IsZero():
			k.become("", true)
			since, pause = time.Now(), lookEvery
		case err == nil:
			silence = 0
			if stable != nil && time.Since(since) > stableAfter {
				stable()
				stable = nil
			}
		case since.IsZero(): // it reads its journal, which takes its time
			reason := fmt.Sprintf("no answer for %v since its start", time.Since(began).Round(time.Second))
			if silent != nil && time.Since(began) > k.startTell {
				silent(reason)
				silent = nil
			}
			if time.Since(began) > k.startKill {
				return reason
			}
		default:
			silence++
		}
		if silence == silenceMax {
			return fmt.Sprintf("no answer %d times in a row", silenceMax)
		}
		if err == nil {
			k.mu.Lock()
			k.full, k.noRequests = state.NotTaking, state.NoRequests
			k.mu.Unlock()
		}
	}
}

var errOther = errors.New("a store of another controller answers")

// look asks for the state of this process. A store of a controller before this one may still be closing.
func (k *Keeper) look(ctx context.Context, pid int) (State, error) {
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	state, err := k.client.State(limited)
	if err == nil && state.PID != pid {
		k.client.close()
		err = errOther
	}
	return state, err
}

// lastWords writes what the store says to the log of the controller, and remembers the last of it.
type lastWords struct {
	log *slog.Logger

	mu      sync.Mutex
	partial []byte
	last    string
	fatal   string // the first line that says why
}

func (w *lastWords) Write(some []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, some...)
	for {
		line, rest, whole := bytes.Cut(w.partial, []byte("\n"))
		if !whole {
			if len(w.partial) > lineBytesMax {
				w.partial = w.partial[:lineBytesMax]
			}
			return len(some), nil
		}
		w.partial = rest
		if text := strings.TrimSpace(string(line[:min(len(line), lineBytesMax)])); text != "" {
			w.note(text)
		}
	}
}

func (w *lastWords) note(line string) {
	w.log.Warn("the record store says", "line", line)
	w.last = line
	if w.fatal == "" && (strings.Contains(line, "\tpanic\t") || strings.Contains(line, "\tfatal\t") ||
		strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:")) {
		w.fatal = line
	}
}

// ending says in one line how the process ended.
func (w *lastWords) ending(waited error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waited == nil {
		waited = errors.New("it ended with exit status 0")
	}
	words := w.fatal
	if exit := (*exec.ExitError)(nil); words == "" && errors.As(waited, &exit) && exit.Exited() {
		words = w.last
	}
	if words == "" {
		return waited
	}
	return fmt.Errorf("%w: %s", waited, words[:min(len(words), lastWordsMost)])
}
