package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// Object names an operator's object in findings.
type Object struct{ Kind, UUID, Name string }

// Finding is an error in a Plan, in the operator's words: object, field, message.
type Finding struct {
	Object
	Field, Message string
}

// FindingsOf are the findings of a data plane.
func FindingsOf(wire []*dataplanev1.Finding) []Finding {
	var all []Finding
	for _, each := range wire {
		all = append(all, Finding{Object{each.GetKind(), each.GetUuid(), each.GetName()}, each.GetField(),
			each.GetMessage()})
	}
	return all
}

// WireFindings are findings in the form that the controller receives.
func WireFindings(findings []Finding) []*dataplanev1.Finding {
	var all []*dataplanev1.Finding
	for _, each := range findings {
		all = append(all, &dataplanev1.Finding{
			Kind: each.Kind, Uuid: each.UUID, Name: each.Name, Field: each.Field, Message: each.Message,
		})
	}
	return all
}

// Change is an object that differs between two Plans.
type Change struct {
	Object
	How How
}

// How is in which way an object differs.
type How string

const (
	IsNew    How = "is new"
	Changed  How = "changed"
	IsNoMore How = "is no more"
)

// Changes are the objects of the data plane that differ between two Plans; nil is an empty Plan. Removed objects come
// last.
func Changes(before, after *Plan) []Change {
	var changes, gone []Change
	compare(before, after, func(was, is int) {
		switch {
		case is < 0:
			gone = note(gone, before.resource(was), IsNoMore)
		case was < 0:
			changes = note(changes, after.resource(is), IsNew)
		case !same(before.resource(was), after.resource(is)):
			changes = note(changes, after.resource(is), Changed)
		}
	})
	return append(changes, gone...)
}

func note(changes []Change, resource *enginev1.Resource, how How) []Change {
	if object, is := objectOf(resource); is {
		return append(changes, Change{object, how})
	}
	return changes
}

// objectOf is the object of a resource; false: the resource is not for the data plane.
func objectOf(resource *enginev1.Resource) (Object, bool) {
	switch body := resource.GetBody().(type) {
	case *enginev1.Resource_VirtualService:
		return Object{"virtualservice", resource.GetUuid(), body.VirtualService.GetName()}, true
	case *enginev1.Resource_Pool:
		return Object{"pool", resource.GetUuid(), body.Pool.GetPool().GetName()}, true
	case *enginev1.Resource_PoolGroup:
		return Object{"poolgroup", resource.GetUuid(), body.PoolGroup.GetName()}, true
	case *enginev1.Resource_ErrorPageProfile:
		return Object{"errorpageprofile", resource.GetUuid(), body.ErrorPageProfile.GetName()}, true
	case *enginev1.Resource_Certificate:
		return Object{"sslkeyandcertificate", resource.GetUuid(), body.Certificate.GetName()}, true
	case *enginev1.Resource_PkiProfile:
		return Object{"pkiprofile", resource.GetUuid(), body.PkiProfile.GetName()}, true
	case *enginev1.Resource_HttpPolicySet:
		return Object{"httppolicyset", resource.GetUuid(), body.HttpPolicySet.GetName()}, true
	case *enginev1.Resource_StringGroup:
		return Object{"stringgroup", resource.GetUuid(), body.StringGroup.GetName()}, true
	case *enginev1.Resource_AddressGroup:
		return Object{"ipaddrgroup", resource.GetUuid(), body.AddressGroup.GetName()}, true
	case *enginev1.Resource_NetworkPolicy:
		return Object{"networksecuritypolicy", resource.GetUuid(), body.NetworkPolicy.GetName()}, true
	default:
		return Object{}, false
	}
}
