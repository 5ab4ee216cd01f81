// Package fastpath is what an engine has the kernel do with packets before a socket sees them: programs in C, and their
// compiled form, which gen.sh makes and which is checked in. agent/fastpath loads and feeds them.
package fastpath

// DetourOverhead are the bytes that an engine puts before a packet for another one: IPv4, UDP, and four that say what it is.
const DetourOverhead = 20 + 8 + 4
