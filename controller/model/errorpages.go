package model

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// ErrorPages is a profile of error pages with their bodies.
type ErrorPages struct {
	kinds.ErrorPageProfile
	Bodies map[string]*kinds.ErrorPageBody // by reference; those that are there
}

// Key returns the uuid, by which lists in the model are sorted.
func (p *ErrorPages) Key() string { return p.UUID }

func (k *Keeper) resolveErrorPages(from *source, pages *ErrorPages) {
	pages.Bodies = map[string]*kinds.ErrorPageBody{}
	for _, placed := range pages.InForce() {
		field := fmt.Sprintf("error_pages[%d].error_page_body_ref", placed.At)
		if body := follow(from, k.errorBodies, field, placed.Rule.BodyRef); body != nil {
			pages.Bodies[placed.Rule.BodyRef] = body
		}
	}
}
