package revocation

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

const (
	certificateKind = "sslkeyandcertificate"
	profileKind     = "pkiprofile"
)

// ObjectOf says to which object a record of this package belongs; empty: the record is none of this package.
func ObjectOf(recordKind string) (kind string) {
	return map[string]string{AnswerKind: certificateKind, ListKind: profileKind}[recordKind]
}

// Into returns an object with what was fetched about it: a copy, or the object itself if there is nothing.
func Into(view *store.View, kind, uuid string, object schema.Object) schema.Object {
	switch kind {
	case certificateKind:
		if answer := answerIn(view, uuid); answer != nil {
			object, _ = answer.into(object)
		}
	case profileKind:
		if lists := listsIn(view, uuid); lists != nil {
			object = lists.into(object)
		}
	}
	return object
}

// answerIn returns nil if there is none.
func answerIn(view *store.View, uuid string) *Answer { return recordIn[Answer](view, AnswerKind, uuid) }

// listsIn returns nil if there are none.
func listsIn(view *store.View, uuid string) *Lists { return recordIn[Lists](view, ListKind, uuid) }

func recordIn[T any](view *store.View, kind, uuid string) *T {
	record, _ := view.Get(kind, uuid)
	return read[T](record)
}

// read returns nil if there is no record, or one of another version: it is fetched again.
func read[T any](record *store.Record) *T {
	value, _ := store.Read[T](record)
	return value
}

// questionOf makes the question about a certificate. Its issuer is in its chain, or among its ca_certs.
func questionOf(view *store.View, certificate *model.Certificate) question {
	q := question{uuid: certificate.UUID, name: certificate.Name,
		tenant: schema.UUIDOf("tenant", certificate.TenantRef),
		config: certificate.OCSP()}
	var err error
	if q.leaf, err = x509.ParseCertificate(certificate.ChainDER[0]); err != nil {
		q.leaf, q.problem = &x509.Certificate{Raw: certificate.ChainDER[0]}, err.Error()
		return q
	}
	candidates := certificate.ChainDER[1:]
	for _, authority := range certificate.CACerts {
		reference, err := schema.ParseRef(certificateKind, authority.Ref)
		if err != nil {
			continue
		}
		if record, there := view.Get(certificateKind, reference.UUID); there {
			if der := kinds.LeafDER(record.Object); der != nil {
				candidates = append(candidates[:len(candidates):len(candidates)], der)
			}
		}
	}
	for _, der := range candidates {
		if issuer, err := x509.ParseCertificate(der); err == nil && q.leaf.CheckSignatureFrom(issuer) == nil {
			q.issuer = issuer
			break
		}
	}
	switch {
	case q.issuer == nil:
		q.problem = "its issuer is neither in the PEM behind it nor among ca_certs, and nobody else signs answers about it"
	case len(q.responders()) == 0:
		q.problem = "it names no responder, and ocsp_config.responder_url_lists is empty"
	}
	return q
}

func sourcesOf(profile *kinds.PKIProfile) (sources []source) {
	urls := profile.ListURLs()
	for _, list := range profile.CRLs {
		if list.ServerURL != "" {
			sources = append(sources, source{uuid: profile.UUID, name: profile.Name,
				tenant: schema.UUIDOf("tenant", profile.TenantRef),
				url:    list.ServerURL, wanted: urls, interval: time.Duration(list.UpdateIntervalMin) * time.Minute,
				authorities: profile.Authorities()})
		}
	}
	return sources
}

// put stores what was fetched about an object.
func (w *Watch) put(ctx context.Context, kind, uuid string, value any) error {
	record, err := store.RecordOf(kind, uuid, value)
	if err != nil {
		return err
	}
	return w.config.Save(ctx, kind, uuid, func(*store.Record) (*store.Record, error) { return record, nil })
}

// putList stores a list beside the others of its profile.
func (w *Watch) putList(ctx context.Context, s source, list *List) error {
	return w.config.Save(ctx, ListKind, s.uuid, func(stored *store.Record) (*store.Record, error) {
		all := read[Lists](stored).with(s.uuid, list, s.wanted)
		if all.bytes() > listsMost {
			return nil, fmt.Errorf("the lists of the profile have more than %d MiB together", listsMost>>20)
		}
		return store.RecordOf(ListKind, s.uuid, all)
	})
}

// forget removes the records of objects that nobody uses in this way any more.
func (w *Watch) forget(ctx context.Context, view *store.View, m *model.Model) error {
	needed := map[string]bool{}
	for _, certificate := range stapled(m) {
		needed[AnswerKind+certificate.UUID] = true
	}
	for _, profile := range listed(m) {
		needed[ListKind+profile.UUID] = true
	}
	nothing := func(*store.Record) (*store.Record, error) { return nil, nil }
	for _, kind := range []string{AnswerKind, ListKind} {
		for _, record := range view.List(kind) {
			if needed[kind+record.UUID] {
				continue
			}
			if err := w.config.Save(ctx, kind, record.UUID, nothing); err != nil {
				return err
			}
		}
	}
	return nil
}
