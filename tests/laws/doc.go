// Package laws holds the house to its plan: who may import whom (ARCHITECTURE.md, "Who may know whom"), which rooms do
// no I/O, how long a file may grow, how the tree may be named. A law that proves wrong is changed here, with its
// reason.
package laws
