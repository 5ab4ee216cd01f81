// Package detour is the compiled form of detour.c, which passes on packets that a router sent to the wrong engine.
// agent/fastpath/detour configures the program.
package detour
