package model

import "github.com/weir-lb/weir/controller/schema/kinds"

// Concerns returns the uuids of all objects that a virtual service consists of. A problem of one of these objects is a
// problem of the virtual service.
func (vs *VirtualService) Concerns() map[string]bool {
	concerns := map[string]bool{vs.UUID: true}
	add(concerns, vs.SharedVip, func(v *kinds.VsVip) string { return v.UUID })
	add(concerns, vs.ApplicationProfile, func(p *kinds.ApplicationProfile) string { return p.UUID })
	add(concerns, vs.NetworkProfile, func(p *kinds.NetworkProfile) string { return p.UUID })
	add(concerns, vs.SSLProfile, func(p *kinds.SSLProfile) string { return p.UUID })
	for _, certificate := range vs.Certificates {
		concerns[certificate.UUID] = true
	}
	add(concerns, vs.Group, func(g *Group) string { return g.UUID })
	if vs.EnableRHI {
		add(concerns, vs.VrfContext, func(v *kinds.VrfContext) string { return v.UUID })
	}
	if vs.Pool != nil {
		vs.Pool.addConcerns(concerns)
	}
	return concerns
}

func (p *Pool) addConcerns(concerns map[string]bool) {
	concerns[p.UUID] = true
	for _, monitor := range p.HealthMonitors {
		concerns[monitor.UUID] = true
	}
	add(concerns, p.SSLProfile, func(s *kinds.SSLProfile) string { return s.UUID })
	add(concerns, p.PKIProfile, func(s *kinds.PKIProfile) string { return s.UUID })
	add(concerns, p.Persistence, func(s *kinds.ApplicationPersistenceProfile) string { return s.UUID })
	add(concerns, p.Certificate, func(c *Certificate) string { return c.UUID })
}

// add adds the uuid of an object, unless the object is nil.
func add[T any](concerns map[string]bool, object *T, uuid func(*T) string) {
	if object != nil {
		concerns[uuid(object)] = true
	}
}
