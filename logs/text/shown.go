package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Shown is a text that a terminal or a page only shows: characters that move the cursor, change colours or turn the
// direction of writing are written as \u202e.
func Shown(text string) string { return written(text, harms, asWord) }

// ShownLines is the same for a text of several lines.
func ShownLines(text string) string { return written(text, harmsLines, asWord) }

// InertJSON writes such characters in the strings of a JSON text as \u202e. The value stays the same. Line ends between
// values stay, and so does what Encode has written for a byte: it does no harm, and an escape of it is three times as
// long.
func InertJSON(text string) string { return written(text, harmsInJSON, asJSON) }

// Cell is a text as a cell of a table for spreadsheets, which take a text that begins with one of these characters for
// a formula: an apostrophe stands before it. Other characters are as in Shown.
func Cell(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		text = "'" + text
	}
	return Shown(text)
}

func harms(char rune) bool      { return !unicode.IsPrint(char) }
func harmsLines(char rune) bool { return char != '\n' && harms(char) }

func harmsInJSON(char rune) bool { return harmsLines(char) && (char < first || char > last) }

// written is a text in which harmful characters are written in another form.
func written(text string, harms func(rune) bool, form func(rune) string) string {
	if strings.IndexFunc(text, harms) < 0 {
		return text
	}
	var shown strings.Builder
	for _, char := range text {
		if harms(char) {
			shown.WriteString(form(char))
		} else {
			shown.WriteRune(char)
		}
	}
	return shown.String()
}

func asWord(char rune) string { return fmt.Sprintf("\\u%04x", char) }

// asJSON is a character as an escape, or two of them (RFC 8259 §7).
func asJSON(char rune) string {
	if high, low := utf16.EncodeRune(char); char > 0xffff {
		return asWord(high) + asWord(low)
	}
	return asWord(char)
}
