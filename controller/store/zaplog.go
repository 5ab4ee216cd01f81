package store

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// slogCore carries etcd's log lines into the controller's log.
type slogCore struct {
	zapcore.LevelEnabler
	log *slog.Logger
}

// logger ends no process: where etcd would, its goroutine ends and the failure goes to m.failed.
func (m *member) logger(log *slog.Logger) *zap.Logger {
	core := &slogCore{LevelEnabler: m.level, log: log.With("component", "etcd")}
	surrender := surrender{m}
	return zap.New(core, zap.WithFatalHook(surrender), zap.WithPanicHook(surrender))
}

// untrueAtFirst is what a new member says until its first election is on disk; it then puts it right by itself.
var untrueAtFirst = []string{"Failed to detect schema version", "failed to update storage version"}

func (c *slogCore) With(fields []zapcore.Field) zapcore.Core {
	return &slogCore{LevelEnabler: c.LevelEnabler, log: c.log.With(attributes(fields)...)}
}

func (c *slogCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c *slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	switch {
	case slices.Contains(untrueAtFirst, entry.Message):
	case entry.Level >= zapcore.PanicLevel: // reported once, by whoever reads Failed
	case entry.Level >= zapcore.ErrorLevel:
		c.log.Error(entry.Message, attributes(fields)...)
	default:
		c.log.Warn(entry.Message, attributes(fields)...)
	}
	return nil
}

func (c *slogCore) Sync() error { return nil }

func attributes(fields []zapcore.Field) []any {
	encoded := zapcore.NewMapObjectEncoder()
	out := make([]any, 0, 2*len(fields))
	for _, field := range fields {
		field.AddTo(encoded)
		out = append(out, field.Key, encoded.Fields[field.Key])
	}
	return out
}

type surrender struct{ *member }

// OnWrite ends the goroutine that gave up, as zap demands of a hook on Fatal and Panic.
func (s surrender) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	s.fail(failure(entry.Message, fields))
	runtime.Goexit()
}

func failure(message string, fields []zapcore.Field) error {
	for _, field := range fields {
		cause, ok := field.Interface.(error)
		if !ok {
			continue
		}
		if errors.Is(cause, syscall.ENOSPC) {
			return fmt.Errorf("%w: %s: %w", ErrDiskFull, message, cause)
		}
		return fmt.Errorf("%s: %w", message, cause)
	}
	return errors.New(message)
}
