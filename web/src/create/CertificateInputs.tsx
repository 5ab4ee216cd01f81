import { useList } from '../api/useData'
import type { Named } from '../api/types'
import type { Draft } from './draft'
import { Choice, Line } from './Line'

interface Certificate extends Named {
  type?: string
  certificate?: { days_until_expire?: number }
}

const everyMs = 30_000

const ways: { value: Draft['certificate']; text: string; says: string }[] = [
  { value: 'self', text: 'self-signed', says: 'The controller makes a key and a certificate. Browsers warn about it' },
  { value: 'pick', text: 'one that is there', says: 'A certificate of this tenant' },
  { value: 'paste', text: 'paste', says: 'PEM, with its private key' },
]

/** The certificate of an HTTPS service: made, picked or pasted. */
export function CertificateInputs({ draft, problem, set }: { draft: Draft; problem: string | undefined; set: (part: Partial<Draft>) => void }) {
  const certificates = useList<Certificate>('/api/sslkeyandcertificate?fields=name,type,certificate', everyMs)
  return (
    <>
      <Choice name="Certificate" value={draft.certificate} of={ways} problem={problem} onChange={(certificate) => set({ certificate })} />
      {draft.certificate === 'self' && (
        <Line name="Host name" note="of the certificate; a year valid, with a key on P-256">
          {(ties) => <input {...ties} type="text" spellCheck={false} placeholder={draft.name || 'shop.example.com'} value={draft.commonName} onChange={(event) => set({ commonName: event.target.value })} />}
        </Line>
      )}
      {draft.certificate === 'pick' && (
        <Line name="Which one">
          {(ties) => (
            <select {...ties} value={draft.certificateUUID} onChange={(event) => set({ certificateUUID: event.target.value })}>
              <option value="">choose</option>
              {(certificates.value?.results ?? [])
                .filter((one) => one.type === 'SSL_CERTIFICATE_TYPE_VIRTUALSERVICE')
                .map((one) => (
                  <option key={one.uuid} value={one.uuid}>{`${one.name}${one.certificate?.days_until_expire === undefined ? '' : `, ${one.certificate.days_until_expire} days`}`}</option>
                ))}
            </select>
          )}
        </Line>
      )}
      {draft.certificate === 'paste' && (
        <>
          <Line name="Certificate (PEM)" note="with the chain behind it">
            {(ties) => <textarea {...ties} rows={4} spellCheck={false} autoComplete="off" placeholder="-----BEGIN CERTIFICATE-----" value={draft.pem} onChange={(event) => set({ pem: event.target.value })} />}
          </Line>
          <Line name="Private key (PEM)" note="it is stored encrypted, and nobody reads it back">
            {(ties) => <textarea {...ties} rows={4} spellCheck={false} autoComplete="off" placeholder="-----BEGIN PRIVATE KEY-----" value={draft.key} onChange={(event) => set({ key: event.target.value })} />}
          </Line>
        </>
      )}
    </>
  )
}
