// Package web holds the pages of the web UI inside the program. `make build` compiles them from src/ into dist/app/. A
// program that was compiled without them has one page instead, which says how to build the others.
//
// The package knows nothing of HTTP and of the API: controller/rest serves the files.
package web

import (
	"embed"
	"io/fs"
	"mime"
	"path"
	"strings"
)

//go:embed all:dist
var dist embed.FS

const (
	built = "dist/app/"
	stub  = "dist/stub.html"

	// hashedDir has the files whose name changes with their content.
	hashedDir = "assets/"
)

// File is one file of the UI.
type File struct {
	Type   string // media type
	Plain  []byte
	Gzip   []byte // nil: not compressed
	Brotli []byte // nil: not compressed
	// Hashed says that the name changes with the content: a client may keep the file for ever.
	Hashed bool
}

// Site is the files of the UI by path, without a slash in front. It is immutable.
type Site struct {
	files map[string]File
	index File
}

// Open reads the embedded files.
func Open() (*Site, error) { return open(dist) }

func open(files fs.FS) (*Site, error) {
	s := &Site{files: map[string]File{}}
	err := fs.WalkDir(files, path.Clean(built), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return s.add(files, name)
	})
	if index, found := s.files["index.html"]; err == nil && found {
		s.index = index
		return s, nil
	}
	page, err := fs.ReadFile(files, stub)
	return &Site{index: File{Type: "text/html; charset=utf-8", Plain: page}}, err
}

func (s *Site) add(files fs.FS, name string) error {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	name = strings.TrimPrefix(name, built)
	plainName := strings.TrimSuffix(strings.TrimSuffix(name, ".br"), ".gz")
	file := s.files[plainName]
	file.Type, file.Hashed = typeOf(plainName), strings.HasPrefix(plainName, hashedDir)
	switch path.Ext(name) {
	case ".br":
		file.Brotli = content
	case ".gz":
		file.Gzip = content
	default:
		file.Plain = content
	}
	s.files[plainName] = file
	return nil
}

// typeOf does not depend on what the host has in /etc/mime.types.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// IsBuilt tells whether the pages are there.
func (s *Site) IsBuilt() bool { return len(s.files) > 0 }

// At returns the file at a path of a URL. A path without an ending is a page: the script of index.html shows it. False:
// there is nothing.
func (s *Site) At(urlPath string) (File, bool) {
	name := strings.TrimPrefix(urlPath, "/")
	if file, found := s.files[name]; found {
		return file, true
	}
	return s.index, path.Ext(name) == ""
}
