package admit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// IdleTimeout is how long a session lasts without requests.
	IdleTimeout = 15 * time.Minute
	// SessionLifetime is how long a session lasts with requests.
	SessionLifetime = 24 * time.Hour

	maxSessions  = 10_000          // when full, the one that was unused for longest is ended
	saveInterval = 1 * time.Minute // a restart loses at most this much of a session's last use
	secretBytes  = 32
)

// Vault keeps small private values across restarts.
type Vault interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	All(ctx context.Context) (map[string][]byte, error)
}

// Session is one login. Only the client knows its id; the controller stores a hash of the id.
type Session struct {
	ID       string `json:"-"`
	CSRF     string `json:"csrf"`
	UserUUID string `json:"user_uuid"`
	// mark of the password that opened the session; the session is over once the password has another mark
	Mark    string    `json:"mark"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`

	// TokenID is the user token that opened the session; empty: a password did
	TokenID string `json:"token_id,omitempty"`

	saved time.Time
	next  string // mark of the new password while the session changes the password
}

// Sessions are all valid logins. They are in the store, so they survive a restart of the controller. Each node reads
// them into memory when it starts: it does not see sessions that other nodes begin or end later.
type Sessions struct {
	vault Vault
	now   func() time.Time
	log   *slog.Logger

	mutex  sync.Mutex
	byHash map[string]*Session
	ended  chan struct{} // closed when the next session ends
}

// OpenSessions loads the valid sessions and deletes the others.
func OpenSessions(ctx context.Context, vault Vault, now func() time.Time, log *slog.Logger) (*Sessions, error) {
	s := &Sessions{vault: vault, now: now, log: log, byHash: map[string]*Session{}, ended: make(chan struct{})}
	stored, err := vault.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("load sessions: %w", err)
	}
	for hash, value := range stored {
		var session Session
		if json.Unmarshal(value, &session) != nil || session.expired(now()) {
			s.drop(ctx, hash)
			continue
		}
		session.saved = session.Used
		s.byHash[hash] = &session
	}
	return s, nil
}

// Start opens a session. tokenID is the user token that opens it, if one does.
func (s *Sessions) Start(ctx context.Context, userUUID, mark, tokenID string) (Session, error) {
	now := s.now()
	session := Session{ID: randomText(), CSRF: randomText(), UserUUID: userUUID, Mark: mark, Created: now,
		Used: now, TokenID: tokenID, saved: now}
	hash := hashOf(session.ID)
	if err := s.save(ctx, hash, session); err != nil {
		return Session{}, err
	}
	s.mutex.Lock()
	evicted := s.makeRoom()
	s.byHash[hash] = &session
	s.mutex.Unlock()
	if evicted != "" {
		s.drop(ctx, evicted)
	}
	return session, nil
}

// Resume finds the session of a request and notes its use. Errors: ErrNotLoggedIn, ErrSessionExpired.
func (s *Sessions) Resume(ctx context.Context, id string) (Session, error) {
	hash, now := hashOf(id), s.now()
	s.mutex.Lock()
	known, ok := s.byHash[hash]
	if !ok {
		s.mutex.Unlock()
		return Session{}, ErrNotLoggedIn
	}
	if known.expired(now) {
		s.remove(hash)
		s.mutex.Unlock()
		s.drop(ctx, hash)
		return Session{}, ErrSessionExpired
	}
	known.Used = now
	due := now.Sub(known.saved) >= saveInterval
	if due {
		known.saved = now
	}
	session := *known
	s.mutex.Unlock()
	if due {
		s.saveUse(ctx, hash, session)
	}
	session.ID = id
	return session, nil
}

// Look finds a session without noting its use. Errors: ErrNotLoggedIn, ErrSessionExpired.
func (s *Sessions) Look(id string) (Session, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known, ok := s.byHash[hashOf(id)]
	switch {
	case !ok:
		return Session{}, ErrNotLoggedIn
	case known.expired(s.now()):
		return Session{}, ErrSessionExpired
	}
	session := *known
	session.ID = id
	return session, nil
}

// Ended returns a channel that is closed when a session ends before its time. One that expires is noticed when it is
// looked at.
func (s *Sessions) Ended() <-chan struct{} {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ended
}

// remove takes a session out of the memory, and says so. The caller holds the lock.
func (s *Sessions) remove(hash string) {
	delete(s.byHash, hash)
	close(s.ended)
	s.ended = make(chan struct{})
}

