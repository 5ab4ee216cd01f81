package kinds

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The engine's own test reads the same file: what it says holds on both sides.
func TestScriptsAreTakenWhereEnginesTakeThem(t *testing.T) {
	cases, err := os.ReadFile("../../../dataplane/script/tests/cases/syntax.txt")
	if err != nil {
		t.Fatal(err)
	}
	repeated := regexp.MustCompile(`(.)×([0-9]+)`)
	for line := range strings.Lines(string(cases)) {
		takes, script, found := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		if strings.HasPrefix(line, "#") || !found {
			continue
		}
		script = regexp.MustCompile(`\\n`).ReplaceAllString(script, "\n")
		script = repeated.ReplaceAllStringFunc(script, func(part string) string {
			parts := repeated.FindStringSubmatch(part)
			times, _ := strconv.Atoi(parts[2])
			return strings.Repeat(parts[1], times)
		})
		if why := wrongWith(script); (why == "") != (strings.TrimSpace(takes) == "yes") {
			t.Errorf("%.80q: engines take it: %s; the controller says %q", script, takes, why)
		}
	}
}

func wrongWith(script string) string {
	chunk, why := parseScript(script)
	if why != "" {
		return why
	}
	return notOnEngines(script, chunk)
}

func TestScriptsThatEnginesCannotRunAreRefusedWithTheirLine(t *testing.T) {
	join := "x = a .. b\n"
	for _, c := range []struct{ script, want string }{
		{"local a\ngoto done ::done::", "line 2: engines have no goto"},
		{"f()\nbreak", "line 2: a break is in no loop"},
		{"f()\nfunction g()\n return ... end", "line 3: ... is not in a function that takes it"},
		{"x = f\n(g)()", "line 2: a line begins with the bracket of a call"},
		{"\n\nx = '\\300'", `line 3: engines have no \300 in texts`},
		{"x = [[\n\n]] y = 1e", `line 3: "1e" is no number`},
		{"-- a\x00\nx = 1", "line 1: a comment has a character NUL"},
		{"x = 'a\x00'", "line 1: a text has a character NUL"},
		{strings.Repeat(join, 512), ""},
		{strings.Repeat(join, 513), "joins and compares in 513 places: use at most 512"},
		{"avi.http.response(503, {}, [[" + strings.Repeat("<b>x</b> ..\n", 600) + "]])", ""},
		{"-- " + strings.Repeat("<", 600), ""},
		{"x = 1" + strings.Repeat(" + 1", 500), ""},
		{"x = 1" + strings.Repeat(" + 1", 1200), "line 1: an expression is nested too deep"},
		{"x = a" + strings.Repeat(".b", 1200), "line 1: an expression is nested too deep"},
		{strings.Repeat("x = x(function()\n", 200) + strings.Repeat("end)\n", 200), "nested more than 150 deep"},
		{"if a then b() " + strings.Repeat("elseif a then b() ", 400) + "end", ""},
		{"if a then b() " + strings.Repeat("elseif a then b() ", 1200) + "end", "nested too deep"},
		{locals(200), ""},
		{locals(201), "line 201: a function has more than 200 local variables at once"},
		{"do " + locals(150) + " end " + locals(150), ""},
		{"f(" + strings.Repeat("1, ", 300) + "1)", "more than 240 local variables and values"},
	} {
		if got := wrongWith(c.script); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%.60q: got %q, want %q", c.script, got, c.want)
		}
	}
}

func locals(number int) string {
	var script strings.Builder
	for i := range number {
		fmt.Fprintf(&script, "local v%d = %d\n", i, i)
	}
	return script.String()
}
