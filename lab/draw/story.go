package draw

import (
	"cmp"
	"fmt"
	"maps"
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
	// PerProtocol is nil where the clients' protocols are not told apart.
	PerProtocol map[string]int64 `json:"per_protocol,omitempty"`
}

// Spoke counts answers to clients of a protocol; empty: it is not told apart.
func (s *Second) Spoke(protocol string, answers int64) {
	if protocol == "" {
		return
	}
	if s.PerProtocol == nil {
		s.PerProtocol = map[string]int64{}
	}
	s.PerProtocol[protocol] += answers
}

// Mark is something that happened, so many seconds from the begin.
type Mark struct {
	At   float64 `json:"at_s"`
	What string  `json:"what"`
}

// shades tell neighbouring engines apart in black and white, too.
var shades = []string{"#1b5e9e", "#8fb8de", "#4d86bd", "#c3d9ee", "#2f6fae", "#a9c8e6"}

const alarm = "#c62828"

// inks tell the lines of protocols apart, before the shades.
var inks = []string{"#e07b00", "#1f8a4c", "#6a3d9a"}

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

// SVG is the picture as a file.
func (s Story) SVG() string { return s.Picture().SVG() }

// Picture has the answers of each engine, those to clients of each protocol, the marks, and below them the failures.
func (s Story) Picture() Picture {
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
	c.Text(storyLeft-6, storyTop-10, "end", "normal", "per s")
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
	protocols := s.protocols()
	for n, protocol := range protocols {
		s.drawLine(&c, protocol, inks[n%len(inks)], width, bottom)
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
	for n, protocol := range protocols {
		y := bottom - legendLine*float64(len(protocols)-n)
		c.Rect(storyLeft+storyInner+8, y+3, 14, 3, inks[n%len(inks)])
		c.Text(storyLeft+storyInner+26, y+10, "start", "normal", protocol)
	}
	return Picture{c, storyWidth, bottom + failuresHeight + 24}
}

// drawLine draws the answers to clients of one protocol.
func (s Story) drawLine(c *Canvas, protocol, ink string, width, bottom float64) {
	var points []Point
	for i, second := range s.Seconds {
		height := storyDeep * float64(second.PerProtocol[protocol]) / float64(max(1, s.most()))
		points = append(points, Point{storyLeft + width*(float64(i)+0.5), bottom - height})
	}
	c.Polyline(points, ink, 2.5)
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

// protocols are all that are told apart.
func (s Story) protocols() []string {
	names := map[string]bool{}
	for _, second := range s.Seconds {
		for name := range second.PerProtocol {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
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
