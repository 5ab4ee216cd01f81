package plan

import (
	"fmt"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// subject is an object that something can be found wrong with.
type subject struct {
	kind, uuid, name string
}

func about(kind string, identity kinds.Identity, named kinds.Named) subject {
	return subject{kind: kind, uuid: identity.UUID, name: named.Name}
}

// report collects what is found while one virtual service is compiled. What blocks keeps it out of the Plan; the rest
// only does not take effect.
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
