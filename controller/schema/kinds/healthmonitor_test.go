package kinds

import (
	"slices"
	"testing"
)

func TestWordsAreThoseOfAShell(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     nil,
		"  a  b\n c ":          {"a", "b", "c"},
		`A="b c" d'e f'g`:      {"A=b c", "de fg"},
		`a\ b "c\"d" 'e\f' ''`: {"a b", `c"d`, `e\f`, ""},
		"$A *":                 {"$A", "*"},
	} {
		if got, err := Words(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`"`, `'a`, `a\`, "a\x00b"} {
		if got, err := Words(text); err == nil {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
