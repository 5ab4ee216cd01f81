// Package fastpath is what an engine has the kernel do with packets before a socket sees them: programs in C, and their
// compiled form, which gen.sh makes and which is checked in. agent/fastpath loads and feeds them.
package fastpath

// What an engine puts before a packet for another one: IP, UDP, and four bytes that say what it is.
const (
	DetourOverhead4 = 20 + 8 + 4
	DetourOverhead6 = 40 + 8 + 4
)
