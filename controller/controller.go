// Package controller is the composition root: it opens the store, starts REST and the engine link, and runs the loop
// that turns each change of an object into a Plan for each engine. Decisions live in the packages it composes.
package controller

import (
	"context"
	"io"
)

// Config is what an operator decides at start.
type Config struct {
	Version           string    // of this build
	DataDir           string    // objects, keys, admin password
	Listen            string    // REST, host:port
	EngineListen      string    // gRPC for agents, host:port
	AdminPasswordFile string    // empty: generated at first start
	Out               io.Writer // one line each for what an operator needs to know
}

// Run serves until ctx ends. An error is one line that says what is wrong and what to do.
func Run(ctx context.Context, config Config) error { panic("being written") }
