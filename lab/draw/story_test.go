package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
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

func TestAStoryHasALineForEachProtocol(t *testing.T) {
	s := story()
	if strings.Contains(s.SVG(), "<polyline") {
		t.Error("a line, and no protocol is told apart")
	}
	s.Seconds[0].Spoke("HTTP/1.1", 20)
	s.Seconds[1].Spoke("HTTP/2", 40)
	picture := s.SVG()
	if lines := strings.Count(picture, "<polyline"); lines != 2 {
		t.Errorf("%d lines", lines)
	}
	for _, want := range []string{">HTTP/1.1<", ">HTTP/2<", ">per s<"} {
		if !strings.Contains(picture, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestPicturesInAStackAreBelowEachOther(t *testing.T) {
	upper := Comparison{Title: "upper", Names: []string{"a", "b"},
		Rows: []ComparisonRow{{"x, µs", []float64{1, 2}}}}.Picture()
	stack := Stack(upper, story().Picture())
	if want := fmt.Sprintf(`<g transform="translate(0 %g)">`, upper.Height); !strings.Contains(stack.SVG(), want) {
		t.Errorf("%q is missing", want)
	}
	if stack.Height != upper.Height+story().Picture().Height || stack.Width != storyWidth {
		t.Errorf("it is %g by %g", stack.Width, stack.Height)
	}
}

func TestBarsOfAComparisonHaveOneScaleInEachRow(t *testing.T) {
	svg := Comparison{Names: []string{"a", "b"}, Rows: []ComparisonRow{{"x", []float64{1, 2}},
		{"y", []float64{0, 0}}}}.Picture().SVG()
	for width, count := range map[float64]int{comparisonBar: 1, comparisonBar / 2: 1, 0: 2} {
		if got := strings.Count(svg, fmt.Sprintf(`width="%.1f"`, width)); got != count {
			t.Errorf("%d bars are %g wide", got, width)
		}
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
