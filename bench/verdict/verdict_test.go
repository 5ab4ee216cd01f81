package verdict

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func rows(names ...string) (all []Verdict) {
	for _, name := range names {
		all = append(all, Verdict{Row: name})
	}
	return all
}

func TestRowsAreChosenByNameInTheOrderOfTheTable(t *testing.T) {
	table := rows("a", "b", "c")
	chosen, err := Choose(table, []string{"c", "a"})
	if err != nil || !slices.Equal(Names(chosen), []string{"a", "c"}) {
		t.Errorf("got %v, %v", chosen, err)
	}
	if all, err := Choose(table, nil); err != nil || len(all) != 3 {
		t.Errorf("got %v, %v", all, err)
	}
	if _, err := Choose(table, []string{"d"}); err == nil ||
		err.Error() != "--row d: there is none of that name; use a, b, c" {
		t.Errorf("got %v", err)
	}
}

func TestRowsThatWereNotMeasuredAgainStay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	earlier := []Verdict{{Row: "b", Value: 1}, {Row: "c", Value: 2}, {Row: "gone", Value: 9}}
	var text bytes.Buffer
	if err := WriteLines(&text, earlier); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Besides(file, []string{"a", "b", "c"}, []Verdict{{Row: "b", Value: 7}})
	if want := []Verdict{{Row: "b", Value: 7}, {Row: "c", Value: 2}}; err != nil || !slices.Equal(all, want) {
		t.Errorf("got %+v, %v", all, err)
	}
	if err := os.WriteFile(file, []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Besides(file, []string{"a"}, rows("a")); err == nil ||
		!strings.Contains(err.Error(), "rows.jsonl is not a report") {
		t.Errorf("got %v", err)
	}
}

func TestWhatMissesItsBarIsDrawnInAnotherColour(t *testing.T) {
	met, missed := Bar{Verdict{"a", 2, 3, true}, "first", "×"}, Bar{Verdict{"b", 4, 3, false}, "second", "×"}
	picture := Picture("all", []Bar{met, missed})
	for what, times := range map[string]int{Measured: 1, Missed: 1, "2 ×; bar 3": 1, "4 ×; bar 3": 1, ">second<": 1} {
		if strings.Count(picture, what) != times {
			t.Errorf("%q is not there %d times:\n%s", what, times, picture)
		}
	}
}
