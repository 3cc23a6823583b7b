package host

import (
	"context"
	"io"
	"log"
	"log/slog"

	hclog "github.com/hashicorp/go-hclog"
)

// pluginLog gives a slog.Logger the interface that go-plugin wants. What go-plugin
// logs is about its own workings, so all of it is logged as debug output.
type pluginLog struct {
	hclog.Logger // the null logger: levels, names and standard loggers don't matter
	to           *slog.Logger
}

// logger makes one; without a slog.Logger nothing is logged.
func logger(to *slog.Logger) hclog.Logger {
	if to == nil {
		return hclog.NewNullLogger()
	}
	return &pluginLog{hclog.NewNullLogger(), to}
}

func (l *pluginLog) Log(_ hclog.Level, msg string, args ...any) {
	l.to.Log(context.Background(), slog.LevelDebug, msg, args...)
}

func (l *pluginLog) Trace(msg string, args ...any)       { l.Log(hclog.Trace, msg, args...) }
func (l *pluginLog) Debug(msg string, args ...any)       { l.Log(hclog.Debug, msg, args...) }
func (l *pluginLog) Info(msg string, args ...any)        { l.Log(hclog.Info, msg, args...) }
func (l *pluginLog) Warn(msg string, args ...any)        { l.Log(hclog.Warn, msg, args...) }
func (l *pluginLog) Error(msg string, args ...any)       { l.Log(hclog.Error, msg, args...) }
func (l *pluginLog) With(args ...any) hclog.Logger       { return &pluginLog{l.Logger, l.to.With(args...)} }
func (l *pluginLog) Named(name string) hclog.Logger      { return l.With("part", name) }
func (l *pluginLog) ResetNamed(name string) hclog.Logger { return l.Named(name) }

func (l *pluginLog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}
