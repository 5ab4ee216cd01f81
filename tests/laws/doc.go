// Package laws checks the tree against its plan: which package may import which (ARCHITECTURE.md, "Who may know whom"),
// which packages do no I/O, how long files and lines may be, and how files may be named. If a law turns out to be
// wrong, change it here, and give the reason.
package laws
