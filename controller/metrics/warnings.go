package metrics

import (
	"context"
	"log/slog"
)

// warnings passes on what Prometheus logs from warnings up.
type warnings struct{ slog.Handler }

// Enabled tells whether a record of this level is passed on.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the limit.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the limit.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
