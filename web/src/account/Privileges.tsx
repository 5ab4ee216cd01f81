import { levelOf, levels, type Privilege, type Resource, withLevel } from '../api/roles'
import { useKinds } from '../api/schema'
import { titleOf } from '../api/words'
import css from './account.module.css'

const words = { NO_ACCESS: 'none', READ_ACCESS: 'read', WRITE_ACCESS: 'write' }

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

interface Props {
  resources: Resource[]
  value: Privilege[]
  isDisabled: boolean
  onChange: (value: Privilege[]) => void
}

/** What a role allows: a line for each resource that opens something in Weir. */
export function Privileges({ resources, value, isDisabled, onChange }: Props) {
  const kinds = useKinds().value?.results ?? []
  const named = (of: Resource) => capital([...of.kinds.map((name) => titleOf(kinds.find((kind) => kind.name === name) ?? { title: name })), of.opens].filter(Boolean).join(', '))
  const others = value.filter((one) => one.type !== 'NO_ACCESS' && !resources.some(({ resource }) => resource === one.resource))
  return (
    <>
      <table className={css.privileges}>
        <thead>
          <tr>
            <th scope="col">Opens</th>
            {levels.map((level) => (
              <th key={level} scope="col">{words[level]}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {resources.map((of) => (
            <tr key={of.resource}>
              <th scope="row">
                {named(of)} <code>{of.resource}</code>
              </th>
              {levels.map((level) => (
                <td key={level}>
                  <input
                    type="radio"
                    name={of.resource}
                    aria-label={`${named(of)}: ${words[level]}`}
                    checked={levelOf(value, of.resource) === level}
                    disabled={isDisabled}
                    onChange={() => onChange(withLevel(value, of.resource, level))}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {others.length > 0 && <p className={css.hint}>{`It also names ${others.length} resources of kinds that Weir lacks. They open nothing here, and stay as they are.`}</p>}
    </>
  )
}
