package place

import "github.com/weir-lb/weir/controller/model"

// Placement says who serves what, as plan and fleet read it.
type Placement struct {
	duties map[string][]Owed     // by engine uuid, in the order of the model's virtual services
	seats  map[string]Assignment // by virtual service uuid
}

// Owed is a virtual service and what an engine owes to it.
type Owed struct {
	*model.VirtualService
	Duty Duty
}

// PlacementOf makes the placement of all assignments.
func PlacementOf(m *model.Model, assignments map[string]Assignment) Placement {
	placement := Placement{duties: map[string][]Owed{}, seats: assignments}
	for _, vs := range m.VirtualServices {
		for _, seat := range assignments[vs.UUID].Seats {
			placement.duties[seat.Engine] = append(placement.duties[seat.Engine], Owed{vs, seat.Duty()})
		}
	}
	return placement
}

// Duties are the virtual services that an engine has to do with.
func (p Placement) Duties(engineUUID string) []Owed { return p.duties[engineUUID] }

// Assignment of a virtual service; empty when it has none.
func (p Placement) Assignment(virtualServiceUUID string) Assignment {
	return p.seats[virtualServiceUUID]
}
