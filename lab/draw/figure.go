package draw

import "strconv"

// Figure formats a number for people: three significant digits, and no exponent.
func Figure(value float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'e', 2, 64), 64) // it is one: it was just written
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
