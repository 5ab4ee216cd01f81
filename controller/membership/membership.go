// Package membership registers the engines that join. Each engine that has joined is an object in the store. The
// package keeps nothing in memory, so that every node of a controller can use it.
//
// link calls it when an engine joins. It writes through admit, as the system. It does not know what engines do: fleet
// does.
package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	engineKind = "serviceengine"
	// enginesMax is the number of engines that can join one controller.
	enginesMax = 1000
)

var (
	// ErrNameTaken says that a connected engine has this name already.
	ErrNameTaken = errors.New("engine name is taken")
	// ErrFull says that no more engines may join.
	ErrFull = fmt.Errorf("there are %d engines already, which is the most: delete one", enginesMax)
)

// Config is what a Register needs.
type Config struct {
	Objects     *store.Store
	Gate        *admit.Gate
	IsConnected func(engineUUID string) bool
	// Origin returns what the cloud says that started the engine of this name; nil: no cloud started it. If Origin
	// returns an error, the engine cannot join.
	Origin func(view *store.View, engineName string) (*Origin, error)
}

// Origin is the place of an engine that a cloud started.
type Origin struct {
	Engine string // uuid that the cloud chose for the engine
	Cloud  string // uuid
	Group  string // uuid
	Zone   string
}

// Register is the register of the engines that have joined.
type Register struct{ Config }

// New returns the register of a store.
func New(config Config) *Register { return &Register{config} }

// Join registers an engine. If an engine of this name exists and is not connected, the new engine takes over its
// object: the join token authorises that. Errors: ErrNameTaken, ErrFull, those of Origin, admit's or the store's.
func (r *Register) Join(ctx context.Context, name string) (engineUUID string, err error) {
	err = r.Gate.Update(ctx, admit.System("membership"), func(tx *admit.Tx) error {
		if known, ok := tx.View().ByName(engineKind, admit.AdminTenant, name); ok {
			engineUUID = known.UUID
			return r.mayReplace(known)
		}
		if tx.View().Count(engineKind) >= enginesMax {
			return ErrFull
		}
		made, err := r.create(tx, name)
		if err != nil {
			return fmt.Errorf("register engine %s: %w", name, err)
		}
		engineUUID = made.UUID
		return nil
	})
	return engineUUID, err
}

func (r *Register) mayReplace(known *store.Record) error {
	if r.IsConnected(known.UUID) {
		return fmt.Errorf("%w: an engine named %s is connected; give this one another name", ErrNameTaken, known.Name)
	}
	return nil
}

// create makes the object of an engine: in the default group, or in the cloud and the group of its Origin.
func (r *Register) create(tx *admit.Tx, name string) (*store.Record, error) {
	object, uuid := schema.Object{"name": name}, ""
	origin, err := r.Origin(tx.View(), name)
	if err != nil {
		return nil, err
	}
	if origin != nil {
		uuid = origin.Engine
		object["controller_created"], object["availability_zone"] = true, origin.Zone
		object["cloud_ref"] = schema.RefPath("cloud", origin.Cloud)
		object["se_group_ref"] = schema.RefPath("serviceenginegroup", origin.Group)
	}
	return tx.Create(engineKind, object, uuid)
}

// Exists tells whether an engine has joined and is not deleted.
func (r *Register) Exists(engineUUID string) bool {
	_, exists := Find(r.Objects.View(), engineUUID)
	return exists
}

// Find returns the name of an engine in a view, and whether it has joined and is not deleted.
func Find(view *store.View, engineUUID string) (name string, exists bool) {
	record, exists := view.Get(engineKind, engineUUID)
	if !exists {
		return "", false
	}
	return record.Name, true
}
