import { Popover } from '@base-ui/react/popover'
import { type RefObject, useState } from 'react'
import type { Kind } from '../api/fields'
import css from './record.module.css'

/** All fields that a search can name, by both of their names. A click writes the name into the search. */
export function Fields({ kind, input, onPick }: { kind: Kind; input: RefObject<HTMLInputElement | null>; onPick: (name: string) => void }) {
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger className={css.button} title="What a search can name">Fields</Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} align="end" className={css.positioner}>
          <Popover.Popup className={css.help} aria-label={`Fields of ${kind.name}`} finalFocus={input}>
            <p>
              <code>field:value</code>, <code>-field:value</code>, <code>field:&gt;=value</code>, <code>field:a..b</code>, <code>field:begin*</code>, words alone, and <code>OR</code>. Here and in <code>weir logs --filter</code>, both names of a field are understood; the second one is that of the API.
            </p>
            <table>
              <thead>
                <tr><th scope="col">Field</th><th scope="col">In the API</th><th scope="col">Is</th></tr>
              </thead>
              <tbody>
                {kind.fields.map((field) => (
                  <tr key={field.name}>
                    <th scope="row">
                      <button
                        type="button"
                        onClick={() => {
                          onPick(field.name)
                          setOpen(false)
                        }}
                      >
                        {field.name}
                      </button>
                    </th>
                    <td><code>{field.field === field.name ? '' : field.field}</code></td>
                    <td>{`${field.title}${units[field.kind] ?? ''}`}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

const units: Partial<Record<Kind['fields'][number]['kind'], string>> = { ms: ', in ms, s or m', us: ', in ms, s or m', bytes: ', in bytes, k, M or G', boolean: ', true or false' }
