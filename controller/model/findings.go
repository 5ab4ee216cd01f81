package model

import (
	"cmp"
	"slices"
	"strings"
)

// Finding is a reason why an object does not take effect as it was written.
type Finding struct {
	Kind    string // "virtualservice"
	UUID    string
	Name    string
	Field   string // "ssl_key_and_certificate_refs[0]"; empty: the object as a whole
	Message string
	Rule    string // the rule that never has an effect; empty: the finding is about something else
}

// Compare orders findings by their objects, then by field and message.
func (f Finding) Compare(other Finding) int {
	return cmp.Or(f.about().compare(other.about()), strings.Compare(f.Field, other.Field),
		strings.Compare(f.Message, other.Message), strings.Compare(f.Name, other.Name))
}

func (f Finding) about() subject { return subject{f.Kind, f.UUID} }

// Findings collects the findings of several sources. Two sources may have the same finding: engines that serve the same
// virtual services do. The zero value has no source.
type Findings struct {
	sources map[Finding]int // how many sources have it
	list    []Finding
}

// List returns all findings, each once and sorted. It is a new slice whenever a finding comes or goes.
func (f *Findings) List() []Finding { return f.list }

// Replace replaces what one source had by what it has now. The cost grows with the difference: lists that begin and end
// with the same findings are compared only.
func (f *Findings) Replace(had, has []Finding) {
	for len(had) > 0 && len(has) > 0 && had[0] == has[0] {
		had, has = had[1:], has[1:]
	}
	for len(had) > 0 && len(has) > 0 && had[len(had)-1] == has[len(has)-1] {
		had, has = had[:len(had)-1], has[:len(has)-1]
	}
	if len(had) == 0 && len(has) == 0 {
		return
	}
	if f.sources == nil {
		f.sources = map[Finding]int{}
	}
	listed := map[Finding]bool{}
	count := func(findings []Finding, by int) {
		for _, finding := range findings {
			if _, known := listed[finding]; !known {
				listed[finding] = f.sources[finding] > 0
			}
			if f.sources[finding] += by; f.sources[finding] == 0 {
				delete(f.sources, finding)
			}
		}
	}
	count(has, 1)
	count(had, -1)
	var turned []Finding
	for finding, was := range listed {
		if is := f.sources[finding] > 0; was != is {
			turned = append(turned, finding)
		}
	}
	f.turn(turned)
}

// turn removes findings that are listed, and adds those that are not.
func (f *Findings) turn(some []Finding) {
	if len(some) == 0 {
		return
	}
	slices.SortFunc(some, Finding.Compare)
	edited, rest := make([]Finding, 0, len(f.list)+len(some)), f.list
	for _, finding := range some {
		at, listed := slices.BinarySearchFunc(rest, finding, Finding.Compare)
		edited = append(edited, rest[:at]...)
		if listed {
			at++
		} else {
			edited = append(edited, finding)
		}
		rest = rest[at:]
	}
	if f.list = append(edited, rest...); len(f.list) == 0 {
		f.list = nil
	}
}
