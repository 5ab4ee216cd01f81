package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Story is what clients saw, second by second, and what happened to the engines meanwhile.
type Story struct {
	Title   string   `json:"title"`
	Seconds []Second `json:"seconds"`
	Marks   []Mark   `json:"marks"`
}

// Second is what came in one second.
type Second struct {
	PerEngine map[string]int64 `json:"per_engine"` // answers
	Failures  int64            `json:"failures"`
}

// Mark is something that happened, so many seconds from the begin.
type Mark struct {
	At   float64 `json:"at_s"`
	What string  `json:"what"`
}

// shades tell neighbouring engines apart in black and white, too.
var shades = []string{"#1b5e9e", "#8fb8de", "#4d86bd", "#c3d9ee", "#2f6fae", "#a9c8e6"}

const alarm = "#c62828"

const (
	storyWidth            = 860.0
	storyLeft, storyRight = 60.0, 140.0
	storyTop, storyDeep   = 92.0, 200.0
	// marks use this many lines in turn, so that their texts do not overlap
	markLines                  = 4
	markLine                   = 13.0
	storyInner                 = storyWidth - storyLeft - storyRight
	failuresHeight, legendLine = 30.0, 16.0
)

// SVG draws the answers of each engine, the marks, and below them the failures.
func (s Story) SVG() string {
	var c Canvas
	c.Text(10, 20, "start", "bold", s.Title)
	engines, most := s.engines(), s.most()
	width := storyInner / float64(max(1, len(s.Seconds)))
	bottom := storyTop + storyDeep
	for share := range 3 {
		y := bottom - storyDeep*float64(share)/2
		c.Line(storyLeft, y, storyLeft+storyInner, y, Grid, 1)
		c.Text(storyLeft-6, y+4, "end", "normal", strconv.Itoa(most*share/2))
	}
	for i, second := range s.Seconds {
		y := bottom
		for n, engine := range engines {
			height := storyDeep * float64(second.PerEngine[engine]) / float64(max(1, most))
			y -= height
			c.Rect(storyLeft+width*float64(i), y, width+0.1, height, shades[n%len(shades)])
		}
		if second.Failures > 0 {
			c.Rect(storyLeft+width*float64(i), bottom+26, max(2, width), 12, alarm)
		}
	}
	s.drawMarks(&c, width, bottom)
	s.drawTimes(&c, width, bottom)
	c.Text(storyLeft-6, bottom+36, "end", "normal", "failed")
	c.Text(storyLeft+storyInner+10, bottom+36, "start", "bold", fmt.Sprintf("%d failed", s.failures()))
	for n, engine := range engines {
		y := storyTop + legendLine*float64(n)
		if n == 11 && len(engines) > 12 {
			c.Text(storyLeft+storyInner+10, y+10, "start", "normal", fmt.Sprintf("and %d more", len(engines)-n))
			break
		}
		c.Rect(storyLeft+storyInner+10, y, 10, 10, shades[n%len(shades)])
		c.Text(storyLeft+storyInner+26, y+10, "start", "normal", engine)
	}
	return c.SVG(storyWidth, bottom+failuresHeight+24)
}

func (s Story) drawMarks(c *Canvas, width, bottom float64) {
	for i, mark := range s.Marks {
		x, y := storyLeft+width*mark.At, 40+markLine*float64(i%markLines)
		c.Line(x, y+3, x, bottom, Ink, 0.5)
		anchor := "start"
		if x > storyLeft+0.8*storyInner {
			anchor = "end"
		}
		c.Text(x, y, anchor, "normal", mark.What)
	}
}

// drawTimes writes the seconds at ten places or fewer.
func (s Story) drawTimes(c *Canvas, width, bottom float64) {
	apart := 1
	for _, step := range []int{2, 5, 10, 30, 60, 120, 300} {
		if len(s.Seconds)/apart > 10 {
			apart = step
		}
	}
	for second := 0; second <= len(s.Seconds); second += apart {
		c.Text(storyLeft+width*float64(second), bottom+16, "middle", "normal", fmt.Sprintf("%d s", second))
	}
}

// engines are all that answered, engine-2 before engine-10.
func (s Story) engines() []string {
	var names []string
	for _, second := range s.Seconds {
		for name := range second.PerEngine {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return names
}

func (s Story) most() int {
	most := int64(0)
	for _, second := range s.Seconds {
		sum := int64(0)
		for _, answers := range second.PerEngine {
			sum += answers
		}
		most = max(most, sum)
	}
	return int(most)
}

func (s Story) failures() (sum int64) {
	for _, second := range s.Seconds {
		sum += second.Failures
	}
	return sum
}
