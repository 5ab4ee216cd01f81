import { type Kind, useKinds } from '../api/schema'
import { titleOf } from '../api/words'
import { useData } from '../api/useData'
import type { List, Named } from '../api/types'
import { Filter, FilterHidesAll } from '../part/Filter'
import { matches } from '../part/matches'
import { Page } from '../part/Page'
import { Panel } from '../part/Panel'
import { Shown } from '../part/Shown'
import { Link } from '../url/Link'
import { useParam } from '../url/location'
import css from './object.module.css'

/** All kinds of object, with how many there are. */
export default function KindsPage() {
  const kinds = useKinds()
  const filter = useParam('f')
  return (
    <Page title="Objects">
      <Shown of={kinds} what="the kinds of object">
        {({ results }) => {
          const shown = results.filter((kind) => matches(filter, [kind.name, kind.title, titleOf(kind)])).toSorted((a, b) => titleOf(a).localeCompare(titleOf(b)))
          const part = (title: string, note: string, list: Kind[]) => list.length > 0 && (
            <Panel title={title} note={note}>
              <ul className={css.kinds}>
                {list.map((kind) => (
                  <KindLine key={kind.name} kind={kind} />
                ))}
              </ul>
            </Panel>
          )
          return (
            <>
              <Filter of="kinds of object" shown={shown.length} total={results.length} />
              {shown.length === 0 && <FilterHidesAll of="kinds" />}
              {part('Traffic', 'what virtual services consist of', shown.filter((kind) => kind.serving))}
              {part('Around it', 'engines, clouds, accounts, settings', shown.filter((kind) => !kind.serving))}
            </>
          )
        }}
      </Shown>
    </Page>
  )
}

const everyMs = 30_000

function KindLine({ kind }: { kind: Kind }) {
  const list = useData<List<Named>>(kind.may_read ? `/api/${kind.name}?page_size=1&fields=uuid` : null, everyMs)
  return (
    <li>
      <Link to={kind.only ? `/objects/${kind.name}/${kind.only}` : `/objects/${kind.name}`}>{titleOf(kind)}</Link>
      <code>{kind.name}</code>
      <span className={css.count} title={kind.may_read ? undefined : kind.why_not}>{kind.may_read ? (kind.only ? '1' : (list.value?.count ?? '–')) : 'not for you'}</span>
    </li>
  )
}
