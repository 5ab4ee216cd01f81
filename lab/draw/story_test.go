package draw

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func story() Story {
	return Story{Title: "one goes <away>", Marks: []Mark{{0.5, "killed"}}, Seconds: []Second{
		{PerEngine: map[string]int64{"engine-10": 20, "engine-2": 30}},
		{PerEngine: map[string]int64{"engine-2": 40}, Failures: 3},
	}}
}

func TestAStoryNamesItsEnginesInOrderAndCountsWhatFailed(t *testing.T) {
	picture := story().SVG()
	for _, want := range []string{"one goes &lt;away&gt;", ">killed<", ">3 failed<", ">50<"} {
		if !strings.Contains(picture, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if two, ten := strings.Index(picture, ">engine-2<"), strings.Index(picture, ">engine-10<"); two < 0 || ten < two {
		t.Errorf("engine-2 is at %d, engine-10 at %d", two, ten)
	}
	if red := strings.Count(picture, alarm); red != 1 {
		t.Errorf("%d seconds are marked as failed", red)
	}
}

func TestAStoryIsWellFormedEvenWhenNothingWasSeen(t *testing.T) {
	for _, s := range []Story{story(), {}} {
		decoder := xml.NewDecoder(strings.NewReader(s.SVG()))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
