// Package syslog writes messages of RFC 5424, and says how connections carry them. It sends nothing.
package syslog

import (
	"fmt"
	"strings"
	"time"
)

// DatagramMost is what every receiver over UDP should take (RFC 5424 §6.1, RFC 5426 §3.2).
const DatagramMost = 2048

// Informational is a severity (RFC 5424 §6.2.1).
const Informational = 6

// facility is local0 (RFC 5424 §6.2.1).
const facility = 16

// Priority is that of a message from the facility local0.
func Priority(severity int) int { return facility*8 + severity }

// Header is what stands before the text of a message without structured data. process and kind may be empty.
func Header(severity int, at time.Time, host, process, kind string) string {
	return HeaderOf(Priority(severity), at, host, process, kind)
}

// HeaderOf is the same with any priority: the facility times eight, and the severity.
func HeaderOf(priority int, at time.Time, host, process, kind string) string {
	return fmt.Sprintf("<%d>1 %s %s weir %s %s - ", priority,
		at.UTC().Format("2006-01-02T15:04:05.000000Z"), Field(host, 255), Field(process, 128), Field(kind, 32))
}

// Field is a text as a field of the header may be: at most so many bytes of PRINTUSASCII (RFC 5424 §6), "-" if it is
// empty.
func Field(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, text)
	if text == "" {
		return "-"
	}
	return text[:min(len(text), most)]
}

// Framed is a message as TCP and TLS carry it: its length, and a space before it (RFC 6587 §3.4.1, RFC 5425 §4.3).
func Framed(message []byte) []byte {
	return append(fmt.Appendf(nil, "%d ", len(message)), message...)
}