// saveUse stores a session. It removes the stored session again if the session has ended meanwhile.
func (s *Sessions) saveUse(ctx context.Context, hash string, session Session) {
	if err := s.save(ctx, hash, session); err != nil {
		s.log.Warn("a session was not saved", "error", err)
	}
	s.mutex.Lock()
	_, open := s.byHash[hash]
	s.mutex.Unlock()
	if !open {
		s.drop(ctx, hash)
	}
}

// End closes one session, even if the client has gone. If the vault fails, the session stays open: it would be open
// again after a restart.
func (s *Sessions) End(ctx context.Context, id string) error {
	hash := hashOf(id)
	s.mutex.Lock()
	known, open := s.byHash[hash]
	if open {
		s.remove(hash)
	}
	s.mutex.Unlock()
	if !open {
		return nil
	}
	if err := s.vault.Delete(context.WithoutCancel(ctx), hash); err != nil {
		s.mutex.Lock()
		s.byHash[hash] = known
		s.mutex.Unlock()
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// Expect prepares a session for a new password: the session is valid under the mark of the old and of the new password.
func (s *Sessions) Expect(id, mark string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known, ok := s.byHash[hashOf(id)]; ok {
		known.next = mark
	}
}

// Renew keeps a session valid under the new mark that Expect set, and stores it so.
func (s *Sessions) Renew(ctx context.Context, id string) {
	hash := hashOf(id)
	s.mutex.Lock()
	known, ok := s.byHash[hash]
	if !ok || known.next == "" {
		s.mutex.Unlock()
		return
	}
	known.Mark, known.next = known.next, ""
	session := *known
	s.mutex.Unlock()
	s.saveUse(ctx, hash, session)
}

// EndAll ends all sessions of a user, except but (empty: all).
func (s *Sessions) EndAll(ctx context.Context, userUUID, but string) {
	kept := hashOf(but)
	s.endThose(ctx, func(hash string, session *Session) bool { return session.UserUUID == userUUID && hash != kept })
}

// EndOfToken ends the sessions that a user token opened.
func (s *Sessions) EndOfToken(ctx context.Context, tokenID string) {
	s.endThose(ctx, func(_ string, session *Session) bool { return session.TokenID == tokenID })
}

func (s *Sessions) endThose(ctx context.Context, ends func(hash string, session *Session) bool) {
	s.mutex.Lock()
	var ended []string
	for hash, session := range s.byHash {
		if ends(hash, session) {
			s.remove(hash)
			ended = append(ended, hash)
		}
	}
	s.mutex.Unlock()
	for _, hash := range ended {
		s.drop(ctx, hash)
	}
}

// Fits tells whether a session is valid under the mark of a password.
func (s Session) Fits(mark string) bool { return s.Mark == mark || s.next != "" && s.next == mark }

// Vouches tells whether a write comes from the holder of the session, and not from a foreign page that uses its cookie.
func (s Session) Vouches(csrf string) bool {
	return subtle.ConstantTimeCompare([]byte(s.CSRF), []byte(csrf)) == 1
}

func (s *Session) expired(now time.Time) bool {
	return now.Sub(s.Used) > IdleTimeout || now.Sub(s.Created) > SessionLifetime
}

// makeRoom removes the session that was unused for longest if there are too many, and returns its hash.
func (s *Sessions) makeRoom() (evicted string) {
	if len(s.byHash) < maxSessions {
		return ""
	}
	for hash, session := range s.byHash {
		if evicted == "" || session.Used.Before(s.byHash[evicted].Used) {
			evicted = hash
		}
	}
	s.remove(evicted)
	return evicted
}

func (s *Sessions) save(ctx context.Context, hash string, session Session) error {
	value, err := json.Marshal(session)
	if err != nil {
		return err
	}
	if err := s.vault.Put(ctx, hash, value); err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	return nil
}

// drop deletes a stored session. It returns no error. If the vault fails, a restart finds the session again, unless the
// session has expired by then.
func (s *Sessions) drop(ctx context.Context, hash string) {
	if err := s.vault.Delete(ctx, hash); err != nil {
		s.log.Warn("an ended session was not removed from disk", "error", err)
	}
}

func randomText() string {
	secret := make([]byte, secretBytes)
	rand.Read(secret)
	return base64.RawURLEncoding.EncodeToString(secret)
}

func hashOf(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}
