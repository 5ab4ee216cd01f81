import { Menu } from '@base-ui/react/menu'
import css from './more.module.css'

/** What a reader can do with a part of a page besides looking at it: see it as a table, save it. */
export function More({ of, items }: { of: string; items: { name: string; does: () => void }[] }) {
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className={css.more} aria-label={`${of}: table, export`} title="Table, export">⋯</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className={css.positioner}>
          <Menu.Popup className={css.menu}>
            {items.map((item) => <Menu.Item key={item.name} className={css.item} onClick={item.does}>{item.name}</Menu.Item>)}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
