package main

import (
	"strings"
	"testing"
)

func TestBreaksALongLineWhereAReaderWould(t *testing.T) {
	long := strings.Repeat("x", 50)
	for name, c := range map[string]struct{ source, want string }{
		"outside the inner brackets": {
			"f(" + long + ", g(" + long + ", a), h(a, b, c, d, e, f))",
			"f(" + long + ", g(" + long + ", a),\n\t\th(a, b, c, d, e, f))"},
		"around the body of a function": {
			"f(func() int { return " + long + " + " + long + " })",
			"f(func() int {\n\t\treturn " + long + " + " + long + "\n\t})"},
		"with the comment above": {
			"f(" + long + long + ") // why, as it is told here",
			"// why, as it is told here\n\tf(" + long + long + ")"},
		"between the words of a comment": {
			"// " + long + " " + long + " one two three four\n\t// five six\n\tf()",
			"// " + long + " " + long + " one two\n\t// three four five six\n\tf()"},
		"before a string, and not in it": {
			`f("` + long + long + `0123456789abc")`,
			"f(\n\t\t\"" + long + long + "0123456789abc\")"},
		"not where it fits": {"f(a, b)", "f(a, b)"},
	} {
		frame := func(body string) string { return "package p\n\nfunc _() {\n\t" + body + "\n}\n" }
		got, err := wrap([]byte(frame(c.source)))
		if err != nil || string(got) != frame(c.want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, frame(c.want))
		}
	}
}
