package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/weir-lb/weir/client"
)

const exitInterrupted = 128 + int(syscall.SIGINT)

// explain says in one line what is wrong and what to do about it. Most errors do so themselves.
func explain(err error) string {
	var (
		over        *client.SessionOver
		unreachable *client.Unreachable
		unknown     *client.UnknownCertificate
		changed     *client.ChangedCertificate
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &over):
		return fmt.Sprintf("%v: run `weir login %s` again", err, over.URL)
	case errors.As(err, &unreachable):
		return fmt.Sprintf("%v: is the controller running, and is this its address?", err)
	case errors.As(err, &unknown):
		return fmt.Sprintf(
			"%v: compare it with what the controller printed, and log in with --fingerprint or --trust-on-first-use",
			err)
	case errors.As(err, &changed):
		return fmt.Sprintf("%v: if the certificate was replaced, run `weir login` again", err)
	}
	return err.Error()
}

// endedAtOnce says what to do after a process that did not tidy up, while labs stand.
func endedAtOnce(labs []string) string {
	if len(labs) == 0 {
		return "ended at once"
	}
	return "ended at once: if that was a lab's owner, `weir lab down` takes down what is left of it"
}

func exitCode(err error) int {
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return 1
}
