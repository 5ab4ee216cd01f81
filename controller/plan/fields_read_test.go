package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

const kindsPackage = "github.com/weir-lb/weir/controller/schema/kinds"

// A field that no code reads does nothing, whatever docs/fields.md says. It needs a rule in Unread of its kind.
func TestServedFieldsAreRead(t *testing.T) {
	code := loadCode(t)
	stale := map[string]bool{}
	for _, row := range needNoCode {
		for name := range strings.FieldsSeq(row.fields) {
			stale[name] = true
		}
	}
	for _, kind := range schema.Kinds() {
		if kind.Serving == schema.Apart {
			continue
		}
		root := code.kinds.Scope().Lookup(kind.Title).Type()
		told := map[string]bool{}
		for fate, fields := range fatesOf(kind) {
			for _, path := range fields {
				if fate.what != "served" {
					forget(stale, kind.Name+"."+path)
					continue
				}
				if unread := code.unread(root, path); unread != "" && !told[unread] {
					told[unread] = true
					t.Errorf("%s.%s: no code reads it. Give it a rule in Unread of its kind", kind.Name, unread)
				}
			}
		}
	}
	for name := range stale {
		t.Errorf("no kind has %s, of which needNoCode tells", name)
	}
}

// forget removes the names that stand for a field.
func forget(names map[string]bool, field string) {
	maps.DeleteFunc(names, func(name string, _ bool) bool {
		end, isEnd := strings.CutPrefix(name, "*")
		return name == field || isEnd && strings.HasSuffix(field, end)
	})
}

// unread returns the part of the path of a field that no code reads; empty: there is none.
func (c *code) unread(root types.Type, path string) string {
	for end := range len(path) + 1 {
		if end < len(path) && path[end] != '.' {
			continue
		}
		if field := fieldAt(root, path[:end]); field == nil || !c.reads[c.place(field)] {
			return path[:end]
		}
	}
	return ""
}

// code is what the programs do with the structs of the kinds.
type code struct {
	fset  *token.FileSet
	kinds *types.Package
	reads map[string]bool // places of fields that are read
}

// place identifies a field or a function, whether it comes from source or from a compiled package: that has no columns.
func (c *code) place(o types.Object) string {
	at := c.fset.Position(o.Pos())
	return fmt.Sprintf("%s:%d:%s", filepath.Base(at.Filename), at.Line, o.Name())
}

// goPackage is what `go list` says about a package.
type goPackage struct {
	ImportPath, Export, Dir string
	GoFiles, Deps           []string
	Error                   *struct{ Err string }
}

func listPackages(t *testing.T) []goPackage {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,Deps,Error",
		"./controller/...")
	list.Dir, list.Stderr = "../..", os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var listed goPackage
		switch err := decoder.Decode(&listed); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, listed)
	}
}

// loadCode reads all packages that know the kinds. A field counts as read if another package than the kinds' reads it,
// or if a function of the kinds does that another package calls, directly or through others. Checks of writes do not
// count: only the schema calls them.
func loadCode(t *testing.T) *code {
	fset := token.NewFileSet()
	exports := map[string]string{}
	all := listPackages(t)
	for _, listed := range all {
		exports[listed.ImportPath] = listed.Export
	}
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	c := &code{fset: fset, reads: map[string]bool{}}
	calledOutside := map[string]bool{}
	within := map[string][]types.Object{} // what each function of the kinds uses
	var interfaces []string               // methods that the kinds call without knowing the type
	for _, listed := range all {
		isKinds := listed.ImportPath == kindsPackage
		if !isKinds && !slices.Contains(listed.Deps, kindsPackage) {
			continue
		}
		var files []*ast.File
		for _, name := range listed.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(listed.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		checked, err := (&types.Config{Importer: compiled}).Check(listed.ImportPath, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			written := writesIn(file)
			ast.Inspect(file, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				used := info.Uses[id]
				if !ok || isKinds || written[id] || used == nil || used.Pkg() == nil ||
					used.Pkg().Path() != kindsPackage {
					return true
				}
				if isField(used) {
					c.reads[c.place(used)] = true
				} else {
					calledOutside[c.place(used)] = true
				}
				return true
			})
			if !isKinds {
				continue
			}
			c.kinds = checked
			for _, declaration := range file.Decls {
				function, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				name := c.place(info.Defs[function.Name])
				if function.Name.Name == "init" { // its definition has the functions that the schema calls
					calledOutside[name] = true
				}
				ast.Inspect(function, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && !written[id] && info.Uses[id] != nil {
						within[name] = append(within[name], info.Uses[id])
						if isAbstract(info.Uses[id]) {
							interfaces = append(interfaces, id.Name)
						}
					}
					return true
				})
			}
		}
	}
	c.follow(calledOutside, within, interfaces)
	return c
}

// follow notes the fields that functions read which other packages call.
func (c *code) follow(called map[string]bool, within map[string][]types.Object, interfaces []string) {
	seen := map[string]bool{}
	var visit func(function string)
	visit = func(function string) {
		if seen[function] {
			return
		}
		seen[function] = true
		for _, used := range within[function] {
			if isField(used) {
				c.reads[c.place(used)] = true
			}
			visit(c.place(used))
		}
	}
	for function := range within {
		name := function[strings.LastIndex(function, ":")+1:]
		if called[function] || slices.Contains(interfaces, name) {
			visit(function)
		}
	}
}

func isField(o types.Object) bool {
	variable, ok := o.(*types.Var)
	return ok && variable.IsField()
}

// isAbstract tells whether an object is a method of an interface.
func isAbstract(o types.Object) bool {
	function, ok := o.(*types.Func)
	if !ok || function.Signature().Recv() == nil {
		return false
	}
	return types.IsInterface(function.Signature().Recv().Type())
}

// writesIn finds the names of fields that are only written to: on the left of an assignment, or in a literal.
func writesIn(file *ast.File) map[*ast.Ident]bool {
	found := map[*ast.Ident]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				if selector, ok := target.(*ast.SelectorExpr); ok && n.Tok == token.ASSIGN {
					found[selector.Sel] = true
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				found[key] = true
			}
		}
		return true
	})
	return found
}

// fieldAt finds the field of a struct by a path of names in JSON; nil: there is none.
func fieldAt(t types.Type, path string) *types.Var {
	name, rest, deeper := strings.Cut(path, ".")
	for {
		switch inner := t.Underlying().(type) {
		case *types.Pointer:
			t = inner.Elem()
			continue
		case *types.Slice:
			t = inner.Elem()
			continue
		}
		break
	}
	of, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for i := range of.NumFields() {
		field := of.Field(i)
		if field.Embedded() {
			if found := fieldAt(field.Type(), path); found != nil {
				return found
			}
		}
		if reflect.StructTag(of.Tag(i)).Get("json") != name {
			continue
		}
		if !deeper {
			return field
		}
		return fieldAt(field.Type(), rest)
	}
	return nil
}
