// Package revocation fetches what authorities say about certificates they have signed: the answers of OCSP responders
// about the certificates of virtual services, which engines staple to their handshakes (RFC 6066 §8), and lists of
// revoked certificates for PKI profiles.
//
// ocsp.go (with statement.go) and list.go verify what was fetched, fetch.go does the I/O, watch.go says when, tries.go
// how many at once, records.go puts what is stored into objects. The store has what was fetched beside the objects, so
// that it survives restarts, and Plans follow from it as from objects. Only the leader fetches. What cannot be
// verified, or is older than what is stored, is never stored.
package revocation

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/weir-lb/weir/backoff"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

const (
	// settles is the time between a change and the look at what is wanted after it.
	settles = 200 * time.Millisecond
	// refreshMin is the shortest time between a success and the next fetch.
	refreshMin = time.Minute
	// firstRetry is the wait after a failure. It doubles up to retryMost, or failed_ocsp_jobs_retry_interval.
	firstRetry = 10 * time.Second
	retryMost  = time.Hour
	// tryMost is how long one try may take, with all of its servers.
	tryMost = time.Minute
)

// Config is what a Watch needs.
type Config struct {
	Objects *store.Store
	Model   func(*store.View) (*model.Model, error)
	// Save changes the record of a kind of this package beside the object with the uuid: edit makes it from the stored
	// one, which may be nil, and nil from edit means none. It does nothing if the object is gone.
	Save   func(ctx context.Context, kind, uuid string, edit func(*store.Record) (*store.Record, error)) error
	Dialer *net.Dialer // says where the controller may connect to
	Events *events.Log
	Log    *slog.Logger
	Now    func() time.Time
}

// Watch fetches what is due, again and again. Its fields belong to the goroutine of Run. Tries run beside it, and tell
// it when they end.
type Watch struct {
	config Config
	fetch  fetcher
	jobs   map[string]*job
	tries  tries
	asked  map[*model.Certificate]question // those of the last look
}

// New starts nothing; Run does.
func New(config Config) *Watch {
	return &Watch{config: config, fetch: fetcher{config.Dialer}, jobs: map[string]*job{}, tries: newTries()}
}

// job is one thing that is fetched again and again.
type job struct {
	due    time.Time
	wait   backoff.Backoff
	failed bool   // the last try
	place  string // what it is about: two tries never write to the same place at once
	server string // that it asks first
	// do fetches, and stores what it got. It returns when it is due again.
	do     func(ctx context.Context, now time.Time) (due time.Time, err error)
	entry  events.Entry // about the object
	failID string       // of the event when it fails, and wellID when it works again
	wellID string
	what   string // "the OCSP answer"
}

// Run goes on until ctx or the store ends, and until the last try has ended.
func (w *Watch) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer w.tries.wait()
	defer cancel()
	views := w.config.Objects.Changes(ctx)
	look := time.Time{} // when to look at the newest view; zero: it is known
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case _, open := <-views:
			if !open {
				return nil
			}
			if look.IsZero() {
				look = w.config.Now().Add(settles) // a change seldom comes alone
			}
		case ended := <-w.tries.ended:
			w.finish(ctx, ended)
		case <-alarm.C:
		}
		if now := w.config.Now(); !look.IsZero() && !now.Before(look) {
			if err := w.look(ctx); err != nil {
				return err
			}
			look = time.Time{}
		}
		next := w.start(ctx)
		if !look.IsZero() && look.Before(next) {
			next = look
		}
		alarm.Reset(next.Sub(w.config.Now()))
	}
}

// look finds out what is wanted now. It keeps what is known of jobs that are still wanted.
func (w *Watch) look(ctx context.Context) error {
	view := w.config.Objects.View()
	objects, err := w.config.Model(view)
	if err != nil {
		return err
	}
	w.want(w.wanted(view, objects))
	if err := w.forget(ctx, view, objects); err != nil {
		w.config.Log.Error("answers and lists that nobody needs cannot be removed", "reason", err)
	}
	return nil
}

