package rest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	macroKind   = "macro"
	maxMacro    = 200 // objects of one macro
	macroLevels = 4   // parts of parts
)

// createMacro answers "POST /api/macro": it creates an object with the objects that it refers to, all or none.
// X_ref_data has the object for X_ref, and X_refs_data a list of them for X_refs:
//
//	{"model_name": "VirtualService", "data": {"name": "web", "pool_ref_data": {"name": "web", "servers": […]}, …}}
//
// The answer is the object, with the others under weir_created.
func createMacro(c *call) error {
	sent, err := c.object(macroKind)
	if err != nil {
		return err
	}
	model, _ := sent["model_name"].(string)
	kind, known := schema.Lookup(strings.ToLower(model))
	if !known {
		return refuseMacro("model_name", "%s is no kind of object; give one such as VirtualService", schema.Show(model))
	}
	data, ok := sent["data"].(schema.Object)
	if !ok {
		return refuseMacro("data", "must be an object with the fields of the %s", kind.Title)
	}
	objects := 0
	tree, err := treeOf(kind, data, macroLevels, &objects)
	if err != nil {
		return err
	}
	records, err := c.api.gate.CreateTree(c.r.Context(), c.write(kind), tree)
	if err != nil {
		return err
	}
	c.view = c.api.store.View()
	c.tellRevision()
	created := []schema.Object{}
	for _, record := range records {
		made, _ := schema.Lookup(record.Kind)
		created = append(created, c.render(made, record, rendering{fields: []string{"_last_modified"}}))
	}
	root := records[len(records)-1]
	shown := c.render(kind, root, rendering{names: true})
	shown["weir_created"] = created
	if warnings := c.warningsOfTree(tree, &records); len(warnings) > 0 {
		shown["weir_warnings"] = warnings
	}
	c.w.Header().Set("Location", c.origin()+schema.RefPath(kind.Name, root.UUID))
	return c.reply(http.StatusCreated, shown)
}

// treeOf takes the parts out of an object.
func treeOf(kind *schema.Kind, data schema.Object, levels int, objects *int) (admit.Tree, error) {
	tree := admit.Tree{Kind: kind, Object: schema.Object{}}
	if *objects++; *objects > maxMacro {
		return tree, refuseMacro("data", "has more than %d objects", maxMacro)
	}
	for name, value := range data {
		field, isPart := strings.CutSuffix(name, "_data")
		if !isPart || !strings.HasSuffix(field, "_ref") && !strings.HasSuffix(field, "_refs") {
			tree.Object[name] = value
			continue
		}
		target, listed, known := kind.RefersBy(field)
		if !known {
			return tree, refuseMacro(name, "a %s has no reference %s", kind.Title, field)
		}
		if levels == 0 {
			return tree, refuseMacro(name, "is deeper than %d objects", macroLevels)
		}
		items, isList := value.([]any)
		if !listed {
			items, isList = []any{value}, true
		}
		if !isList {
			return tree, refuseMacro(name, "must be a list of objects")
		}
		for _, item := range items {
			inner, ok := item.(schema.Object)
			if !ok {
				return tree, refuseMacro(name, "must be an object with the fields of the %s", target.Title)
			}
			part, err := treeOf(target, inner, levels-1, objects)
			if err != nil {
				return tree, err
			}
			tree.Parts = append(tree.Parts, admit.Part{Field: field, Listed: listed, Tree: part})
		}
	}
	return tree, nil
}

// warningsOfTree takes the records of a tree from the front of a list.
func (c *call) warningsOfTree(tree admit.Tree, records *[]*store.Record) []schema.Warning {
	var warnings []schema.Warning
	for _, part := range tree.Parts {
		warnings = append(warnings, c.warningsOfTree(part.Tree, records)...)
	}
	record := (*records)[0]
	*records = (*records)[1:]
	for _, warning := range c.warningsOf(tree.Kind, tree.Object, record.Object) {
		warning.Field = tree.Kind.Name + ": " + warning.Field
		warnings = append(warnings, warning)
	}
	return warnings
}

func refuseMacro(field, problem string, args ...any) error {
	return &schema.FieldError{Kind: macroKind, Field: field, Problem: fmt.Sprintf(problem, args...)}
}
