package kinds

import (
	"fmt"
	"strings"
	"testing"
)

func TestTemplatesAreTextsAndNames(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"a":                           "a",
		"$1":                          "<1>",
		"${12}3$4x":                   "<12> 3 <4> x",
		"https://$http_host/?$vs_ip.": "https:// <http_host> /? <vs_ip> .",
		"$$1 and $ 5 and ${} and $":   "$1 and $ 5 and ${} and $",
		"$$$a":                        "$ <a>",
	} {
		var got []string
		for _, part := range Template(text) {
			if part.Name != "" {
				got = append(got, "<"+part.Name+">")
			} else {
				got = append(got, part.Text)
			}
		}
		if joined := strings.Join(got, " "); joined != want {
			t.Errorf("%q: got %q, want %q", text, joined, want)
		}
	}
}

func TestExpressionsThatAreSearchedForMatchSomeBytes(t *testing.T) {
	for text, want := range map[string]string{
		"a":           "0 groups",
		"(a)(b)?|(c)": "3 groups",
		`\ba+`:        "0 groups",
		"(?i)a{2}":    "0 groups",
		"a*":          "empty text",
		"(a|b?)":      "empty text",
		`\b`:          "empty text",
		"^$":          "empty text",
		"a{1000}b{1000}(c{1000}|d{999})e{1000}f{98}": "matches 4097 bytes or more",
		"a{1000}b{1000}(c{1000}|d{999})e{1000}f{97}": "1 groups",
		"a(":    "no regular expression",
		"(?=a)": "looks around",
	} {
		groups, err := SearchedExpression(text)
		got := fmt.Sprint(groups, " groups")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
