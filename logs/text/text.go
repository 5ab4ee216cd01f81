// Package text writes any bytes as UTF-8, and reads them back without loss. Records carry what strangers sent, and JSON
// and the record store hold UTF-8 only.
//
// A byte that is not part of valid UTF-8 becomes one character of a private range, U+10FE80 to U+10FEFF: U+10FE00 plus
// the byte. The bytes of a genuine character of that range are written in the same way, so that Decode is exact. All
// other text stays as it is. Each character is written for itself, so that a text contains another one, or begins with
// it, exactly if the same holds for what Encode makes of them.
package text

import (
	"strings"
	"unicode/utf8"
)

const (
	base  = 0x10FE00
	first = base + 0x80
	last  = base + 0xFF
	// lead is how each character from first to last begins in UTF-8.
	lead = "\xf4\x8f"
)

// Encode returns the text as UTF-8.
func Encode(raw string) string {
	if utf8.ValidString(raw) && !strings.Contains(raw, lead) {
		return raw
	}
	var encoded strings.Builder
	for i := 0; i < len(raw); {
		char, size := utf8.DecodeRuneInString(raw[i:])
		if char == utf8.RuneError && size == 1 || char >= first && char <= last {
			for _, b := range []byte(raw[i : i+size]) {
				encoded.WriteRune(base + rune(b))
			}
		} else {
			encoded.WriteString(raw[i : i+size])
		}
		i += size
	}
	return encoded.String()
}

// Decode returns the bytes that Encode wrote.
func Decode(encoded string) string {
	if !strings.Contains(encoded, lead) {
		return encoded
	}
	var raw strings.Builder
	for i, char := range encoded {
		if char >= first && char <= last {
			raw.WriteByte(byte(char - base))
		} else {
			raw.WriteString(encoded[i : i+utf8.RuneLen(char)])
		}
	}
	return raw.String()
}
