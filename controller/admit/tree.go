package admit

import (
	"context"
	"errors"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Tree is a new object with new objects that it refers to.
type Tree struct {
	Kind   *schema.Kind
	Object schema.Object // without the references to its parts
	Parts  []Part
}

// Part is a new object, and the field of its owner that refers to it.
type Part struct {
	Field  string
	Listed bool // the field is a list, to which the reference is added
	Tree   Tree
}

// CreateTree admits all objects of a tree, or none of them: there is one transaction. The records that it returns begin
// with the parts, and end with the root.
func (g *Gate) CreateTree(ctx context.Context, w Write, tree Tree) ([]*store.Record, error) {
	var made []*store.Record
	w.Kind, w.chores = tree.Kind, &chores{}
	err := tree.mayCreate(w)
	if err == nil {
		err = g.update(ctx, w.chores, func(tx *store.Tx) error {
			made = nil
			_, err := g.createTree(tx, w, tree, &made)
			if errors.Is(err, errAsked) {
				w.chores.alsoUnlock(tree)
			}
			return err
		})
	}
	if err != nil {
		g.Audit.noteChange(w, "create", textOf(tree.Object, "name"), change{}, err)
		return nil, err
	}
	for _, record := range made {
		w.Kind, _ = schema.Lookup(record.Kind)
		g.Audit.noteChange(w, "create", record.Name, change{is: record}, nil)
	}
	return made, nil
}

// each calls visit with a tree and its parts.
func (t Tree) each(visit func(Tree)) {
	visit(t)
	for _, part := range t.Parts {
		part.Tree.each(visit)
	}
}

func (t Tree) mayCreate(w Write) error {
	w.Kind = t.Kind
	if err := w.mayCreate(); err != nil {
		return err
	}
	for _, part := range t.Parts {
		if err := part.Tree.mayCreate(w); err != nil {
			return err
		}
	}
	return nil
}

// createTree creates the parts of an object, then the object. It adds the records to made.
func (g *Gate) createTree(tx *store.Tx, w Write, tree Tree, made *[]*store.Record) (*store.Record, error) {
	object := schema.Clone(tree.Object)
	for _, part := range tree.Parts {
		record, err := g.createTree(tx, w, part.Tree, made)
		if err != nil {
			return nil, err
		}
		reference := any(schema.RefPath(record.Kind, record.UUID))
		if part.Listed {
			listed, _ := object[part.Field].([]any)
			reference = append(listed, reference)
		}
		object[part.Field] = reference
	}
	w.Kind = tree.Kind
	record, err := g.create(tx, w, object, "")
	if err != nil {
		return nil, err
	}
	*made = append(*made, record)
	return record, nil
}
