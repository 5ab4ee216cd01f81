package report

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/bench/workloads"
	"github.com/weir-lb/weir/lab/draw"
)

// Pictures are SVG files by name: the bars of all rows, and a curve for each growth.
func Pictures(rows []*Row) map[string]string {
	pictures := map[string]string{"cpu.svg": bars(rows)}
	for _, row := range rows {
		if row.Workload.Kind == workloads.Growth && len(row.Curve) > 1 {
			pictures[row.pictureName()] = row.curve()
		}
	}
	return pictures
}

// pictureName tells the rows of one workload on several numbers of cores apart.
func (r *Row) pictureName() string {
	return fmt.Sprintf("%s-cores-%d.svg", strings.ToLower(r.Workload.ID), r.Cores)
}

// Colours that tell user from system and Weir from the others in black and white, too.
const (
	weirUser, weirSystem = "#1b5e9e", "#8fb8de"
	peerUser, peerSystem = "#555555", "#bdbdbd"
)

const (
	barHeight  = 16.0
	barGap     = 4.0
	namesWidth = 90.0
	barsWidth  = 480.0
	pageWidth  = 760.0
)

// bars draws a bar per proxy for each row, with user and system time. Each row has its own scale.
func bars(rows []*Row) string {
	var c draw.Canvas
	y := 24.0
	c.Text(10, y, "start", "bold",
		"CPU time per transaction, saturated: user (dark) and system (light); shorter is better")
	y += 16
	for _, row := range rows {
		if row.Workload.Kind == workloads.Transactions {
			y = row.bars(&c, y+14)
		}
	}
	return c.SVG(pageWidth, y+12)
}

func (r *Row) bars(c *draw.Canvas, y float64) float64 {
	most := 0.0
	for _, proxy := range r.Proxies {
		most = max(most, r.Figures(proxy, Saturated).CPUus)
	}
	c.Text(10, y, "start", "bold", fmt.Sprintf("%s  %s; cores: %d", r.Workload.ID, r.Workload.Title, r.Cores))
	y += 8
	for _, proxy := range r.Proxies {
		f := r.Figures(proxy, Saturated)
		user, system := peerUser, peerSystem
		if proxy == Weir {
			user, system = weirUser, weirSystem
		}
		c.Text(namesWidth, y+12, "end", "normal", proxy)
		if f.Fault == "" && most > 0 {
			userWidth := barsWidth * f.Userus / most
			c.Rect(namesWidth+8, y, userWidth, barHeight, user)
			c.Rect(namesWidth+8+userWidth, y, barsWidth*f.Systemus/most, barHeight, system)
		}
		c.Text(namesWidth+barsWidth+16, y+12, "start", "normal", r.costText(f))
		y += barHeight + barGap
	}
	return y
}

const (
	curveWidth, curveHeight    = 640.0, 320.0
	curveLeft, curveTop        = 70.0, 50.0
	curveInnerWidth, curveDeep = 540.0, 210.0
)

// curve draws Weir's cost over the steps. Steps are drawn at equal distances, because they grow by powers. The scale
// begins at zero, so that a constant looks constant.
func (r *Row) curve() string {
	var c draw.Canvas
	c.Text(10, 24, "start", "bold", fmt.Sprintf("%s  CPU µs per transaction by number of %s; cores: %d", r.Workload.ID,
		r.Workload.Growth.Of,
		r.Cores))
	most := 0.0
	for _, point := range r.Curve {
		most = max(most, r.figures(point.Slices).CPUus)
	}
	height := func(cost float64) float64 { return curveTop + curveDeep*(1-cost/max(1.2*most, 1e-9)) }
	for share := range 5 {
		cost := 1.2 * most * float64(share) / 4
		c.Line(curveLeft, height(cost), curveLeft+curveInnerWidth, height(cost), draw.Grid, 1)
		c.Text(curveLeft-8, height(cost)+4, "end", "normal", fmt.Sprintf("%.1f", cost))
	}
	apart := curveInnerWidth / float64(len(r.Curve)-1)
	for i, point := range r.Curve {
		x, cost := curveLeft+apart*float64(i), r.figures(point.Slices).CPUus
		if i > 0 {
			c.Line(x-apart, height(r.figures(r.Curve[i-1].Slices).CPUus), x, height(cost), weirUser, 2)
		}
		c.Rect(x-3, height(cost)-3, 6, 6, weirUser)
		c.Text(x, height(cost)-10, "middle", "normal", fmt.Sprintf("%.1f", cost))
		c.Text(x, curveTop+curveDeep+20, "middle", "normal", fmt.Sprint(point.Step))
	}
	return c.SVG(curveWidth, curveHeight)
}
