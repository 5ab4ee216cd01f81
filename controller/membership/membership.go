// Package membership registers the engines that join. Each engine that has joined is an object in the store. The
// package keeps nothing in memory, so that every node of a controller can use it.
//
// link calls it when an engine joins. It writes through admit, as the system. It does not know what engines do: fleet
// does.
package membership

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	engineKind = "serviceengine"
	// joinKind is the kind of the records that say which Join of each engine counts. They are no objects.
	joinKind = "enginejoin"
	// enginesMax is the number of engines that can join one controller.
	enginesMax = 1000
)

var (
	// ErrNameTaken says that a connected engine has this name already.
	ErrNameTaken = errors.New("engine name is taken")
	// ErrDeleted says that there is no such engine any more.
	ErrDeleted = errors.New("engine is deleted: join it again with a new token")
	// ErrReplaced says that the certificate of an engine does not count: another host has joined under its name, or the
	// store was restored from a copy that is older than the join.
	ErrReplaced = errors.New("this certificate is not from the last join under this name: " +
		"join again with a new token, under another name if another host has this one")
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

// Joined is an engine that has joined.
type Joined struct {
	Engine string // uuid
	Join   string // random; all certificates of the engine name it
	// Replaces says that an engine with this name joined before, and that its certificates do not count any more. Next
	// to an error, that is only possible: the join may be stored (store.ErrUncertain).
	Replaces bool
}

// Register is the register of the engines that have joined.
type Register struct{ Config }

// New returns the register of a store.
func New(config Config) *Register { return &Register{config} }

// Join registers an engine. If an engine of this name exists and is not connected, the new engine takes over its
// object: the join token authorises that. Two hosts with one name may both join before either connects: then the last
// one counts. Errors: ErrNameTaken, ErrFull, those of Origin, admit's or the store's.
func (r *Register) Join(ctx context.Context, name string) (joined Joined, err error) {
	err = r.Gate.Update(ctx, admit.System("membership"), func(tx *admit.Tx) (err error) {
		joined, err = r.join(tx, name)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrUncertain) {
		return Joined{}, err
	}
	if joined.Replaces {
		r.Gate.Audit.Note(admit.System("membership"), "replace", engineKind, joined.Engine, err)
	}
	return joined, err
}

func (r *Register) join(tx *admit.Tx, name string) (Joined, error) {
	joined, err := r.register(tx, name)
	if err == nil {
		err = forgetJoins(tx)
	}
	if err == nil {
		err = tx.Keep(&store.Record{Kind: joinKind, UUID: joined.Engine, Name: joined.Engine,
			Object: schema.Object{"uuid": joined.Engine, "join": joined.Join}})
	}
	if err != nil {
		return Joined{}, err
	}
	return joined, nil
}

// register finds the object of an engine, or makes it.
func (r *Register) register(tx *admit.Tx, name string) (Joined, error) {
	if known, ok := tx.View().ByName(engineKind, admit.AdminTenant, name); ok {
		return Joined{Engine: known.UUID, Join: rand.Text(), Replaces: true}, r.mayReplace(known)
	}
	if tx.View().Count(engineKind) >= enginesMax {
		return Joined{}, ErrFull
	}
	made, err := r.create(tx, name)
	if err != nil {
		return Joined{}, fmt.Errorf("register engine %s: %w", name, err)
	}
	return Joined{Engine: made.UUID, Join: rand.Text()}, nil
}

// forgetJoins removes the records of engines that are deleted.
func forgetJoins(tx *admit.Tx) error {
	for _, record := range tx.View().List(joinKind) {
		if _, exists := Find(tx.View(), record.UUID); exists {
			continue
		}
		if err := tx.Forget(joinKind, record.UUID); err != nil {
			return err
		}
	}
	return nil
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

// Check tells whether an engine may connect with a certificate of a Join. Engines that joined before there were records
// of it have certificates without a Join. Errors: ErrDeleted, ErrReplaced.
func (r *Register) Check(engineUUID, join string) error {
	view := r.Objects.View()
	if _, exists := Find(view, engineUUID); !exists {
		return ErrDeleted
	}
	if last, recorded := view.Get(joinKind, engineUUID); recorded && last.Object["join"] != join {
		return ErrReplaced
	}
	return nil
}

// Find returns the name of an engine in a view, and whether it has joined and is not deleted.
func Find(view *store.View, engineUUID string) (name string, exists bool) {
	record, exists := view.Get(engineKind, engineUUID)
	if !exists {
		return "", false
	}
	return record.Name, true
}
