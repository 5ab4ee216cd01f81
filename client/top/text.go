package top

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// clean makes a text from elsewhere safe for a terminal: one line, without control characters, escape sequences,
// characters that change the direction of writing, and characters that show nothing. They become "\u{202e}".
func clean(text string) string {
	var safe strings.Builder
	for _, r := range text {
		if r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Me, r) &&
			!unicode.Is(unicode.Z, r) && r != unicode.ReplacementChar {
			safe.WriteRune(r)
		} else {
			fmt.Fprintf(&safe, "\\u{%x}", r)
		}
	}
	return safe.String()
}

// wide are the characters that take two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x33ff, 1}, {0x3400, 0x4dbf, 1}, {0x4e00, 0x9fff, 1},
		{0xa000, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

func columnsOf(r rune) int {
	if unicode.Is(wide, r) {
		return 2
	}
	return 1
}

func widthOf(text string) (columns int) {
	for _, r := range text {
		columns += columnsOf(r)
	}
	return columns
}

// fit cuts a text to a number of columns, or pads it.
func fit(text string, columns int) string {
	if have := widthOf(text); have <= columns {
		return text + strings.Repeat(" ", columns-have)
	}
	if columns <= 0 {
		return ""
	}
	var cut strings.Builder
	left := columns - 1
	for _, r := range text {
		if left -= columnsOf(r); left < 0 {
			left += columnsOf(r)
			break
		}
		cut.WriteRune(r)
	}
	return cut.String() + "…" + strings.Repeat(" ", left)
}

// number has three digits, with a letter for the thousands: "0.25", "12.3", "1.20k", "45M".
func number(value float64) string {
	if value < 0.005 {
		return "0"
	}
	for _, unit := range []string{"", "k", "M", "G", "T"} {
		if value < 999.5 {
			return digits(value) + unit
		}
		value /= 1000
	}
	return digits(value) + "P"
}

// digits has three digits. A whole number has no decimals.
func digits(value float64) string {
	decimals := 0
	switch {
	case value < 9.995:
		decimals = 2
	case value < 99.95:
		decimals = 1
	}
	text := strconv.FormatFloat(value, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// milliseconds is a time, or a dash.
func milliseconds(value *float64) string {
	switch {
	case value == nil:
		return "–"
	case *value >= 1000:
		return digits(*value/1000) + "s"
	default:
		return digits(*value)
	}
}

// took is a time with its unit, or a dash.
func took(ms *float64) string {
	text := milliseconds(ms)
	if ms == nil {
		return text
	}
	if seconds, long := strings.CutSuffix(text, "s"); long {
		return seconds + " s"
	}
	return text + " ms"
}

// percent is a share of something, or a dash if that is nothing.
func percent(part, whole float64) string {
	if whole <= 0 {
		return "–"
	}
	return digits(100 * part / whole)
}

var bars = []rune("▁▂▃▄▅▆▇█")

// spark draws values as bars, the last ones at the right. A gap is a space, the highest value a full bar.
func spark(values []*float64, columns int) string {
	values = values[max(0, len(values)-columns):]
	most := 0.0
	for _, value := range values {
		if value != nil {
			most = max(most, *value)
		}
	}
	var drawn strings.Builder
	drawn.WriteString(strings.Repeat(" ", columns-len(values)))
	for _, value := range values {
		switch {
		case value == nil:
			drawn.WriteRune(' ')
		case most == 0:
			drawn.WriteRune(bars[0])
		default:
			drawn.WriteRune(bars[min(len(bars)-1, int(*value/most*float64(len(bars))))])
		}
	}
	return drawn.String()
}

// Clean makes a text from elsewhere safe for a terminal, as the texts of this table are.
func Clean(text string) string { return clean(text) }
