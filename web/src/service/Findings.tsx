import type { Finding, ServiceRuntime } from '../api/types'
import { Panel } from '../part/Panel'
import css from './service.module.css'

/** What of the configuration has no effect, and what engines refused. Nothing, if there is nothing. */
export function Findings({ runtime }: { runtime: ServiceRuntime | undefined }) {
  const refused = (runtime?.applied?.refusals ?? []).flatMap((refusal) =>
    refusal.errors.map((error) => `${refusal.engine} refused revision ${refusal.revision} and goes on with the one before: ${textOf(error)}`),
  )
  const lines = [...new Set([...refused, ...(runtime?.warnings ?? []).map(textOf)])]
  if (lines.length === 0) return null
  return (
    <Panel title="Warnings" note="what of the configuration has no effect, or is refused">
      <ul className={css.list}>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Panel>
  )
}

function textOf(finding: Finding): string {
  return [`${finding.kind} ${finding.name}`.trim(), finding.field, finding.message].filter(Boolean).join(': ')
}
