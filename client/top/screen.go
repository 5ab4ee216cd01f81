package top

import (
	"fmt"
	"strings"
	"time"
)

// size is that of the terminal, in characters.
type size struct{ columns, rows int }

// draw makes the lines of the screen: sums, then the page, and help in the last line.
func draw(v view, s *state, of size) []line {
	lines := []line{{fit(header(s), of.columns), strong}, {text: fit(v.note(s), of.columns)}}
	if v.notice != "" {
		lines[1].style = alarm
	}
	body := v.body(s, of.columns)
	room := max(1, of.rows-len(lines)-1)
	if v.page == servicesPage {
		body = v.scrolled(body, room)
	} else {
		body = body[max(0, min(v.offset, len(body)-room)):]
	}
	lines = append(lines, body[:min(len(body), room)]...)
	for len(lines) < of.rows-1 {
		lines = append(lines, line{})
	}
	lines = append(lines, line{fit(v.help(), of.columns), faint})
	for i := range lines {
		lines[i].text = strings.TrimRight(fit(lines[i].text, of.columns), " ")
	}
	return lines[:min(len(lines), of.rows)]
}

// header is the sums over all virtual services.
func header(s *state) string {
	if s.Overview == nil {
		return "waiting for the controller"
	}
	p := newest(s.Overview.Points)
	engines := fmt.Sprintf("engines %d/%d", s.Overview.EnginesUp, s.Overview.EnginesTotal)
	at := time.UnixMilli(s.AtMs).Format(time.TimeOnly)
	if p.isGap() {
		return strings.Join([]string{"no engine reports", engines, at}, "   ")
	}
	return strings.Join([]string{
		number(p.Requests) + " req/s", "errors " + errorPercent(&p.counts) + " %", "p99 " + took(p.P99),
		"open " + number(p.OpenConnections), "in " + number(p.ReceivedBytes) + "B/s", "out " +
			number(p.SentBytes) + "B/s",
		engines, at,
	}, "   ")
}

// note is what has gone wrong, or which virtual services are listed.
func (v view) note(s *state) string {
	switch {
	case v.notice != "":
		return clean(v.notice)
	case v.page != servicesPage || s.Overview == nil:
		return ""
	}
	note := ""
	if total := s.Overview.VirtualServicesTotal; total > len(s.Overview.VirtualServices) {
		note = fmt.Sprintf("the %d of %d virtual services that need attention most   ",
			len(s.Overview.VirtualServices), total)
	}
	if v.order != byNeed {
		note += fmt.Sprintf("order: %s   ", v.order)
	}
	if v.filter != "" || v.typing {
		note += "filter: " + clean(v.filter)
	}
	return note
}

func (v view) body(s *state, columns int) []line {
	switch v.page {
	case enginesPage:
		return enginesTable(s.Engines).lines(columns)
	case servicePage:
		return detailLines(s, columns)
	}
	list := v.listed(s)
	if len(list) == 0 && s.Overview != nil {
		if v.filter != "" {
			return []line{{text: "No virtual service has this in its name. Esc removes the filter."}}
		}
		return []line{{text: "There is no virtual service: create one, see `weir vs create --help`."}}
	}
	return servicesTable(list).lines(columns)
}

// scrolled keeps the heading, and shows the rows around the cursor.
func (v view) scrolled(body []line, room int) []line {
	rows := body[1:]
	if len(rows) == 0 || room < 2 {
		return body
	}
	cursor := min(v.cursor, len(rows)-1)
	from := max(0, min(cursor-(room-1)/2, len(rows)-(room-1)))
	shown := append([]line{body[0]}, rows[from:]...)
	shown[1+cursor-from].style = chosen
	return shown
}

func (v view) help() string {
	switch {
	case v.typing:
		return "type a part of the name   Enter done   Esc no filter"
	case v.page == servicesPage:
		return "q quit   ↑↓ or j k move   Enter open   s order   / filter   e engines"
	default:
		return "q quit   ↑↓ or j k scroll   Esc back"
	}
}

// escapes of terminals (ECMA-48).
const (
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
	unstyled  = "\x1b[m"
)

var styles = map[style]string{strong: "\x1b[1m", alarm: "\x1b[31m", chosen: "\x1b[7m", faint: "\x1b[2m"}

// paint is the text that shows lines on a terminal. Without colours, what needs attention is bold.
func paint(lines []line, colours bool) string {
	var text strings.Builder
	text.WriteString(home)
	for i, line := range lines {
		if i > 0 {
			text.WriteString("\r\n")
		}
		begin := styles[line.style]
		if line.style == alarm && !colours {
			begin = styles[strong]
		}
		if begin != "" {
			text.WriteString(begin + line.text + unstyled + clearLine)
		} else {
			text.WriteString(line.text + clearLine)
		}
	}
	text.WriteString(clearRest)
	return text.String()
}
