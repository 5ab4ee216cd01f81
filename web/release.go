//go:build release

package web

import _ "embed"

// A release has the pages: without them, this file does not compile.
//
//go:embed dist/app/index.html
var _ string
