package alert

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/mail"
	"sync"

	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	// queuedMost is the number of notices that wait for one receiver.
	queuedMost = 100
	// receiversMost is the number of receivers that notices wait for at the same time.
	receiversMost = 200
)

// post is a notice on its way to a receiver.
type post struct {
	alert    string // uuid
	delivery kinds.AlertDelivery
	notice   *notify.Notice
}

// report is what became of a post.
type report struct {
	alert    string
	delivery kinds.AlertDelivery
}

// posts has a queue for each receiver, with a goroutine as long as something is in it.
type posts struct {
	alerts  *Alerts
	reports chan report
	send    func(ctx context.Context, action, to string, notice *notify.Notice) notify.Result
	pause   func(ctx context.Context, try int) // after a try that failed

	mu     sync.Mutex
	queues map[string][]post // by uuid of the receiver
	busy   sync.WaitGroup
}

func newPosts(alerts *Alerts) *posts {
	return &posts{alerts: alerts, reports: make(chan report, queuedMost), queues: map[string][]post{},
		send:  alerts.send,
		pause: notify.Pause}
}

// wait waits for the goroutines, whose context has ended.
func (p *posts) wait() { p.busy.Wait() }

// add queues a post. It never waits.
func (p *posts) add(ctx context.Context, one post) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue, begun := p.queues[one.delivery.To]
	switch {
	case len(queue) >= queuedMost:
		p.refuse(ctx, one, "too many alerts wait for this receiver")
		return
	case !begun && len(p.queues) >= receiversMost:
		p.refuse(ctx, one, "alerts wait for too many receivers")
		return
	}
	p.queues[one.delivery.To] = append(queue, one)
	if !begun {
		p.busy.Add(1)
		go p.run(ctx, one.delivery.To)
	}
}

// refuse reports a post that is not even tried, without waiting for the reader of reports, who may be the caller.
func (p *posts) refuse(ctx context.Context, one post, why string) {
	one.delivery.State, one.delivery.Answer = dead, why
	p.busy.Add(1)
	go func() {
		defer p.busy.Done()
		p.report(ctx, one)
	}()
}

func (p *posts) report(ctx context.Context, one post) {
	select {
	case p.reports <- report{one.alert, one.delivery}:
	case <-ctx.Done():
	}
}

// run sends what is in a queue, in order.
func (p *posts) run(ctx context.Context, to string) {
	defer p.busy.Done()
	for {
		p.mu.Lock()
		queue := p.queues[to]
		if len(queue) == 0 || ctx.Err() != nil {
			delete(p.queues, to)
			p.mu.Unlock()
			return
		}
		one := queue[0]
		p.queues[to] = queue[1:]
		p.mu.Unlock()
		p.deliver(ctx, one)
	}
}

// deliver tries until the receiver takes the notice, five times at most.
func (p *posts) deliver(ctx context.Context, one post) {
	for one.delivery.Tries < notify.TriesMost {
		one.delivery.Tries++
		result := p.send(ctx, one.delivery.Action, one.delivery.To, one.notice)
		if ctx.Err() != nil {
			return // the next leader tries it
		}
		one.delivery.At, one.delivery.Answer = seconds(p.alerts.config.Now()), result.Answer
		if result.OK {
			one.delivery.State = delivered
			break
		}
		if one.delivery.Tries == notify.TriesMost {
			one.delivery.State = dead
			break
		}
		p.report(ctx, one)
		p.pause(ctx, int(one.delivery.Tries))
	}
	p.report(ctx, one)
}

// send tries once, with the receiver as it is configured now.
func (a *Alerts) send(ctx context.Context, action, to string, notice *notify.Notice) notify.Result {
	view := a.config.Content().view
	switch action {
	case "webhook":
		return a.Post(ctx, to, notice.ID, notice)
	case "email":
		list := object[kinds.AlertEmailConfig](view, mailKind, to)
		if list == nil {
			return missing("the list of addresses is deleted")
		}
		by, problem := a.mailServer()
		if problem != "" {
			return missing(problem)
		}
		return a.config.Sender.Mail(ctx, by, list.To, list.CC, notice)
	}
	config := object[kinds.AlertSyslogConfig](view, syslogKind, to)
	if config == nil {
		return missing("the syslog configuration is deleted")
	}
	return a.sendSyslog(ctx, config, notice)
}

// Post sends the JSON of what is said to a webhook once, as it is configured now. id is of this delivery. It is safe
// for concurrent use.
func (a *Alerts) Post(ctx context.Context, webhookUUID, id string, said any) notify.Result {
	hook := object[kinds.Webhook](a.config.Content().view, hookKind, webhookUUID)
	if hook == nil {
		return missing("the webhook is deleted")
	}
	return a.config.Sender.Post(ctx, notify.Webhook{URL: hook.CallbackURL, Token: hook.Token,
		Authorities: a.authorities(hook.PKIProfileRef)}, id, said)
}

