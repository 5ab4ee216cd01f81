package admit

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Why a request is turned away. rest maps each to a status; the texts of some are matched by clients.
var (
	ErrNotLoggedIn        = errors.New("Authentication credentials were not provided.")
	ErrSessionExpired     = errors.New("Session expired: log in again")
	ErrForged             = errors.New("CSRF token missing or incorrect.")
	ErrInvalidCredentials = errors.New("Invalid credentials")
	ErrStale              = errors.New("Need to reload object data")
	ErrBusy               = errors.New("The controller is busy with others: try again in a second")
)

// Throttled says that too many logins failed.
type Throttled struct{ Wait time.Duration }

func (e *Throttled) Error() string {
	return fmt.Sprintf("Too many failed logins: try again in %d s", int(e.Wait.Round(time.Second)/time.Second)+1)
}

// Forbidden says that this principal may not do this.
type Forbidden struct{ Reason string }

func (e *Forbidden) Error() string { return e.Reason }

// NotFound says that there is no such object, or none that this tenant can see.
type NotFound struct{ Title string }

func (e *NotFound) Error() string { return e.Title + " object not found!" }

// Duplicate says that the name or uuid is taken.
type Duplicate struct{ Title, Field, Value string }

func (e *Duplicate) Error() string {
	return fmt.Sprintf("%s with this %s already exists: %s", e.Title, strings.ToUpper(e.Field[:1])+e.Field[1:], e.Value)
}

// InUse says that other objects refer to the one that should go.
type InUse struct{ Referrers []string }

func (e *InUse) Error() string {
	return "Cannot delete, object is referred by: ['" + strings.Join(e.Referrers, "', '") + "']"
}

// NotAllowed says that objects of a kind do not take an action, or this one does not.
type NotAllowed struct{ Reason string }

func (e *NotAllowed) Error() string { return e.Reason }
