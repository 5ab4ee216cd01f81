package text

import (
	"fmt"
	"strings"
	"unicode"
)

// Shown is a text that a terminal or a page only shows: characters that move the cursor, change colours or turn the
// direction of writing are written as \u202e.
func Shown(text string) string {
	if strings.IndexFunc(text, harms) < 0 {
		return text
	}
	var shown strings.Builder
	for _, char := range text {
		if harms(char) {
			fmt.Fprintf(&shown, "\\u%04x", char)
		} else {
			shown.WriteRune(char)
		}
	}
	return shown.String()
}

func harms(char rune) bool { return !unicode.IsPrint(char) }