func missing(what string) notify.Result { return notify.Result{Answer: what} }

// mailServer is that of the system configuration; problem: there is none.
func (a *Alerts) mailServer() (by notify.MailServer, problem string) {
	const none = "there is no mail server: set email_configuration of the system configuration"
	view := a.config.Content().view
	system := object[kinds.SystemConfiguration](view, "systemconfiguration", "default")
	if system == nil || system.Email == nil || system.Email.Type == "SMTP_NONE" {
		return by, none
	}
	email := system.Email
	by = notify.MailServer{Host: email.Server, Port: int(email.Port), Plain: email.DisableTLS,
		From: mail.Address{Name: email.FromName, Address: email.FromEmail}}
	if email.Type == "SMTP_LOCAL_HOST" {
		by.Host, by.Plain = "localhost", true
	}
	if email.Type == "SMTP_SERVER" {
		by.Username, by.Password = email.Username, email.Password
	}
	return by, ""
}

// sendSyslog sends to all servers of a configuration. It fails if one fails: then all get the notice again, and know it
// by its id.
func (a *Alerts) sendSyslog(ctx context.Context, config *kinds.AlertSyslogConfig, notice *notify.Notice) notify.Result {
	all := notify.Result{OK: len(config.Servers) > 0, Answer: "it has no server"}
	for i, server := range config.Servers {
		to := notify.SyslogServer{Host: server.Server, Port: int(server.Port), UDP: server.UDP, Format: server.Format,
			TLS: server.TLS, VerifyName: server.StrictVerify || server.PKIProfileRef == "",
			Authorities: a.authorities(server.PKIProfileRef),
			Hostname:    config.SenderHostname}
		if server.TLS && !server.AnonymousAuth {
			to.Certificate = a.certificate(server.CertificateRef)
		}
		result := a.config.Sender.Syslog(ctx, to, notice)
		answer := fmt.Sprintf("%s: %s", server.Server, result.Answer)
		if i > 0 {
			answer = all.Answer + "; " + answer
		}
		all.OK, all.Answer, all.Took = all.OK && result.OK, answer, all.Took+result.Took
	}
	return all
}

// authorities are those of a PKI profile; nil: those of the machine.
func (a *Alerts) authorities(ref string) *x509.CertPool {
	if ref == "" {
		return nil
	}
	pool := x509.NewCertPool()
	if profile := object[kinds.PKIProfile](a.config.Content().view, "pkiprofile", uuidIn(ref)); profile != nil {
		for _, der := range profile.Authorities() {
			if authority, err := x509.ParseCertificate(der); err == nil {
				pool.AddCert(authority)
			}
		}
	}
	return pool
}

func (a *Alerts) certificate(ref string) *tls.Certificate {
	of := object[kinds.SSLKeyAndCertificate](a.config.Content().view, "sslkeyandcertificate", uuidIn(ref))
	if of == nil || of.Certificate == nil {
		return nil
	}
	pair, err := tls.X509KeyPair([]byte(of.Certificate.PEM), []byte(of.Key))
	if err != nil {
		return nil
	}
	return &pair
}

// Tried is what came of a test.
type Tried struct {
	Target
	notify.Result
}

// Test sends a notice now, once: to a webhook, a list of addresses or a syslog configuration, or to all of an action
// group. It is safe for concurrent use.
func (a *Alerts) Test(ctx context.Context, kind, uuid, by string) []Tried {
	content := a.config.Content()
	var targets []Target
	action := map[string]string{hookKind: "webhook", mailKind: "email", syslogKind: "syslog"}[kind]
	if record, ok := content.view.Get(kind, uuid); ok && action != "" {
		targets = []Target{{action, uuid, record.Name}}
	} else if group, err := groupOf(content, kind, uuid); err == nil {
		targets = content.targetsOf(group)
	}
	tried := make([]Tried, len(targets))
	var sending sync.WaitGroup
	for i, target := range targets {
		sending.Go(func() {
			now := a.config.Now()
			notice := &notify.Notice{
				ID: fmt.Sprintf("test.%d.%d", now.UnixMilli(), i), Condition: "TEST", Level: "ALERT_LOW",
				Summary: "This is a test of " + target.Name, Reason: by + " tests it", Since: now.UTC(), At: now.UTC(),
			}
			tried[i] = Tried{target, a.send(ctx, target.Action, target.UUID, notice)}
		})
	}
	sending.Wait()
	return tried
}

func groupOf(content *Content, kind, uuid string) (*kinds.ActionGroupConfig, error) {
	record, ok := content.view.Get(groupKind, uuid)
	if !ok || kind != groupKind {
		return nil, fmt.Errorf("there is no %s %s", kind, uuid)
	}
	return schema.Into[kinds.ActionGroupConfig](record.Object)
}
