// Package draw draws figures as SVG text, for reports. It does not know what was measured.
package draw

import (
	"fmt"
	"html"
	"strings"
)

// Colours of what is written, and of the lines behind it.
const (
	Ink  = "#222222"
	Grid = "#dddddd"
)

// Canvas collects shapes, in pixels from the top left.
type Canvas struct{ shapes strings.Builder }

// Rect is a filled rectangle.
func (c *Canvas) Rect(x, y, width, height float64, colour string) {
	fmt.Fprintf(&c.shapes, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y,
		max(0, width), height, colour)
}

// Text begins, ends or has its middle at x, as the anchor says.
func (c *Canvas) Text(x, y float64, anchor, weight, text string) {
	fmt.Fprintf(&c.shapes, `<text x="%.1f" y="%.1f" text-anchor="%s" font-weight="%s">%s</text>`+"\n", x, y, anchor,
		weight, html.EscapeString(text))
}

// Line is a straight one.
func (c *Canvas) Line(x1, y1, x2, y2 float64, colour string, width float64) {
	fmt.Fprintf(&c.shapes, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f"/>`+"\n", x1,
		y1, x2, y2, colour, width)
}

// Point is a place on a canvas.
type Point struct{ X, Y float64 }

// Polyline goes through points.
func (c *Canvas) Polyline(points []Point, colour string, width float64) {
	if len(points) == 0 {
		return
	}
	var places []string
	for _, point := range points {
		places = append(places, fmt.Sprintf("%.1f,%.1f", point.X, point.Y))
	}
	fmt.Fprintf(&c.shapes, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%.1f"/>`+"\n",
		strings.Join(places, " "), colour, width)
}

// Picture is a canvas with its size.
type Picture struct {
	Canvas
	Width, Height float64
}

// Stack puts pictures below each other.
func Stack(pictures ...Picture) Picture {
	var all Picture
	for _, p := range pictures {
		fmt.Fprintf(&all.shapes, `<g transform="translate(0 %g)">`+"\n%s</g>\n", all.Height, p.shapes.String())
		all.Width, all.Height = max(all.Width, p.Width), all.Height+p.Height
	}
	return all
}

// SVG is the file.
func (p Picture) SVG() string { return p.Canvas.SVG(p.Width, p.Height) }

// SVG is the file.
func (c *Canvas) SVG(width, height float64) string {
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" `+
			`font-family="sans-serif" font-size="12" fill="%[3]s">`+"\n"+
			`<rect width="100%%" height="100%%" fill="white"/>`+"\n%[4]s</svg>\n",
		width, height, Ink, c.shapes.String())
}
