package plan

import (
	"fmt"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// subject is the object that a finding is about.
type subject struct {
	kind, uuid, name string
}

func about(kind string, identity kinds.Identity, named kinds.Named) subject {
	return subject{kind: kind, uuid: identity.UUID, name: named.Name}
}

// report collects the findings about one virtual service while it is compiled. A finding that blocks keeps the virtual
// service out of the Plan. Other findings name settings without effect.
type report struct {
	findings []model.Finding
	blocked  bool
}

func (r *report) warn(s subject, field, format string, args ...any) {
	r.findings = append(r.findings, model.Finding{
		Kind: s.kind, UUID: s.uuid, Name: s.name, Field: field, Message: fmt.Sprintf(format, args...),
	})
}

func (r *report) block(s subject, field, format string, args ...any) {
	r.warn(s, field, format, args...)
	r.blocked = true
}
