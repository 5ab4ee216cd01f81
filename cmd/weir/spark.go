package main

import (
	"math"
	"strconv"
	"strings"
)

// levels are the heights of a sparkline.
var levels = []rune("▁▂▃▄▅▆▇█")

// sparkline draws values between zero, or the least value if that is below zero, and the largest. A value that is not
// known (nil) is a space.
func sparkline(values []*float64) string {
	least, most := 0.0, 0.0
	for _, value := range values {
		if value != nil {
			least, most = min(least, *value), max(most, *value)
		}
	}
	var line strings.Builder
	for _, value := range values {
		switch {
		case value == nil:
			line.WriteRune(' ')
		case most == least:
			line.WriteRune(levels[0])
		default:
			at := (*value - least) / (most - least) * float64(len(levels)-1)
			line.WriteRune(levels[int(math.Ceil(at))])
		}
	}
	return strings.TrimRight(line.String(), " ")
}

// number has three digits that count, and a unit for large numbers: 12.3k.
func number(value float64) string {
	for _, unit := range []struct {
		from float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(value) >= unit.from {
			scale := unit.from
			if unit.name == "k" {
				scale = 1e3
			}
			return digits(value/scale) + unit.name
		}
	}
	return digits(value)
}

func digits(value float64) string {
	decimals := 2
	switch size := math.Abs(value); {
	case value == math.Trunc(value), size >= 100:
		decimals = 0
	case size >= 10:
		decimals = 1
	case size < 0.01:
		return strconv.FormatFloat(value, 'g', 2, 64)
	}
	return strconv.FormatFloat(value, 'f', decimals, 64)
}

func numberOf(value *float64) string {
	if value == nil {
		return "-"
	}
	return number(*value)
}
