package draw

import "strconv"

// Figure writes a number as people read it: three digits that count, and no exponent.
func Figure(value float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'e', 2, 64), 64) // it is one: it was just written
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