func (w *Watch) want(wanted map[string]*job) {
	jobs := map[string]*job{}
	for key, fresh := range wanted {
		if kept := w.jobs[key]; kept != nil {
			kept.do = fresh.do // of this view
			fresh = kept
		}
		jobs[key] = fresh
	}
	for key, job := range w.jobs {
		if jobs[key] == nil {
			w.tries.stop(job)
		}
	}
	w.jobs = jobs
}

// start begins the tries that are due, those that wait longest first, and returns when the next ones are. What is due
// and finds no room is not counted: it begins when another try ends.
func (w *Watch) start(ctx context.Context) (next time.Time) {
	now := w.config.Now()
	next = now.Add(time.Hour)
	var due []*job
	for _, job := range w.jobs {
		switch {
		case w.tries.runs(job):
		case job.due.After(now):
			if job.due.Before(next) {
				next = job.due
			}
		default:
			due = append(due, job)
		}
	}
	if ctx.Err() != nil {
		return next
	}
	slices.SortFunc(due, func(a, b *job) int { return a.due.Compare(b.due) })
	for _, job := range due {
		w.tries.begin(ctx, job, now)
	}
	return next
}

// finish notes how a try has ended.
func (w *Watch) finish(ctx context.Context, ended ended) {
	job, err := ended.job, ended.err
	stopped := w.tries.end(job)
	switch {
	case stopped || ctx.Err() != nil:
		return
	case err != nil:
		job.due = w.config.Now().Add(job.wait.Next())
		if !job.failed {
			job.tell(w.config.Events, job.failID, fmt.Sprintf("%s cannot be fetched: %v", job.what, err))
		}
	default:
		job.due = ended.due
		job.wait.Reset()
		if job.failed {
			job.tell(w.config.Events, job.wellID, fmt.Sprintf("%s was fetched again", job.what))
		}
	}
	job.failed = err != nil
}

func (j *job) tell(log *events.Log, id, message string) {
	entry := j.entry
	entry.ID, entry.Message = id, message
	log.Add(entry)
}

// wanted are the jobs for what virtual services and pools use.
func (w *Watch) wanted(view *store.View, m *model.Model) map[string]*job {
	jobs, asked := map[string]*job{}, map[*model.Certificate]question{}
	for _, certificate := range stapled(m) {
		question, same := w.asked[certificate]
		if !same || len(certificate.CACerts) > 0 {
			question = questionOf(view, certificate)
		}
		asked[certificate] = question
		jobs["ocsp "+question.key()] = w.asking(question, answerIn(view, certificate.UUID))
	}
	w.asked = asked
	for _, profile := range listed(m) {
		for _, source := range sourcesOf(profile) {
			jobs["list "+source.key()] = w.listing(source, listsIn(view, profile.UUID).of(source.url))
		}
	}
	return jobs
}

// stapled are the certificates with enable_ocsp_stapling that virtual services have, each once.
func stapled(m *model.Model) []*model.Certificate {
	found := map[string]*model.Certificate{}
	for _, vs := range m.VirtualServices {
		for _, certificate := range vs.Certificates {
			if certificate.EnableOCSPStapling {
				found[certificate.UUID] = certificate
			}
		}
	}
	return inOrder(found)
}

// listed are the PKI profiles in use with lists to be fetched, each once.
func listed(m *model.Model) []*kinds.PKIProfile {
	found := map[string]*kinds.PKIProfile{}
	add := func(profile *kinds.PKIProfile) {
		if profile != nil && profile.CRLCheck && len(profile.ListURLs()) > 0 {
			found[profile.UUID] = profile
		}
	}
	for _, vs := range m.VirtualServices {
		for _, profile := range vs.ClientPKIs() {
			add(profile)
		}
	}
	for _, pool := range m.Pools {
		add(pool.PKIProfile)
	}
	return inOrder(found)
}

func inOrder[T any](found map[string]T) (all []T) {
	uuids := make([]string, 0, len(found))
	for uuid := range found {
		uuids = append(uuids, uuid)
	}
	slices.Sort(uuids)
	for _, uuid := range uuids {
		all = append(all, found[uuid])
	}
	return all
}

