package laws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// eventID is what ids of events look like.
var eventID = regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$|^ANOMALY$`)

// Ids of events are arguments of these functions, and fields of these types.
var (
	eventTellers = []string{"say", "tell", "told", "Told", "done", "Entry", "event", "giveUp", "become"}
	eventTypes   = []string{"Entry", "EngineEvent", "news", "Event"}
)

// TestEachEventThatIsToldCanHaveAnAlert compares the ids in the code with those that rules for alerts may name.
func TestEachEventThatIsToldCanHaveAnAlert(t *testing.T) {
	told := map[string]string{}
	var known []string
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "controller/") &&
			!strings.HasPrefix(file, "logs/") && !strings.HasPrefix(file, "agent/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if call, is := node.(*ast.CallExpr); is && nameOf(call.Fun) == "Enum" {
				if ids := idsIn(call.Args); slices.Contains(ids, "VS_UP") {
					known = ids
				}
			}
			for _, id := range idsToldBy(node) {
				told[id] = file
			}
			return true
		})
	}
	const least = 35 // if the law finds fewer, it does not see how they are told any more
	if len(told) < least || len(known) < least {
		t.Errorf("found %d ids that are told, and %d that rules may name", len(told), len(known))
	}
	for id, file := range told {
		if !slices.Contains(known, id) {
			t.Errorf("%s tells %s: add it to EventID, and to docs/operating.md", file, id)
		}
	}
}

// idsToldBy are the ids of events in a call that tells one, a value of an event, or a constant for one.
func idsToldBy(node ast.Node) []string {
	switch n := node.(type) {
	case *ast.CallExpr:
		if slices.Contains(eventTellers, nameOf(n.Fun)) {
			return idsIn(n.Args)
		}
	case *ast.CompositeLit:
		if !slices.Contains(eventTypes, nameOf(n.Type)) {
			return nil
		}
		var values []ast.Expr
		for _, element := range n.Elts {
			pair, keyed := element.(*ast.KeyValueExpr)
			switch {
			case !keyed:
				values = append(values, element)
			case nameOf(pair.Key) == "ID":
				values = append(values, pair.Value)
			}
		}
		return idsIn(values)
	case *ast.AssignStmt:
		if target, is := n.Lhs[0].(*ast.SelectorExpr); is && target.Sel.Name == "ID" {
			return idsIn(n.Rhs)
		}
	case *ast.ValueSpec:
		if name := n.Names[0].Name; strings.HasSuffix(name, "ID") || strings.HasSuffix(name, "Change") {
			return idsIn(n.Values)
		}
	}
	return nil
}

// nameOf is the last name of an expression: Add of log.Add.
func nameOf(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func idsIn(expressions []ast.Expr) (ids []string) {
	for _, expression := range expressions {
		if literal, is := expression.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && eventID.MatchString(text) {
				ids = append(ids, text)
			}
		}
	}
	return ids
}
