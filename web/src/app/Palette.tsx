import { Dialog } from '@base-ui/react/dialog'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import type { Named } from '../api/types'
import { useList } from '../api/useData'
import { visit } from '../url/location'
import css from './app.module.css'
import { best, type Target } from './best'
import { entries, others } from './routes'

const shownMost = 12
const everyMs = 30_000

const pages: Target[] = [...entries, ...others].map((entry) => ({ path: entry.path, name: entry.name, what: 'page' }))

/** Goes to any page or object by name. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const options = useRef<HTMLUListElement>(null)
  const { targets, problem } = useTargets()
  const found = useMemo(() => best(targets, text, shownMost), [targets, text])
  const chosen = Math.min(at, found.length - 1)
  useEffect(() => {
    options.current?.children[chosen]?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const open = (target: Target | undefined) => {
    if (!target) return
    onClose()
    visit(target.path)
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, found.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0))
    else if (event.key === 'Enter') open(found[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={css.backdrop} />
        <Dialog.Popup className={css.dialog}>
          <Dialog.Title className="hidden">Go to</Dialog.Title>
          <input
            className={css.query}
            role="combobox"
            aria-label="Page or object"
            aria-expanded="true"
            aria-controls="palette-options"
            aria-activedescendant={chosen >= 0 ? `palette-${chosen}` : undefined}
            autoComplete="off"
            spellCheck={false}
            placeholder="Page, service, pool or engine"
            value={text}
            onChange={(event) => {
              setText(event.target.value)
              setAt(0)
            }}
            onKeyDown={press}
          />
          <ul ref={options} id="palette-options" role="listbox" aria-label="Pages and objects" className={css.options}>
            {found.map((target, index) => (
              <li key={target.path} id={`palette-${index}`} role="option" aria-selected={index === chosen} onClick={() => open(target)} onPointerMove={() => setAt(index)}>
                <span>{target.name}</span>
                <small>{target.what}</small>
              </li>
            ))}
          </ul>
          {found.length === 0 && <p className={css.nothing}>Nothing has this name.</p>}
          {problem && <p className={css.nothing}>{`Not all objects could be read: ${problem}`}</p>}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function useTargets(): { targets: Target[]; problem: string } {
  const services = useList<Named>('/api/virtualservice?fields=name', everyMs)
  const pools = useList<Named>('/api/pool?fields=name', everyMs)
  const engines = useList<Named>('/api/serviceengine?fields=name', everyMs)
  const targets = useMemo(
    () => [
      ...pages,
      ...(services.value?.results ?? []).map(({ uuid, name }) => ({ path: `/services/${uuid}`, name, what: 'service' })),
      ...(pools.value?.results ?? []).map(({ uuid, name }) => ({ path: `/pools/${uuid}`, name, what: 'pool' })),
      ...(engines.value?.results ?? []).map(({ uuid, name }) => ({ path: `/engines/${uuid}`, name, what: 'engine' })),
    ],
    [services.value, pools.value, engines.value],
  )
  return { targets, problem: [services, pools, engines].find((one) => one.error)?.error?.message ?? '' }
}