// asking is the job of a certificate.
func (w *Watch) asking(q question, known *Answer) *job {
	retry := time.Duration(q.config.RetryIntervalS) * time.Second
	job := &job{
		place: AnswerKind + " " + q.uuid, server: firstServer(q.responders()),
		entry: events.Entry{Kind: "SSLKEYANDCERTIFICATE", UUID: q.uuid, Name: q.name, Tenant: q.tenant},
		wait:  backoff.Backoff{First: min(firstRetry, retry), Most: retry}, what: "the OCSP answer",
		failID: "SSL_OCSP_FAILED", wellID: "SSL_OCSP_WORKS",
	}
	if known != nil && known.Leaf == q.fingerprint() {
		job.due = known.due(q.config)
	} else {
		known = nil
	}
	job.do = func(ctx context.Context, now time.Time) (time.Time, error) {
		answer, err := w.ask(ctx, q, known, now)
		if err != nil {
			return time.Time{}, err
		}
		if err := w.put(ctx, AnswerKind, q.uuid, answer); err != nil {
			return time.Time{}, err
		}
		if answer.Status != kinds.OCSPGood && (known == nil || known.Status != answer.Status) {
			job.tell(w.config.Events, "SSL_OCSP_NOT_GOOD", notGood(answer))
		}
		return answer.due(q.config), nil
	}
	return job
}

func notGood(answer *Answer) string {
	if answer.Status == kinds.OCSPRevoked {
		return fmt.Sprintf("was revoked at %s, as %s says: replace it. Engines staple no answer",
			answer.RevokedAt.Format(time.RFC3339), answer.URL)
	}
	return fmt.Sprintf("is not known to %s. Engines staple no answer", answer.URL)
}

// ask asks the responders in their order, until one answers.
func (w *Watch) ask(ctx context.Context, q question, known *Answer, now time.Time) (*Answer, error) {
	if q.problem != "" {
		return nil, fmt.Errorf("%s", q.problem)
	}
	request, err := q.request()
	if err != nil {
		return nil, err
	}
	timeout := timeoutUsual
	if own := time.Duration(q.config.ResponseTimeoutS) * time.Second; own > 0 {
		timeout = min(own, time.Minute)
	}
	for _, url := range q.responders() {
		var body []byte
		var answer *Answer
		if body, err = w.fetch.ask(ctx, url, request, timeout); err == nil {
			if answer, err = q.read(body, url, known, now); err == nil {
				return answer, nil
			}
		}
		err = fmt.Errorf("%s: %w", url, err)
	}
	return nil, err
}

// listing is the job of a list.
func (w *Watch) listing(s source, known *List) *job {
	job := &job{
		place: ListKind + " " + s.uuid + " " + s.url, server: firstServer([]string{s.url}),
		entry:  events.Entry{Kind: "PKIPROFILE", UUID: s.uuid, Name: s.name, Tenant: s.tenant},
		wait:   backoff.Backoff{First: firstRetry, Most: min(s.interval, retryMost)},
		what:   "the list of revoked certificates of " + s.url,
		failID: "CRL_FETCH_FAILED", wellID: "CRL_FETCH_WORKS",
	}
	if known = s.before(known); known != nil {
		job.due = known.due(s.interval)
	}
	job.do = func(ctx context.Context, now time.Time) (time.Time, error) {
		tag := ""
		if known != nil {
			tag = known.ETag
		}
		body, newTag, unchanged, err := w.fetch.get(ctx, s.url, tag)
		if err != nil {
			return time.Time{}, err
		}
		if unchanged {
			body, newTag = known.DER, tag
		}
		list, err := s.read(body, newTag, known, now)
		if err != nil {
			return time.Time{}, err
		}
		if known != nil && bytes.Equal(list.DER, known.DER) {
			return list.due(s.interval), nil // the store keeps each version, and a list may be long
		}
		return list.due(s.interval), w.putList(ctx, s, list)
	}
	return job
}
