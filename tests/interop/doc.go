// Package interop points clients that Weir did not write at a whole controller: what they do with a real one must work.
// Clients are installed as their registries have them, and never changed.
package interop
