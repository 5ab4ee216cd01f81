package admit

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestAuditLogsOnlyWhatThereIsToSay(t *testing.T) {
	var out bytes.Buffer
	audit := NewAudit(slog.New(slog.NewTextHandler(&out, nil)), standing(time.Unix(1000, 0)))
	audit.add(Entry{User: "eve", Action: "login", Kind: "user"}, nil)
	audit.add(Entry{User: "eve", Action: "login", Kind: "user"}, errors.New("no"))
	for i, want := range []string{"msg=audit user=eve action=login kind=user",
		"msg=audit user=eve action=login kind=user refused=no"} {
		if line := strings.Split(out.String(), "\n")[i]; !strings.HasSuffix(line, want) {
			t.Errorf("logged %q, want %q", line, want)
		}
	}
}
