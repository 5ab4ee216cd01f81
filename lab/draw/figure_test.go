package draw

import "testing"

func TestAFigureHasThreeDigitsThatCountAndNoExponent(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 0.4062: "0.406", 3: "3", 16.272: "16.3", 99.96: "100", 539.6: "540", 11690.1: "11700",
		0.00001234: "0.0000123",
	} {
		if got := Figure(value); got != want {
			t.Errorf("%v: got %s, want %s", value, got, want)
		}
	}
}
