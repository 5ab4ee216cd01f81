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
	// IdleTimeout ends a session that nobody uses.
	IdleTimeout = 15 * time.Minute
	// SessionLifetime ends a session that somebody uses all the time.
	SessionLifetime = 24 * time.Hour

	maxSessions  = 10_000          // when full, the one unused for longest is ended
	saveInterval = 1 * time.Minute // at most this much of a session's last use is lost in a restart
	secretBytes  = 32
)

// Vault keeps small private values over a restart.
type Vault interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	All(ctx context.Context) (map[string][]byte, error)
}

// Session is one login. Its id is known to the client alone; the controller keeps a hash of it.
type Session struct {
	ID       string    `json:"-"`
	CSRF     string    `json:"csrf"`
	UserUUID string    `json:"user_uuid"`
	Mark     string    `json:"mark"` // of the password that it was opened under: it ends with it
	Created  time.Time `json:"created"`
	Used     time.Time `json:"used"`

	saved time.Time
	next  string // the mark of the password that is just being set over it: it goes on under that
}

// Sessions are all logins that are still good. The store has them, so they survive a restart of the controller. Each
// node reads them when it starts, into memory: it does not see sessions that other nodes begin or end later.
type Sessions struct {
	vault Vault
	now   func() time.Time
	log   *slog.Logger

	mutex  sync.Mutex
	byHash map[string]*Session
}

// OpenSessions loads the sessions that are still good and forgets the rest.
func OpenSessions(ctx context.Context, vault Vault, now func() time.Time, log *slog.Logger) (*Sessions, error) {
	s := &Sessions{vault: vault, now: now, log: log, byHash: map[string]*Session{}}
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

// Start opens a session.
func (s *Sessions) Start(ctx context.Context, userUUID, mark string) (Session, error) {
	now := s.now()
	session := Session{ID: randomText(), CSRF: randomText(), UserUUID: userUUID, Mark: mark, Created: now, Used: now, saved: now}
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

// Resume finds the session of a request and counts it as used. Errors: ErrNotLoggedIn, ErrSessionExpired.
func (s *Sessions) Resume(ctx context.Context, id string) (Session, error) {
	hash, now := hashOf(id), s.now()
	s.mutex.Lock()
	known, ok := s.byHash[hash]
	if !ok {
		s.mutex.Unlock()
		return Session{}, ErrNotLoggedIn
	}
	if known.expired(now) {
		delete(s.byHash, hash)
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

// saveUse leaves nothing behind of a session that was ended meanwhile.
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

// End closes one session.
func (s *Sessions) End(ctx context.Context, id string) {
	hash := hashOf(id)
	s.mutex.Lock()
	_, open := s.byHash[hash]
	delete(s.byHash, hash)
	s.mutex.Unlock()
	if open {
		s.drop(ctx, hash)
	}
}

// Expect has a session be good under the mark of a password that is about to be set, too.
func (s *Sessions) Expect(id, mark string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known, ok := s.byHash[hashOf(id)]; ok {
		known.next = mark
	}
}

// Renew has a session go on under the mark that it expected, also after a restart of the controller.
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

// EndAll closes all sessions of a user, but for one; empty: all.
func (s *Sessions) EndAll(ctx context.Context, userUUID, but string) {
	kept := hashOf(but)
	s.mutex.Lock()
	var ended []string
	for hash, session := range s.byHash {
		if session.UserUUID == userUUID && hash != kept {
			delete(s.byHash, hash)
			ended = append(ended, hash)
		}
	}
	s.mutex.Unlock()
	for _, hash := range ended {
		s.drop(ctx, hash)
	}
}

// Fits tells whether a session was opened under the password of a mark, or goes on under it.
func (s Session) Fits(mark string) bool { return s.Mark == mark || s.next != "" && s.next == mark }

// Vouches checks that a write was made by who holds the session, not by a page that rides on its cookie.
func (s Session) Vouches(csrf string) bool {
	return subtle.ConstantTimeCompare([]byte(s.CSRF), []byte(csrf)) == 1
}

func (s *Session) expired(now time.Time) bool {
	return now.Sub(s.Used) > IdleTimeout || now.Sub(s.Created) > SessionLifetime
}

// makeRoom forgets the session unused for longest and names it, if there is no room for one more.
func (s *Sessions) makeRoom() (evicted string) {
	if len(s.byHash) < maxSessions {
		return ""
	}
	for hash, session := range s.byHash {
		if evicted == "" || session.Used.Before(s.byHash[evicted].Used) {
			evicted = hash
		}
	}
	delete(s.byHash, evicted)
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

// drop is not an error for the caller: an ended session that stays in the vault is found expired at the next start.
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
